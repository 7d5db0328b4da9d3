"""Structs of Thrift's compact protocol, compiled: the integers in them. A place of -1 stands for an error."""

from __future__ import annotations

import numpy as np

from onlineboost.compiled.jit import i64, njit
from onlineboost.data.batch import Ints
from onlineboost.readers.scan import Bytes

STOP, TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(13)
_DEPTH = 64


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
def read_field(data: Bytes, at: int, last: int) -> tuple[int, int, int]:
    """Type and number of the next field of a struct, and what follows; the type is 0 at the end of the struct."""
    if not 0 <= at < data.size:
        return STOP, 0, -1
    first = i64(data[at])
    if first & 15 == STOP:
        return STOP, 0, at + 1
    if first >> 4:
        return first & 15, last + (first >> 4), at + 1
    number, at = read_integer(data, at + 1)
    return first & 15, number, at


@njit
def read_list(data: Bytes, at: int) -> tuple[int, int, int]:
    """Type of the items and their number, and what follows."""
    if not 0 <= at < data.size:
        return 0, 0, -1
    first = i64(data[at])
    if first >> 4 < 15:
        return first & 15, first >> 4, at + 1
    n, at = _unsigned(data, at + 1)
    return first & 15, n, at if 0 <= n <= data.size else -1


@njit
def skip(data: Bytes, at: int, kind: int) -> int:
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
            kind, _, at = read_field(data, at, 0)
            if kind == STOP:
                depth -= 1
        if kind == TRUE or kind == FALSE:
            at += listed and depth > 0
        elif kind == BYTE:
            at += 1
        elif I16 <= kind <= I64:
            _, at = _unsigned(data, at)
        elif kind == DOUBLE:
            at += 8
        elif kind == BINARY:
            size, at = _unsigned(data, at)
            at = at + size if at >= 0 and 0 <= size <= data.size else -1
        elif kind == LIST or kind == SET or kind == STRUCT:
            depth += 1
            if depth == _DEPTH:
                return -1
            left[depth] = -1
            if kind != STRUCT:
                inner[depth], left[depth], at = read_list(data, at)
        elif kind != STOP:
            return -1
        if not 0 <= at <= data.size:
            return -1
    return at


@njit
def read_integer(data: Bytes, at: int) -> tuple[int, int]:
    """A number with a sign, and what follows it."""
    value, at = _unsigned(data, at)
    return (value >> 1) ^ -(value & 1), at


@njit
def read_struct(data: Bytes, at: int, fields: Ints) -> int:
    """Read the integers of a struct, and of the structs that are its fields; what follows it.

    ``fields[0, n]`` becomes field n, and ``fields[k, n]`` field n of the struct that is field k.
    """
    outer = number = 0
    while True:
        kind, number, at = read_field(data, at, number)
        if kind == STOP:
            if outer == 0 or at < 0:
                return at
            outer, number = 0, outer
        elif I16 <= kind <= I64 and 0 < number < fields.shape[1]:
            fields[outer, number], at = read_integer(data, at)
        elif kind == STRUCT and outer == 0 and 0 < number < fields.shape[0]:
            outer, number = number, 0
        else:
            at = skip(data, at, kind)
