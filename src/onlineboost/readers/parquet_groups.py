"""Row groups of Parquet files: how many rows at a time stay within a limit of memory.

The sizes of pages are known before they are decompressed: pyarrow does not show them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from onlineboost.compiled.jit import i64, njit
from onlineboost.readers.limits import BoundedFile, DamagedError, TooLargeError
from onlineboost.readers.parquet_footer import (
    BROTLI,
    BYTE_ARRAY,
    GZIP,
    LZ4_RAW,
    SNAPPY,
    UNCOMPRESSED,
    ZSTD,
    read_footer,
)
from onlineboost.readers.scan import Bytes
from onlineboost.readers.table import TEXT_COPIES, rows_within
from onlineboost.readers.thrift import read_struct

_TOGETHER = 1 << 17  # rows of small groups that are read in one go
_RATIO = {UNCOMPRESSED: 1, SNAPPY: 22}  # maximum growth of a page by decompression: Snappy copies 64 bytes by 3
_NO_BOUND = 1 << 40
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3  # PageType
_DELTA_BYTE_ARRAY = 7  # Encoding
_CODEC = {SNAPPY: "snappy", GZIP: "gzip", BROTLI: "brotli", ZSTD: "zstd", LZ4_RAW: "lz4_raw"}
_HEADER, _MAX_HEADER = 1 << 9, 1 << 24


def batches_of(file: Any, raw: BoundedFile, wanted: list[str], batch_size: int, limit: int) -> Iterator[Any]:
    """Record batches of these columns, all rows that the file says it has."""
    groups = RowGroups(file, raw, wanted, batch_size, limit)
    done = 0
    for step, together in groups.runs():
        for batch in file.iter_batches(step, row_groups=together, columns=groups.columns, use_threads=False):
            batch.validate()
            done += batch.num_rows
            yield batch
    if done != file.metadata.num_rows:
        raise DamagedError(f"it has {done:,} rows, but says that there are {file.metadata.num_rows:,}")


class RowGroups:
    """The row groups of a file, and how many of their rows fit at a time."""

    def __init__(self, file: Any, raw: BoundedFile, wanted: list[str], batch_size: int, limit: int) -> None:
        self.raw, self.batch_size, self.limit = raw, batch_size, limit
        names = [file.schema.column(c).path for c in range(len(file.schema.names))]
        self.footer = read_footer(raw, file.metadata.num_row_groups, len(names))
        chosen = {c for c, name in enumerate(names) if name in set(wanted)} or set(range(len(names)))
        self.leaves = sorted(chosen)
        self.columns = None if len(chosen) == len(names) else wanted

    def runs(self) -> Iterator[tuple[int, list[int]]]:
        """(rows at a time, numbers of row groups), in the order of the file."""
        run: list[int] = []
        rows, before = 0, 0
        for g, n in enumerate(self.footer.rows.tolist()):
            step = self._step(g, n)
            if run and (step != before or rows >= _TOGETHER):
                yield before, run
                run, rows = [], 0
            run, rows, before = [*run, g], rows + n, step
        if run:
            yield before, run

    def _step(self, g: int, rows: int) -> int:
        """Number of rows of a group to read at a time. Raises ``TooLargeError`` if its pages do not fit."""
        chunks = [self.footer.chunk(g, c) for c in self.leaves]
        texts = [chunk for chunk in chunks if chunk.kind == BYTE_ARRAY]
        possible = sum(chunk.packed * _RATIO.get(chunk.codec, _NO_BOUND) for chunk in chunks)
        pages, repeated = 0, []
        for chunk in texts if possible <= self.limit else chunks:
            found = survey(self.raw, chunk.start, chunk.values)
            pages += found.largest + found.dictionary
            if pages > self.limit:
                raise TooLargeError(f"row group {g} (its largest pages together)", pages)
            if chunk.kind == BYTE_ARRAY:
                repeated.append((found, chunk.codec))
        step = min(self.batch_size, rows_within(self.limit, len(chunks)))
        room = self.limit // TEXT_COPIES
        if sum(found.repeatable for found, _ in repeated) * min(step, rows) > room:
            longest = sum(longest_value(self.raw, found, codec) for found, codec in repeated)
            step = min(step, max(1, room // max(longest, 1)))
        return step


class Survey(NamedTuple):
    """Sizes of the pages of a column chunk, decompressed."""

    largest: int
    dictionary: int  # of the dictionary page
    place: tuple[int, int]  # where that is, and its size in the file
    delta: bool  # whether values may share beginnings (delta encoding)

    @property
    def repeatable(self) -> int:
        """Upper bound of the length of a value that is stored once and read many times."""
        return max(self.dictionary, self.largest if self.delta else 0)


def survey(file: BoundedFile, start: int, values: int) -> Survey:
    """The pages of a column chunk that begins at ``start`` and has so many values."""
    largest = dictionary = seen = 0
    place = (0, 0)
    delta = False
    at = start
    while seen < values:
        header, after = _header(file, at)
        _, kind, length, packed = header[0][:4]
        if min(kind, length, packed) < 0:
            raise DamagedError("a page header has no sizes")
        at = after + packed
        if at > file.size:
            raise DamagedError("a page is longer than the file")
        largest = max(largest, length)
        if kind == _DICTIONARY:
            dictionary, place = length, (after, packed)
        if kind in (_DATA, _DATA_V2):
            inner = header[5 if kind == _DATA else 8]
            if inner[1] < 0:
                raise DamagedError("a page header has no number of values")
            seen += inner[1]
            delta = delta or inner[2 if kind == _DATA else 4] == _DELTA_BYTE_ARRAY
    return Survey(largest, dictionary, place, delta)


def longest_value(file: BoundedFile, found: Survey, codec: int) -> int:
    """The size of the longest value that is stored once and read many times, or an upper bound."""
    import pyarrow as pa

    if found.delta or not found.dictionary:
        return found.repeatable
    packed: Any = file.part(*found.place)
    try:
        if codec != UNCOMPRESSED:
            packed = pa.Codec(_CODEC[codec]).decompress(packed, found.dictionary)
    except (KeyError, pa.ArrowException, OSError):
        return found.repeatable
    return int(_longest(np.frombuffer(packed, np.uint8)))


@njit
def _longest(text: Bytes) -> int:
    """The longest of some texts, each of which follows its size in four bytes."""
    at = longest = 0
    while at + 4 <= text.size:
        size = i64(text[at]) | i64(text[at + 1]) << 8 | i64(text[at + 2]) << 16 | i64(text[at + 3]) << 24
        longest = max(longest, size)
        at += 4 + size
    return longest


def _header(file: BoundedFile, at: int) -> tuple[list[list[int]], int]:
    """The integers of a PageHeader and of the structs in it, -1 where there are none; and what follows it."""
    size = _HEADER
    while True:
        data = file.part(at, min(size, file.size - at))
        fields = np.full((9, 5), -1)
        used = read_struct(np.frombuffer(data, np.uint8), 0, fields)
        if used >= 0:
            return fields.tolist(), at + used
        if len(data) < size or size >= _MAX_HEADER:
            raise DamagedError("a page header cannot be read")
        size *= 8
