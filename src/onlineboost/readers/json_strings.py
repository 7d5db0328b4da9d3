"""JSON strings, compiled: copied without their escapes."""

from __future__ import annotations

from onlineboost.compiled.jit import hot, i64, lean
from onlineboost.readers.scan import Bytes
from onlineboost.readers.status import BAD_ESCAPE, CONTROL, OPEN_QUOTE

_QUOTE, _ESCAPE = 34, 92


@lean
def copy_string(text: Bytes, i: int, end: int, out: Bytes, n: int) -> tuple[int, int]:
    """Copy a string to ``out[n:]`` without escapes; the new length and the place after the closing quote.

    On error: minus the status, and the place of the error.
    """
    while i < end:
        c = text[i]
        if c == _QUOTE:
            return n, i + 1
        if c < 32:
            return -CONTROL, i
        if c != _ESCAPE:
            out[n] = c
            n += 1
            i += 1
            continue
        if i + 1 >= end:
            return -OPEN_QUOTE, i
        c = text[i + 1]
        if c == 117:
            code, i = _unicode(text, i, end)
            if code < 0:
                return -BAD_ESCAPE, i
            n = _utf8(out, n, code)
            continue
        plain = _escaped(c)
        if plain == 0:
            return -BAD_ESCAPE, i
        out[n] = plain
        n += 1
        i += 2
    return -OPEN_QUOTE, i


@hot
def _escaped(c: int) -> int:
    """The character that a backslash and this letter stand for; 0 if none."""
    if c == 34 or c == 92 or c == 47:
        return c
    if c == 98:
        return 8
    if c == 102:
        return 12
    if c == 110:
        return 10
    if c == 114:
        return 13
    return 9 if c == 116 else 0


@lean
def _unicode(text: Bytes, i: int, end: int) -> tuple[int, int]:
    """The code point of ``\\u1234``, or of a surrogate pair, and the place after it; -1 if it is invalid."""
    code = _hex(text, i + 2, end)
    if 0xD800 <= code < 0xDC00 and i + 7 < end and text[i + 6] == _ESCAPE and text[i + 7] == 117:
        low = _hex(text, i + 8, end)
        if 0xDC00 <= low < 0xE000:
            return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00), i + 12
    if code < 0 or 0xD800 <= code < 0xE000:
        return -1, i
    return code, i + 6


@lean
def _hex(text: Bytes, at: int, end: int) -> int:
    if at + 4 > end:
        return -1
    code = 0
    for i in range(at, at + 4):
        c = i64(text[i])
        if 48 <= c <= 57:
            code = code * 16 + c - 48
        elif 97 <= c | 32 <= 102:
            code = code * 16 + (c | 32) - 87
        else:
            return -1
    return code


@lean
def _utf8(out: Bytes, n: int, code: int) -> int:
    if code < 0x80:
        out[n] = code
        return n + 1
    if code < 0x800:
        out[n] = 0xC0 | code >> 6
    elif code < 0x10000:
        out[n] = 0xE0 | code >> 12
    else:
        out[n] = 0xF0 | code >> 18
    more = 1 if code < 0x800 else 2 if code < 0x10000 else 3
    for m in range(more, 0, -1):
        out[n + 1 + more - m] = 0x80 | (code >> 6 * (m - 1)) & 63
    return n + 1 + more
