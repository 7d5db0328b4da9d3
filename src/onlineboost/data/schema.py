"""Schemas: how the columns and labels of a source are read."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from onlineboost.errors import ParameterError
from onlineboost.parameters import check_whole

DEFAULT_LABEL = "label"
NO_LABEL = ""  # the name of no column: labels come apart


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

    @property
    def no_features(self) -> tuple[str, ...]:
        """The columns of label and weight."""
        label = DEFAULT_LABEL if self.label is None else str(self.label)
        return (label,) if self.weight is None else (label, str(self.weight))

    @property
    def needs_reader(self) -> bool:
        """Whether dicts are read as JSON lines are: some columns are dropped or categorical."""
        return bool(self.drop or self.categorical)

    def ignores(self, name: str) -> bool:
        """Whether JSON lines have no feature of this name: label, weight, dropped columns, and what is within them."""
        return any(name == out or name.startswith(f"{out}.") for out in (*self.no_features, *self.drop))

    def check(self) -> None:
        label = self.no_features[0]
        if self.weight is not None and str(self.weight) == label:
            raise ParameterError("weight", self.weight, "another column than the label")
        for name, columns in (("drop", self.drop), ("categorical", self.categorical), ("text", self.text)):
            if label in columns:
                raise ParameterError(name, label, "another column than the label")
        both = [name for name in self.text if name in self.categorical]
        if both:
            raise ParameterError("text", both[0], "a column that is not categorical too")

    def describe(self) -> dict[str, Any]:
        """As JSON, for a model file."""
        return self._asdict()

    @classmethod
    def restore(cls, described: dict[str, Any]) -> Self:
        lists = {name: tuple(value) for name, value in described.items() if isinstance(value, list)}
        schema = cls(**{**described, **lists})
        schema.check()
        lists_of_names = (schema.drop, schema.categorical, schema.text)
        if not all(isinstance(names, tuple) for names in lists_of_names):
            raise ValueError("drop, categorical and text are not lists of columns")
        if not all(isinstance(name, str) for names in lists_of_names for name in names):
            raise ValueError("drop, categorical and text are not names of columns")
        columns = (schema.label, schema.weight, schema.positive)
        if not all(value is None or isinstance(value, str | int | float) for value in columns):
            raise ValueError("label, weight and positive are not names or numbers")
        if not isinstance(schema.binary, bool):
            raise ValueError("binary is not true or false")
        if schema.width is not None:
            check_whole("width", schema.width, 0, 1 << 30)
        return schema
