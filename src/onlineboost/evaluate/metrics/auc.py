"""AUC: the area under the ROC curve; PR-AUC: that under the curve of precision and recall, as average precision."""

from __future__ import annotations

import math

import numpy as np

from onlineboost.data.batch import Floats
from onlineboost.data.scores import as_columns, widened
from onlineboost.evaluate.metrics.metric import Metric
from onlineboost.evaluate.sums import added
from onlineboost.registry import METRICS

_MAX_SCORES = 1 << 20


class Ranking:
    """The probability that a positive example has a higher score than a negative one; a tie counts half.

    Exact for up to a million different scores; beyond that, scores are rounded to fewer digits. With more than two
    classes, the mean over all of them, each against the rest.

    >>> ranking = Ranking()
    >>> ranking.update(np.array([0.1, 0.4, 0.35, 0.8]), np.array([0.0, 0.0, 1.0, 1.0]), np.ones(4))
    >>> ranking.auc
    0.75
    """

    def __init__(self) -> None:
        self.scores = np.empty(0)
        self.masses = np.empty((0, 2))  # weight of the negative and positive examples with each score
        self.weight = 0.0  # of all of these
        self.digits: int | None = None  # significant binary digits of the scores; None: all
        self.classes: list[Ranking] = []  # of each class against the rest, if there are more than two

    def update(self, scores: Floats, y: Floats, weight: Floats) -> None:
        columns = widened(as_columns(scores), len(self.classes))  # a page of two classes may come after one of more
        if columns.shape[1] > 1:
            self._know(columns.shape[1])
            for place, column in enumerate(columns.T):
                self.classes[place].update(column, (y == place).astype(np.float64), weight)
            return
        scores = columns[:, 0]
        masses = np.stack([weight * (y == 0), weight * (y == 1)], axis=1)
        [self.weight] = added([self.weight], [masses[:, 0] + masses[:, 1]])
        self._merge(np.concatenate([self.scores, self._rounded(scores)]), np.concatenate([self.masses, masses]))
        while self.scores.size > _MAX_SCORES:
            self.digits = (self.digits or 53) - 4
            self._merge(self._rounded(self.scores), self.masses)

    def _know(self, n: int) -> None:
        """Create a ranking for each of n classes; rows so far get the lowest score of new classes."""
        if not self.classes and self.scores.size:
            positive = Ranking()
            positive.scores, positive.masses, positive.weight = self.scores, self.masses, self.weight
            self.classes = [self.turned(), positive]
        so_far = self.classes[0].weight if self.classes else 0.0
        while len(self.classes) < n:
            new = Ranking()
            if so_far:
                new.scores, new.masses, new.weight = np.array([-np.inf]), np.array([[so_far, 0.0]]), so_far
            self.classes.append(new)

    def turned(self) -> Ranking:
        """The ranking by the probability of the negative label."""
        found = Ranking()
        found.scores, found.masses, found.weight = -self.scores[::-1], self.masses[::-1, ::-1], self.weight
        found.classes = self.classes
        return found

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
        """None unless there are examples of both labels."""
        if self.classes:
            found = [one.auc for one in self.classes if one.auc is not None]
            return float(np.mean(found)) if found else None
        negative, positive = self.masses[:, 0], self.masses[:, 1]
        pairs = negative.sum() * positive.sum()
        below = np.cumsum(negative) - negative
        return float((positive * (below + negative / 2)).sum() / pairs) if pairs else None

    @property
    def value(self) -> float:
        auc = self.auc
        return math.nan if auc is None else auc


def average_precision(ranking: Ranking) -> float:
    """The mean precision over the positive examples, each with its score as the threshold.

    Chance gives the share of positive examples. NaN without positive examples, and with more than two classes.

    >>> ranking = Ranking()
    >>> ranking.update(np.array([0.1, 0.4, 0.35, 0.8]), np.array([0.0, 0.0, 1.0, 1.0]), np.ones(4))
    >>> round(average_precision(ranking), 3)
    0.833
    """
    negative, positive = ranking.masses[::-1].T
    total = positive.sum()
    if ranking.classes or not total:
        return float("nan")
    hits = np.cumsum(positive)
    precision = hits / np.maximum(hits + np.cumsum(negative), 1e-300)
    return float((positive * precision).sum() / total)


METRICS.add(Metric("auc", "AUC", Ranking, lower_is_better=False))
METRICS.add(Metric("pr-auc", "PR-AUC", Ranking, average_precision, lower_is_better=False, of_positive=True))
