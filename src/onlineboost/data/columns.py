"""Columns: what a model knows of the features of its sources."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from itertools import compress
from typing import Any, NamedTuple, Self

import numpy as np

from onlineboost.data.arrays import Source, brief
from onlineboost.data.batch import LARGEST, Ints32
from onlineboost.data.hashing import MAX_ID, feature_id, indicator_id
from onlineboost.data.schema import Schema
from onlineboost.errors import DataError, listed
from onlineboost.parameters import check_whole

MAX_NAMES = 1 << 18  # names of features that are kept
MAX_LAG = 100
LAG_NAME = "label[-{}]"  # of features that are the last labels
_CACHE = 1 << 15  # ids of names in dicts that are kept
_PLANS = 256  # plans of dicts that are kept
_ONCE = 1 << 12  # dicts without a plan whose keys are remembered
_PLAN_TEXT = 1 << 15  # bytes of all names of a plan
_SHORT = 256  # characters of a string that no reader refuses
_TINY = 2.0**-150  # the largest number that is zero as float32
_SAFE = LARGEST / 2  # rounding does not matter below
_KEYS, _NUMBERS = frozenset((str, int)), frozenset((float, int))
_TIMES = np.datetime64, np.timedelta64  # which float() takes for numbers, in any unit


class Features(NamedTuple):
    """The features of a dict."""

    ids: list[int]
    values: list[float]
    names: list[tuple[int, str]]  # of features whose ids were not kept


class _Plan(NamedTuple):
    """The features of dicts with the same keys, if all values are numbers."""

    schema: Schema | None  # for which it was made
    ids: Ints32 | None  # None: there is no plan for these keys
    kept: tuple[bool, ...] | None = None  # whether a key is a feature; None: all are
    left_out: tuple[Any, ...] = ()  # keys that are no features, whose values a reader would look at all the same
    read: bool = False  # as JSON lines are: zeros are left out
    untold: tuple[tuple[int, int], ...] = ()  # position and id of features whose names were not known


class Columns:
    """The names of features by id, the headings and the number of columns of arrays, and the schema of streams.

    Names of dicts have the ids that they have in files. A string value is an indicator: ``{"colour": "red"}`` is
    ``{"colour=red": 1}``. A missing value is NaN, and an indicator.

    >>> columns = Columns()
    >>> columns.features({"7": 2.0, 8: 0.5, "colour": "red"}, learning=True)
    Features(ids=[7, 8, 511943297], values=[2.0, 0.5, 1.0], names=[(7, '7'), (511943297, 'colour=red')])
    """

    def __init__(self, schema: Schema | None = None, owner: str = "model") -> None:
        self.schema = schema  # of the first stream
        self.owner = owner  # the name of the model's class, for error messages
        self.width: int | None = None  # number of columns of arrays
        self.headings: list[str] | None = None  # of a data frame's columns
        self.names: dict[int, str] = {}  # by id, as far as known; not those that are their ids
        self._worded = False  # whether a name is not a number
        self.limit: int | None = None  # number of names that are kept; None: MAX_NAMES
        self._learnt: dict[Any, int] = {}  # ids of names in dicts, to find them faster
        self._asked: dict[Any, int] = {}
        self._plans: dict[tuple[Any, ...], _Plan] = {}  # by the keys of dicts
        self._once: set[int] = set()  # hashes of keys that have no plan yet

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_learnt": {}, "_asked": {}, "_plans": {}, "_once": set()}

    @property
    def _room(self) -> int:
        """Number of names that can be added."""
        return (MAX_NAMES if self.limit is None else self.limit) - len(self.names)

    def add(self, names: Iterable[tuple[int, str]]) -> dict[int, str]:
        """Add names of features, as many as are kept; returns those that are new. The first name of an id is kept."""
        room = self._room
        new: dict[int, str] = {}
        for id, name in names if room > 0 else ():
            if id not in self.names and len(new) < room and name != str(id):
                new.setdefault(id, name)
        self._worded = self._worded or any(map(_is_word, new.values()))
        self.names.update(new)
        return new

    # ---- arrays

    def locate(self, source: Source) -> None:
        """Give a table's columns the names by which the model knows them; an error if they are not those of before."""
        if source.names is not None:
            self.check_headings(source.names)
        if self.width is None or (source.by_name and source.names is None):
            if source.names is None and self._worded and not source.by_name:
                raise DataError(
                    "X is an array, but this model knows features by name: expected a data frame, dicts or a stream"
                )
            source.name(source.names)
            return
        if source.n_features != self.width:
            who = f"but {self.owner} is expecting {self.width} features as input"
            raise DataError(f"X has {source.n_features} features, {who}, as in training")
        source.name(self.headings)

    def check_headings(self, names: list[str]) -> None:
        """Raise an error unless a data frame has the columns of training, in their order."""
        if self.headings is None or names == self.headings:
            return
        new = sorted(set(names).difference(self.headings))
        missing = sorted(set(self.headings).difference(names))
        lines = ["The feature names should match those that were passed during fit."]
        lines += ["Feature names unseen at fit time:", *_bullets(new)] if new else []
        lines += ["Feature names seen at fit time, yet now missing:", *_bullets(missing)] if missing else []
        if not new and not missing:
            lines.append("Feature names must be in the same order as they were in fit.")
        raise DataError("\n".join(lines) + "\n", column=(missing or new or names)[0])

    def check_fields(self, names: tuple[str, ...] | None) -> None:
        """Raise an error unless a table that is read has the columns of training, in any order."""
        if names is not None and self.headings is not None and set(names) != set(self.headings):
            raise DataError(f"{differences(self.headings, names)}; to go on, columns=... takes 'warn'")

    def learn_fields(self, names: tuple[str, ...] | None) -> None:
        """Remember the columns of a table that is read and learnt; later ones may have more."""
        if names is not None and (self.width is None or self.headings is not None):
            known = self.headings or []
            self.headings = [*known, *(name for name in names if name not in known)]

    def adopt(self, source: Source) -> dict[int, str]:
        """Remember the columns of a table that is learnt; returns names that are new."""
        if self.width is None and self.headings is None:
            self.width, self.headings = None if source.by_name else source.n_features, source.names
        return self.add(source.new_names())

    @property
    def n_columns(self) -> int | None:
        """Number of columns of arrays and data frames; None if none was learnt."""
        return self.width if self.headings is None or self.schema is not None else len(self.headings)

    # ---- dicts

    def features(self, x: Mapping[Any, Any], learning: bool) -> Features | None:
        """The features of a dict, in its order; None if a value is a date, a list or anything but a number or a word.

        Columns that the schema does not read as features are left out.
        """
        if not isinstance(x, Mapping):
            raise DataError(
                f"x is a {type(x).__name__}: expected a dict of features; tables are for predict and partial_fit"
            )
        left_out = self.schema.no_features if self.schema is not None else ()
        if self.schema is not None and self.schema.needs_reader:
            return None
        found = Features([], [], [])
        for name, value in x.items():
            name = name if type(name) is str or type(name) is int else str(name)
            if left_out and str(name) in left_out:
                continue
            kind = type(value)
            if kind is float or kind is int:
                number = value
            elif isinstance(value, str) and value:
                if value[4:5] == "-" and value[7:8] == "-":
                    return None  # a date, perhaps
                found.ids.append(self._id((str(name), str(value)), learning, found.names))
                found.values.append(1.0)
                continue
            elif kind in _TIMES:
                return None
            else:
                try:
                    number = float(math.nan if value is None or isinstance(value, str) else value)
                except (TypeError, ValueError, OverflowError):
                    return None
            if number != number:
                found.ids.append(self._id(name, learning, found.names))
                found.ids.append(self._id((str(name), ""), learning, found.names))
                found.values.extend((math.nan, 1.0))
            elif -LARGEST <= number <= LARGEST:
                found.ids.append(self._id(name, learning, found.names))
                found.values.append(number)
            else:
                expected = f"expected a number of magnitude at most {LARGEST:g}, or a string, as for ids"
                raise DataError(f"x has {brief(value)} for the feature {name!r}: {expected}", column=name)
        return found

    def _id(self, name: Any, learning: bool, names: list[tuple[int, str]]) -> int:
        """The id of a name, a number, or a pair of name and category; if it is not known, its name is added."""
        if type(name) is int and 0 <= name <= MAX_ID:
            return name
        known = self._learnt.get(name)
        if known is None and not learning:
            known = self._asked.get(name)
        if known is not None:
            return known
        try:
            full = "=".join(name) if isinstance(name, tuple) else str(name)
        except ValueError:
            raise DataError("x has a number of thousands of digits for a name: expected strings as names") from None
        id = indicator_id(full) if isinstance(name, tuple) else feature_id(full)
        cache = self._learnt if learning else self._asked
        if len(cache) >= _CACHE:
            cache.clear()
        cache[name] = id
        names.append((id, full))
        return id

    # ---- dicts of numbers

    def quick(self, x: Any, learning: bool) -> tuple[Ints32, tuple[float, ...]] | None:
        """Ids and values of a dict whose keys were met before and whose values are numbers; None: not such a dict.

        They are those of ``features``, or of a reader where that has none. The ids are shared: not to be written to.

        >>> columns = Columns()
        >>> columns.quick({"7": 2.0, 8: 0.5}, learning=False)
        >>> columns.quick({"7": 2.5, 8: 1}, learning=False)
        (array([7, 8], dtype=int32), (2.5, 1))
        """
        if type(x) is not dict or not _KEYS.issuperset(map(type, x)):  # True and 1.0 are equal to 1
            return None
        keys = tuple(x)
        plan = self._plans.get(keys)
        if plan is None or plan.schema is not self.schema:
            plan = self._next_plan(keys)
        _, ids, kept, left_out, read, untold = plan
        if ids is None:
            return None
        values = tuple(x.values())
        if kept is not None:
            values = tuple(compress(values, kept))
            for key in left_out:
                if not _is_readable(x.get(key)):
                    return None
        if not _NUMBERS.issuperset(map(type, values)) or len(values) != ids.size:
            return None
        try:
            if not math.hypot(*values) <= _SAFE:  # at least the largest magnitude, and NaN if one is
                return None
        except OverflowError:
            return None
        if learning and untold and self._is_news(keys, plan, values):
            return None
        if not read:
            return ids, values
        if [value for value in values if -_TINY <= value <= _TINY] if float in map(type, values) else not all(values):
            nonzero = [abs(value) > _TINY for value in values]
            return np.array([*compress(ids.tolist(), nonzero)], np.int32), tuple(compress(values, nonzero))
        return ids, values

    def _next_plan(self, keys: tuple[Any, ...]) -> _Plan:
        """The plan of keys without one; it is made when they come for the second time."""
        mark = hash(keys)
        if mark not in self._once:
            if len(self._once) >= _ONCE:
                self._once.clear()
            self._once.add(mark)
            return _Plan(self.schema, None)
        if len(self._plans) >= _PLANS:
            self._plans.clear()
            self._once.clear()
        try:
            names = [str(key) for key in keys]
            size = len("".join(names).encode())
        except ValueError:  # thousands of digits, or half of a surrogate pair
            size = _PLAN_TEXT + 1
        if size > _PLAN_TEXT:
            return _Plan(self.schema, None)
        plan = self._plans[keys] = self._plan(keys, names, self.schema)
        return plan

    def _plan(self, keys: tuple[Any, ...], names: list[str], schema: Schema | None) -> _Plan:
        read, kept, left_out = False, (True,) * len(names), ()
        if schema is not None:
            read = schema.needs_reader
            kept = tuple(not schema.ignores(name) if read else name not in schema.no_features for name in names)
            left_out = tuple(key for key, feature in zip(keys, kept, strict=True) if read and not feature)
        names = list(compress(names, kept))
        if read and schema is not None and not set(names).isdisjoint(schema.categorical):
            return _Plan(schema, None)
        ids = [feature_id(name) for name in names]
        found = np.array(ids, np.int32)
        found.flags.writeable = False
        named = enumerate(zip(ids, names, strict=True))
        untold = tuple((k, id) for k, (id, name) in named if id not in self.names and name != str(id))
        return _Plan(schema, found, None if all(kept) else kept, left_out, read, untold)

    def _is_news(self, keys: tuple[Any, ...], plan: _Plan, values: tuple[float, ...]) -> bool:
        """Whether a name is to be added when these values are learnt."""
        if self._room <= 0:
            return False
        untold = tuple((k, id) for k, id in plan.untold if id not in self.names)
        if untold != plan.untold:
            self._plans[keys] = plan._replace(untold=untold)
        return any(not plan.read or abs(values[k]) > _TINY for k, _ in untold)

    # ---- model files

    def describe(self) -> dict[str, Any]:
        """As JSON, for a model file."""
        return {
            "width": self.width,
            "headings": self.headings,
            "schema": self.schema.describe() if self.schema else None,
            "names": [[id, self.names[id]] for id in sorted(self.names)],
        }

    @classmethod
    def restore(cls, described: dict[str, Any]) -> Self:
        schema, width, headings = described["schema"], described["width"], described["headings"]
        columns = cls(Schema.restore(schema) if schema is not None else None)
        if width is not None:
            columns.width = check_whole("columns", width, 0, MAX_ID + 1)
        columns.headings = headings
        columns.names = {id: str(name) for id, name in described["names"]}
        columns._worded = any(map(_is_word, columns.names.values()))
        named = headings is None or all(isinstance(name, str) for name in headings)
        headed = named and (None in (headings, width) or len(headings) == width)
        known = all(type(id) is int and 0 <= id <= MAX_ID for id in columns.names)
        if not (headed and known and len(columns.names) <= MAX_NAMES):
            raise ValueError("the columns do not fit together")
        return columns


