"""Text eight bytes at a time: what would be a loop with a badly predicted end becomes a few instructions.

Every function may read up to seven bytes beyond ``end``: buffers of text have ``SLACK`` spare bytes.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from onlineboost._jit import hot, u64

Bytes: TypeAlias = NDArray[np.uint8]

SLACK = 8

_ONES = u64(0x0101010101010101)
_TOPS = u64(0x8080808080808080)
_ZEROS = u64(0x3030303030303030)  # eight times the digit 0


@intrinsic  # type: ignore[untyped-decorator]
def trailing_zeros(typing: Any, a: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(0))

    return types.int64(types.uint64), build


@hot
def byte(text: Bytes, at: int) -> int:
    """One byte. An unsigned index is not taken modulo the size."""
    return text[u64(at)]


@hot
def word(text: Bytes, at: int) -> int:
    """Eight bytes as one number, the first lowest; the compiler makes it one load."""
    i = u64(at)
    low = u64(text[i]) | u64(text[i + u64(1)]) << u64(8) | u64(text[i + u64(2)]) << u64(16)
    low |= u64(text[i + u64(3)]) << u64(24) | u64(text[i + u64(4)]) << u64(32) | u64(text[i + u64(5)]) << u64(40)
    return low | u64(text[i + u64(6)]) << u64(48) | u64(text[i + u64(7)]) << u64(56)


@hot
def _is(w: int, character: int) -> int:
    """The top bit of the first byte that is this character (and perhaps of later bytes)."""
    x = u64(w ^ u64(u64(character) * _ONES))
    return u64(u64(x - _ONES) & u64(~x) & _TOPS)


@hot
def digits(text: Bytes, at: int) -> tuple[int, int]:
    """The number made of the digits at this place, and how many they are: at most eight are read."""
    w = u64(word(text, at) ^ _ZEROS)
    other = u64(u64(u64(w + u64(0x7676767676767676)) | w) & _TOPS)
    n = trailing_zeros(other) >> 3  # 8 if there is none
    w = u64(u64(w << u64(1)) << u64(63 - 8 * n)) if n else u64(0)
    w = u64(u64(w * u64(10)) + u64(w >> u64(8)))
    high = u64(u64(w & u64(0x000000FF000000FF)) * u64(0x000F424000000064))
    low = u64(u64(u64(w >> u64(16)) & u64(0x000000FF000000FF)) * u64(0x0000271000000001))
    return u64(u64(high + low) >> u64(32)), n


@hot
def line_end(text: Bytes, at: int, end: int) -> int:
    """Where the line that begins at ``at`` ends: at a newline, or at the end of the text."""
    while at < end:
        found = _is(word(text, at), 10)
        if found:
            return min(at + (trailing_zeros(found) >> 3), end)
        at += 8
    return end


@hot
def name_end(text: Bytes, at: int, end: int) -> int:
    """Where a name of Vowpal Wabbit's ends: at a space, tab, colon, bar or carriage return."""
    while at < end:
        w = word(text, at)
        found = u64(_is(w, 32) | _is(w, 58) | _is(w, 124) | _is(w, 9) | _is(w, 13))
        if found:
            return min(at + (trailing_zeros(found) >> 3), end)
        at += 8
    return end
