"""Targets: the encoding of labels for the learners, and the decoding of scores to labels."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import hot
from onlineboost.data.batch import Floats
from onlineboost.errors import DataError
from onlineboost.parameters import fits_json

_NONE = object()


@hot
def mistaken(score: float, y: float) -> bool:
    """Whether the sign of a score is wrong, for compiled code; 0 counts as positive."""
    return (score >= 0) != (y > 0)


class Target(ABC):
    """The kind of label to predict: its encoding, and the meaning of a score."""

    width: int  # number of values in a score

    @staticmethod
    @abstractmethod
    def mistakes(scores: Floats, y: Floats) -> NDArray[np.bool_]:
        """Which of the scores are wrong, given encoded labels."""

    @property
    @abstractmethod
    def classes(self) -> NDArray[Any]:
        """The labels seen so far, in the order of probabilities."""

    @abstractmethod
    def encode(self, y: Any) -> Floats:
        """Labels as numbers for the learners."""

    @abstractmethod
    def decode(self, scores: Floats) -> NDArray[Any]:
        """The label predicted by each score."""

    @abstractmethod
    def describe(self) -> Any:
        """As JSON, for a model file."""


class Binary(Target):
    """Two labels of any kind as -1 and +1; the sign of a score is the answer, and 0 counts as +1.

    Two labels given together are sorted: the larger is +1. Given one by one, the label 1 (or True) is +1 and any other
    first label is -1; the second label gets the other sign.

    >>> target = Binary()
    >>> target.declare(["spam", "ham"])
    >>> target.encode(["spam", "ham", "ham"])
    array([ 1., -1., -1.])
    >>> target.decode_one(1.0)
    'spam'
    """

    width = 1

    def __init__(self, negative: Any = _NONE, positive: Any = _NONE) -> None:
        self.negative = negative
        self.positive = positive

    @staticmethod
    def mistakes(scores: Floats, y: Floats) -> NDArray[np.bool_]:
        """Whether the sign of each score is wrong; a score of 0 counts as positive."""
        wrong: NDArray[np.bool_] = (scores >= 0) != (y > 0)
        return wrong

    @property
    def known(self) -> list[Any]:
        return [label for label in (self.negative, self.positive) if label is not _NONE]

    @property
    def has_negative(self) -> bool:
        return self.negative is not _NONE

    def by_label(self, probability: float) -> dict[Any, float]:
        """The probability of each label seen so far, given that of the positive one."""
        pairs = ((self.negative, 1 - probability), (self.positive, probability))
        return {label: number for label, number in pairs if label is not _NONE}

    def probabilities(self, positive: Floats) -> Floats:
        """A column for each label, the negative one first."""
        return np.column_stack([1 - positive, positive])

    @property
    def classes(self) -> NDArray[Any]:
        mixed = len({type(label) for label in self.known}) > 1
        return np.array(self.known, object if mixed else None)

    def describe(self) -> list[list[Any]]:
        for label in self.known:
            if not fits_json(label):
                raise DataError(f"the label {label!r} cannot be saved in a model file: expected a string or a number")
        return self.__getstate__()

    @classmethod
    def restore(cls, described: Any) -> Self:
        target = cls()
        target.__setstate__(described)
        labels = target.known
        known = all(map(fits_json, labels)) and len(labels) == sum(map(len, described))
        if len(described) != 2 or not known or len(set(labels)) < len(labels):
            raise ValueError("the labels are not two different strings or numbers")
        return target

    def __copy__(self) -> Binary:
        return Binary(self.negative, self.positive)

    def __getstate__(self) -> list[list[Any]]:
        return [[label] if label is not _NONE else [] for label in (self.negative, self.positive)]

    def __setstate__(self, state: list[list[Any]]) -> None:
        self.negative, self.positive = (place[0] if place else _NONE for place in state)

    def merged(self, other: Binary) -> Binary:
        """The labels of both; an error if a label would have two signs."""
        both = Binary()
        pairs = list(zip(self.__getstate__(), other.__getstate__(), strict=True))
        both.__setstate__([mine or theirs for mine, theirs in pairs])
        agree = all(a == b or not a or not b for a, b in pairs)
        if not agree or (len(both.known) == 2 and both.negative == both.positive):
            raise DataError(f"the labels are {_some(other.known)}: expected {_some(self.known)}, as in training")
        return both

    def with_label(self, label: Any) -> Binary:
        """This target if it knows the label, else a copy with the label added."""
        if isinstance(label, str | int | float) and label in self.known:
            return self
        larger = copy.copy(self)
        larger.encode_one(label)
        return larger

    def declare(self, classes: Any) -> None:
        """Set the two labels. They may be declared again, but not changed."""
        try:
            found = [_plain(label) for label in np.unique(np.asarray(classes))]
        except TypeError:
            raise DataError(
                "y has labels of different types, or missing ones: expected two values of one type"
            ) from None
        if len(found) != 2:
            hint = "; if the other comes later, name both: partial_fit(..., classes=...)" if len(found) < 2 else ""
            raise DataError(f"{len(found)} different labels ({_some(found)}): expected two{hint}")
        if not set(self.known) <= set(found):
            raise DataError(
                f"classes are {_some(found)}: expected {_some(self.known)}, as in training; call fit() to start over"
            )
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
        """One label as -1 or +1; a new label gets the sign that is free."""
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

    def decode(self, scores: Floats) -> NDArray[Any]:
        negative, positive = self.decode_one(-1.0), self.decode_one(1.0)
        if type(negative) is not type(positive):
            return np.array([positive if score >= 0 else negative for score in scores], object)
        answers: NDArray[Any] = np.where(
            scores >= 0, np.array(positive), np.array(negative)
        )  # also ints beyond 64 bits
        return answers

    def decode_one(self, score: float) -> Any:
        """The label for one score; the other label if this one is unknown so far, None if both are."""
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
