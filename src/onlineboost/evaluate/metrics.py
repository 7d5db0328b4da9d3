"""Figures that grow with a stream, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.batch import Floats

_DISTINCT = 1 << 20


@dataclass
class Curve:
    """A running error, remembered at evenly spaced examples: when there are too many, every other is forgotten.

    What is remembered depends on the examples alone, not on how they came in batches.

    >>> curve = Curve()
    >>> curve.update(np.array([True, False, False, True]), np.ones(4))
    >>> curve.error, curve.points[-1]
    (0.5, (4, 0.5))
    """

    most: int = 512
    stride: int = 1
    examples: int = 0
    weight: float = 0.0
    mistakes: float = 0.0
    points: list[tuple[int, float]] = field(default_factory=list)  # examples, error since the start
    marks: list[tuple[int, float, float]] = field(default_factory=list)  # at powers of two: examples, weight, mistakes

    @property
    def error(self) -> float:
        return self.mistakes / self.weight if self.weight else float("nan")

    def update(self, wrong: NDArray[np.bool_], weight: Floats) -> None:
        # Added one by one, from where the last batch ended: sums do not depend on batches.
        weights = np.cumsum(np.concatenate([[self.weight], weight]))[1:]
        mistakes = np.cumsum(np.concatenate([[self.mistakes], wrong * weight]))[1:]
        first = self.examples + 1
        while (self.examples + wrong.size) // self.stride > self.most:
            self.stride *= 2
        self.points = [point for point in self.points if point[0] % self.stride == 0]
        for k in range(-first % self.stride, wrong.size, self.stride):
            if weights[k] > 0:
                self.points.append((first + k, float(mistakes[k] / weights[k])))
        mark = 1 << len(self.marks)
        while mark < first + wrong.size:
            self.marks.append((mark, float(weights[mark - first]), float(mistakes[mark - first])))
            mark *= 2
        if wrong.size:
            self.examples += wrong.size
            self.weight, self.mistakes = float(weights[-1]), float(mistakes[-1])

    def line(self) -> list[tuple[int, float]]:
        """The points, and the end."""
        return [*self.points, (self.examples, self.error)] if self.weight else []

    def as_json(self) -> dict[str, Any]:
        return {**self.__dict__, "points": list(map(list, self.points)), "marks": list(map(list, self.marks))}

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> Curve:
        return cls(**{**facts, "points": list(map(tuple, facts["points"])), "marks": list(map(tuple, facts["marks"]))})


class Ranking:
    """Area under the ROC curve: the chance that a positive example has a higher score than a negative one.

    Exact as long as there are at most a million different scores; then they are rounded until there are.

    >>> ranking = Ranking()
    >>> ranking.update(np.array([0.1, 0.4, 0.35, 0.8]), np.array([-1.0, -1.0, 1.0, 1.0]), np.ones(4))
    >>> ranking.auc
    0.75
    """

    def __init__(self) -> None:
        self.scores = np.empty(0)
        self.masses = np.empty((0, 2))  # of negative and positive examples with that score
        self.digits: int | None = None  # significant binary digits that scores are rounded to

    def update(self, scores: Floats, y: Floats, weight: Floats) -> None:
        masses = np.stack([weight * (y < 0), weight * (y > 0)], axis=1)
        self._merge(np.concatenate([self.scores, self._rounded(scores)]), np.concatenate([self.masses, masses]))
        while self.scores.size > _DISTINCT:
            self.digits = (self.digits or 53) - 4
            self._merge(self._rounded(self.scores), self.masses)

    def _rounded(self, scores: Floats) -> Floats:
        if self.digits is None:
            return scores
        mantissa, exponent = np.frexp(scores)
        return np.ldexp(np.round(mantissa * 2.0**self.digits) / 2.0**self.digits, exponent)

    def _merge(self, scores: Floats, masses: Floats) -> None:
        self.scores, where = np.unique(scores, return_inverse=True)
        self.masses = np.stack([np.bincount(where, masses[:, k], self.scores.size) for k in (0, 1)], axis=1)

    @property
    def auc(self) -> float | None:
        """None if there is only one kind of label."""
        negative, positive = self.masses[:, 0], self.masses[:, 1]
        pairs = negative.sum() * positive.sum()
        below = np.cumsum(negative) - negative
        return float((positive * (below + negative / 2)).sum() / pairs) if pairs else None


@dataclass
class Confusion:
    """Weights of examples by their label (row) and the answer (column), the negative one first."""

    table: Floats = field(default_factory=lambda: np.zeros((2, 2)))

    def update(self, scores: Floats, y: Floats, weight: Floats) -> None:
        at = 2 * (y > 0) + (scores >= 0)
        self.table += np.bincount(at, weight, 4).reshape(2, 2)

    @property
    def error(self) -> float:
        total = self.table.sum()
        return float((self.table[0, 1] + self.table[1, 0]) / total) if total else float("nan")


@dataclass
class Calibration:
    """How good probabilities are: log loss, Brier score, and how often what was given p came true.

    >>> calibration = Calibration()
    >>> calibration.update(np.array([0.8, 0.8, 0.3, 0.8]), np.array([1, 1, -1, -1]), np.ones(4))
    >>> round(calibration.log_loss, 3), round(calibration.brier, 4), round(calibration.error, 4)
    (0.603, 0.2025, 0.175)
    >>> calibration.line()  # mean probability, share that came true, weight
    [(0.3, 0.0, 1.0), (0.8, 0.6667, 3.0)]
    """

    BINS = 15
    loss: float = 0.0
    squares: float = 0.0
    bins: Floats = field(default_factory=lambda: np.zeros((Calibration.BINS, 3)))  # weight, probability, came true

    def update(self, probability: Floats, y: Floats, weight: Floats) -> None:
        happened = y > 0
        p = np.clip(np.where(happened, probability, 1 - probability), 1e-15, 1.0)
        self.loss -= float((weight * np.log(p)).sum())
        self.squares += float((weight * (1 - p) ** 2).sum())
        at = np.minimum((probability * self.BINS).astype(np.int64), self.BINS - 1)
        for column, values in enumerate((weight, weight * probability, weight * happened)):
            self.bins[:, column] += np.bincount(at, values, self.BINS)

    @property
    def weight(self) -> float:
        return float(self.bins[:, 0].sum())

    @property
    def log_loss(self) -> float:
        """Mean of -log of the probability that was given to what happened."""
        return self.loss / self.weight if self.weight else float("nan")

    @property
    def brier(self) -> float:
        """Mean of the squared probability that was given to what did not happen."""
        return self.squares / self.weight if self.weight else float("nan")

    @property
    def error(self) -> float:
        """The expected calibration error: mean distance of probability and share, over bins of equal width."""
        return float(np.abs(self.bins[:, 1] - self.bins[:, 2]).sum() / self.weight) if self.weight else float("nan")

    def line(self) -> list[tuple[float, float, float]]:
        """The reliability curve: for each bin in use, mean probability, share that came true, and weight."""
        used = self.bins[self.bins[:, 0] > 0]
        return [(round(p / w, 4), round(t / w, 4), float(w)) for w, p, t in used.tolist()]
