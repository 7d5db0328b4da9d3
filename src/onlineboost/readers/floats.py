"""Decimal text to float64, correctly rounded, compiled.

A number is w 10^q. With at most 19 digits there are two cheap ways: if w and 10^|q| are float64 exactly, one operation
rounds once (Clinger 1990); else 128 bits of 5^q decide (Lemire 2021; Mushtak and Lemire 2023: always).
Longer numbers are cut to 19 digits: if w and w + 1 round to the same float64, that is it, else big integers decide.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numpy.typing import NDArray

from onlineboost.compiled.jit import hot, i64, njit, u32, u64
from onlineboost.compiled.simd import instruction
from onlineboost.readers.scan import Bytes, byte, digits

POINT = 46
_MIN_POWER, _MAX_POWER = -342, 308  # of ten: beyond these, 19 digits are 0 or infinite
_DIGITS = 800  # no float64, nor the midpoint of two, has more; of the rest only whether it is zero matters
_LIMBS = 256  # of 32 bits each: enough for 800 digits times a power of ten

_TENS = np.array([10**k for k in range(9)], np.uint64)
_EXACT = np.array([float(10**k) for k in range(23)])


def _powers() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The 128 leading bits of 5^q, in two halves: truncated for q >= 0, rounded up for q < 0."""
    high, low = [], []
    for q in range(_MIN_POWER, _MAX_POWER + 1):
        if q >= 0:
            power = 5**q
            shift = power.bit_length() - 128
            leading = power >> shift if shift > 0 else power << -shift
        else:
            power = 5**-q
            leading = (1 << (127 + power.bit_length())) // power + 1
            leading >>= leading.bit_length() - 128
        high.append(leading >> 64)
        low.append(leading & (1 << 64) - 1)
    return np.array(high, np.uint64), np.array(low, np.uint64)


_HIGH, _LOW = _powers()


@instruction(lambda a, b: types.UniTuple(types.uint64, 2))
def _product(builder: Any, a: Any, b: Any) -> Any:
    """The 128 bits of a product as two halves."""
    wide = ir.IntType(128)
    product = builder.mul(builder.zext(a, wide), builder.zext(b, wide))
    halves = builder.trunc(builder.lshr(product, wide(64)), ir.IntType(64)), builder.trunc(product, ir.IntType(64))
    return cgutils.pack_array(builder, halves)


@instruction(lambda number: types.int64)
def _leading_zeros(builder: Any, number: Any) -> Any:
    return builder.ctlz(number, ir.IntType(1)(0))


@instruction(lambda bits: types.float64)
def _as_float(builder: Any, bits: Any) -> Any:
    return builder.bitcast(bits, ir.DoubleType())


@instruction(lambda number: types.uint64)
def _as_bits(builder: Any, number: Any) -> Any:
    return builder.bitcast(number, ir.IntType(64))


@njit
def _rounded(w: int, q: int) -> float:
    """w 10^q for whole 0 <= w < 2^64, rounded to nearest, ties to even."""
    if w == u64(0) or q < _MIN_POWER:
        return 0.0
    if q > _MAX_POWER:
        return np.inf
    zeros = _leading_zeros(w)
    w = u64(w << u64(zeros))
    high, low = _product(w, _HIGH[q - _MIN_POWER])
    if high & u64(0x1FF) == u64(0x1FF):  # the lower half could carry into the bits that count
        more, _ = _product(w, _LOW[q - _MIN_POWER])
        low = u64(low + more)
        if low < more:
            high = u64(high + u64(1))
    top = high >> u64(63)
    shift = u64(top + u64(9))
    m = u64(high >> shift)  # 54 bits: one more than a float64 has
    e = ((217706 * q) >> 16) + 63 + i64(top) - zeros + 1023
    if e <= 0:  # subnormal
        if e <= -63:
            return 0.0
        m = u64(m >> u64(1 - e))
        return _as_float(u64((m + (m & u64(1))) >> u64(1)))
    if low <= u64(1) and -4 <= q <= 23 and m & u64(3) == u64(1) and u64(m << shift) == high:
        m = u64(m - u64(1))  # a tie: to even
    m = u64((m + (m & u64(1))) >> u64(1))
    if m >= u64(1 << 53):
        m = u64(1 << 52)
        e += 1
    if e >= 0x7FF:
        return np.inf
    return _as_float(u64((m & u64((1 << 52) - 1)) | u64(u64(e) << u64(52))))


@njit
def _scaled(w: int, q: int) -> float:
    if w <= u64(1 << 53):
        if q == 0:
            return float(w)
        if -22 <= q < 0:
            return float(w) / _EXACT[-q]
        if 0 < q <= 22:
            return float(w) * _EXACT[q]
    return _rounded(w, q)


