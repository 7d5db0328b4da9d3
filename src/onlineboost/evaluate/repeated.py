"""No change: always answer the last label. On streams in the order of time this can be hard to beat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onlineboost.data.batch import Floats
from onlineboost.evaluate.sums import added


@dataclass
class Repeated:
    """The error of answering each row with the label of the one before it; of numbers, the mean absolute error.

    >>> repeated = Repeated()
    >>> repeated.update(np.array([1.0, 1.0, -1.0, -1.0]), np.ones(4))
    >>> repeated
    Repeated(last=-1.0, weight=4.0, mistakes=2.0, squared=0.0)
    >>> repeated.error
    0.5
    """

    last: float = 0.0  # the last label, by its code; 0: none yet
    weight: float = 0.0
    mistakes: float = 0.0
    squared: float = 0.0  # errors of numbers

    def update(self, y: Floats, weight: Floats, numbers: bool = False) -> None:
        """Add rows, in their order."""
        if y.size:
            before = np.concatenate([[self.last], y[:-1]])
            wrong = np.abs(before - y) if numbers else before != y
            squared = wrong**2 * weight if numbers else np.zeros(y.size)
            sums = added([self.weight, self.mistakes, self.squared], [weight, wrong * weight, squared])
            self.last, (self.weight, self.mistakes, self.squared) = float(y[-1]), sums

    @property
    def error(self) -> float:
        return self.mistakes / self.weight if self.weight else float("nan")
