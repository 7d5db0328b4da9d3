"""Dicts of features as rows of a table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from onlineboost.data.batch import LARGEST, Batch, one_row
from onlineboost.data.schema import Schema
from onlineboost.errors import DataError


class Columns:
    """Which column a feature's name stands for.

    A model that began with arrays has ``n`` columns and the names are their numbers. A model that began with dicts
    gives each new name the next column. A model that began with a stream has a ``schema``: names are hashed. A string
    value is an indicator: ``{"colour": "red"}`` is ``{"colour=red": 1}``.

    >>> columns = Columns()
    >>> columns.row({"b": 2.0, "a": 0.5}, learning=True).indices
    array([0, 1], dtype=int32)
    >>> columns.row({"a": 0.5, "new": 1.0}, learning=False).indices
    array([1], dtype=int32)
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

    def row(self, x: Mapping[Any, Any], *, learning: bool, y: float = 1.0, weight: float = 1.0) -> Batch:
        """The features as a batch of one row."""
        pairs = [(column, value) for column, value in self.pairs(x, learning=learning) if np.float32(value) != 0]
        return one_row([column for column, _ in pairs], [value for _, value in pairs], y, weight)

    def pairs(self, x: Mapping[Any, Any], *, learning: bool) -> list[tuple[int, float]]:
        """Columns in order, with values. Unknown names become columns when learning, else they are left out."""
        if not isinstance(x, Mapping):
            raise DataError(f"x is a {type(x).__name__}: expected a dict of features; for arrays use partial_fit")
        numbers = [_number(name, value) for name, value in x.items()]  # all are checked before a name is taken in
        if len({name for name, _ in numbers}) < len(numbers):
            raise DataError("x has the same feature twice: a name and a category of the same spelling, such as 'a=b'")
        columns = [(self._column(name, learning), value) for name, value in numbers]
        return sorted((column, value) for column, value in columns if column is not None)

    def _column(self, name: Any, learning: bool) -> int | None:
        if self.fixed is None:
            return self.names.setdefault(name, len(self.names)) if learning else self.names.get(name)
        if not isinstance(name, int | np.integer) or not 0 <= name < self.fixed:
            expected = f"a column number from 0 to {self.fixed - 1}, since this model began with arrays"
            raise DataError(f"x has the feature {name!r}: expected {expected}", column=name)
        return int(name)


def _number(name: Any, value: Any) -> tuple[Any, float]:
    name = name.item() if isinstance(name, np.generic) else name
    if isinstance(value, str):
        return f"{name}={value}", 1.0
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not abs(number) <= LARGEST:
        expected = f"expected a number of magnitude at most {LARGEST:g}, or a string; leave out what is missing"
        raise DataError(f"x has {value!r} for the feature {name!r}: {expected}", column=name)
    return name, number
