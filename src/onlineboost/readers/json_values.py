"""Values of JSON as features, compiled: numbers, strings without their escapes, true, false and null."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import hot, i64, lean
from onlineboost.data.text import put_character
from onlineboost.readers import status
from onlineboost.readers.cells import (
    MISSING,
    NO_DAY,
    NUMBER,
    TEXT,
    TOO_LARGE,
    classify_date,
    classify_text,
    put_cell,
    put_text,
    put_text_cell,
    put_words,
)
from onlineboost.readers.floats import POINT, parse_number
from onlineboost.readers.rows import (
    CATEGORY,
    DAYS,
    ERROR_AT,
    FEATURE,
    IGNORED,
    LABEL,
    LABEL_AT,
    MAX_LABEL_BYTES,
    MONTHS,
    TOO_LONG,
    WEIGHT,
    WORDS,
    Rows,
    Table,
    in_range,
    known_sign,
)
from onlineboost.readers.scan import Bytes, byte

_QUOTE, _COMMA, _MINUS, _ESCAPE, _CLOSE, _CLOSE_LIST = 34, 44, 45, 92, 125, 93


@lean
def number_name(name: Bytes, size: int, position: int) -> int:
    """Append ".position" to the name; its new size."""
    name[size] = 46
    figures, rest = 1, position // 10
    while rest:
        figures += 1
        rest //= 10
    for f in range(figures):
        name[size + figures - f] = 48 + position % 10
        position //= 10
    return size + 1 + figures


@lean
def put_value(
    text: Bytes,
    i: int,
    end: int,
    rows: Rows,
    table: Table,
    k: int,
    size: int,
    position: int,
    role: int,
    carry: NDArray[Any],
) -> tuple[int, int]:
    """Write a value as features; the number of the next entry, or minus an error status, and the place after it."""
    state = rows.state
    c = byte(text, i)
    if c == _QUOTE:
        rows.cell[0] = _QUOTE
        n, after = copy_string(text, i + 1, end, rows.cell, 1)
        if n < 0:
            state[ERROR_AT] = after
            return n, i
        rows.cell[n] = 0
        if role == LABEL:
            carry[0] = known_sign(rows, rows.cell, 0, n, longest=MAX_LABEL_BYTES + 1)
            state[LABEL_AT] = i
            return (-status.LONG_LABEL if carry[0] == TOO_LONG else k), after
        if role == WEIGHT:
            return -status.BAD_WEIGHT, i
        if role == IGNORED:
            return k, after
        if role == DAYS or role == MONTHS:
            kind, value, days = classify_date(rows.cell, 1, n, role == MONTHS)
            if kind == NO_DAY:
                return -(status.BAD_US_DATE if role == MONTHS else status.BAD_DATE), i
            return put_cell(rows, k, size, kind, value, days, rows.cell, 1, n), after
        if role == WORDS:
            return put_text_cell(rows, k, size, rows.cell, 1, n), after
        kind, value, days = (TEXT, 0.0, 0) if role == CATEGORY else classify_text(rows, size, rows.cell, 1, n, POINT)
        if kind == TEXT and role == FEATURE:
            return put_text(rows, k, size, rows.cell, 1, n), after
        if kind == TOO_LARGE:
            return -status.LARGE_NUMBER, i
        return put_cell(rows, k, size, kind, value, days, rows.cell, 1, n), after
    value, after = parse_number(text, i, end)
    word = _NUMBER
    if after > i:
        if not _is_json_number(text, i, after):
            return -status.NO_VALUE, i
        if after < end and not _ends_value(byte(text, after)):
            return -status.BAD_NUMBER, i
    else:
        while after < end and not _ends_value(byte(text, after)):
            after += 1
        word = _word(text, i, after)
        if word == _NONE:
            return -status.NO_VALUE, i
    if role == IGNORED:
        return k, after
    if role == LABEL:
        if word == _NULL:
            return k, after
        if word == _NAN:
            return -status.NO_VALUE, i
        carry[0] = known_sign(rows, text, i, after)
        state[LABEL_AT] = i
        return (-status.LONG_LABEL if carry[0] == TOO_LONG else k), after
    if word == _NUMBER and role != CATEGORY and role != WORDS and not in_range(value):
        return -status.LARGE_NUMBER, i
    if role == WEIGHT:
        if word != _NUMBER or value < 0:
            return -status.BAD_WEIGHT, i
        carry[1] = value
        return k, after
    missing = word == _NULL or word == _NAN
    if role == WORDS and not missing:
        return put_words(rows, k, size, text, i, after), after
    kind = TEXT if role == CATEGORY else MISSING if missing else NUMBER
    if position >= 0 and kind != TEXT:
        size = number_name(rows.scratch, size, position)
    x = value if word == _NUMBER else 1.0 if word == _TRUE else 0.0
    return put_cell(rows, k, size, kind, x, 0, text, i, i if missing else after), after


_TRUE, _FALSE, _NULL, _NAN, _NONE, _NUMBER = range(6)  # words that are values; another one; a number
_WORDS = np.zeros((4, 5), np.uint8)
for _row, _text in zip(_WORDS, (b"true", b"false", b"null", b"NaN"), strict=True):
    _row[: len(_text)] = [*_text]


@lean
def _is_json_number(text: Bytes, at: int, end: int) -> bool:
    """Whether a number is valid in JSON too: digits on both sides of a point, and no leading zero."""
    at += text[at] == _MINUS
    if not _is_digit(text, at, end) or (text[at] == 48 and _is_digit(text, at + 1, end)):
        return False
    while _is_digit(text, at, end):
        at += 1
    return at == end or text[at] != 46 or _is_digit(text, at + 1, end)


@hot
def _is_digit(text: Bytes, at: int, end: int) -> bool:
    return at < end and 48 <= text[at] <= 57


@hot
def _ends_value(c: int) -> bool:
    return c == _COMMA or c == _CLOSE or c == _CLOSE_LIST or c == 32 or c == 9 or c == 13


@lean
def _word(text: Bytes, at: int, end: int) -> int:
    """Which of the words that are values is here."""
    for w in range(_NONE):
        n = 0
        while n < 5 and at + n < end and 0 != _WORDS[w, n] == text[at + n]:
            n += 1
        if at + n == end and (n == 5 or _WORDS[w, n] == 0):
            return w
    return _NONE


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
            return -status.CONTROL, i
        if c != _ESCAPE:
            out[n] = c
            n += 1
            i += 1
            continue
        if i + 1 >= end:
            return -status.OPEN_QUOTE, i
        c = text[i + 1]
        if c == 117:
            code, i = _unicode(text, i, end)
            if code < 0:
                return -status.BAD_ESCAPE, i
            n = put_character(out, n, code)
            continue
        plain = _escaped(c)
        if plain == 0:
            return -status.BAD_ESCAPE, i
        out[n] = plain
        n += 1
        i += 2
    return -status.OPEN_QUOTE, i


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
