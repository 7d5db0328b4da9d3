"""Every text parser again, slowly and literally, on a whole text: no compiled code, no buffers, Python's own numbers.

``read(format, text, ...)`` gives the rows, the names of features in the order in which they were met, and the
refusals: the first alone, or with ``skip`` one for each record left out. ``tests/readers/test_readers_text.py`` and
``fuzz/parsers.py`` compare the compiled parsers with it.
"""

from __future__ import annotations

import calendar
import json
import math
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
TIME = rb"(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:(Z)|([+-])(\d\d):?(\d\d))?)?"
DATE = re.compile(rb"(\d{4})-(\d\d)-(\d\d)" + TIME)
ORDERED = re.compile(
    rb"(?P<first>\d{1,2})(?P<mark>[/.-])(?P<second>\d{1,2})(?P=mark)(?P<year>\d{4})(?P<time>.*)", re.DOTALL
)
MISSING = [
    b"NA",
    b"N/A",
    b"n/a",
    b"#N/A",
    b"#NA",
    b"<NA>",
    b"NULL",
    b"null",
    b"None",
    b"NaN",
    b"nan",
    b"-",
    b"--",
    b"?",
]
LARGEST = 1e18
LONGEST_LABEL = 64
MOST_SPELLINGS = 1024
DEEPEST = 32
FEATURE, LABEL, WEIGHT, IGNORED, CATEGORY = "feature", "label", "weight", "ignored", "category"
DAYS, MONTHS = "day first", "month first"


MAX_ID = (1 << 31) - 1


class Row(NamedTuple):
    y: float  # NaN where there is no label
    weight: float
    features: list[tuple[int, np.float32]]


class Refusal(NamedTuple):
    line: int
    column: int | None
    kind: str  # a name in ``onlineboost.readers.status``, or NO_COLUMN, SAME_NAME or HEADER for a CSV's first line


class Result(NamedTuple):
    rows: list[Row]
    names: list[tuple[int, str]]
    refusals: list[Refusal]


@dataclass
class Options:
    labeled: bool = True
    skip: bool = False
    label: str = "label"
    weight: str | None = None
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    day_first: tuple[str, ...] = ()
    month_first: tuple[str, ...] = ()
    reading: bool = True  # amounts, words for missing values, yes and no; False: as before there were any
    header: bool | None = None
    separator: str = ","

    def role(self, name: bytes) -> str:
        """Of a member of a JSON object."""
        roles = [(self.label, LABEL), (self.weight, WEIGHT), *((drop, IGNORED) for drop in self.drop)]
        roles += [(name, CATEGORY) for name in self.categorical]
        roles += [*((name, DAYS) for name in self.day_first), *((name, MONTHS) for name in self.month_first)]
        for known, role in roles:
            if known is not None and known.encode() == name:
                return role
            if role == IGNORED and name.startswith(known.encode() + b"."):
                return role
        return FEATURE


class Fault(Exception):  # noqa: N818
    """What is wrong with a record, and at which byte of the text."""

    def __init__(self, kind: str, at: int) -> None:
        super().__init__(kind)
        self.kind, self.at = kind, at
        self.header: tuple[int, int | None] = (1, None)  # line and column, if it is in the first line of CSV


@dataclass
class Draft:
    """A row in the making."""

    features: list[tuple[int, np.float32]] = field(default_factory=list)
    names: list[tuple[int, bytes]] = field(default_factory=list)
    label: bytes | None = None  # its spelling; a JSON string keeps its opening quote
    label_at: int = 0
    weight: float = 1.0

    def put(self, index: int, value: float, name: bytes | None) -> None:
        with np.errstate(over="ignore"):
            rounded = np.float32(value)
        if rounded != 0:
            self.features.append((index, rounded))
            if name is not None:
                self.names.append((index, name))


# ---- what all formats share


