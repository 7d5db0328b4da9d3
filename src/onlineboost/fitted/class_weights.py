"""Class weights: factors of the weights of rows, by label."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from onlineboost.data.batch import LARGEST, Floats, Ints
from onlineboost.data.classes import Classes
from onlineboost.errors import DataError, ParameterError, listed

BALANCED = "balanced"
_MANY = 1 << 50  # rows


class ClassWeights:
    """A weight for each label: given, or "balanced".

    The balanced weight of a row is n / (K m), where n counts the rows learned so far, K their labels and m those of its
    own label, all of them with this row. So it depends on the rows before it only, not on batches. Other labels have
    weight 1.

    >>> weights = ClassWeights("balanced")
    >>> weights.rows(np.array([0.0, 0.0, 0.0, 1.0]), np.ones(4), Classes("no", "yes"))
    array([1., 1., 1., 2.])
    """

    def __init__(self, given: Any) -> None:
        self.given = _checked(given)
        self.counts: Ints = np.zeros(0, np.int64)  # rows of each place; replaced, never written to
        self.by_place: Floats = np.ones(0)  # the weights given
        self.target: Classes | None = None  # met last

    @property
    def balanced(self) -> bool:
        return isinstance(self.given, str)

    def rows(self, y: Floats, weight: Floats, target: Classes) -> Floats:
        """The weights of rows that are to be learned, given their labels and their own weights."""
        places, found = y.astype(np.int64), np.ones(y.size)
        if not self.balanced:
            found = self._of_places(target)[places]
        else:
            learned = weight > 0
            found[learned] = self._balanced(places[learned])
        return np.minimum(weight * found, LARGEST)

    def check(self, target: Classes) -> None:
        """Raise an error if no label has a weight."""
        if not self.balanced:
            self._of_places(target)

    def row(self, y: float, weight: float, target: Classes) -> float:
        """``rows`` for one row."""
        place = int(y)
        if not self.balanced:
            return min(weight * float(self._of_places(target)[place]), LARGEST)
        own = int(self.counts[place]) if place < self.counts.size else 0
        n, known = int(self.counts.sum()) + 1, int(np.count_nonzero(self.counts)) + (not own)
        return min(weight * (n / (known * (own + 1))), LARGEST)

    def learn(self, y: Floats, weight: Floats) -> None:
        """Count rows that were learned."""
        if self.balanced:
            places = y[weight > 0].astype(np.int64)
            counts = np.bincount(places, minlength=self.counts.size)
            counts[: self.counts.size] += self.counts
            self.counts = counts

    def _balanced(self, places: Ints) -> Floats:
        n = places.size
        order = np.argsort(places, kind="stable")
        first = np.searchsorted(places[order], places[order])  # where the rows of each label begin
        own = np.empty(n, np.int64)
        own[order] = np.arange(n) - first + 1
        before = np.zeros(max(self.counts.size, int(places.max(initial=0)) + 1), np.int64)
        before[: self.counts.size] = self.counts
        own += before[places]
        known = np.count_nonzero(before) + np.cumsum(own == 1)
        found: Floats = (before.sum() + np.arange(1, n + 1)) / (known * own)
        return found

    def _of_places(self, target: Classes) -> Floats:
        if target is not self.target or len(target.labels) != self.by_place.size:
            words = {isinstance(label, str) for label in target.known}
            if words and words.isdisjoint(isinstance(label, str) for label in self.given):
                kind, other = ("words", "numbers") if words == {True} else ("numbers", "words")
                raise DataError(
                    f"class_weight has {other}, but the labels are {kind} ({listed(target.known)}): expected these"
                )
            self.by_place = np.array([self.given.get(label, 1.0) for label in target.labels], np.float64)
            self.target = target
        return self.by_place

    # ---- model files

    def describe(self) -> list[int]:
        """The counts as JSON, for a model file."""
        found: list[int] = self.counts.tolist()
        return found

    def restore(self, described: Any, target: Classes) -> None:
        """Take in what was saved; raises a ValueError if it makes no sense."""
        if not isinstance(described, list) or not all(type(one) is int and 0 <= one <= _MANY for one in described):
            raise ValueError("the numbers of rows of each label are not whole numbers")
        if any(count and not target.knows(place) for place, count in enumerate(described)):
            raise ValueError("there are rows of labels that are not known")
        if len(described) > len(target.labels) or sum(described) > _MANY:
            raise ValueError("there are more rows or labels than there can be")
        self.counts = np.array(described, np.int64)


def _checked(given: Any) -> Any:
    if isinstance(given, str) and given == BALANCED:
        return given
    expected = f"a dict of labels and their weights, {BALANCED!r} or None"
    if not isinstance(given, Mapping) or not given:
        raise ParameterError("class_weight", given, expected)
    found = {label.item() if isinstance(label, np.generic) else label: one for label, one in given.items()}
    for label, one in found.items():
        if not isinstance(label, str | int | float) or label != label:
            raise ParameterError("class_weight", given, f"{expected}; {label!r} is no label")
        if not isinstance(one, numbers.Real) or isinstance(one, bool) or not 0 <= float(one) <= LARGEST:
            raise ParameterError("class_weight", given, f"{expected}, each a number from 0 to {LARGEST:g}")
    return {label: float(one) for label, one in found.items()}
