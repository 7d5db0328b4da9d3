"""Cells of a table as features, compiled: numbers stay numbers, texts become indicators, dates become parts.

| cell | features |
| --- | --- |
| a number, with a percent or currency sign or separators of thousands too | ``name`` = the number |
| true, false | ``name`` = 1 or 0 |
| a date or a time (ISO 8601) | ``name`` = years since 2000; ``name.month=11``, ``name.weekday=6``, ``name.hour=23`` |
| midnight | the same as its date: no hour |
| any other text | ``name=text`` = 1 |
| any cell of a column of text | ``name=word`` = 1 for each of its words |
| missing: empty, nan, NA and the like, the null of JSON and Arrow | ``name`` = NaN; ``name=`` = 1 |
"""

from __future__ import annotations

import numpy as np

from onlineboost.compiled.jit import lean, njit, u64
from onlineboost.data.amounts import MISSING_WORDS
from onlineboost.data.dates import NO_DATE, date_part, n_date_parts, parse_datetime, parse_ordered, years_of
from onlineboost.data.feature_names import DATE_PARTS
from onlineboost.data.hashing import id_of, name_hash, text_hash
from onlineboost.data.text import SHORTEST, is_text, next_word
from onlineboost.readers.amounts import amount
from onlineboost.readers.floats import any_number
from onlineboost.readers.rows import FINDS, READING, Rows, add_name, in_range, is_named, is_sighted, put, tell_cell
from onlineboost.readers.scan import Bytes, byte

NUMBER, TEXT, MISSING, DATETIME, TOO_LARGE, NO_DAY = range(6)  # kinds of cells; the last two are errors
SLOTS = 4  # maximum number of features of a cell
_PARTS = np.frombuffer("".join(f".{part}=".ljust(9) for part in DATE_PARTS).encode(), np.uint8)  # nine bytes each
_PART_SIZES = np.array([len(part) + 2 for part in DATE_PARTS])
_TRUE, _FALSE, NAN, _INF, _INFINITY, _YES, _NO = (
    np.array([*w], np.uint8) for w in (b"true", b"false", b"nan", b"inf", b"infinity", b"yes", b"no")
)

_MISSING = np.zeros((len(MISSING_WORDS), 5), np.uint8)
for _row, _word in zip(_MISSING, sorted(MISSING_WORDS), strict=True):
    _row[: len(_word)] = [*_word.encode()]


@lean
def put_cell(rows: Rows, k: int, size: int, kind: int, value: float, days: int, text: Bytes, at: int, end: int) -> int:
    """Write the features of a cell as entries from k on; the number of the next entry.

    The column's name is in the scratch memory, ``size`` bytes long. A NUMBER has a value, a TEXT a text, a DATETIME
    days since 1970 and, as its value, seconds of the day or NO_TIME; a MISSING cell has nothing.
    """
    scratch = rows.scratch
    parts = 2 if kind == MISSING else 1 if kind != DATETIME else 1 + n_date_parts(value)
    for part in range(parts):
        n = size
        x = 1.0
        if kind == NUMBER:
            x = value
        elif kind == MISSING and part == 0:
            x = np.nan
        elif kind == TEXT or kind == MISSING:
            scratch[n] = 61
            n += 1
            if kind == TEXT:
                for i in range(at, end):
                    scratch[n + i - at] = text[i]
                n += end - at
        elif part == 0:
            x = years_of(days, value)
        else:
            for i in range(_PART_SIZES[part - 1]):
                scratch[n] = _PARTS[9 * (part - 1) + i]
                n += 1
            figure = date_part(days, value, part - 1)
            if figure >= 10:
                scratch[n] = 48 + figure // 10
                n += 1
            scratch[n] = 48 + figure % 10
            n += 1
        # A name with an equals sign is no number: no need to check.
        hashed = text_hash(scratch, 0, n, u64(0)) if n > size else name_hash(scratch, 0, n, u64(0))
        index = id_of(hashed)
        if np.float32(x) != 0 and not is_named(rows, index):
            add_name(rows, index, scratch, 0, n)
        k = put(rows, k, index, x)
    return k


@lean
def put_words(rows: Rows, k: int, size: int, text: Bytes, at: int, end: int) -> int:
    """Write the words of a cell as entries from k on; the number of the next entry.

    The column's name is in the scratch memory, ``size`` bytes long.
    """
    scratch = rows.scratch
    scratch[size] = 61
    phase = 0
    while True:
        n, at, phase = next_word(text, at, end, scratch, size + 1, phase)
        if n == size + 1:
            return k
        index = id_of(text_hash(scratch, 0, n, u64(0)))
        if not is_named(rows, index):
            add_name(rows, index, scratch, 0, n)
        k = put(rows, k, index, 1.0)


