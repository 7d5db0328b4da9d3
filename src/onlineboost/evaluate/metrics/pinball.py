"""Pinball loss: how good quantiles are; here those at the ends of the 90 % interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from onlineboost.data.batch import Floats
from onlineboost.evaluate.metrics.metric import Metric
from onlineboost.evaluate.sums import added
from onlineboost.registry import METRICS

_LEVELS = np.array([0.05, 0.95])


@dataclass
class Pinball:
    """Mean over rows and quantiles q, [rows, 2], of q d where d = y - quantile is positive, else of (q - 1) d.

    >>> pinball = Pinball()
    >>> pinball.update(np.array([[0.0, 2.0], [0.0, 2.0]]), np.array([1.0, 3.0]), np.ones(2))
    >>> round(pinball.value, 4)
    0.3
    """

    weight: float = 0.0
    loss: float = 0.0

    def update(self, bounds: Floats, y: Floats, weight: Floats) -> None:
        d = y[:, None] - bounds
        losses = np.maximum(_LEVELS * d, (_LEVELS - 1) * d)
        self.weight, self.loss = added([self.weight, self.loss], [weight, weight * (losses[:, 0] + losses[:, 1])])

    @property
    def value(self) -> float:
        return self.loss / (len(_LEVELS) * self.weight) if self.weight else math.nan


METRICS.add(Metric("pinball", "pinball loss", Pinball, needs="intervals", task="number"))
