"""Columns: the features of a model's sources."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from math import hypot
from typing import Any, Self

from onlineboost.data.arrays import Source
from onlineboost.data.batch import LARGEST
from onlineboost.data.dicts import PLAIN, TINY, DictReader, Row, are_plain
from onlineboost.data.hashing import MAX_ID
from onlineboost.data.schema import Schema
from onlineboost.data.text import is_long
from onlineboost.data.text_columns import TextColumns
from onlineboost.errors import DataError, listed
from onlineboost.parameters import check_whole

MAX_NAMES = 1 << 18  # names of features that are kept
MAX_LAG = 100
LAG_NAME = "label[-{}]"  # prefix of lagged labels
_SAFE = LARGEST / 2  # rounding is negligible below
_new: Any = tuple.__new__  # twice as fast as the named tuple's own


class Columns:
    """The names of features by id, the headings and the number of columns of arrays, and the schema of streams.

    Names in dicts have the same ids as in files. A string value is an indicator: ``{"color": "red"}`` is
    ``{"color=red": 1}``. A missing value is NaN, and an indicator.

    >>> columns = Columns()
    >>> columns.row({"7": 2.0, 8: 0.5, "color": "red"}, learning=True)
    Row(ids=[7, 8, 548048942], values=(2.0, 0.5, 1.0), names=[(548048942, 'color=red')], sighted=[])
    """

    def __init__(self, schema: Schema | None = None, owner: str = "model") -> None:
        self.schema = schema  # of the first stream
        self.owner = owner  # the name of the model's class, for error messages
        self.width: int | None = None  # number of columns of arrays
        self.headings: list[str] | None = None  # of a data frame's columns
        self.names: dict[int, str] = {}  # by id, as far as known; without names that are ids
        self._worded = False  # whether a name is not a number
        self.limit: int | None = None  # number of names that are kept; None: MAX_NAMES
        self.text: TextColumns | None = TextColumns()  # None: a model of a version without text
        self._reader = DictReader(schema, self.text)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_reader": DictReader(self.schema, self.text)}

    @property
    def _room(self) -> int:
        """Number of names that can be added."""
        return (MAX_NAMES if self.limit is None else self.limit) - len(self.names)

    def add(self, names: Iterable[tuple[int, str]]) -> dict[int, str]:
        """Add names of features up to the limit; returns new ones. The first name of an id is kept."""
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
        """Give a table's columns the names that the model knows; an error if the columns differ."""
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
            raise DataError(f"{differences(self.headings, names)}; to continue, set columns=... to 'warn'")

    def learn_fields(self, names: tuple[str, ...] | None) -> None:
        """Remember the columns of a table that is read and learned; later ones may have more."""
        if names is not None and (self.width is None or self.headings is not None):
            known = self.headings or []
            self.headings = [*known, *(name for name in names if name not in known)]

    def adopt(self, source: Source) -> dict[int, str]:
        """Remember the columns of a table that is learned; returns names that are new."""
        if self.width is None and self.headings is None:
            self.width, self.headings = None if source.by_name else source.n_features, source.names
        self.sight(source.new_cells())
        return self.add(source.new_names())

    @property
    def n_columns(self) -> int | None:
        """Number of columns of arrays and data frames; None if none was learned."""
        return self.width if self.headings is None or self.schema is not None else len(self.headings)

    # ---- dicts

    def row(self, x: Mapping[Any, Any], learning: bool) -> Row:
        """The features of a dict, in its order; with ``learning``, also the names to add.

        Columns that the schema does not read as features are left out.
        """
        reader = self._reader
        if reader.schema is not self.schema:
            reader = self._reader = DictReader(self.schema, self.text)
        if type(x) is not dict:
            return reader.read(x, self.names, self._room <= 0, learning)
        keys = tuple(x)
        plan = reader.plans.get(keys)
        if plan is not None:
            ids, words, strings, as_json = plan
            values = tuple(x.values())
            try:
                if PLAIN.issuperset(map(type, keys + values)) if strings else are_plain(keys, values):
                    if words:
                        ids, found = ids.copy(), [*values]
                        for k, known in words:
                            id = ids[k] = known[values[k]]
                            found[k] = 1.0
                            if learning and id not in self.names:
                                raise KeyError(id)
                        values = tuple(found)
                    largest = hypot(*values)  # or more; NaN if one is
                    if largest <= _SAFE and (not as_json or min(map(abs, values), default=1.0) > TINY):
                        return _new(Row, (ids, values, (), ()))  # type: ignore[no-any-return]
            except (KeyError, OverflowError):  # a word that is new; a large number
                pass
            except TypeError:  # a word where none was before
                plan = None
        row = reader.read(x, self.names, self._room <= 0, learning)
        if plan is None:
            reader.make_plan(x)
        return row

    def sight(self, cells: Iterable[tuple[str, int]]) -> None:
        """Count cells of at least four words, by column and id."""
        turned = [self.text.meet(name, id) for name, id in cells] if self.text is not None else []
        if any(turned):
            self._reader = DictReader(self.schema, self.text)

    def sight_names(self, names: Iterable[tuple[int, str]]) -> None:
        """``sight`` the cells that are new features of these names."""
        for id, name in names:
            column, equals, cell = name.partition("=")
            if equals and is_long(cell):
                self.sight([(column, id)])

    # ---- model files

    def describe(self) -> dict[str, Any]:
        """As JSON, for a model file."""
        return {
            "width": self.width,
            "headings": self.headings,
            "schema": self.schema.describe() if self.schema else None,
            "names": [[id, self.names[id]] for id in sorted(self.names)],
            "text": self.text.describe() if self.text is not None else None,
        }

    @classmethod
    def restore(cls, described: dict[str, Any]) -> Self:
        schema, width, headings = described["schema"], described["width"], described["headings"]
        columns = cls(Schema.restore(schema) if schema is not None else None)
        if width is not None:
            columns.width = check_whole("columns", width, 0, MAX_ID + 1)
        columns.headings = headings
        columns.names = {id: str(name) for id, name in described["names"]}
        text = described.get("text")
        columns.text = TextColumns.restore(text) if text is not None else None
        columns._reader = DictReader(columns.schema, columns.text)
        columns._worded = any(map(_is_word, columns.names.values()))
        named = headings is None or all(isinstance(name, str) for name in headings)
        headed = named and (None in (headings, width) or len(headings) == width)
        known = all(type(id) is int and 0 <= id <= MAX_ID for id in columns.names)
        if not (headed and known and len(columns.names) <= MAX_NAMES):
            raise ValueError("the columns do not fit together")
        return columns


def differences(expected: Iterable[str], names: Iterable[str]) -> str:
    """The differences of the columns of a table, for an error message."""
    expected, names = [*expected], [*names]
    missing = [name for name in expected if name not in names]
    new = [name for name in names if name not in expected]
    near = difflib.get_close_matches(new[0], missing, 1) if missing and new else []
    found = []
    if missing:
        found.append(f"no column {listed(missing)}, which the model has learned")
    if new:
        before = f" (renamed from {near[0]!r}?)" if near else ""
        found.append(f"a column {listed(new)}, which the model has not learned{before}")
    return f"the table has {' and '.join(found)}: expected the columns of training"


def _bullets(names: list[str]) -> list[str]:
    return [f"- {name}" for name in names[:5]] + (["- ..."] if len(names) > 5 else [])


def _is_word(name: str) -> bool:
    return not name.removesuffix("=").isdigit() and not is_lag(name)


def is_lag(name: str) -> bool:
    """Whether a feature is a lagged label."""
    return name.startswith(LAG_NAME.split("{")[0])
