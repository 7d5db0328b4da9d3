"""Pages of Parquet files: their sizes, before they are decompressed.

Headers are Thrift's compact protocol, by parquet.thrift of the Parquet format; pyarrow does not show them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onlineboost.compiled.jit import i64, njit
from onlineboost.readers.bounded import BoundedFile, DamagedError
from onlineboost.readers.parquet_footer import BROTLI, GZIP, LZ4_RAW, SNAPPY, UNCOMPRESSED, ZSTD
from onlineboost.readers.scan import Bytes

_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3  # PageType
_DELTA_BYTE_ARRAY = 7  # Encoding
_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(13)
_DEPTH = 8
_CODEC = {SNAPPY: "snappy", GZIP: "gzip", BROTLI: "brotli", ZSTD: "zstd", LZ4_RAW: "lz4_raw"}
_HEADER, _MAX_HEADER = 1 << 9, 1 << 24


class Survey(NamedTuple):
    """Sizes of the pages of a column chunk, decompressed."""

    largest: int
    dictionary: int  # of the dictionary page
    place: tuple[int, int]  # where that is, and its size in the file
    delta: bool  # whether a value may repeat the beginning of the one before it

    @property
    def repeatable(self) -> int:
        """No value that is written once and read many times can be longer."""
        return max(self.dictionary, self.largest if self.delta else 0)


def survey(file: BoundedFile, start: int, values: int) -> Survey:
    """The pages of a column chunk that begins at ``start`` and has so many values."""
    largest = dictionary = seen = 0
    place = (0, 0)
    delta = False
    at = start
    while seen < values:
        header, after = _header(file, at)
        kind, length, packed = (header.get(k) for k in (1, 2, 3))
        if not (isinstance(kind, int) and isinstance(length, int) and isinstance(packed, int)):
            raise DamagedError("a page header has no sizes")
        at = after + packed
        if length < 0 or packed < 0 or at > file.size:
            raise DamagedError("a page is longer than the file")
        largest = max(largest, length)
        if kind == _DICTIONARY:
            dictionary, place = length, (after, packed)
        if kind in (_DATA, _DATA_V2):
            inner = header.get(5 if kind == _DATA else 8)
            if not isinstance(inner, dict) or not isinstance(inner.get(1), int) or inner[1] < 0:
                raise DamagedError("a page header has no number of values")
            seen += inner[1]
            delta = delta or inner.get(2 if kind == _DATA else 4) == _DELTA_BYTE_ARRAY
    return Survey(largest, dictionary, place, delta)


def longest_value(file: BoundedFile, found: Survey, codec: int) -> int:
    """The size of the longest value that is written once and read many times, or an upper bound of it."""
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


def _header(file: BoundedFile, at: int) -> tuple[dict[int, Any], int]:
    size = _HEADER
    while True:
        data = file.part(at, min(size, file.size - at))
        try:
            found, used = _struct(data, 0, 0)
        except IndexError:
            if len(data) < size or size >= _MAX_HEADER:
                raise DamagedError("a page header is cut off") from None
            size *= 8
            continue
        return found, at + used


def _struct(data: bytes, at: int, depth: int) -> tuple[dict[int, Any], int]:
    """The fields of a struct by number: integers, and structs as dicts; the others are skipped."""
    if depth > _DEPTH:
        raise DamagedError("a page header is nested too deeply")
    fields: dict[int, Any] = {}
    number = 0
    while True:
        first = data[at]
        at += 1
        kind = first & 15
        if kind == _STOP:
            return fields, at
        if first >> 4:
            number += first >> 4
        else:
            number, at = _integer(data, at)
        value: Any = None
        if kind == _STRUCT:
            value, at = _struct(data, at, depth + 1)
        elif kind in (_I16, _I32, _I64):
            value, at = _integer(data, at)
        elif kind not in (_TRUE, _FALSE):
            at = _skip(data, at, kind, depth)
        fields[number] = value


def _skip(data: bytes, at: int, kind: int, depth: int) -> int:
    if kind == _BYTE:
        return at + 1
    if kind == _DOUBLE:
        return at + 8
    if kind == _BINARY:
        size, at = _unsigned(data, at)
        return at + size
    raise DamagedError(f"a page header has a field of type {kind}, which headers do not have")


def _unsigned(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        part = data[at]
        at += 1
        value |= (part & 127) << shift
        if part < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise DamagedError("a page header has a number of more than 64 bits")


def _integer(data: bytes, at: int) -> tuple[int, int]:
    value, at = _unsigned(data, at)
    return (value >> 1) ^ -(value & 1), at
