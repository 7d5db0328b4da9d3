"""Regression targets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.arrays import brief
from onlineboost.data.batch import LARGEST, Floats
from onlineboost.data.target import Target
from onlineboost.errors import DataError


class Numbers(Target):
    """Regression targets, unchanged. Of several values in a score, the first is the prediction.

    >>> target = Numbers(least=0)
    >>> target.encode([1, 2.5])
    array([1. , 2.5])
    >>> target.encode_one(-1)
    Traceback (most recent call last):
    onlineboost.errors.DataError: the target is -1: expected a number of at least 0
    """

    def __init__(self, least: float = -LARGEST, most: float = LARGEST, expected: str | None = None) -> None:
        self.least, self.most, self.wanted = least, most, expected

    @property
    def width(self) -> int:
        return 1

    def losses(self, scores: Floats, y: Floats) -> NDArray[Any]:
        """The absolute errors."""
        found: Floats = np.abs(self.decode(scores) - y)
        return found

    @staticmethod
    def mistakes(scores: Floats, y: Floats) -> NDArray[np.bool_]:
        raise DataError("regression has no 0-1 error: use score() for R2")

    @property
    def classes(self) -> NDArray[Any]:
        return np.empty(0)

    @property
    def known(self) -> list[Any]:
        return []

    @property
    def _expected(self) -> str:
        if self.wanted is not None:
            return self.wanted
        if self.least == -LARGEST:
            return f"a finite number of magnitude at most {LARGEST:g}"
        return (
            f"a number of at least {self.least:g}"
            if self.most == LARGEST
            else (f"a number from {self.least:g} to {self.most:g}")
        )

    def declare(self, classes: Any, y: Any = ()) -> None:
        raise DataError("regression has no classes: leave out classes")

    def meet(self, y: Any) -> None:
        """Nothing to do for numbers."""

    def encode(self, y: Any) -> Floats:
        """The numbers as float64; raises an error for one that cannot be learned."""
        try:
            found = np.array(y if not np.iscomplexobj(y) else None, np.float64)
        except (TypeError, ValueError, OverflowError):
            expected = f"{self._expected} in each row; words are classes"
            raise DataError(f"y has values that are no numbers: expected {expected}") from None
        if found.ndim != 1:
            raise DataError(f"y has shape {found.shape}: expected one number per row, in one dimension")
        good = (found >= self.least) & (found <= self.most)
        if not good.all():
            row = int(np.argmin(good))
            raise DataError(f"y has {found[row]:g} at row {row}: expected {self._expected}", row=row)
        return found

    def encode_one(self, label: Any) -> float:
        try:
            number = float(label)
        except OverflowError:
            raise DataError(f"the target is {brief(label)}: expected {self._expected}") from None
        except (TypeError, ValueError):
            raise DataError(f"the target is {label!r}: expected {self._expected}; words are classes") from None
        if not self.least <= number <= self.most:
            shown = repr(label) if isinstance(label, str) else f"{number:g}"
            raise DataError(f"the target is {shown}: expected {self._expected}")
        return number

    def with_label(self, label: Any) -> Numbers:
        return self

    def merged(self, other: Target) -> Numbers:
        if not isinstance(other, Numbers):
            raise DataError("the labels are classes: expected numbers, as a regressor learns them")
        return self

    def decode(self, scores: Floats) -> NDArray[Any]:
        return np.ascontiguousarray(scores[:, 0])

    def decode_one(self, score: Floats) -> float:
        return float(score[0])

    def describe(self) -> str:
        return "numbers"

    def restored(self, described: Any) -> Numbers:
        """This target, if it is the one in a model file."""
        if described != "numbers":
            raise ValueError("the target is not numbers")
        return self
