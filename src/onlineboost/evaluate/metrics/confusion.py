"""Confusion table, macro F1, and metrics of the positive label."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from operator import attrgetter

import numpy as np

from onlineboost.data.batch import Floats
from onlineboost.data.classes import answers
from onlineboost.evaluate.metrics.metric import Metric
from onlineboost.evaluate.sums import added_at
from onlineboost.registry import METRICS


@dataclass
class Confusion:
    """Weight of the examples by label (row) and prediction (column), in the order of places.

    >>> confusion = Confusion()
    >>> confusion.update(np.array([0.1, 0.4, -0.3]), np.array([0.0, 1.0, 1.0]), np.ones(3))
    >>> confusion.table.tolist()
    [[0.0, 1.0], [1.0, 1.0]]
    >>> round(confusion.macro_f1, 3)
    0.25
    """

    table: Floats = field(default_factory=lambda: np.zeros((2, 2)))

    def update(self, scores: Floats, y: Floats, weight: Floats) -> None:
        labels, predicted = y.astype(np.int64), answers(scores)
        n = max(len(self.table), int(labels.max(initial=0)) + 1, int(predicted.max(initial=0)) + 1)
        grown = np.zeros((n, n))
        grown[: len(self.table), : len(self.table)] = self.table
        self.table = added_at(grown, n * labels + predicted, weight)

    def turned(self) -> Confusion:
        """The table with the labels swapped."""
        return Confusion(self.table[::-1, ::-1])

    @property
    def recall(self) -> Floats:
        """The recall of each label."""
        return _shares(np.diagonal(self.table), self.table.sum(axis=1))

    @property
    def precision(self) -> Floats:
        """The precision of each label."""
        return _shares(np.diagonal(self.table), self.table.sum(axis=0))

    @property
    def macro_f1(self) -> float:
        """The mean over the labels that occur of the harmonic mean of precision and recall."""
        share = self.table.sum(axis=1) + self.table.sum(axis=0)
        found = _shares(2 * np.diagonal(self.table), share)[share > 0]
        return float(found.mean()) if found.size else math.nan


def _shares(parts: Floats, wholes: Floats) -> Floats:
    found: Floats = parts / np.maximum(wholes, 1e-300)
    return found


def precision(confusion: Confusion) -> float:
    """The share of right positive predictions.

    >>> confusion = Confusion(np.array([[90.0, 4.0], [2.0, 4.0]]))
    >>> precision(confusion), round(recall(confusion), 3), round(f1(confusion), 3), round(mcc(confusion), 3)
    (0.5, 0.667, 0.571, 0.546)
    >>> cost(confusion, fn=10, fp=1)
    0.24
    """
    _, fp, _, tp = _cells(confusion)
    return _share(tp, tp + fp)


def recall(confusion: Confusion) -> float:
    """The share of the positive examples that are found."""
    _, _, fn, tp = _cells(confusion)
    return _share(tp, tp + fn)


def f1(confusion: Confusion) -> float:
    """The harmonic mean of precision and recall."""
    _, fp, fn, tp = _cells(confusion)
    return _share(2 * tp, 2 * tp + fp + fn)


def mcc(confusion: Confusion) -> float:
    """Matthews' correlation coefficient of labels and predictions: 0 is chance, 1 is always right."""
    tn, fp, fn, tp = _cells(confusion)
    return _share(tp * tn - fp * fn, math.sqrt(tp + fp) * math.sqrt(tp + fn) * math.sqrt(tn + fp) * math.sqrt(tn + fn))


def cost(confusion: Confusion, fn: float, fp: float) -> float:
    """The mean cost of an example: ``fn`` for a false negative, ``fp`` for a false positive."""
    _, false, missed, _ = _cells(confusion)
    return _share(fn * missed + fp * false, float(confusion.table.sum()))


def _cells(confusion: Confusion) -> tuple[float, float, float, float]:
    """Weights of true negatives, false positives, false negatives and true positives; NaN of more than two labels."""
    if len(confusion.table) > 2:
        return math.nan, math.nan, math.nan, math.nan
    (tn, fp), (fn, tp) = confusion.table.tolist()
    return tn, fp, fn, tp


def _share(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


METRICS.add(Metric("macro-f1", "macro F1", Confusion, attrgetter("macro_f1"), lower_is_better=False, of_answers=True))
for name, title, value in (
    ("f1", "F1", f1),
    ("mcc", "MCC", mcc),
    ("precision", "precision", precision),
    ("recall", "recall", recall),
):
    METRICS.add(Metric(name, title, Confusion, value, lower_is_better=False, of_answers=True, of_positive=True))
