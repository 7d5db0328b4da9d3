"""Coverage: the share of the targets that lie within the 90 % interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

from onlineboost.data.batch import Floats
from onlineboost.evaluate.metrics.metric import Metric
from onlineboost.evaluate.sums import added
from onlineboost.registry import METRICS


@dataclass
class Coverage:
    """Weight of the rows, and of those whose target lies within the bounds, [rows, 2].

    >>> import numpy as np
    >>> coverage = Coverage()
    >>> coverage.update(np.array([[0.0, 2.0], [0.0, 2.0]]), np.array([1.0, 3.0]), np.ones(2))
    >>> coverage.value
    0.5
    """

    weight: float = 0.0
    inside: float = 0.0

    def update(self, bounds: Floats, y: Floats, weight: Floats) -> None:
        within = (bounds[:, 0] <= y) & (y <= bounds[:, 1])
        self.weight, self.inside = added([self.weight, self.inside], [weight, weight * within])

    @property
    def value(self) -> float:
        return self.inside / self.weight if self.weight else math.nan


METRICS.add(
    Metric("coverage", "within 90 % interval", Coverage, needs="intervals", task="number", lower_is_better=False)
)