def murmur3(data: bytes, seed: int) -> int:
    """MurmurHash3_x86_32, from Austin Appleby's description."""
    full = 0xFFFFFFFF
    h = seed & full

    def scramble(k: int) -> int:
        k = k * 0xCC9E2D51 & full
        k = (k << 15 | k >> 17) & full
        return k * 0x1B873593 & full

    for start in range(0, len(data) // 4 * 4, 4):
        h ^= scramble(int.from_bytes(data[start : start + 4], "little"))
        h = (h << 13 | h >> 19) & full
        h = (h * 5 + 0xE6546B64) & full
    h ^= scramble(int.from_bytes(data[len(data) // 4 * 4 :], "little"))
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & full
    h = (h ^ h >> 13) * 0xC2B2AE35 & full
    return h ^ h >> 16


_BLANKS = bytes(range(33))


def name_hash(name: bytes, seed: int = 0) -> int:
    """As Vowpal Wabbit hashes: whole numbers are themselves."""
    name = name.strip(_BLANKS)
    if all(0x30 <= c <= 0x39 for c in name):
        return (int(name[-4000:] or b"0") if len(name) < 4000 else _wrapped(name)) + seed & (1 << 64) - 1
    return murmur3(name, seed)


def _wrapped(name: bytes) -> int:
    number = 0
    for c in name:
        number = (number * 10 + c - 48) & (1 << 64) - 1
    return number


def number_at(text: bytes, at: int, end: int) -> tuple[float, int]:
    """The number that begins here and the place after it; that place is ``at`` if there is none."""
    found = NUMBER.match(text, at, end)
    return (float(found.group()), found.end()) if found else (0.0, at)


def whole_number(text: bytes) -> float | None:
    return float(text) if NUMBER.fullmatch(text) else None


def good(value: float) -> bool:
    return abs(value) <= LARGEST


class Classes:
    """1 has place 1, any other first label 0, the second takes the place that is left; then 2, 3 and so on.

    Words and numbers are not mixed.
    """

    def __init__(self, format: str) -> None:
        self.format = format
        self.spellings: dict[bytes, float] = {}
        self.known: dict[float, object] = {}  # by place

    def place(self, spelling: bytes, at: int) -> float:
        if spelling in self.spellings:
            return self.spellings[spelling]
        label = self.value(spelling)
        if label is None or len(self.spellings) == MOST_SPELLINGS:
            raise Fault("BAD_LABEL", at)
        same = [place for place, other in self.known.items() if other == label]
        if not same and any(isinstance(label, str) != isinstance(other, str) for other in self.known.values()):
            raise Fault("BAD_LABEL", at)
        numbers = [other for other in (*self.known.values(), label) if isinstance(other, float)]
        if not same and len(self.known) >= 2 and any(number % 1 for number in numbers):  # no names of classes
            raise Fault("BAD_LABEL", at)
        yes = label == 1 or str(label).lower() in ("1", "+1", "true", "yes", "y", "t")
        free = [1.0, 0.0] if yes else [0.0, 1.0]
        free = [place for place in (free if not self.known else [0.0, 1.0]) if place not in self.known]
        place = same[0] if same else free[0] if free else float(len(self.known))
        self.known[place] = self.known.get(place, label)
        self.spellings[spelling] = place
        return place

    def value(self, spelling: bytes) -> object:
        if self.format == "jsonl" and spelling.startswith(b'"'):
            return spelling[1:].decode(errors="replace")
        word = spelling.decode(errors="replace")
        if self.format in ("csv", "jsonl") and word.lower() in ("true", "false"):
            return word.lower() == "true"
        number = label_number(word)
        return word if number is None and self.format == "csv" else number


def label_number(word: str) -> float | None:
    number = whole_number(word.strip().encode())
    return number if number is not None and abs(number) <= 1e300 else None


def check_label(draft: Draft) -> None:
    size = len((draft.label or b"").removeprefix(b'"'))
    if size > LONGEST_LABEL:
        raise Fault("LONG_LABEL", draft.label_at)


# ---- the loop over records


def read(format: str, text: bytes, options: Options) -> Result:
    mark = 3 if text.startswith(b"\xef\xbb\xbf") else 0  # the columns of the first line are counted after it
    at, line = mark, 1
    labels = Classes(format)
    result = Result([], [], [])
    if text.startswith((b"PK\x03\x04", b"\xff\xfe", b"\xfe\xff", b"PAR1", b"ARROW1")):
        return result._replace(refusals=[Refusal(1, None, "OTHER_FILE")])
    record: Callable[[bytes, int, Options], tuple[Draft | None, int]] = _line_record(_LINES.get(format, vw_line))
    if format == "csv":
        try:
            columns, at, line = csv_columns(text, at, options)
        except Fault as fault:
            return result._replace(refusals=[Refusal(*fault.header, fault.kind)])
        record = _csv_record(columns)
    seen: set[int] = set()
    while at < len(text):
        try:
            draft, after = record(text, at, options)
            if draft is not None:
                if format == "csv" and (draft.label or b"").lower() == b"nan":
                    if options.labeled:
                        raise Fault("NO_LABEL", draft.label_at)
                    draft.label = None
                y = math.nan if draft.label is None else labels.place(draft.label, draft.label_at)
                result.rows.append(Row(y, draft.weight, draft.features))
                for index, name in draft.names:
                    if index not in seen:
                        seen.add(index)
                        result.names.append((index, name.decode(errors="replace")))
        except Fault as fault:
            start = text.rfind(b"\n", at, fault.at) + 1 or at
            column = len(text[start : fault.at].decode(errors="replace")) + 1
            result.refusals.append(Refusal(line + text.count(b"\n", at, fault.at), column, fault.kind))
            if not options.skip:
                break
            after = text.find(b"\n", at) + 1 or len(text)
        line += text.count(b"\n", at, after)
        at = after
    return result


def _line_record(line: Callable[[bytes, int, int, Options], Draft | None]) -> Callable[..., tuple[Draft | None, int]]:
    def record(text: bytes, at: int, options: Options) -> tuple[Draft | None, int]:
        end = text.find(b"\n", at)
        stop = len(text) if end < 0 else end
        return line(text, at, stop, options), min(stop + 1, len(text))

    return record


# ---- Vowpal Wabbit


def vw_line(text: bytes, at: int, end: int, options: Options) -> Draft | None:
    end -= text[at:end].endswith(b"\r")
    if at == end:
        return None
    bar, tab = text.find(b"|", at, end), text.find(b"\t", at, end)
    if tab >= 0 and (bar < 0 or tab < bar):
        raise Fault("TAB", tab)
    if bar < 0:
        raise Fault("NO_BAR", end)
    draft = Draft()
    words = [(word.start(), word.group()) for word in re.finditer(rb"[^ ]+", text[at:bar])]
    words = [(at + start, word) for start, word in words]
    count = 0
    for position, (start, word) in enumerate(words):
        if word.startswith(b"'") or start + len(word) == bar:  # a tag
            if position + 1 < len(words):
                raise Fault("TOO_MANY_WORDS", words[position + 1][0])
            break
        count += 1
        if count == 1:
            draft.label, draft.label_at = word, start
            check_label(draft)
        elif count == 2:
            weight = whole_number(word)
            if weight is None or not 0 <= weight <= LARGEST:
                raise Fault("BAD_WEIGHT", start)
            draft.weight = weight
        else:
            raise Fault("INITIAL", start)
    if count == 0 and options.labeled:
        touching = bool(words) and not words[0][1].startswith(b"'")
        raise Fault("TOUCHING" if touching else "NO_LABEL", at)
    groups: dict[int, list[tuple[int, np.float32]]] = {}
    while bar < end:
        following = text.find(b"|", bar + 1, end)
        following = end if following < 0 else following
        draft.features = []
        group = vw_namespace(text, bar + 1, following, options, draft)
        if draft.features:
            groups.setdefault(group, []).extend(draft.features)
        bar = following
    draft.features = [feature for features in groups.values() for feature in features]
    return draft


_NAME = re.compile(rb"[^ \t\r:|]*")
_STRING = re.compile(rb"[^ \t:|]*")
_SPECIAL = re.compile(rb"[+-]?(nan|inf|infinity)", re.IGNORECASE)


def vw_namespace(text: bytes, at: int, end: int, options: Options, draft: Draft) -> int:
    """The features from after one bar to the next; the first character of the namespace."""
    if text[at:end].startswith(b":"):
        raise Fault("NO_NAMESPACE", at)
    space = _NAME.match(text, at, end).group()
    seed = name_hash(space) if space else 0
    prefix = space + b"^" if space else b""
    i = at + len(space)
    scale = np.float32(1)
    if text[i:end].startswith(b":"):
        value, after = number_at(text, i + 1, end)
        if after == i + 1 or text[after:end][:1] not in (b"", b" ", b"\t"):
            raise Fault("BAD_NUMBER", i + 1)
        if not good(value):
            raise Fault("LARGE_NUMBER", i + 1)
        scale = np.float32(value)
        i = after
    anonymous = 0
    while i < end:
        if text[i] in b" \t":
            i += 1
            continue
        if text[i] == 13:
            raise Fault("RETURN", i)
        first = i
        name = _NAME.match(text, i, end).group()
        i += len(name)
        hashed = name_hash(name, seed)
        spelled = name
        value = np.float32(1)
        if text[i:end].startswith(b":"):
            i += 1
            number, after = number_at(text, i, end)
            if after > i:
                if text[after:end][:1] not in (b"", b" ", b"\t"):
                    raise Fault("BAD_NUMBER", i)
                if not good(number):
                    raise Fault("LARGE_NUMBER", i)
                value = np.float32(number)
                i = after
            else:
                string = _STRING.match(text, i, end).group()
                if text[i + len(string) : end].startswith(b":") or _SPECIAL.fullmatch(string):
                    raise Fault("BAD_NUMBER", i)
                if string:
                    hashed = name_hash(string, hashed)
                    spelled = name + b":" + string
                i += len(string)
        if b":" in spelled:  # vw does not scale the indicator of a string
            draft.put(hashed & MAX_ID, 1.0, prefix + spelled)
            continue
        if not spelled:
            hashed = seed + anonymous
            anonymous += 1
        with np.errstate(over="ignore"):
            value = np.float32(value * scale)
        if not good(value):
            raise Fault("LARGE_NUMBER", first)
        draft.put(hashed & MAX_ID, value, prefix + spelled if spelled else None)
    return space[0] if space else 32


# ---- LIBSVM


def libsvm_line(text: bytes, at: int, end: int, options: Options) -> Draft | None:
    end -= text[at:end].endswith(b"\r")
    while at < end and text[at] in b" \t":
        at += 1
    comment = text.find(b"#", at, end)
    end = end if comment < 0 else comment
    if at == end:
        return None
    draft = Draft(label_at=at)
    first = re.compile(rb"[^ \t:]*").match(text, at, end)
    i = at
    if text[first.end() : end].startswith(b":"):
        if options.labeled:
            raise Fault("NO_LABEL", at)
    else:
        draft.label = first.group()
        check_label(draft)
        i = first.end()
    while i < end:
        if text[i] in b" \t":
            i += 1
            continue
        index = re.compile(rb"[0-9]*").match(text, i, end)
        if not index.group():
            raise Fault("QID" if text[i:end].startswith(b"qid:") else "NO_INDEX", i)
        if int(index.group().lstrip(b"0")[:20] or b"0") > MAX_ID:
            raise Fault("LARGE_INDEX", i)
        i = index.end()
        if not text[i:end].startswith(b":"):
            raise Fault("NO_COLON", i)
        i += 1
        value, after = number_at(text, i, end)
        if after == i or text[after:end][:1] not in (b"", b" ", b"\t"):
            raise Fault("BAD_NUMBER", i)
        if not good(value):
            raise Fault("LARGE_NUMBER", i)
        draft.put(int(index.group()), value, None)
        i = after
    return draft


# ---- cells: CSV and JSON


def put_number(draft: Draft, options: Options, name: bytes, value: float) -> None:
    draft.put(name_hash(name) & MAX_ID, value, name)


def put_category(draft: Draft, options: Options, name: bytes, value: bytes) -> None:
    whole = name + b"=" + value
    draft.put(murmur3(whole, 0) & MAX_ID, 1.0, whole)


def put_missing(draft: Draft, options: Options, name: bytes) -> None:
    put_number(draft, options, name, math.nan)
    put_category(draft, options, name, b"")


def put_text(draft: Draft, options: Options, name: bytes, cell: bytes, at: int) -> None:
    """A date as its parts, an amount as a number, any other string as an indicator."""
    found = moment(cell)
    if found is not None:
        return put_moment(draft, options, name, *found)
    if not cell or (options.reading and cell in MISSING):
        return put_missing(draft, options, name)
    value = amount(cell) if options.reading else None
    if value is not None:
        if not good(value):
            raise Fault("LARGE_NUMBER", at)
        return put_number(draft, options, name, value)
    word = cell.lower() if options.reading and cell.lower() in (b"yes", b"no") else cell
    return put_category(draft, options, name, word)


def put_ordered(draft: Draft, options: Options, name: bytes, cell: bytes, role: str, at: int) -> None:
    """A cell of a column of dates with the day or the month first."""
    if not cell or cell in MISSING:
        return put_missing(draft, options, name)
    found = moment(cell) or ordered_moment(cell, role)
    if found is None:
        raise Fault("BAD_DATE" if role == DAYS else "BAD_US_DATE", at)
    return put_moment(draft, options, name, *found)


def put_moment(draft: Draft, options: Options, name: bytes, days: int, seconds: int | None) -> None:
    """A date as its parts."""
    put_number(draft, options, name, (days - 10957 + (seconds or 0) / 86400) / 365.2425)
    put_category(draft, options, name + b".month", b"%d" % month_of(days))
    put_category(draft, options, name + b".weekday", b"%d" % ((days + 3) % 7))
    if seconds:  # midnight is a date
        put_category(draft, options, name + b".hour", b"%d" % (seconds // 3600))


def ordered_moment(cell: bytes, role: str) -> tuple[int, int | None] | None:
    """The moment of a date with the day or the month first: that of its date in ISO 8601."""
    found = ORDERED.fullmatch(cell)
    if found is None:
        return None
    day, month = (found["first"], found["second"]) if role == DAYS else (found["second"], found["first"])
    return moment(found["year"] + b"-" + month.zfill(2) + b"-" + day.zfill(2) + found["time"])


def amount(cell: bytes) -> float | None:
    """The number in a cell with a percent sign, a currency sign or separators of thousands; None if it is no such."""
    text = cell.decode(errors="replace").replace("\u2019", "'")
    outer, sign = "", ""
    if text.startswith("(") and text.endswith(")") and len(text) > 1:
        outer, text = "-", text[1:-1]
    elif text[:1] in ("+", "-"):
        outer, text = text[0], text[1:]
    unit = text[:1] in CURRENCIES and text != ""
    if unit:
        text = without_gap(text[1:])
        if text[:1] in ("+", "-") and not outer:
            sign, text = text[0], text[1:]
    elif text[-1:] in (*CURRENCIES, "%") and text:
        unit, text = True, without_gap(text[::-1][1:])[::-1]
    if not text[:1].isascii() or not (text[:1].isdigit() or text[:1] == "."):
        return None
    value = whole_number(text.encode()) if unit else None
    value = grouped(text, unit) if value is None else value
    return None if value is None else -value if "-" in outer + sign else value


CURRENCIES, GAPS = "$\u20ac\u00a3\u00a5\u20b9", " \u00a0\u202f"


def without_gap(text: str) -> str:
    """The text without the one space that may be at its start."""
    return text[1:] if text[:1] in GAPS and text else text


def grouped(text: str, unit: bool) -> float | None:
    """A number with separators between groups of three digits; a decimal point that is another sign."""
    digits = "0123456789"
    marks = [c for c in text if c not in digits]
    if not marks or text[0] not in digits[1:]:
        return None
    separator, last = marks[0], marks[-1]
    decimal = last if last != separator else ""
    whole, _, rest = text.partition(decimal) if decimal else (text, "", "")
    if separator not in (*",.'", *(GAPS if unit else "")) or decimal not in ("", ",", ".") or (decimal and not rest):
        return None
    if separator == "." and not decimal:  # a number with a point
        return None
    groups = whole.split(separator)
    if not 1 <= len(groups[0]) <= 3 or any(len(group) != 3 for group in groups[1:]) or len(groups) == 1:
        return None
    if any(c not in digits for c in "".join(groups) + rest):
        return None
    return float("".join(groups) + "." + rest if decimal else "".join(groups))


def moment(cell: bytes) -> tuple[int, int | None] | None:
    """Days since 1970 and seconds of the day, or None for what is no date."""
    found = DATE.fullmatch(cell)
    if not found or not cell.isascii():
        return None
    year, month, day = (int(part) for part in found.groups()[:3])
    if not 1 <= month <= 12 or not 1 <= day <= days_in(year, month):
        return None
    days = sum(366 if calendar.isleap(y) else 365 for y in range(min(year, 1970), max(year, 1970)))
    days = (days if year >= 1970 else -days) + sum(days_in(year, m) for m in range(1, month)) + day - 1
    if found.group(4) is None:
        return days, None
    hour, minute, second = (int(part or 0) for part in found.groups()[3:6])
    if hour > 23 or minute > 59 or second > 60:
        return None
    seconds = min(hour * 3600 + minute * 60 + second, 86399)  # a leap second is the last of its day
    if found.group(8):
        hours, minutes = int(found.group(9)), int(found.group(10))
        if hours > 23 or minutes > 59:
            return None
        seconds -= (hours * 3600 + minutes * 60) * (1 if found.group(8) == b"+" else -1)
        days += seconds // 86400
        seconds %= 86400
    return days, seconds


def days_in(year: int, month: int) -> int:
    return 29 if month == 2 and calendar.isleap(year) else [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]


def month_of(days: int) -> int:
    """By going through the months of 400 years, after which the calendar repeats itself."""
    left = (days - 10957) % 146097  # since 2000-01-01
    for year in range(2000, 2400):
        for month in range(1, 13):
            if left < days_in(year, month):
                return month
            left -= days_in(year, month)
    raise AssertionError


# ---- CSV


def csv_cell(text: bytes, at: int, separator: bytes) -> tuple[bytes, int]:
    """The content of the cell that begins here, and the place of the separator or line end after it."""
    if text[at : at + 1] == b'"':
        closing = re.compile(rb'"((?:[^"]|"")*)"(?!")').match(text, at)
        if not closing:
            raise Fault("OPEN_QUOTE", at)
        after = closing.end()
        rest = text[after : after + 2]
        if rest[:1] not in (b"", b"\n", separator) and rest not in (b"\r", b"\r\n"):
            raise Fault("AFTER_QUOTE", at)
        return closing.group(1).replace(b'""', b'"'), after
    after = at
    while after < len(text) and text[after : after + 1] not in (b"\n", separator):
        after += 1
    if after > at and text[after : after + 1] != separator and text[after - 1] == 13:
        after -= 1
    return text[at:after].strip(b" \t"), after


def csv_columns(text: bytes, at: int, options: Options) -> tuple[list[tuple[bytes, str]], int, int]:
    """Name and role of each column, where the first row begins, and the number of its line."""
    while text[at : at + 1] in (b"\n", b"\r"):
        at += 1
    separator = options.separator.encode()
    cells: list[str] = []
    after = at
    while after < len(text) or cells:
        try:
            cell, stop = csv_cell(text, after, separator)
        except Fault as fault:
            fault.header = (text.count(b"\n", 0, at) + 1, len(text[at:after].decode(errors="replace")) + 1)
            raise
        cells.append(cell.decode(errors="replace"))
        after = stop + 1
        if text[stop : stop + 1] != separator:
            after += text[stop : stop + 1] == b"\r"
            break
    after = min(after, len(text))
    header = options.header
    if header is None:
        named = options.label in cells and label_number(options.label) is None
        header = named or not any(label_number(cell) is not None for cell in cells)
    names = cells if header else [str(column) for column in range(len(cells))]
    if len(set(names)) < len(names):
        raise Fault("SAME_NAME", 0)
    roles = [FEATURE] * len(names)
    named = ((options.day_first, DAYS), (options.month_first, MONTHS))
    for wanted, role in (*named, (options.drop, IGNORED), (options.categorical, CATEGORY)):
        for name in wanted:
            places = [k for k, n in enumerate(names) if n == name or (role == IGNORED and n.startswith(name + "."))]
            for k in places:
                roles[k] = role
            if cells and options.labeled and not places:
                raise Fault("NO_COLUMN", 0)
    for wanted, role in ((options.weight, WEIGHT), (options.label, LABEL)):
        if wanted in names:
            roles[names.index(wanted)] = role
        elif cells and options.labeled and wanted is not None:
            raise Fault("NO_COLUMN", 0)
    if header and len(names) > 1 and names[0] == "" and roles[0] == FEATURE:  # the index of pandas
        roles[0] = IGNORED
    at = after if header else at
    return [(name.encode(), role) for name, role in zip(names, roles, strict=True)], at, text.count(b"\n", 0, at) + 1


def _csv_record(columns: list[tuple[bytes, str]]) -> Callable[..., tuple[Draft | None, int]]:
    def record(text: bytes, at: int, options: Options) -> tuple[Draft | None, int]:
        for empty in (b"\n", b"\r\n"):
            if text.startswith(empty, at):
                return None, at + len(empty)
        separator = options.separator.encode()
        draft = Draft()
        column, i = 0, at
        while True:
            cell, after = csv_cell(text, i, separator)
            if column == len(columns):
                raise Fault("MANY_CELLS", i)
            csv_put(draft, options, *columns[column], cell, i)
            column += 1
            i = after + 1
            if text[after : after + 1] != separator:
                break
        if column < len(columns):
            raise Fault("FEW_CELLS", after)
        after += text[after : after + 1] == b"\r"
        return draft, min(after + 1, len(text))

    return record


def csv_put(draft: Draft, options: Options, name: bytes, role: str, cell: bytes, at: int) -> None:
    value = whole_number(cell)
    if role == LABEL:
        if cell:
            draft.label, draft.label_at = cell, at
            if len(cell) > LONGEST_LABEL:
                raise Fault("LONG_LABEL", at)
        elif options.labeled:
            raise Fault("NO_LABEL", at)
    elif role == WEIGHT:
        if value is None or not 0 <= value <= LARGEST:
            raise Fault("BAD_WEIGHT", at)
        draft.weight = value
    elif role == CATEGORY:
        put_category(draft, options, name, cell)
    elif role in (DAYS, MONTHS):
        put_ordered(draft, options, name, cell, role, at)
    elif role == FEATURE:
        word = cell.lower()
        if value is None and re.fullmatch(rb"[+-]?inf(inity)?", word):
            value = math.inf
        if value is not None:
            if not good(value):
                raise Fault("LARGE_NUMBER", at)
            put_number(draft, options, name, value)
        elif word in (b"true", b"false"):
            put_number(draft, options, name, word == b"true")
        elif word in (b"", b"nan"):
            put_missing(draft, options, name)
        else:
            put_text(draft, options, name, cell, at)


# ---- JSON lines

_BLANK = re.compile(rb"[ \t\r]*")
_WORD = re.compile(rb"[^,}\] \t\r]*")


def json_line(text: bytes, at: int, end: int, options: Options) -> Draft | None:
    at = _BLANK.match(text, at, end).end()
    if at == end:
        return None
    if text[at] != ord("{"):
        raise Fault("NO_OBJECT", at)
    draft = Draft()
    i = json_object(text, at + 1, end, options, draft, b"", 1)
    i = _BLANK.match(text, i, end).end()
    if i < end:
        raise Fault("TRAILING", i)
    if draft.label is None and options.labeled:
        raise Fault("NO_LABEL", at)
    return draft


def json_object(text: bytes, i: int, end: int, options: Options, draft: Draft, prefix: bytes, depth: int) -> int:
    """Members from after the opening bracket on; the place after the closing one."""
    first = True
    while True:
        i = _BLANK.match(text, i, end).end()
        if i == end:
            raise Fault("NO_VALUE", i)
        if first and text[i] == ord("}"):
            return i + 1
        first = False
        if text[i] != ord('"'):
            raise Fault("NO_KEY", i)
        key, i = json_string(text, i + 1, end)
        i = _BLANK.match(text, i, end).end()
        if text[i:end][:1] != b":":
            raise Fault("NO_VALUE", i)
        i = _BLANK.match(text, i + 1, end).end()
        if i == end:
            raise Fault("NO_VALUE", i)
        i = json_value(text, i, end, options, draft, prefix + key, None, depth)
        i, closed = json_next(text, i, end, b"}")
        if closed:
            return i


def json_list(text: bytes, i: int, end: int, options: Options, draft: Draft, name: bytes, depth: int) -> int:
    position = 0
    while True:
        i = _BLANK.match(text, i, end).end()
        if i == end:
            raise Fault("NO_VALUE", i)
        if position == 0 and text[i] == ord("]"):
            return i + 1
        i = json_value(text, i, end, options, draft, name, position, depth)
        i, closed = json_next(text, i, end, b"]")
        if closed:
            return i
        position += 1


def json_next(text: bytes, i: int, end: int, closing: bytes) -> tuple[int, bool]:
    i = _BLANK.match(text, i, end).end()
    if text[i:end][:1] not in (b",", closing):
        raise Fault("NO_COMMA", i)
    return i + 1, text[i : i + 1] == closing


def json_value(
    text: bytes, i: int, end: int, options: Options, draft: Draft, name: bytes, position: int | None, depth: int
) -> int:
    role = options.role(name)
    opening = text[i : i + 1] in (b"{", b"[")
    if role in (LABEL, WEIGHT) and (opening or position is not None):
        raise Fault("LIST_LABEL", i)
    numbered = name if position is None else name + b".%d" % position
    if opening:
        if depth == DEEPEST:
            raise Fault("TOO_DEEP", i)
        if text[i] == ord("["):
            return json_list(text, i + 1, end, options, draft, numbered, depth + 1)
        return json_object(text, i + 1, end, options, draft, numbered + b".", depth + 1)
    if text[i] == ord('"'):
        string, after = json_string(text, i + 1, end)
        if role == LABEL:
            draft.label, draft.label_at = b'"' + string, i
            check_label(draft)
        elif role == WEIGHT:
            raise Fault("BAD_WEIGHT", i)
        elif role == CATEGORY:
            put_category(draft, options, name, string)
        elif role in (DAYS, MONTHS):
            put_ordered(draft, options, name, string, role, i)
        elif role == FEATURE:
            put_text(draft, options, name, string, i)
        return after
    number, after = number_at(text, i, end)
    if after > i:
        if not re.fullmatch(rb"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", text[i:after]):
            raise Fault("NO_VALUE", i)
        if not _WORD.fullmatch(text, i, after) or _WORD.match(text, i, end).end() > after:
            raise Fault("BAD_NUMBER", i)
    else:
        after = _WORD.match(text, i, end).end()
    word = text[i:after]
    is_number = NUMBER.fullmatch(word) is not None
    if not is_number and word not in (b"true", b"false", b"null", b"NaN"):
        raise Fault("NO_VALUE", i)
    if role == LABEL:
        if word == b"NaN":
            raise Fault("NO_VALUE", i)
        if word != b"null":
            draft.label, draft.label_at = word, i
            check_label(draft)
    elif role == IGNORED:
        pass
    elif is_number and role != CATEGORY and not good(number):
        raise Fault("LARGE_NUMBER", i)
    elif role == WEIGHT:
        if not is_number or number < 0:
            raise Fault("BAD_WEIGHT", i)
        draft.weight = number
    elif role == CATEGORY:
        put_category(draft, options, name, word if word not in (b"null", b"NaN") else b"")
    elif word in (b"null", b"NaN"):
        put_missing(draft, options, numbered)
    else:
        put_number(draft, options, numbered, number if is_number else word == b"true")
    return after


def json_string(text: bytes, i: int, end: int) -> tuple[bytes, int]:
    """The string that begins here, without its escapes, and the place after the closing quote."""
    out = b""
    while i < end:
        c = text[i : i + 1]
        if c == b'"':
            return out, i + 1
        if c < b" ":
            raise Fault("CONTROL", i)
        if c != b"\\":
            out += c
            i += 1
            continue
        if i + 1 == end:
            raise Fault("OPEN_QUOTE", i)
        pair = re.compile(rb"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})").match(text, i, end)
        single = re.compile(rb"\\(u[0-9a-fA-F]{4}|[\"\\/bfnrt])").match(text, i, end)
        found = pair or single
        try:
            out += json.loads(b'"' + found.group() + b'"').encode()
        except (AttributeError, UnicodeEncodeError):  # no escape, or half a pair
            raise Fault("BAD_ESCAPE", i) from None
        i = found.end()
    raise Fault("OPEN_QUOTE", i)


_LINES = {"vw": vw_line, "libsvm": libsvm_line, "jsonl": json_line}


# ---- words of texts

DENSE = "[\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\u3005-\u3007]"
LOOSE = "[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff]"


def kind_of(character: str) -> str:
    """ "space", "word", "dense", "loose" or "symbol": what a character is to words."""
    category = unicodedata.category(character)
    if character == "_":
        return "word"
    if category == "So":
        return "symbol"
    if category[0] in "ZPCS" or "\ufe00" <= character <= "\ufe0f":
        return "space"
    if category[0] in "LM" and re.match(DENSE, character):
        return "dense"
    return "loose" if category[0] in "LM" and re.match(LOOSE, character) else "word"


def words_of(text: str) -> list[str]:
    """The words of a text, character by character."""
    found: list[str] = []
    kinds = [kind_of(character) for character in text]
    at = 0
    while at < len(text):
        end = at + 1
        if kinds[at] == "symbol":
            found.append(text[at])
        elif kinds[at] == "word":
            while end < len(text) and (
                kinds[end] == "word" or re.fullmatch("[0-9][.,][0-9]", text[end - 1 : end + 2], re.ASCII)
            ):
                end += 1
            found.append("".join("i" if c == "İ" else c.lower().replace("\u03c2", "\u03c3") for c in text[at:end]))
        elif kinds[at] != "space":
            while end < len(text) and kinds[end] in ("dense", "loose"):
                end += 1
            run = text[at:end].lower()
            found += [run] if len(run) == 1 else []
            for k in range(len(run) - 1):
                found += [run[k : k + n] for n in (2, 3) if k + n <= len(run)]
        at = end
    return found


def is_long(text: str) -> bool:
    """Whether a text has at least four words between spaces that have letters; characters without spaces count less."""
    quarters = 0.0
    for part in text.split():
        kinds = [kind_of(c) for c in part]
        quarters += 4 * any(kind == "word" and not "0" <= c <= "9" for c, kind in zip(part, kinds, strict=True))
        quarters += 2 * kinds.count("dense") + kinds.count("loose")
    return quarters >= 16