def differences(expected: Iterable[str], names: Iterable[str]) -> str:
    """What is different about the columns of a table, for an error message."""
    expected, names = [*expected], [*names]
    missing = [name for name in expected if name not in names]
    new = [name for name in names if name not in expected]
    near = difflib.get_close_matches(new[0], missing, 1) if missing and new else []
    found = []
    if missing:
        found.append(f"no column {listed(missing)}, which the model has learnt")
    if new:
        before = f" (renamed from {near[0]!r}?)" if near else ""
        found.append(f"a column {listed(new)}, which the model has not learnt{before}")
    return f"the table has {' and '.join(found)}: expected the columns of training"


def _bullets(names: list[str]) -> list[str]:
    return [f"- {name}" for name in names[:5]] + (["- ..."] if len(names) > 5 else [])


def _is_word(name: str) -> bool:
    return not name.removesuffix("=").isdigit() and not is_lag(name)


def is_lag(name: str) -> bool:
    """Whether a feature is one of the last labels."""
    return name.startswith(LAG_NAME.split("{")[0])


def _is_readable(value: Any) -> bool:
    """Whether a reader surely passes over a value that is no feature."""
    kind = type(value)
    if kind is str:
        return value.isascii() and len(value) <= _SHORT
    return value is None or (kind in _NUMBERS and -LARGEST <= value <= LARGEST)