@hot
def parse_number(text: Bytes, at: int, end: int, point: int = POINT) -> tuple[float, int]:
    """The number at ``at`` and the place after it, which is ``at`` if there is no number.

    Grammar: an optional sign, digits with an optional decimal point, an optional exponent.
    """
    i = at
    negative = False
    if i < end and (byte(text, i) == 45 or byte(text, i) == 43):
        negative = byte(text, i) == 45
        i += 1
    w, n = digits(text, i)
    i += n
    left = 0
    if i < end and byte(text, i) == point:
        fraction, left = digits(text, i + 1)
        i += 1 + left
        w = u64(u64(w * _TENS[u64(left)]) + fraction)
    if n + left == 0 or n == 8 or left == 8 or i > end or (i < end and byte(text, i) | 32 == 101):
        return any_number(text, at, end, point)
    value = float(w) / _EXACT[u64(left)]
    return -value if negative else value, i


@njit
def any_number(text: Bytes, at: int, end: int, point: int = POINT) -> tuple[float, int]:
    """The general case of ``parse_number``: many digits, exponents, and no number at all."""
    i = at
    negative = False
    if i < end and (text[i] == 45 or text[i] == 43):
        negative = text[i] == 45
        i += 1
    first = i
    w = u64(0)
    while i < end and u64(text[i] - 48) < u64(10):
        w = u64(w * u64(10) + u64(text[i] - 48))
        i += 1
    n = i - first
    q = 0
    if i < end and text[i] == point:
        i += 1
        whole = i
        while i < end and u64(text[i] - 48) < u64(10):
            w = u64(w * u64(10) + u64(text[i] - 48))
            i += 1
        q = whole - i
        n -= q
    if n == 0:
        return 0.0, at
    last = i
    if i + 1 < end and (text[i] == 101 or text[i] == 69):
        power, i = _exponent(text, i, end)
        q += power
    value = _scaled(w, q) if n <= 19 else _long(text, first, last, q)
    return -value if negative else value, i


@njit
def _exponent(text: Bytes, at: int, end: int) -> tuple[int, int]:
    """The power after an "e" and the place after it; 0 and the place of the "e" if no digit follows."""
    i = at + 1
    minus = text[i] == 45
    if minus or text[i] == 43:
        i += 1
    if not (i < end and u64(text[i] - 48) < u64(10)):
        return 0, at
    power = 0
    while i < end and u64(text[i] - 48) < u64(10):
        power = min(power * 10 + i64(text[i]) - 48, 1 << 40)  # no text has enough digits to compensate
        i += 1
    return -power if minus else power, i


@njit
def _long(text: Bytes, first: int, last: int, q: int) -> float:
    """Numbers of more than 19 digits, leading zeros included; ``q`` is the power of ten of the last digit."""
    w = u64(0)
    kept = left = 0
    for i in range(first, last):
        if text[i] < 48:  # the decimal point, or comma
            continue
        if kept < 19:
            w = u64(w * u64(10) + u64(text[i] - 48))
            kept += i64(w > u64(0))
        else:
            left += 1
    low, high = _scaled(w, q + left), _scaled(u64(w + u64(1)), q + left)
    if left == 0 or low == high:
        return low
    return _between(text, first, last, q, low)


@njit
def _between(text: Bytes, first: int, last: int, q: int, low: float) -> float:
    """The float64 nearest to the text: ``low`` or the next one, by exact comparison with their midpoint."""
    a, b = np.zeros(_LIMBS, np.uint32), np.zeros(_LIMBS, np.uint32)
    kept = 0
    for i in range(first, last):  # a = the digits
        if text[i] < 48:  # the decimal point, or comma
            continue
        digit = i64(text[i]) - 48
        if kept < _DIGITS:
            kept += 1 if kept or digit else 0
            _times(a, 10, digit)
        else:
            q += 1
            if digit and not a[0] & u32(1):
                a[0] |= u32(1)  # a non-zero rest: above any midpoint that the kept digits equal
    bits = _as_bits(low)
    e = i64(bits >> u64(52))
    m = i64(bits & u64((1 << 52) - 1)) + ((1 << 52) if e else 0)
    p = max(e, 1) - 1075 - 1
    half = 2 * m + 1  # b = the midpoint, half 2^p
    _times(b, 1, half >> 27)
    _times(b, 1 << 27, half & ((1 << 27) - 1))
    _times_power(a if q > 0 else b, 10, abs(q), 9)
    _times_power(b if p > 0 else a, 2, abs(p), 30)
    for i in range(_LIMBS - 1, -1, -1):
        if a[i] != b[i]:
            return _as_float(u64(bits + u64(1))) if a[i] > b[i] else low
    return low if m % 2 == 0 else _as_float(u64(bits + u64(1)))


@njit
def _times(number: NDArray[np.uint32], factor: int, summand: int) -> None:
    carry = summand
    for i in range(number.size):
        carry += i64(number[i]) * factor
        number[i] = u32(carry & 0xFFFFFFFF)
        carry >>= 32


@njit
def _times_power(number: NDArray[np.uint32], base: int, power: int, most: int) -> None:
    """Multiply by a power, at most so much of it at a time that a factor has 30 bits."""
    while power > 0:
        step = min(power, most)
        _times(number, base**step, 0)
        power -= step
