"""Dicts of features as rows: ids, values, and new names.

A dict of numbers and words has a feature for each value, zeros included. A dict with other values, such as a date or a
list, is read like a JSON line, without zeros; so is any dict if the schema drops columns or has categorical ones. The
reader of JSON lines handles rare kinds of values, and errors of such dicts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from onlineboost.data.amounts import MISSING_WORDS, amount
from onlineboost.data.arrays import brief
from onlineboost.data.batch import LARGEST, Ints32
from onlineboost.data.dates import DAY_FIRST, MONTH_FIRST, date_features, looks_like_date
from onlineboost.data.feature_names import DATE_PARTS
from onlineboost.data.hashing import feature_id, indicator_id
from onlineboost.data.json_value import CONTAINERS, check_readable, json_value
from onlineboost.data.schema import Schema
from onlineboost.data.text import is_long, words_of
from onlineboost.data.text_columns import TextColumns
from onlineboost.errors import DataError
from onlineboost.registry import FORMATS

TINY = 2.0**-150  # the largest number that is zero as float32
_KEYS, _NUMBERS = frozenset((str, int)), frozenset((float, int, bool, np.float64))
PLAIN = _KEYS | _NUMBERS  # types of numbers and words
_TIMES = np.datetime64, np.timedelta64  # strings that float() accepts as numbers
_KEPT = 1 << 15  # names and words whose ids are kept
_SHORT = 256  # characters of a name that is kept
_PLANNED = 1 << 16  # features of all plans that are kept
_ONCE = 1 << 12  # dicts without a plan whose keys are remembered
_LONG, _DEPTH = 1 << 12, 8  # longer and deeper lists are left to the reader
_FEATURE, _CATEGORY, _IGNORED, _WORDS, _DAYS, _MONTHS = range(6)  # roles of columns


class Row(NamedTuple):
    """The features of a dict, in its order."""

    ids: list[int] | Ints32  # rows may share an array, which must not be written to
    values: tuple[float, ...]
    names: Sequence[tuple[int, str]]  # names to add to the columns when the row is learned
    sighted: Sequence[tuple[str, int]] = ()  # columns and ids of new cells of at least four words, to add likewise


class _Column:
    """A name in dicts, and the ids of its indicators."""

    __slots__ = ("id", "key", "name", "role", "told", "words")

    def __init__(self, key: Any, name: str, role: int) -> None:
        self.key, self.name, self.role, self.id = key, name, role, feature_id(name)
        self.told = name == str(self.id)  # whether the name is known
        self.words: dict[Any, int] = {}  # by word; by None, of a missing value; by part and number, of a date


class Plan(NamedTuple):
    """The features of dicts with the same keys, if values are numbers and words, and no names of numbers are new."""

    ids: Any  # of numbers: an array, or a list if there are words
    words: list[tuple[int, dict[Any, int]]]  # positions of words, and ids of those that were met
    strings: bool  # whether all keys are strings; other keys may equal keys with other names, such as 1 and True
    as_json: bool


class DictReader:
    """Reads dicts by a schema, and keeps ids of names and words to find them faster."""

    def __init__(self, schema: Schema | None, text: TextColumns | None = None) -> None:
        self.schema, self.text = schema, text
        self.worded = frozenset(schema.text if schema is not None else ())  # columns that are text
        self.worded |= text.columns if text is not None else frozenset()
        self.always_json = schema is not None and schema.needs_reader
        self.json_last = False  # whether the last dict was read as JSON because of its values
        self._forget()

    def _forget(self) -> None:
        self.columns: tuple[dict[Any, _Column], dict[Any, _Column]] = {}, {}  # plain, and as JSON; by key
        self.plans: dict[tuple[Any, ...], Plan] = {}  # by the keys of dicts
        self.once: set[int] = set()  # hashes of keys that have no plan yet
        self.n_kept = self.n_planned = 0

    def keep(self, kept: dict[Any, Any], key: Any, value: Any, name: str) -> None:
        """Keep the id of a name, or its column, unless the name is long."""
        if len(name) <= _SHORT:
            if self.n_kept >= _KEPT:
                self._forget()
            kept[key] = value
            self.n_kept += 1

    def read(self, x: Mapping[Any, Any], known: Mapping[int, str], full: bool, learning: bool) -> Row:
        """The features of a dict; with ``learning``, and names that are not ``known``, unless the model is full."""
        if not isinstance(x, Mapping):
            raise DataError(
                f"x is a {type(x).__name__}: expected a dict of features; tables are for predict and partial_fit"
            )
        items: Iterable[tuple[Any, Any]] = x.items()
        ways = [True] if self.always_json else [True, False, True] if self.json_last else [False, True]
        if not _KEYS.issuperset(map(type, x)):
            items = [(key if type(key) in _KEYS else str(key), value) for key, value in items]
            ways = [] if self.always_json else [False]
        other = self.always_json  # whether the dict is not of numbers and words, as far as known
        for as_json in ways:
            try:
                row = _Draft(self, as_json, other, known, full, learning).row(items)
            except _OtherKindError:
                other = not as_json
            except ValueError:
                if not as_json:
                    raise
            else:
                self.json_last = as_json and not self.always_json
                return row
        page = FORMATS.find("jsonl").read_dict(x, self.schema, self.text)  # type: ignore[misc]
        new = [(id, name) for id, name in page.names if learning and not full and id not in known and name != str(id)]
        sighted = [(name, id) for _, name, id in page.sighted] if learning else []
        return Row(page.batch.indices, tuple(page.batch.values.tolist()), new, sighted)

    def make_plan(self, x: dict[Any, Any]) -> None:
        """Make a plan for dicts with these keys when they come for the second time, or with words at further places."""
        keys, values = tuple(x), tuple(x.values())
        if self.json_last or not are_plain(keys, values):
            return
        if hash(keys) not in self.once:
            if len(self.once) >= _ONCE:
                self.once.clear()
            self.once.add(hash(keys))
            return
        columns = [*map(self.columns[self.always_json].get, keys)]
        worded = {k for k, value in enumerate(values) if type(value) is str}
        if keys in self.plans:
            worded.update(k for k, _ in self.plans[keys].words)
        features = [c for k, c in enumerate(columns) if c and c.role == _FEATURE and (c.told or k in worded)]
        if len(features) < len(keys):
            return
        if self.n_planned >= _PLANNED:
            self.plans.clear()
            self.n_planned = 0
        self.n_planned += len(keys)
        ids: Any = [column.id for column in features]
        if not worded:
            ids = np.array(ids, np.int32)
            ids.flags.writeable = False
        words = [(k, features[k].words) for k in sorted(worded)]
        self.plans[keys] = Plan(ids, words, int not in map(type, keys), self.always_json)


def are_plain(keys: tuple[Any, ...], values: tuple[Any, ...]) -> bool:
    """Whether all values are numbers and words, and no key is equal to one with another name."""
    return _KEYS.issuperset(map(type, keys)) and PLAIN.issuperset(map(type, values))


class _OtherKindError(Exception):
    """A dict that must be read in the other way."""


class _Draft:
    """A row being built, from a plain dict or as JSON; then a ValueError leaves it to the reader."""

    def __init__(
        self, reader: DictReader, as_json: bool, other: bool, known: Mapping[int, str], full: bool, learning: bool
    ) -> None:
        self.reader, self.as_json, self.other, self.known, self.full = reader, as_json, other, known, full
        self.telling = learning and not full
        self.columns = reader.columns[as_json]
        self.ids: list[int] = []
        self.values: list[float] = []
        self.names: list[tuple[int, str]] = []
        self.learning = learning
        self.sighted: list[tuple[str, int]] = []

    def row(self, items: Iterable[tuple[Any, Any]]) -> Row:
        columns, ids, values, known, telling = self.columns, self.ids, self.values, self.known, self.telling
        least = TINY if self.as_json else -1.0
        put = self._put_json if self.as_json else self._put
        for key, value in items:
            column = columns.get(key) or self._column(key)
            kind = type(value)
            if kind in _NUMBERS:
                if column.told and column.role == _FEATURE and least < abs(value) <= LARGEST:
                    ids.append(column.id)
                    values.append(value)
                    continue
            elif kind is str:
                id = column.words.get(value)
                if id is not None and not (telling and id not in known):
                    ids.append(id)
                    values.append(1.0)
                    continue
            put(column, value)
        if self.as_json and not self.other:
            raise _OtherKindError
        return Row(ids, tuple(values), self.names, self.sighted)

    def _column(self, key: Any) -> _Column:
        """The column of a key, or of a name within a list or a dict."""
        column = self.columns.get(key)
        if column is None:
            try:
                name = str(key)
            except ValueError:
                raise DataError("x has a number of thousands of digits for a name: expected strings as names") from None
            column = _Column(key, name, self._role(name))
            self.reader.keep(self.columns, key, column, name)
        return column

    def _role(self, name: str) -> int:
        schema = self.reader.schema
        if self.as_json:
            name.encode()
            if schema is not None and (schema.ignores(name) or name in schema.categorical):
                return _IGNORED if schema.ignores(name) else _CATEGORY
            if schema is not None and name in (*schema.day_first, *schema.month_first):
                return _DAYS if name in schema.day_first else _MONTHS
        elif schema is not None and name in schema.no_features:
            return _IGNORED
        return _WORDS if name in self.reader.worded else _FEATURE

    def _number(self, column: _Column, value: float) -> None:
        column.told = column.told or self.full or column.id in self.known
        if self.telling and not column.told:
            self.names.append((column.id, column.name))
        self.ids.append(column.id)
        self.values.append(value)

    def _word(self, column: _Column, word: str) -> None:
        """Append a string as a category; if new and of at least four words, also its words, and count it."""
        text = self.reader.text
        if text is not None and word.lower() in ("yes", "no"):
            word = word.lower()
        looks = text is not None and word not in column.words and is_long(word)
        self._indicator(column, word, f"={word}")
        id = self.ids[-1]
        if looks and text is not None and not text.knows(column.name, id):
            column.words.pop(word, None)  # checked again until it is known
            if self.learning:
                self.sighted.append((column.name, id))
            self._words(column, word)

    def _words(self, column: _Column, text: str) -> None:
        """Append the words of a text."""
        if self.as_json:
            text.encode()
        for word in words_of(text):
            self._indicator(column, (word,), f"={word}")

    def _indicator(self, column: _Column, key: Any, rest: str) -> None:
        """Append the feature named by the column and a suffix."""
        id = column.words.get(key)
        if id is None:
            name = column.name + rest
            if self.as_json:
                name.encode()
            id = indicator_id(name)
            self.reader.keep(column.words, key, id, name)
        if self.telling and id not in self.known:
            self.names.append((id, column.name + rest))
        self.ids.append(id)
        self.values.append(1.0)

    def _put(self, column: _Column, value: Any) -> None:
        """Append the features of a plain value."""
        if column.role == _IGNORED:
            return
        if column.role == _WORDS and (not isinstance(value, str) or value in MISSING_WORDS):
            raise _OtherKindError
        if isinstance(value, str) and value:
            if column.role == _WORDS:
                self._words(column, str(value))
            elif looks_like_date(value) or (self.reader.text is not None and _is_figure(value)):
                raise _OtherKindError
            else:
                self._word(column, str(value))
            return
        if type(value) in _TIMES:
            raise _OtherKindError
        try:
            missing = value is None or isinstance(value, str)
            number = None if missing else value if type(value) is int else float(value)
        except (TypeError, ValueError, OverflowError):
            raise _OtherKindError from None
        if not self._put_number(column, number):
            expected = f"expected a number of magnitude at most {LARGEST:g}, or a string, as for ids"
            raise DataError(f"x has {brief(value)} for the feature {column.key!r}: {expected}", column=column.key)

    def _put_number(self, column: _Column, value: Any) -> bool:
        """Append a number, or a missing value; False if it is too large."""
        if value is None or value == "" or value != value:
            self._number(column, math.nan)
            self._indicator(column, None, "=")
        elif abs(value) > LARGEST:
            return False
        elif not self.as_json or abs(value) > TINY:
            self._number(column, value)
        return True

    # ---- as JSON lines are read

    def _put_json(self, column: _Column, value: Any, depth: int = 0) -> None:
        value = json_value(value)
        kind = type(value)
        if column.role == _IGNORED:
            check_readable(value)
        elif kind in CONTAINERS:
            if depth == _DEPTH:
                raise ValueError("many lists within each other")
            self.other = True
            (self._put_members if kind is dict else self._put_list)(column, value, depth + 1)
        elif column.role == _CATEGORY:
            word = _category(value)
            self._indicator(column, word, f"={word}")
        elif column.role in (_DAYS, _MONTHS) and kind is str and value and value not in MISSING_WORDS:
            date = date_features(value, DAY_FIRST if column.role == _DAYS else MONTH_FIRST)
            if date is None:
                raise ValueError("no date in the order of the column")
            self._put_parts(column, date)
        elif column.role in (_WORDS, _DAYS, _MONTHS) and kind is str and value in MISSING_WORDS:
            self.other = True
            self._put_json_number(column, None)
        elif column.role == _WORDS and value == value and value not in (None, ""):
            self.other = self.other or kind is not str
            self._words(column, _category(value))
        elif kind is not str or not value:
            self._put_json_number(column, value)
        elif looks_like_date(value):
            self.other = True
            self._put_date(column, value)
        elif self.reader.text is not None and _is_figure(value):
            self.other = True
            number = amount(value)
            if value in MISSING_WORDS:
                self._put_json_number(column, None)
            elif number is None:
                self._word(column, value)
            else:
                self._put_json_number(column, number)
        else:
            self._word(column, value)

    def _put_json_number(self, column: _Column, value: Any) -> None:
        if not self._put_number(column, value):
            raise ValueError("a large number")

    def _put_date(self, column: _Column, text: str) -> None:
        date = date_features(text)
        if date is None:
            self._indicator(column, text, f"={text}")
            return
        self._put_parts(column, date)

    def _put_parts(self, column: _Column, date: tuple[float, tuple[int, ...]]) -> None:
        years, parts = date
        self._put_number(column, years)
        for part, number in zip(DATE_PARTS, parts, strict=False):
            self._indicator(column, (part, number), f".{part}={number}")

    def _put_members(self, column: _Column, members: dict[Any, Any], depth: int) -> None:
        for key, value in members.items():
            if type(key) not in _KEYS:
                raise ValueError("a name that is no string")
            self._put_json(self._column(f"{column.name}.{key}"), value, depth)

    def _put_list(self, column: _Column, items: Sequence[Any], depth: int) -> None:
        """Strings are words of the column itself; any other item has its position in its name."""
        if len(items) > _LONG:
            raise ValueError("a long list")
        for position, item in enumerate(items):
            value = json_value(item)
            kind = type(value)
            worded = column.role == _WORDS and value is not None and value == value
            if kind is str or ((column.role == _CATEGORY or worded) and kind not in CONTAINERS):
                self._put_json(column, value)
            elif kind in CONTAINERS:
                self._put_json(self._column(f"{column.name}.{position}"), value, depth)
            else:
                self._put_json_number(self._column(f"{column.name}.{position}"), value)


def _is_figure(text: str) -> bool:
    """Whether a string stands for a missing value or may be an amount."""
    return text in MISSING_WORDS or amount(text) is not None


def _category(value: Any) -> str:
    """A value of a categorical column as JSON writes it; "" if it is missing."""
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not abs(value) <= LARGEST:
        raise ValueError("a large number")
    return repr(value)
