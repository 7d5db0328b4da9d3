"""Schemas: how the columns and labels of a source are read."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from onlineboost.errors import ParameterError
from onlineboost.parameters import check_whole

MAX_BITS = 30


class Schema(NamedTuple):
    """How the columns and labels of a stream are read; the same for training and prediction."""

    bits: int = 18
    label: str | int | None = None
    weight: str | int | None = None
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    positive: Any = None
    width: int | None = None  # number of columns of a table without names, with that of the label

    @property
    def mask(self) -> int:
        return (1 << self.bits) - 1

    def check(self) -> None:
        if not isinstance(self.bits, int) or isinstance(self.bits, bool) or not 1 <= self.bits <= MAX_BITS:
            raise ParameterError("bits", self.bits, f"a whole number from 1 to {MAX_BITS}")
        label = "label" if self.label is None else str(self.label)
        if self.weight is not None and str(self.weight) == label:
            raise ParameterError("weight", self.weight, "another column than the label")
        for name, columns in (("drop", self.drop), ("categorical", self.categorical)):
            if label in columns:
                raise ParameterError(name, label, "another column than the label")

    def describe(self) -> dict[str, Any]:
        """As JSON, for a model file."""
        return self._asdict()

    @classmethod
    def restore(cls, described: dict[str, Any]) -> Self:
        lists = {name: tuple(value) for name, value in described.items() if isinstance(value, list)}
        schema = cls(**{**described, **lists})
        schema.check()
        names = (*schema.drop, *schema.categorical)
        if not isinstance(schema.drop, tuple) or not isinstance(schema.categorical, tuple):
            raise ValueError("drop and categorical are not lists of columns")
        if not all(isinstance(name, str) for name in names):
            raise ValueError("drop and categorical are not names of columns")
        columns = (schema.label, schema.weight, schema.positive)
        if not all(value is None or isinstance(value, str | int | float) for value in columns):
            raise ValueError("label, weight and positive are not names or numbers")
        if schema.width is not None:
            check_whole("width", schema.width, 0, 1 << MAX_BITS)
        return schema
