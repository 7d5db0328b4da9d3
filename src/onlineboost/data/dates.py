"""Dates and times of text, compiled."""

from __future__ import annotations

import numpy as np

from onlineboost.compiled.jit import hot, i64, njit
from onlineboost.data.hashing import Bytes

NO_DATE = -(1 << 40)
NO_TIME = -1
ISO, DAY_FIRST, MONTH_FIRST = range(3)  # orders of dates
_MONTHS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


def looks_like_date(text: str) -> bool:
    """Whether a text has the hyphens of a date."""
    return text[4:5] == "-" and text[7:8] == "-"


def date_features(text: str, order: int = ISO) -> tuple[float, tuple[int, ...]] | None:
    """Years since 2000, and the numbers of ``DATE_PARTS``; None if the text is no date.

    >>> date_features("2000-01-01T12:30"), date_features("soon"), date_features("1/1/2000 12:30", DAY_FIRST)
    ((0.0014259932328065145, (1, 5, 12)), None, (0.0014259932328065145, (1, 5, 12)))
    """
    encoded = text.encode()
    years, n, *parts = _features(np.frombuffer(encoded, np.uint8), len(encoded), order)
    return (years, tuple(parts[:n])) if n else None


@njit
def _features(text: Bytes, size: int, order: int) -> tuple[float, int, int, int, int]:
    days, time = parse_datetime(text, 0, size)
    if days == NO_DATE and order != ISO:
        days, time = parse_ordered(text, 0, size, order == MONTH_FIRST)
    if days == NO_DATE:
        return 0.0, 0, 0, 0, 0
    seconds = float(time)
    parts = date_part(days, seconds, 0), date_part(days, seconds, 1), date_part(days, seconds, 2)
    return years_of(days, seconds), n_date_parts(seconds), *parts


@hot
def years_of(days: int, seconds: float) -> float:
    """Years since 2000."""
    return (days - 10957 + max(seconds, 0.0) / 86400) / 365.2425


@hot
def n_date_parts(seconds: float) -> int:
    """Number of parts of a date. Midnight has no hour, since libraries write dates without a time as midnight."""
    return 2 if seconds <= 0 else 3


@hot
def date_part(days: int, seconds: float, part: int) -> int:
    """A number of ``DATE_PARTS``: month, day of the week from 0 for Monday, hour."""
    return month_of(days) if part == 0 else (days + 3) % 7 if part == 1 else i64(seconds) // 3600


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
    if not _is_day(year, month, day):
        return NO_DATE, NO_TIME
    return _with_time(text, at + 10, end, days_of(year, month, day))


@njit
def parse_ordered(text: Bytes, at: int, end: int, month_first: bool) -> tuple[int, int]:
    """``parse_datetime`` of ``15/11/2026``, or with the month first, with slashes, points or hyphens."""
    first, i = _short(text, at, end)
    second, j = _short(text, i + 1, end)
    if first < 0 or second < 0 or end - j < 5 or text[i] != text[j] or text[i] not in (45, 46, 47):
        return NO_DATE, NO_TIME
    month, day = (first, second) if month_first else (second, first)
    year = _pair(text, j + 1) * 100 + _pair(text, j + 3)
    if _pair(text, j + 1) < 0 or _pair(text, j + 3) < 0 or not 1 <= month <= 12:
        return NO_DATE, NO_TIME
    if not _is_day(year, month, day):
        return NO_DATE, NO_TIME
    return _with_time(text, j + 5, end, days_of(year, month, day))


@njit
def _is_day(year: int, month: int, day: int) -> bool:
    """Whether the month has such a day."""
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return bool(1 <= day <= _MONTHS[month - 1] + leap)


@njit
def _short(text: Bytes, at: int, end: int) -> tuple[int, int]:
    """A number of one or two digits, or -1, and where it ends."""
    number, i = 0, at
    while i < end and i < at + 2 and 48 <= text[i] <= 57:
        number = number * 10 + i64(text[i]) - 48
        i += 1
    return (number if i > at else -1), i


@njit
def _with_time(text: Bytes, i: int, end: int, days: int) -> tuple[int, int]:
    """Days and seconds in UTC of a date and what follows it."""
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
def month_of(days: int) -> int:
    """The month of a day; the inverse of ``days_of``."""
    z = days + 719468
    day_of_era = z % 146097
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    since_march = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    return ((5 * since_march + 2) // 153 + 2) % 12 + 1
