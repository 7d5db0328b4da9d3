"""Confusion table: how often each label was predicted as which; and macro F1, which is computed from it."""

from __future__ import annotations

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
        """The table with the labels the other way round."""
        return Confusion(self.table[::-1, ::-1])

    @property
    def error(self) -> float:
        total = self.table.sum()
        return float(1 - np.trace(self.table) / total) if total else float("nan")

    @property
    def recall(self) -> Floats:
        """Of each label, the share that was predicted as such."""
        return _shares(np.diagonal(self.table), self.table.sum(axis=1))

    @property
    def precision(self) -> Floats:
        """Of the predictions of each label, the share that was right."""
        return _shares(np.diagonal(self.table), self.table.sum(axis=0))

    @property
    def macro_f1(self) -> float:
        """The mean over the labels that occur of the harmonic mean of precision and recall."""
        share = self.table.sum(axis=1) + self.table.sum(axis=0)
        found = _shares(2 * np.diagonal(self.table), share)[share > 0]
        return float(found.mean()) if found.size else float("nan")


def _shares(parts: Floats, wholes: Floats) -> Floats:
    found: Floats = parts / np.maximum(wholes, 1e-300)
    return found


METRICS.add(Metric("macro-f1", "macro F1", Confusion, attrgetter("macro_f1"), lower_is_better=False, of_answers=True))