@lean
def put_string(rows: Rows, k: int, size: int, text: Bytes, at: int, end: int) -> int:
    """Write a string as a category, yes and no in lower case; the number of the next entry."""
    if rows.state[READING]:
        if is_word(text, at, end, _YES):
            return put_cell(rows, k, size, TEXT, 0.0, 0, _YES, 0, 3)
        if is_word(text, at, end, _NO):
            return put_cell(rows, k, size, TEXT, 0.0, 0, _NO, 0, 2)
    return put_cell(rows, k, size, TEXT, 0.0, 0, text, at, end)


@lean
def put_text_cell(rows: Rows, k: int, size: int, text: Bytes, at: int, end: int) -> int:
    """Write a string of a column of text; the number of the next entry."""
    if at == end or is_missing(text, at, end):
        return put_cell(rows, k, size, MISSING, 0.0, 0, text, at, end)
    return put_words(rows, k, size, text, at, end)


@lean
def id_of_category(scratch: Bytes, size: int, text: Bytes, at: int, end: int) -> int:
    """The id of a cell as a category; the column's name is in the scratch memory."""
    scratch[size] = 61
    for i in range(at, end):
        scratch[size + 1 + i - at] = text[i]
    return id_of(text_hash(scratch, 0, size + 1 + end - at, u64(0)))


@lean
def put_text(rows: Rows, k: int, size: int, text: Bytes, at: int, end: int) -> int:
    """Write a string of a column that is not yet text; the number of the next entry.

    A new cell of at least four words becomes a category and its words.
    """
    first = k
    if end - at <= 3:
        return put_string(rows, k, size, text, at, end)
    k = put_cell(rows, k, size, TEXT, 0.0, 0, text, at, end)
    if end - at < SHORTEST or rows.sighted.size == 0 or not is_text(text, at, end):
        return k
    index = rows.indices[first]
    if is_sighted(rows, index):
        return k
    if rows.state[FINDS]:
        tell_cell(rows, index, rows.scratch, size)
    return put_words(rows, k, size, text, at, end)


@lean
def classify(rows: Rows, size: int, text: Bytes, at: int, end: int, point: int) -> tuple[int, float, int]:
    """Kind, value and days of a cell of unknown type; ``point`` is the decimal point of numbers."""
    if at == end or is_word(text, at, end, NAN):
        return MISSING, 0.0, 0
    value, after = any_number(text, at, end, point)
    if after == end:
        return (NUMBER if in_range(value) else TOO_LARGE), value, 0
    if is_infinite(text, at, end):
        return TOO_LARGE, 0.0, 0
    if is_word(text, at, end, _TRUE):
        return NUMBER, 1.0, 0
    if is_word(text, at, end, _FALSE):
        return NUMBER, 0.0, 0
    return classify_text(rows, size, text, at, end, point)


@lean
def classify_text(rows: Rows, size: int, text: Bytes, at: int, end: int, point: int) -> tuple[int, float, int]:
    """Kind, value and days of a string: a date, a time, or a number with a sign or separators if it looks like one.

    The scratch memory after the column's name, ``size`` bytes long, is overwritten.
    """
    if at == end:
        return MISSING, 0.0, 0
    days, seconds = parse_datetime(text, at, end)
    if days != NO_DATE:
        return DATETIME, float(seconds), days
    if not rows.state[READING]:
        return TEXT, 0.0, 0
    if end - at <= 4 and is_missing(text, at, end):
        return MISSING, 0.0, 0
    if 58 <= text[at] < 0xC2:  # most words begin with a letter
        return TEXT, 0.0, 0
    value, good = amount(text, at, end, point, rows.scratch, size)
    if good:
        return (NUMBER if in_range(value) else TOO_LARGE), value, 0
    return TEXT, 0.0, 0


@njit
def classify_date(text: Bytes, at: int, end: int, month_first: bool) -> tuple[int, float, int]:
    """Kind, value and days of a cell in a column of dates in this order."""
    if at == end or is_missing(text, at, end):
        return MISSING, 0.0, 0
    days, seconds = parse_datetime(text, at, end)
    if days == NO_DATE:
        days, seconds = parse_ordered(text, at, end, month_first)
    return (DATETIME, float(seconds), days) if days != NO_DATE else (NO_DAY, 0.0, 0)


@lean
def is_missing(text: Bytes, at: int, end: int) -> bool:
    """Whether the text is one of ``MISSING_WORDS``."""
    if end - at > _MISSING.shape[1] - 1:
        return False
    for w in range(_MISSING.shape[0]):
        n = 0
        while at + n < end and 0 != _MISSING[w, n] == text[at + n]:
            n += 1
        if at + n == end and _MISSING[w, n] == 0:
            return True
    return False


@njit
def is_infinite(text: Bytes, at: int, end: int) -> bool:
    """Whether the text is inf or infinity, with or without a sign."""
    at += at < end and (byte(text, at) == 43 or byte(text, at) == 45)
    return is_word(text, at, end, _INF) or is_word(text, at, end, _INFINITY)


@njit
def is_word(text: Bytes, at: int, end: int, word: Bytes) -> bool:
    """Whether the text is this word, in lower or upper case."""
    if end - at != word.size:
        return False
    for i in range(word.size):
        if text[at + i] | 32 != word[i]:
            return False
    return True
