"""Cells of a table as features, compiled: numbers stay numbers, texts become indicators, dates become parts.

| cell | features |
| --- | --- |
| a number | ``name`` = the number |
| true, false | ``name`` = 1 or 0 |
| a date or a time (ISO 8601) | ``name`` = years since 2000; ``name.month=11``, ``name.weekday=6``, ``name.hour=23`` |
| midnight | the same as its date: no hour |
| any other text | ``name=text`` = 1 |
| missing: empty, nan, the null of JSON and Arrow | ``name`` = NaN; ``name=`` = 1 |
"""

from __future__ import annotations

import numpy as np

from onlineboost.compiled.jit import i64, lean, njit, u64
from onlineboost.data.feature_names import DATE_PARTS
from onlineboost.data.hashing import id_of, name_hash, text_hash
from onlineboost.readers.floats import any_decimal
from onlineboost.readers.rows import Rows, add_name, in_range, is_named, put
from onlineboost.readers.scan import Bytes, byte

NUMBER, TEXT, MISSING, DATETIME, TOO_LARGE = range(5)  # kinds of cells
NO_DATE = -(1 << 40)
NO_TIME = -1
SLOTS = 4  # maximum number of features of a cell
_MONTHS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_PARTS = np.frombuffer("".join(f".{part}=".ljust(9) for part in DATE_PARTS).encode(), np.uint8)  # nine bytes each
_PART_SIZES = np.array([len(part) + 2 for part in DATE_PARTS])
_TRUE, _FALSE, _NAN, _INF, _INFINITY = (
    np.frombuffer(w, np.uint8) for w in (b"true", b"false", b"nan", b"inf", b"infinity")
)


@lean
def put_cell(rows: Rows, k: int, size: int, kind: int, value: float, days: int, text: Bytes, at: int, end: int) -> int:
    """Write the features of a cell as entries from k on; the number of the next entry.

    The column's name is in the scratch memory, ``size`` bytes long. A NUMBER has a value, a TEXT a text, a DATETIME
    days since 1970 and, as its value, seconds of the day or NO_TIME; a MISSING cell has nothing. Midnight is a date
    alone: libraries have no other way to write one.
    """
    scratch = rows.scratch
    parts = 2 if kind == MISSING else 1 if kind != DATETIME else 3 if value <= 0 else 4
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
            x = (days - 10957 + max(value, 0.0) / 86400) / 365.2425
        else:
            for i in range(_PART_SIZES[part - 1]):
                scratch[n] = _PARTS[9 * (part - 1) + i]
                n += 1
            figure = _month(days) if part == 1 else (days + 3) % 7 if part == 2 else i64(value) // 3600
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


@njit
def classify(text: Bytes, at: int, end: int, point: int) -> tuple[int, float, int]:
    """Kind, value and days of a cell whose type is not known; ``point`` is the decimal point of numbers."""
    if at == end or _is_word(text, at, end, _NAN):
        return MISSING, 0.0, 0
    value, after = any_decimal(text, at, end, point)
    if after == end:
        return (NUMBER if in_range(value) else TOO_LARGE), value, 0
    sign = at + (byte(text, at) == 43 or byte(text, at) == 45)
    if _is_word(text, sign, end, _INF) or _is_word(text, sign, end, _INFINITY):
        return TOO_LARGE, 0.0, 0
    if _is_word(text, at, end, _TRUE):
        return NUMBER, 1.0, 0
    if _is_word(text, at, end, _FALSE):
        return NUMBER, 0.0, 0
    return classify_text(text, at, end)


@njit
def classify_text(text: Bytes, at: int, end: int) -> tuple[int, float, int]:
    """Kind, value and days of a string: a date or time if it looks like one."""
    if at == end:
        return MISSING, 0.0, 0
    days, seconds = parse_datetime(text, at, end)
    return (TEXT, 0.0, 0) if days == NO_DATE else (DATETIME, float(seconds), days)


@njit
def _is_word(text: Bytes, at: int, end: int, word: Bytes) -> bool:
    """Whether the text is this word, in lower or upper case."""
    if end - at != word.size:
        return False
    for i in range(word.size):
        if text[at + i] | 32 != word[i]:
            return False
    return True


@njit
def parse_datetime(text: Bytes, at: int, end: int) -> tuple[int, int]:
    """Days since 1970 and seconds of the day of ``2026-11-15`` or ``2026-11-15T23:59:59.5Z``, in UTC.

    NO_DATE if it is neither; NO_TIME if it is a date alone.
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
    seconds = min(hour * 3600 + minute * 60 + second, 86399)  # a leap second is the last of its day
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
    return (days, seconds) if i == end else (NO_DATE, NO_TIME)


@njit
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


@njit
def _month(days: int) -> int:
    """The month of a day; the inverse of ``days_of``."""
    z = days + 719468
    day_of_era = z % 146097
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    since_march = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    return ((5 * since_march + 2) // 153 + 2) % 12 + 1
