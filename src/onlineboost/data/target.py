"""Any two labels of the user's as -1 and +1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.batch import Floats
from onlineboost.errors import DataError

_NONE = object()


class Binary:
    """Which label is -1 and which is +1.

    Declared or seen together, two labels are sorted: the larger is +1. Met one by one, the label 1 (or True) is +1
    and any other first label is -1; the second label takes the place that is left.

    >>> labels = Binary()
    >>> labels.declare(["spam", "ham"])
    >>> labels.encode(["spam", "ham", "ham"])
    array([ 1., -1., -1.])
    >>> labels.decode(1.0)
    'spam'
    """

    def __init__(self) -> None:
        self.negative: Any = _NONE
        self.positive: Any = _NONE

    @property
    def known(self) -> list[Any]:
        return [label for label in (self.negative, self.positive) if label is not _NONE]

    def by_label(self, negative: float, positive: float) -> dict[Any, float]:
        """Two numbers, by the labels that they belong to; of one that was not met, nothing."""
        pairs = ((self.negative, negative), (self.positive, positive))
        return {label: number for label, number in pairs if label is not _NONE}

    @property
    def classes(self) -> NDArray[Any]:
        mixed = len({type(label) for label in self.known}) > 1
        return np.array(self.known, object if mixed else None)

    def __getstate__(self) -> list[Any]:
        return [[label] if label is not _NONE else [] for label in (self.negative, self.positive)]

    def __setstate__(self, state: list[Any]) -> None:
        self.negative, self.positive = (place[0] if place else _NONE for place in state)

    def merged(self, other: Binary) -> Binary:
        """Both together; an error if a label has different signs."""
        both = Binary()
        pairs = zip(self.__getstate__(), other.__getstate__(), strict=True)
        both.__setstate__([mine or theirs for mine, theirs in pairs])
        agree = all(a == b or not a or not b for a, b in zip(self.__getstate__(), other.__getstate__(), strict=True))
        if not agree or (len(both.known) == 2 and both.negative == both.positive):
            raise DataError(f"the labels are {_some(other.known)}, but this model knows {_some(self.known)}")
        return both

    def declare(self, classes: Any) -> None:
        """These two are the labels. To declare them again is allowed, to change them is not."""
        try:
            found = [_plain(label) for label in np.unique(np.asarray(classes))]
        except TypeError:
            raise DataError("labels of different types, or missing ones: expected two values of one type") from None
        if len(found) != 2:
            hint = "; if another comes later, partial_fit takes classes= with both" if len(found) < 2 else ""
            raise DataError(f"{len(found)} different labels ({_some(found)}): expected two{hint}")
        if not set(self.known) <= set(found):
            raise DataError(f"classes are {_some(found)}, but this model knows {_some(self.known)}; fit() starts anew")
        for label in found:
            if label not in self.known:
                if self.negative is _NONE:
                    self.negative = label
                else:
                    self.positive = label

    def encode(self, y: Any) -> Floats:
        """The labels as -1 and +1."""
        y = np.asarray(y)
        if y.ndim != 1:
            raise DataError(f"y has shape {y.shape}: expected one label per row, in one dimension")
        positive = _equal(y, self.positive)
        unknown = ~(positive | _equal(y, self.negative))
        if unknown.any():
            row = int(np.argmax(unknown))
            message = f"y has the label {_plain(y[row])!r} at row {row}: expected one of {_some(self.known)}"
            raise DataError(message, row=row)
        return np.where(positive, 1.0, -1.0)

    def encode_one(self, label: Any) -> float:
        """One label as -1 or +1; a label not met before takes the free place."""
        label = _plain(label)
        if isinstance(label, list | dict | set | np.ndarray):
            raise DataError(f"the label is a {type(label).__name__}: expected one value")
        if label is None or label != label:
            raise DataError(f"the label is {label!r}: expected one of two values")
        if label not in self.known:
            if len(self.known) == 2:
                raise DataError(f"the label is {label!r}: expected one of {_some(self.known)}")
            if self.positive is _NONE and (self.negative is not _NONE or label == 1):
                self.positive = label
            else:
                self.negative = label
        return 1.0 if label == self.positive else -1.0

    @staticmethod
    def mistakes(scores: Floats, y: Floats) -> NDArray[np.bool_]:
        """Whether each score is on the wrong side; a score of 0 counts as positive."""
        wrong: NDArray[np.bool_] = (scores >= 0) != (y > 0)
        return wrong

    def decode(self, score: float) -> Any:
        """The label for a score: its sign, where 0 counts as +1."""
        wanted, other = (self.positive, self.negative) if score >= 0 else (self.negative, self.positive)
        return wanted if wanted is not _NONE else other if other is not _NONE else None


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _equal(y: NDArray[Any], label: Any) -> NDArray[np.bool_]:
    if label is _NONE:
        return np.zeros(y.shape, bool)
    # An array of strings is never equal to a number, nor the reverse; object arrays are compared one by one.
    if y.dtype.kind in "US" and not isinstance(label, str | bytes):
        return np.zeros(y.shape, bool)
    if y.dtype.kind in "biuf" and isinstance(label, str | bytes):
        return np.zeros(y.shape, bool)
    return np.asarray(y == label, bool)


def _some(labels: list[Any]) -> str:
    return ", ".join(repr(label) for label in labels[:5]) + (", ..." if len(labels) > 5 else "")
