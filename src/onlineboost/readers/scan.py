"""Fast scans over text: digits eight bytes at a time, line and name ends sixteen at a time, without branches.

Every function may read up to fifteen bytes beyond ``end``: text buffers have ``SLACK`` spare bytes.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from onlineboost.compiled.jit import hot, u64
from onlineboost.compiled.simd import instruction
from onlineboost.data.hashing import Bytes as Bytes

SLACK = 16

_TOPS = u64(0x8080808080808080)  # the top bit of each byte
_ZEROS = u64(0x3030303030303030)  # the digit 0 in each byte


@instruction(lambda number: types.int64)
def trailing_zeros(builder: Any, number: Any) -> Any:
    return builder.cttz(number, ir.IntType(1)(0))


@hot
def byte(text: Bytes, at: int) -> int:
    """One byte. An unsigned index saves the test for a negative one."""
    return text[u64(at)]


@hot
def word(text: Bytes, at: int) -> int:
    """Eight bytes as one little-endian number; the compiler makes it one load."""
    i = u64(at)
    low = u64(text[i]) | u64(text[i + u64(1)]) << u64(8) | u64(text[i + u64(2)]) << u64(16)
    low |= u64(text[i + u64(3)]) << u64(24) | u64(text[i + u64(4)]) << u64(32) | u64(text[i + u64(5)]) << u64(40)
    return low | u64(text[i + u64(6)]) << u64(48) | u64(text[i + u64(7)]) << u64(56)


@hot
def digits(text: Bytes, at: int) -> tuple[int, int]:
    """The number that the digits here make, and how many digits there are; at most eight are read."""
    w = u64(word(text, at) ^ _ZEROS)
    other = u64(u64(u64(w + u64(0x7676767676767676)) | w) & _TOPS)
    n = trailing_zeros(other) >> 3  # 8 if all are digits
    w = u64(w << u64(64 - 8 * n)) if n else u64(0)
    w = u64(u64(w * u64(10)) + u64(w >> u64(8)))
    high = u64(u64(w & u64(0x000000FF000000FF)) * u64(0x000F424000000064))
    low = u64(u64(u64(w >> u64(16)) & u64(0x000000FF000000FF)) * u64(0x0000271000000001))
    return u64(u64(high + low) >> u64(32)), n


def _finder(*characters: int) -> Any:
    """A function that sets a bit for each of sixteen bytes that is one of the characters."""

    @intrinsic  # type: ignore[untyped-decorator]
    def find(typing: Any, text: Any, at: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            vector = ir.VectorType(ir.IntType(8), 16)
            place = builder.bitcast(builder.gep(data, [arguments[1]]), vector.as_pointer())
            sixteen = builder.load(place, align=1)
            found = ir.Constant(ir.VectorType(ir.IntType(1), 16), [0] * 16)
            for c in characters:
                found = builder.or_(found, builder.icmp_unsigned("==", sixteen, ir.Constant(vector, [c] * 16)))
            return builder.zext(builder.bitcast(found, ir.IntType(16)), ir.IntType(64))

        return types.uint64(text, types.uint64), build

    return find


_newlines = _finder(10)
_name_ends = _finder(32, 58, 124, 9, 13)  # space, colon, bar, tab, carriage return


@hot
def line_end(text: Bytes, at: int, end: int) -> int:
    """The end of the line: the next newline, or the end of the text."""
    return _next(text, at, end, _newlines)


@hot
def name_end(text: Bytes, at: int, end: int) -> int:
    """The end of a name in VW text, or the end of the text."""
    return _next(text, at, end, _name_ends)


@hot
def _next(text: Bytes, at: int, end: int, finder: Any) -> int:
    while at < end:
        text[u64(at + 15)]  # for the fuzzer, which checks bounds: the vector load below is not checked
        found = finder(text, u64(at))
        if found:
            return min(at + trailing_zeros(found), end)
        at += 16
    return end
