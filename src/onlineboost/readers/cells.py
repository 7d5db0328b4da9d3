"""Cells of a table as features: numbers stay numbers, words become indicators, dates their parts.

| cell | features |
| --- | --- |
| a number | ``name`` = the number |
| true, false | ``name`` = 1 or 0 |
| a date or a time (ISO 8601) | ``name`` = years since 2000; ``name.month=11``, ``name.weekday=6``, ``name.hour=23`` |
| any other text | ``name=text`` = 1 |
| missing: empty, null, nan | ``name=`` = 1 |
"""

from __future__ import annotations

import numpy as np

from onlineboost._jit import hot, i64, lean, njit
from onlineboost.readers.faults import LARGE_NUMBER
from onlineboost.readers.floats import any_number
from onlineboost.readers.rows import Rows, good, put_category, put_number
from onlineboost.readers.words import Bytes, byte

NO_DATE = -(1 << 40)
NO_TIME = -1
SLOTS = 4  # the most features that a cell can become
_MONTHS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_DOT_MONTH, _DOT_WEEKDAY, _DOT_HOUR = (np.frombuffer(part, np.uint8) for part in (b".month", b".weekday", b".hour"))


@lean
def put_cell(rows: Rows, k: int, mask: int, size: int, text: Bytes, at: int, end: int) -> int:
    """The features of a cell of unknown type; the column's name is in the scratch memory, ``size`` bytes long.

    The number of the next entry, or a fault with a minus.
    """
    if at == end:
        return put_category(rows, k, mask, size, text, at, end)
    value, after = any_number(text, at, end)
    if after == end:
        return put_number(rows, k, mask, rows.scratch, 0, size, value) if good(value) else -LARGE_NUMBER
    return put_word(rows, k, mask, size, text, at, end)


@lean
def put_word(rows: Rows, k: int, mask: int, size: int, text: Bytes, at: int, end: int) -> int:
    """``put_cell`` for what is no number."""
    if _is(text, at, end, 110, 97, 110):  # nan
        return put_category(rows, k, mask, size, text, at, at)
    sign = at + (byte(text, at) == 43 or byte(text, at) == 45)
    if _is(text, sign, end, 105, 110, 102) or _is_word(text, sign, end, _INFINITY):
        return -LARGE_NUMBER
    if _is_word(text, at, end, _TRUE):
        return put_number(rows, k, mask, rows.scratch, 0, size, 1.0)
    if _is_word(text, at, end, _FALSE):
        return put_number(rows, k, mask, rows.scratch, 0, size, 0.0)
    return put_text(rows, k, mask, size, text, at, end)


@lean
def put_text(rows: Rows, k: int, mask: int, size: int, text: Bytes, at: int, end: int) -> int:
    """The features of a string: a date if it looks like one."""
    days, seconds = parse_moment(text, at, end)
    if days != NO_DATE:
        return put_moment(rows, k, mask, size, days, seconds)
    return put_category(rows, k, mask, size, text, at, end)


_TRUE, _FALSE, _INFINITY = (np.frombuffer(w, np.uint8) for w in (b"true", b"false", b"infinity"))


@hot
def _is(text: Bytes, at: int, end: int, a: int, b: int, c: int) -> bool:
    """Whether the text is this word of three letters, in small or capital letters."""
    return end - at == 3 and text[at] | 32 == a and text[at + 1] | 32 == b and text[at + 2] | 32 == c


@hot
def _is_word(text: Bytes, at: int, end: int, word: Bytes) -> bool:
    if end - at != word.size:
        return False
    for i in range(word.size):
        if text[at + i] | 32 != word[i]:
            return False
    return True


