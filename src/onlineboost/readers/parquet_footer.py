"""The footer of Parquet files: where the pages of each column begin.

It is read by hand, by parquet.thrift of the Parquet format in Thrift's compact protocol: pyarrow ends the process when
it is asked to describe a damaged column.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onlineboost.compiled.jit import njit
from onlineboost.data.batch import Ints
from onlineboost.readers.limits import BoundedFile, DamagedError
from onlineboost.readers.scan import Bytes
from onlineboost.readers.thrift import I64, LIST, STOP, read_field, read_integer, read_list, read_struct, skip

BYTE_ARRAY = 6  # Type
UNCOMPRESSED, SNAPPY, GZIP, BROTLI, ZSTD, LZ4_RAW = 0, 1, 2, 4, 6, 7  # CompressionCodec
_FIELDS = 12  # kept fields of ColumnMetaData


class Chunk(NamedTuple):
    """A column of a row group."""

    kind: int
    codec: int
    values: int
    packed: int  # size in the file
    start: int  # of the first page


class Footer(NamedTuple):
    rows: Ints  # [row groups]
    fields: Ints  # [row groups, columns, _FIELDS] the integers of ColumnMetaData, by number; -1: absent

    def chunk(self, group: int, column: int) -> Chunk:
        found = self.fields[group, column].tolist()
        data, dictionary = found[9], found[11]
        if min(found[1], found[4], found[5], found[7], data) < 0:
            raise DamagedError(f"column {column} of row group {group} is not described")
        return Chunk(found[1], found[4], found[5], found[7], dictionary if 0 < dictionary < data else data)


def read_footer(file: BoundedFile, groups: int, columns: int) -> Footer:
    """The footer of a file that has so many row groups and columns."""
    size = int.from_bytes(file.part(file.size - 8, 4), "little")
    data = np.frombuffer(file.part(file.size - 8 - size, size), np.uint8)
    if groups * columns > size:
        raise DamagedError("the footer is shorter than its columns")
    footer = Footer(np.full(groups, -1), np.full((groups, columns, _FIELDS), -1))
    if _read(data, footer.rows, footer.fields) != 0 or (footer.rows < 0).any():
        raise DamagedError("the footer cannot be read")
    return footer


@njit
def _read(data: Bytes, rows: Ints, fields: Ints) -> int:
    """FileMetaData: field 4 lists the row groups; of these, field 1 lists the columns, field 3 counts the rows."""
    at = number = 0
    chunk = np.empty((4, fields.shape[2]), np.int64)  # a ColumnChunk, whose field 3 is the ColumnMetaData
    while True:
        kind, number, at = read_field(data, at, number)
        if kind == STOP:
            return 0 if at >= 0 else -1
        if kind != LIST or number != 4:
            at = skip(data, at, kind)
            continue
        _, groups, at = read_list(data, at)
        if groups != rows.size:
            return -1
        for g in range(groups):
            inner = 0
            while True:
                kind, inner, at = read_field(data, at, inner)
                if kind == STOP:
                    break
                if kind == LIST and inner == 1:
                    _, columns, at = read_list(data, at)
                    if columns != fields.shape[1]:
                        return -1
                    for c in range(columns):
                        chunk[:] = -1
                        at = read_struct(data, at, chunk)
                        fields[g, c] = chunk[3]
                elif kind == I64 and inner == 3:
                    rows[g], at = read_integer(data, at)
                else:
                    at = skip(data, at, kind)
