"""The footer of Parquet files: where the pages of each column begin.

It is read by hand, by parquet.thrift of the Parquet format in Thrift's compact protocol: pyarrow ends the process when
it is asked to describe a damaged column.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onlineboost.compiled.jit import i64, njit
from onlineboost.data.batch import Ints
from onlineboost.readers.bounded import BoundedFile, DamagedError
from onlineboost.readers.scan import Bytes

BYTE_ARRAY = 6  # Type
UNCOMPRESSED, SNAPPY, GZIP, BROTLI, ZSTD, LZ4_RAW = 0, 1, 2, 4, 6, 7  # CompressionCodec
_STOP, _TRUE, _FALSE, _BYTE, _I16, _I64, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 12
_DEPTH = 64
_FIELDS = 12  # of ColumnMetaData that are kept, by number


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


# A place of -1 stands for an error.


@njit
def _unsigned(data: Bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, and what follows it."""
    value, shift = i64(0), 0
    while 0 <= at < data.size and shift < 64:
        part = i64(data[at])
        value |= (part & 127) << shift
        at += 1
        if part < 128:
            return value, at
        shift += 7
    return i64(0), -1


@njit
def _field(data: Bytes, at: int, last: int) -> tuple[int, int, int]:
    """Type and number of the next field of a struct, and what follows; the type is 0 at the end of the struct."""
    if not 0 <= at < data.size:
        return _STOP, 0, -1
    first = i64(data[at])
    if first & 15 == _STOP:
        return _STOP, 0, at + 1
    if first >> 4:
        return first & 15, last + (first >> 4), at + 1
    number, at = _unsigned(data, at + 1)
    return first & 15, (number >> 1) ^ -(number & 1), at


@njit
def _list(data: Bytes, at: int) -> tuple[int, int, int]:
    """Type of the items and their number, and what follows."""
    if not 0 <= at < data.size:
        return 0, 0, -1
    first = i64(data[at])
    if first >> 4 < 15:
        return first & 15, first >> 4, at + 1
    n, at = _unsigned(data, at + 1)
    return first & 15, n, at if 0 <= n <= data.size else -1


@njit
def _skip(data: Bytes, at: int, kind: int) -> int:
    """What follows a value of this type."""
    left = np.zeros(_DEPTH, np.int64)  # items of each open list; -1: an open struct
    inner = np.zeros(_DEPTH, np.int64)
    depth, left[0], inner[0] = 0, 1, kind
    while depth >= 0:
        if left[depth] == 0:
            depth -= 1
            continue
        listed = left[depth] > 0
        if listed:
            left[depth] -= 1
            kind = inner[depth]
        else:
            kind, _, at = _field(data, at, 0)
            if kind == _STOP:
                depth -= 1
        if kind == _TRUE or kind == _FALSE:
            at += listed and depth > 0
        elif kind == _BYTE:
            at += 1
        elif _I16 <= kind <= _I64:
            _, at = _unsigned(data, at)
        elif kind == _DOUBLE:
            at += 8
        elif kind == _BINARY:
            size, at = _unsigned(data, at)
            at = at + size if at >= 0 and 0 <= size <= data.size else -1
        elif kind == _LIST or kind == _SET or kind == _STRUCT:
            depth += 1
            if depth == _DEPTH:
                return -1
            left[depth] = -1
            if kind != _STRUCT:
                inner[depth], left[depth], at = _list(data, at)
        elif kind != _STOP:
            return -1
        if not 0 <= at <= data.size:
            return -1
    return at


@njit
def _read_column(data: Bytes, at: int, fields: Ints) -> int:
    """A ColumnChunk, whose field 3 is the ColumnMetaData."""
    number = 0
    while True:
        kind, number, at = _field(data, at, number)
        if kind == _STOP:
            return at
        if kind != _STRUCT or number != 3:
            at = _skip(data, at, kind)
            continue
        inner = 0
        while True:
            kind, inner, at = _field(data, at, inner)
            if kind == _STOP:
                break
            if _I16 <= kind <= _I64 and 0 < inner < fields.size:
                value, at = _unsigned(data, at)
                fields[inner] = (value >> 1) ^ -(value & 1)
            else:
                at = _skip(data, at, kind)


@njit
def _read(data: Bytes, rows: Ints, fields: Ints) -> int:
    """FileMetaData: field 4 lists the row groups; of these, field 1 lists the columns, field 3 counts the rows."""
    at = number = 0
    while True:
        kind, number, at = _field(data, at, number)
        if kind == _STOP:
            return 0 if at >= 0 else -1
        if kind != _LIST or number != 4:
            at = _skip(data, at, kind)
            continue
        _, groups, at = _list(data, at)
        if groups != rows.size:
            return -1
        for g in range(groups):
            inner = 0
            while True:
                kind, inner, at = _field(data, at, inner)
                if kind == _STOP:
                    break
                if kind == _LIST and inner == 1:
                    _, columns, at = _list(data, at)
                    if columns != fields.shape[1]:
                        return -1
                    for c in range(columns):
                        at = _read_column(data, at, fields[g, c])
                elif kind == _I64 and inner == 3:
                    value, at = _unsigned(data, at)
                    rows[g] = (value >> 1) ^ -(value & 1)
                else:
                    at = _skip(data, at, kind)