@lean
def parse_moment(text: Bytes, at: int, end: int) -> tuple[int, int]:
    """Days since 1970 and seconds of the day of ``2026-11-15`` or ``2026-11-15T23:59:59.5Z``; an offset leads to UTC.

    NO_DATE if it is none; NO_TIME if it is a date alone.
    """
    if end - at < 10 or text[at + 4] != 45 or text[at + 7] != 45:
        return NO_DATE, NO_TIME
    year, month, day = _pair(text, at) * 100 + _pair(text, at + 2), _pair(text, at + 5), _pair(text, at + 8)
    if year < 0 or not 1 <= month <= 12 or _pair(text, at) < 0 or _pair(text, at + 2) < 0:
        return NO_DATE, NO_TIME
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= day <= _MONTHS[month - 1] + leap:
        return NO_DATE, NO_TIME
    days = days_of(year, month, day)
    i = at + 10
    if i == end:
        return days, NO_TIME
    if (text[i] != 84 and text[i] != 32) or end - i < 6 or text[i + 3] != 58:
        return NO_DATE, NO_TIME
    hour, minute, second = _pair(text, i + 1), _pair(text, i + 4), 0
    i += 6
    if i < end and text[i] == 58:
        if end - i < 3:
            return NO_DATE, NO_TIME
        second = _pair(text, i + 1)
        i += 3
        if i < end and text[i] == 46:
            i += 1
            first = i
            while i < end and 48 <= text[i] <= 57:
                i += 1
            if i == first:
                return NO_DATE, NO_TIME
    if not (0 <= hour <= 23 and 0 <= minute <= 59 and 0 <= second <= 60):
        return NO_DATE, NO_TIME
    seconds = hour * 3600 + minute * 60 + second
    if i < end and text[i] == 90:
        i += 1
    elif i < end and (text[i] == 43 or text[i] == 45):
        colon = i + 3 < end and text[i + 3] == 58
        if end - i != 5 + colon:
            return NO_DATE, NO_TIME
        hours, minutes = _pair(text, i + 1), _pair(text, i + 3 + colon)
        if not (0 <= hours <= 23 and 0 <= minutes <= 59):
            return NO_DATE, NO_TIME
        offset = hours * 3600 + minutes * 60
        seconds -= offset if text[i] == 43 else -offset
        days += seconds // 86400
        seconds %= 86400
        i = end
    return (days, min(seconds, 86399)) if i == end else (NO_DATE, NO_TIME)


@lean
def _pair(text: Bytes, at: int) -> int:
    """Two digits, or a large negative number."""
    a, b = i64(text[at]) - 48, i64(text[at + 1]) - 48
    return a * 10 + b if 0 <= a <= 9 and 0 <= b <= 9 else -(1 << 20)


@njit
def days_of(year: int, month: int, day: int) -> int:
    """Days since 1 January 1970: years begin in March, so that a leap day comes last."""
    y = year - (month <= 2)
    since_march = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return 365 * y + y // 4 - y // 100 + y // 400 + since_march - 719468


@lean
def put_moment(rows: Rows, k: int, mask: int, size: int, days: int, seconds: int) -> int:
    """A date as years since 2000 and as indicators of month, weekday (0: Monday) and, if there is a time, hour."""
    years = (days - 10957 + max(seconds, 0) / 86400) / 365.2425
    k = put_number(rows, k, mask, rows.scratch, 0, size, years)
    k = _put_part(rows, k, mask, size, _DOT_MONTH, _month(days))
    k = _put_part(rows, k, mask, size, _DOT_WEEKDAY, (days + 3) % 7)
    return k if seconds == NO_TIME else _put_part(rows, k, mask, size, _DOT_HOUR, seconds // 3600)


@njit
def _month(days: int) -> int:
    """The month of a day, by the inverse of ``days_of``."""
    z = days + 719468
    day_of_era = z % 146097
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    since_march = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    return ((5 * since_march + 2) // 153 + 2) % 12 + 1


@lean
def _put_part(rows: Rows, k: int, mask: int, size: int, part: Bytes, value: int) -> int:
    for i in range(part.size):
        rows.scratch[size + i] = part[i]
    at = n = size + part.size + 8  # the figures are written where they are not in the way of the name
    if value >= 10:
        rows.scratch[n] = 48 + value // 10
        n += 1
    rows.scratch[n] = 48 + value % 10
    return put_category(rows, k, mask, size + part.size, rows.scratch, at, n + 1)
