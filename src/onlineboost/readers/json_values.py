"""Values of JSON as features, compiled: numbers, strings, true, false and null."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import hot, lean
from onlineboost.readers.cells import MISSING, NUMBER, TEXT, classify_text, put_cell
from onlineboost.readers.floats import parse_number
from onlineboost.readers.json_strings import copy_string
from onlineboost.readers.rows import (
    CATEGORY,
    ERROR_AT,
    IGNORED,
    LABEL,
    LABEL_AT,
    MAX_LABEL_BYTES,
    TOO_LONG,
    WEIGHT,
    Rows,
    Table,
    in_range,
    known_sign,
)
from onlineboost.readers.scan import Bytes, byte
from onlineboost.readers.status import BAD_NUMBER, BAD_WEIGHT, LARGE_NUMBER, LONG_LABEL, NO_VALUE

_QUOTE, _COMMA, _MINUS, _CLOSE, _CLOSE_LIST = 34, 44, 45, 125, 93


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
            return (-LONG_LABEL if carry[0] == TOO_LONG else k), after
        if role == WEIGHT:
            return -BAD_WEIGHT, i
        if role == IGNORED:
            return k, after
        kind, value, days = (TEXT, 0.0, 0) if role == CATEGORY else classify_text(rows.cell, 1, n)
        return put_cell(rows, k, size, kind, value, days, rows.cell, 1, n), after
    value, after = parse_number(text, i, end)
    number = after > i
    if number:
        if not _is_json_number(text, i, after):
            return -NO_VALUE, i
        if after < end and not _ends_value(byte(text, after)):
            return -BAD_NUMBER, i
    else:
        while after < end and not _ends_value(byte(text, after)):
            after += 1
    if not number:
        known = _is(text, i, after, _TRUE) or _is(text, i, after, _FALSE)
        if not known and not _is(text, i, after, _NULL) and not _is(text, i, after, _NAN):
            return -NO_VALUE, i
    if role == IGNORED:
        return k, after
    if role == LABEL:
        if _is(text, i, after, _NULL):
            return k, after
        if byte(text, i) > 57 and not _is(text, i, after, _TRUE) and not _is(text, i, after, _FALSE):
            return -NO_VALUE, i
        carry[0] = known_sign(rows, text, i, after)
        state[LABEL_AT] = i
        return (-LONG_LABEL if carry[0] == TOO_LONG else k), after
    if number and role != CATEGORY and not in_range(value):
        return -LARGE_NUMBER, i
    if role == WEIGHT:
        if not number or value < 0:
            return -BAD_WEIGHT, i
        carry[1] = value
        return k, after
    true, false = _is(text, i, after, _TRUE), _is(text, i, after, _FALSE)
    missing = _is(text, i, after, _NULL) or _is(text, i, after, _NAN)
    if not (number or true or false or missing):
        return -NO_VALUE, i
    kind = TEXT if role == CATEGORY else MISSING if missing else NUMBER
    if position >= 0 and kind != TEXT:
        size = number_name(rows.scratch, size, position)
    x = value if number else 1.0 if true else 0.0
    return put_cell(rows, k, size, kind, x, 0, text, i, i if missing else after), after


_TRUE, _FALSE, _NULL, _NAN = (np.frombuffer(w, np.uint8) for w in (b"true", b"false", b"null", b"NaN"))


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
def _is(text: Bytes, at: int, end: int, word: Bytes) -> bool:
    if end - at != word.size:
        return False
    for i in range(word.size):
        if text[at + i] != word[i]:
            return False
    return True
