"""Schemas: how the columns and labels of a source are read."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from onlineboost.errors import ParameterError

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
        return cls(**{**described, **lists})
