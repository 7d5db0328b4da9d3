"""Numbers with a percent sign, a currency sign or separators of thousands, compiled.

| text | number |
| --- | --- |
| ``12%``, ``12.5 %`` | 12, 12.5 |
| ``$5``, ``-$5``, ``5 €`` | 5, -5, 5 |
| ``1,001.50``, ``1.001,50``, ``1'001.50`` | 1001.5 |
| ``€ 1 001,50``, with a sign alone | 1001.5 |
| ``(1,001.50)``, as in accounts | -1001.5 |

``onlineboost.data.amounts`` is the same for dicts.
"""

from __future__ import annotations

from onlineboost.compiled.jit import hot, lean
from onlineboost.readers.floats import POINT, any_number
from onlineboost.readers.rows import COMMA
from onlineboost.readers.scan import Bytes

_PLUS, _MINUS, _OPEN, _CLOSE, _PERCENT, _SPACE, _APOSTROPHE = 43, 45, 40, 41, 37, 32, 39
_DOLLAR, _EURO, _RUPEE, _POUND, _YEN = 36, 0xE282AC, 0xE282B9, 0xC2A3, 0xC2A5
_WIDE, _NARROW, _QUOTE = 0xC2A0, 0xE280AF, 0xE28099  # spaces that do not break lines; a typographic apostrophe


@hot
def _sign_at(text: Bytes, at: int, end: int) -> tuple[int, int]:
    """A character of up to three bytes, as one number, and its size; 0 and 0 at the end."""
    if at >= end:
        return 0, 0
    c = int(text[at])
    if c < 0x80:
        return c, 1
    if 0xC0 <= c < 0xE0 and at + 1 < end:
        return c << 8 | int(text[at + 1]), 2
    if 0xE0 <= c < 0xF0 and at + 2 < end:
        return c << 16 | int(text[at + 1]) << 8 | int(text[at + 2]), 3
    return c, 1


@hot
def _is_currency(sign: int) -> bool:
    return sign == _DOLLAR or sign == _EURO or sign == _POUND or sign == _YEN or sign == _RUPEE


@hot
def _is_space(sign: int) -> bool:
    return sign == _SPACE or sign == _WIDE or sign == _NARROW


@hot
def _last_sign(text: Bytes, at: int, end: int) -> tuple[int, int]:
    """The last character, and its size."""
    if end - 3 >= at and 0xE0 <= text[end - 3] < 0xF0:
        return _sign_at(text, end - 3, end)
    if end - 2 >= at and 0xC0 <= text[end - 2] < 0xE0:
        return _sign_at(text, end - 2, end)
    return (int(text[end - 1]), 1) if end > at else (0, 0)


@lean
def amount(text: Bytes, at: int, end: int, point: int, out: Bytes, n: int) -> tuple[float, bool]:
    """The number, and whether the text is such a number, but not a plain one; ``out[n:]`` is overwritten."""
    first = int(text[at]) if at < end else 0
    if not (48 <= first <= 57 or first == _DOLLAR or first >= 0xC2 or 40 <= first <= 46):
        return 0.0, False
    negative = unit = signed = False
    if first == _OPEN:
        if text[end - 1] != _CLOSE:
            return 0.0, False
        negative = signed = True
        at, end = at + 1, end - 1
    elif first == _PLUS or first == _MINUS:
        negative, signed = first == _MINUS, True
        at += 1
    sign, size = _sign_at(text, at, end)
    if _is_currency(sign):
        unit = True
        at += size
        sign, size = _sign_at(text, at, end)
        at += size if _is_space(sign) else 0
        if at < end and not signed and (text[at] == _PLUS or text[at] == _MINUS):
            negative = text[at] == _MINUS
            at += 1
    if not unit:
        sign, size = _last_sign(text, at, end)
        if sign == _PERCENT or _is_currency(sign):
            unit = True
            end -= size
            sign, size = _last_sign(text, at, end)
            end -= size if _is_space(sign) else 0
    if at >= end or not 46 <= text[at] <= 57 or text[at] == 47:
        return 0.0, False
    value, good = 0.0, False
    if unit:
        value, after = any_number(text, at, end, point)
        good = after == end
    if not good:
        value, good = _grouped(text, at, end, point, unit, out, n)
    return (-value if negative else value), good


@lean
def _grouped(text: Bytes, at: int, end: int, point: int, unit: bool, out: Bytes, n: int) -> tuple[float, bool]:
    """A number with separators between groups of three digits, and whether it is one."""
    if text[at] == 48:
        return 0.0, False
    m, run, separator, mark = n, 0, 0, 0
    while at < end:
        if 48 <= text[at] <= 57:
            out[m] = text[at]
            m, at, run = m + 1, at + 1, run + 1
            continue
        sign, size = _sign_at(text, at, end)
        whole = run == 3 if separator else 1 <= run <= 3
        if mark or not whole or sign == 0:
            return 0.0, False
        if sign == _QUOTE:
            sign = _APOSTROPHE
        if separator and sign != separator:
            if sign != POINT and sign != COMMA:
                return 0.0, False
            mark = sign
            out[m] = POINT
            m += 1
        else:
            separator = sign
        at, run = at + size, 0
    if separator == 0 or (run == 0 if mark else run != 3):
        return 0.0, False
    if separator == COMMA or separator == POINT:
        if not mark and (separator == COMMA) != (point == POINT):
            return 0.0, False
    elif separator != _APOSTROPHE and not (_is_space(separator) and unit):
        return 0.0, False
    out[m] = 10
    value, after = any_number(out, n, m, POINT)
    return value, after == m
