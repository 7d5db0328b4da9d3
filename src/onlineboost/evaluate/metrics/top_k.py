"""Top-3 accuracy: the share of rows whose label is among the three most likely ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from onlineboost.data.batch import Floats
from onlineboost.data.scores import as_columns, widened
from onlineboost.evaluate.metrics.metric import Mean, Metric
from onlineboost.registry import METRICS

K = 3


@dataclass
class TopK(Mean):
    """The share of the examples whose label has one of the K highest scores; of ties, the first count.

    >>> top = TopK()
    >>> top.update(np.array([[0.1, 0.4, 0.3, 0.2], [4.0, 3.0, 2.0, 1.0]]), np.array([2.0, 3.0]), np.ones(2))
    >>> top.value
    0.5
    """

    width: int = 1

    def update(self, scores: Floats, y: Floats, weight: Floats) -> None:
        places, scores = y.astype(np.int64), widened(as_columns(scores), 2)
        self.width = max(self.width, scores.shape[1])
        known = places < scores.shape[1]
        own = np.where(known, scores[np.arange(places.size), np.where(known, places, 0)], -np.inf)[:, None]
        earlier = np.arange(scores.shape[1]) < places[:, None]
        before = (scores > own) | ((scores == own) & earlier)
        hit = (before.sum(axis=1) < K) & np.isfinite(own[:, 0])
        self.add(hit, weight)

    @property
    def value(self) -> float:
        """NaN of so few classes that all are among the first."""
        return super().value if self.width > K else math.nan


METRICS.add(Metric("top-3", "top-3 accuracy", TopK, lower_is_better=False))
