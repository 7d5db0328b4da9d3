"""Schemas: how the columns and labels of a source are read."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from onlineboost.errors import ParameterError
from onlineboost.parameters import check_whole

DEFAULT_LABEL = "label"
NO_LABEL = ""  # not a column: labels come separately


class Schema(NamedTuple):
    """How the columns and labels of a stream are read; the same for training and prediction."""

    label: str | int | None = None
    weight: str | int | None = None
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    positive: Any = None
    width: int | None = None  # number of columns of a table without names, with that of the label
    binary: bool = False  # whether a third label is an error
    text: tuple[str, ...] = ()  # columns that are text
    day_first: tuple[str, ...] = ()  # columns of dates such as 25/12/2023
    month_first: tuple[str, ...] = ()  # and such as 12/25/2023

    @property
    def no_features(self) -> tuple[str, ...]:
        """The columns of label and weight."""
        label = DEFAULT_LABEL if self.label is None else str(self.label)
        return (label,) if self.weight is None else (label, str(self.weight))

    @property
    def needs_reader(self) -> bool:
        """Whether dicts are read like JSON lines: some columns are dropped, categorical or dates in another order."""
        return bool(self.drop or self.categorical or self.day_first or self.month_first)

    def ignores(self, name: str) -> bool:
        """Whether a name of JSON lines is no feature: label, weight, dropped columns, and values within."""
        return any(name == out or name.startswith(f"{out}.") for out in (*self.no_features, *self.drop))

    def check(self) -> None:
        label = self.no_features[0]
        if self.weight is not None and str(self.weight) == label:
            raise ParameterError("weight", self.weight, "another column than the label")
        roles = ("categorical", "text", "day_first", "month_first")
        for role in ("drop", *roles):
            if label in getattr(self, role):
                raise ParameterError(role, label, "another column than the label")
        for k, role in enumerate(roles):
            for other in roles[:k]:
                for name in set(getattr(self, role)).intersection(getattr(self, other)):
                    raise ParameterError(role, name, f"a column that is not one of {other}=... too")

    def describe(self) -> dict[str, Any]:
        """As JSON, for a model file."""
        return self._asdict()

    @classmethod
    def restore(cls, described: dict[str, Any]) -> Self:
        lists = {name: tuple(value) for name, value in described.items() if isinstance(value, list)}
        schema = cls(**{**described, **lists})
        lists_of_names = (schema.drop, schema.categorical, schema.text, schema.day_first, schema.month_first)
        if not all(isinstance(names, tuple) for names in lists_of_names):
            raise ValueError("drop, categorical, text, day_first and month_first are not lists of columns")
        if not all(isinstance(name, str) for names in lists_of_names for name in names):
            raise ValueError("drop, categorical, text, day_first and month_first are not names of columns")
        schema.check()
        columns = (schema.label, schema.weight, schema.positive)
        if not all(value is None or isinstance(value, str | int | float) for value in columns):
            raise ValueError("label, weight and positive are not names or numbers")
        if not isinstance(schema.binary, bool):
            raise ValueError("binary is not true or false")
        if schema.width is not None:
            check_whole("width", schema.width, 0, 1 << 30)
        return schema
