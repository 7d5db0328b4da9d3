"""Columns: the column number of each feature name."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from onlineboost.data.arrays import Dense, Sparse
from onlineboost.data.batch import LARGEST, Batch, one_row
from onlineboost.data.schema import Schema
from onlineboost.errors import DataError
from onlineboost.parameters import check_whole, fits_json

MAX_NAMES = 1 << 18  # names of hashed features that are kept


class Located(NamedTuple):
    """The features of a dict by column."""

    pairs: list[tuple[int, float]]  # column and value, in order of columns
    new: dict[Any, int]  # columns of names not known before

    def row(self, y: float = 1.0, weight: float = 1.0) -> Batch:
        """The features as a batch of one row."""
        pairs = [(column, value) for column, value in self.pairs if np.float32(value) != 0]
        return one_row([column for column, _ in pairs], [value for _, value in pairs], y, weight)


class Columns:
    """The column number of each feature name.

    A model trained on arrays has ``n`` columns and the names are their numbers. A model trained on dicts gives each new
    name the next column. A model trained on a stream has a ``schema``: names are hashed. A string value is an
    indicator: ``{"colour": "red"}`` is ``{"colour=red": 1}``.

    >>> columns = Columns()
    >>> found = columns.locate({"b": 2.0, "a": 0.5}, learning=True)
    >>> found.pairs, found.new
    ([(0, 2.0), (1, 0.5)], {'b': 0, 'a': 1})
    >>> columns.add(found.new)
    >>> columns.locate({"a": 0.5, "new": 1.0}, learning=False).pairs
    [(1, 0.5)]
    """

    def __init__(self, n: int | None = None, headings: list[str] | None = None, schema: Schema | None = None) -> None:
        self.fixed = n if schema is None else schema.mask + 1
        self.headings = headings  # of a data frame's columns
        self.schema = schema
        self.hashed: dict[int, str] = {}  # names by column, as far as known
        self.names: dict[Any, int] = {}

    @property
    def n(self) -> int:
        return len(self.names) if self.fixed is None else self.fixed

    def locate(self, x: Mapping[Any, Any], *, learning: bool) -> Located:
        """The columns of the features. With ``learning``, new names get the next columns, else they are left out."""
        if not isinstance(x, Mapping):
            raise DataError(f"x is a {type(x).__name__}: expected a dict of features; for arrays use partial_fit")
        numbers = [_number(name, value) for name, value in x.items()]
        if len({name for name, _ in numbers}) < len(numbers):
            raise DataError("x has the same feature twice: once by name, once as a category, such as 'a=b'")
        new: dict[Any, int] = {}
        pairs = []
        for name, value in numbers:
            column = self._column(name)
            if column is None and learning:
                column = new[name] = len(self.names) + len(new)
            if column is not None:
                pairs.append((column, value))
        pairs.sort()
        return Located(pairs, new)

    def _column(self, name: Any) -> int | None:
        if self.fixed is None:
            return self.names.get(name)
        if not isinstance(name, int | np.integer) or not 0 <= name < self.fixed:
            expected = f"a column number from 0 to {self.fixed - 1}, since this model was trained on arrays"
            raise DataError(f"x has the feature {name!r}: expected {expected}", column=name)
        return int(name)

    def add(self, new: dict[Any, int]) -> None:
        """Add the new names of ``locate``."""
        self.names.update(new)

    def add_hashed(self, names: list[tuple[int, str]]) -> dict[int, str]:
        """Add names of hashed features, up to ``MAX_NAMES``; the first name of a slot is kept."""
        new = dict(names[: max(MAX_NAMES - len(self.hashed), 0)])
        if new:
            self.hashed = new | self.hashed
        return new

    def check(self, source: Dense | Sparse) -> None:
        """Raise an error if the columns of a table are not those of the training data."""
        if self.fixed is None:
            raise DataError(
                "this model was trained on dicts: use learn_one and predict_one, or call fit() to start over"
            )
        if source.n_features != self.fixed:
            raise DataError(f"X has {source.n_features} features: expected {self.fixed}, as in training")
        if source.names and self.headings and source.names != self.headings:
            wrong = next(j for j, name in enumerate(source.names) if name != self.headings[j])
            expected = f"{self.headings[wrong]!r}, as in training"
            raise DataError(f"X has {source.names[wrong]!r} as column {wrong}: expected {expected}", column=wrong)

    @property
    def numbered(self) -> bool:
        """Whether the names of hashed features are their numbers, as those of arrays are."""
        return all(name == str(number) for number, name in self.hashed.items())

    def by_number(self) -> Mapping[int, str]:
        """The name of each column, as far as known."""
        if self.schema is not None:
            return self.hashed
        if self.fixed is not None:
            return dict(enumerate(self.headings)) if self.headings else _Numbers(self.fixed)
        return {column: str(name) for name, column in self.names.items()}

    def describe(self) -> dict[str, Any]:
        """As JSON, for a model file."""
        for name in self.names:
            if not fits_json(name):
                raise DataError(f"the feature {name!r} cannot be saved in a model file: expected a string or a number")
        return {
            "fixed": None if self.schema else self.fixed,
            "names": list(self.names),
            "headings": self.headings,
            "schema": self.schema.describe() if self.schema else None,
            "hashed": [[number, self.hashed[number]] for number in sorted(self.hashed)],
        }

    @classmethod
    def restore(cls, described: dict[str, Any]) -> Self:
        schema = Schema.restore(described["schema"]) if described["schema"] is not None else None
        fixed, headings, names = described["fixed"], described["headings"], described["names"]
        if fixed is not None:
            check_whole("columns", fixed, 0, np.iinfo(np.int32).max)
        columns = cls(fixed, headings, schema)
        columns.names = {name: column for column, name in enumerate(names)}
        columns.hashed = {number: str(name) for number, name in described["hashed"]}
        one_kind = (fixed is not None) + (schema is not None) + bool(names) <= 1
        known = len(columns.names) == len(names) and all(map(fits_json, names))
        headed = headings is None or (len(headings) == fixed and all(isinstance(name, str) for name in headings))
        slots = columns.n if schema is not None else 0
        hashed = all(type(number) is int and 0 <= number < slots for number in columns.hashed)
        if not (one_kind and known and headed and hashed and len(columns.hashed) <= MAX_NAMES):
            raise ValueError("the columns do not fit together")
        return columns


class _Numbers(Mapping[int, str]):
    """Columns that have numbers for names; there may be very many."""

    def __init__(self, n: int) -> None:
        self.numbers = range(n)

    def __getitem__(self, column: int) -> str:
        if column not in self.numbers:
            raise KeyError(column)
        return str(column)

    def __iter__(self) -> Iterator[int]:
        return iter(self.numbers)

    def __len__(self) -> int:
        return len(self.numbers)


def _number(name: Any, value: Any) -> tuple[Any, float]:
    name = name.item() if isinstance(name, np.generic) else name
    if isinstance(value, str):
        return f"{name}={value}", 1.0
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not abs(number) <= LARGEST:
        expected = f"expected a number of magnitude at most {LARGEST:g}, or a string; leave out missing values"
        raise DataError(f"x has {value!r} for the feature {name!r}: {expected}", column=name)
    return name, number
