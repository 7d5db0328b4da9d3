"""No change: always predict the last label. On streams in time order this can be hard to beat."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from onlineboost.data.batch import Floats
from onlineboost.evaluate.sums import added, added_at

_MARGIN = 3.0  # standard errors


@dataclass
class Repeated:
    """The error of predicting the label of the row before; for regression, the mean absolute error.

    >>> repeated = Repeated()
    >>> repeated.update(np.array([1.0, 1.0, 0.0, 0.0]), np.ones(4))
    >>> repeated
    Repeated(last=0.0, weight=4.0, mistakes=2.0, squared=0.0, counts=[2.0, 2.0])
    >>> repeated.error, repeated.tells()  # three pairs tell nothing
    (0.5, False)
    """

    last: float = -1.0  # the place of the last label, -1: none yet; or the last number
    weight: float = 0.0
    mistakes: float = 0.0
    squared: float = 0.0  # errors of numbers
    counts: list[float] = field(default_factory=list)  # weight of the rows of each class, by place

    def update(self, y: Floats, weight: Floats, numbers: bool = False) -> None:
        """Add rows, in their order."""
        if y.size:
            last = 0.0 if numbers and not self.weight else self.last
            before = np.concatenate([[last], y[:-1]])
            wrong = np.abs(before - y) if numbers else before != y
            squared = wrong**2 * weight if numbers else np.zeros(y.size)
            sums = added([self.weight, self.mistakes, self.squared], [weight, wrong * weight, squared])
            self.last, (self.weight, self.mistakes, self.squared) = float(y[-1]), sums
            if not numbers:
                places = y.astype(np.int64)
                counts = np.zeros(max(len(self.counts), int(places.max()) + 1))
                counts[: len(self.counts)] = self.counts
                self.counts = added_at(counts, places, weight).tolist()

    @property
    def error(self) -> float:
        return self.mistakes / self.weight if self.weight else float("nan")

    def tells(self) -> bool:
        """Whether labels equal the one before more often than in random order.

        Two labels with shares p agree by chance with probability q = sum p^2. Of n pairs, each of which shares a label
        with the next, the share that agrees has the variance (q - q^2 + 2 (sum p^3 - q^2)) / n.
        """
        total = sum(self.counts)
        if not self.weight or not np.isclose(total, self.weight):  # of an older file, which did not count them
            return False
        p = np.array(self.counts) / total
        q, cubes = float((p**2).sum()), float((p**3).sum())
        error = math.sqrt(max(q - q**2 + 2 * (cubes - q**2), 0.0) / self.weight)
        return 1 - self.error > q + _MARGIN * error + 1 / self.weight
