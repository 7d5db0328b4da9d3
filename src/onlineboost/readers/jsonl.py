"""JSON lines: one object per line.

Members of objects within are ``outer.inner``; numbers in lists are ``name.0``, ``name.1`` and so on; strings in lists
are indicators ``name=text``, in any number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import hot, i64, lean, njit
from onlineboost.readers.cells import CATEGORY as KIND_CATEGORY
from onlineboost.readers.cells import MISSING, NUMBER, classify_text, put_cell
from onlineboost.readers.faults import (
    BAD_ESCAPE,
    BAD_NUMBER,
    BAD_WEIGHT,
    CONTROL,
    FULL,
    LARGE_NUMBER,
    LIST_LABEL,
    LONG_LABEL,
    MORE,
    NO_COMMA,
    NO_KEY,
    NO_LABEL,
    NO_OBJECT,
    NO_VALUE,
    OK,
    OPEN_QUOTE,
    TOO_DEEP,
    TRAILING,
)
from onlineboost.readers.floats import parse_number
from onlineboost.readers.rows import (
    AT,
    CATEGORY,
    END,
    ENTRIES,
    FAULT,
    FEATURE,
    IGNORED,
    LABEL,
    LABEL_AT,
    LABEL_SIZE,
    LAST,
    LINE,
    LONGEST_LABEL,
    NAME_BYTES,
    NAMES,
    ROWS,
    WEIGHT,
    Rows,
    Table,
    finish,
    good,
    settled,
    sign_of,
)
from onlineboost.readers.words import Bytes, byte, line_end

_QUOTE, _COMMA, _COLON, _ESCAPE, _MINUS = 34, 44, 58, 92, 45
_OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST = 123, 125, 91, 93
_DEPTH = 32
_BEGUN, _AFTER, _NEXT = 0, 1, 2  # of a bracket: just opened, after a member, after a comma


@njit
def parse(text: Bytes, rows: Rows, table: Table) -> int:
    state = rows.state
    stack = np.empty((_DEPTH, 2), np.int64)  # of each open bracket: length of the name before it; -1 or list position
    carry = np.empty(2)  # label and weight
    while state[ROWS] < rows.y.size:
        at = state[AT]
        stop = line_end(text, at, state[END])
        if at == state[END] or (stop == state[END] and not state[LAST]):
            return MORE
        names, name_bytes = state[NAMES], state[NAME_BYTES]
        first = _skip(text, at, stop)
        status = OK if first == stop else _line(text, first, stop, rows, table, stack, carry)
        status = settled(rows, status, names, name_bytes)
        if status != OK:
            return status
        state[AT] = min(stop + 1, state[END])
        state[LINE] += 1
    return FULL


@hot
def _skip(text: Bytes, at: int, end: int) -> int:
    while at < end and (byte(text, at) == 32 or byte(text, at) == 9 or byte(text, at) == 13):
        at += 1
    return at


@hot
def _line(text: Bytes, at: int, end: int, rows: Rows, table: Table, stack: NDArray[Any], carry: NDArray[Any]) -> int:
    """The name of the member at hand grows and shrinks at the beginning of the scratch memory."""
    state = rows.state
    state[FAULT] = at
    if byte(text, at) != _OPEN:
        return NO_OBJECT
    carry[0], carry[1] = np.nan, 1.0
    k = state[ENTRIES]
    depth, phase, size = 0, _BEGUN, 0
    stack[0, 0], stack[0, 1] = 0, -1
    i = at + 1
    while depth >= 0:
        i = _skip(text, i, end)
        state[FAULT] = i
        if i == end:
            return NO_COMMA if phase == _AFTER else NO_VALUE
        c = byte(text, i)
        listed = stack[depth, 1] >= 0
        if phase != _NEXT and c == (_CLOSE_LIST if listed else _CLOSE):
            i += 1
            depth -= 1
            phase = _AFTER
            continue
        if phase == _AFTER:
            if c != _COMMA:
                return NO_COMMA
            i += 1
            phase = _NEXT
            if listed:
                stack[depth, 1] += 1
            continue
        size = stack[depth, 0]
        if not listed:
            if c != _QUOTE:
                return NO_KEY
            if depth:
                rows.scratch[size] = 46
                size += 1
            size, i = _string(text, i + 1, end, rows.scratch, size)
            if size < 0:
                state[FAULT] = i
                return -size
            i = _skip(text, i, end)
            if i == end or byte(text, i) != _COLON:
                state[FAULT] = i
                return NO_VALUE
            i = _skip(text, i + 1, end)
            state[FAULT] = i
            if i == end:
                return NO_VALUE
            c = byte(text, i)
        phase = _AFTER
        role = _role(rows.scratch, size, table)
        if c == _OPEN or c == _OPEN_LIST:
            if role == LABEL or role == WEIGHT:
                return LIST_LABEL
            if listed:
                size = _number_name(rows.scratch, size, stack[depth, 1])
            depth += 1
            if depth == _DEPTH:
                return TOO_DEEP
            stack[depth, 0], stack[depth, 1] = size, (0 if c == _OPEN_LIST else -1)
            phase = _BEGUN
            i += 1
            continue
        if listed and (role == LABEL or role == WEIGHT):
            return LIST_LABEL
        position = stack[depth, 1]
        k, i = _scalar(text, i, end, rows, table, k, size, position, role, carry)
        if k < 0:
            return -k
    i = _skip(text, i, end)
    state[FAULT] = i
    if i < end:
        return TRAILING
    state[FAULT] = at
    if table.labelled and np.isnan(carry[0]):
        return NO_LABEL
    return finish(rows, k, carry[0], carry[1])


@lean
def _role(name: Bytes, size: int, table: Table) -> int:
    for c in range(table.role.size):
        first = table.name_at[c]
        length = table.name_at[c + 1] - first
        within = table.role[c] == IGNORED and length < size and name[length] == 46  # the object is ignored
        if length == size or within:
            same = 0
            while same < length and table.name_text[first + same] == name[same]:
                same += 1
            if same == length:
                return table.role[c]
    return FEATURE


@lean
def _number_name(name: Bytes, size: int, position: int) -> int:
    """Append ".position" to the name."""
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
def _scalar(
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
    """Entries after this value and the place after it; or a fault with a minus."""
    state = rows.state
    c = byte(text, i)
    if c == _QUOTE:
        rows.cell[0] = _QUOTE
        n, after = _string(text, i + 1, end, rows.cell, 1)
        if n < 0:
            state[FAULT] = after
            return n, i
        rows.cell[n] = 0
        if role == LABEL:
            carry[0] = sign_of(rows, rows.cell, 0, n)
            state[LABEL_AT] = i
            return _labelled(rows, k, carry[0], 1), after
        if role == WEIGHT:
            return -BAD_WEIGHT, i
        if role == IGNORED:
            return k, after
        kind, value, days = (KIND_CATEGORY, 0.0, 0) if role == CATEGORY else classify_text(rows.cell, 1, n)
        return put_cell(rows, k, table.mask, size, kind, value, days, rows.cell, 1, n), after
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
        carry[0] = sign_of(rows, text, i, after)
        state[LABEL_AT] = i
        return _labelled(rows, k, carry[0], 0), after
    if number and not good(value):
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
    kind = MISSING if missing else KIND_CATEGORY if role == CATEGORY else NUMBER
    if position >= 0 and kind != KIND_CATEGORY:
        size = _number_name(rows.scratch, size, position)
    x = value if number else 1.0 if true else 0.0
    return put_cell(rows, k, table.mask, size, kind, x, 0, text, i, after), after


_TRUE, _FALSE, _NULL, _NAN = (np.frombuffer(w, np.uint8) for w in (b"true", b"false", b"null", b"NaN"))


@lean
def _is_json_number(text: Bytes, at: int, end: int) -> bool:
    """Whether a number is one by JSON's rules too: digits before and after a point, and no zero in front of others."""
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
def _labelled(rows: Rows, k: int, sign: float, extra: int) -> int:
    return -LONG_LABEL if sign == 0 and rows.state[LABEL_SIZE] > LONGEST_LABEL + extra else k


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


@lean
def _string(text: Bytes, i: int, end: int, out: Bytes, n: int) -> tuple[int, int]:
    """Copy a string to ``out[n:]`` without its escapes; the new length and the place after the closing quote.

    Or a fault with a minus, and its place.
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
    """What the letter after a backslash stands for, 0 if for nothing."""
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
    """The character of ``\\u1234``, or of two that belong together, and the place after it; -1 if there is none."""
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
