"""Regression metrics: mean absolute error, root mean squared error, R2; coverage and pinball loss of intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from onlineboost.data.batch import Floats
from onlineboost.data.scores import as_columns
from onlineboost.evaluate.metrics.metric import Mean, Metric
from onlineboost.evaluate.sums import added
from onlineboost.registry import METRICS

_LEVELS = np.array([0.05, 0.95])  # of the ends of the 90 % interval


@dataclass
class NumberErrors:
    """Sums over rows, which do not depend on how the rows were batched.

    >>> errors = NumberErrors()
    >>> errors.update(np.array([1.0, 2.0, 2.0]), np.array([1.0, 2.0, 3.0]), np.ones(3))
    >>> round(errors.mae, 3), round(errors.rmse, 3), errors.r2
    (0.333, 0.577, 0.5)
    """

    first: float = math.nan  # the first target, subtracted from the others so that no digits are lost
    weight: float = 0.0
    total: float = 0.0
    squares: float = 0.0
    absolute: float = 0.0  # of errors
    squared: float = 0.0

    def update(self, answers: Floats, y: Floats, weight: Floats) -> None:
        if not y.size:
            return
        self.first = float(y[0]) if math.isnan(self.first) else self.first
        answers = as_columns(answers)[:, 0]  # the others are bounds
        far, error = y - self.first, answers - y
        sums = [self.weight, self.total, self.squares, self.absolute, self.squared]
        rows = [weight, weight * far, weight * far**2, weight * np.abs(error), weight * error**2]
        self.weight, self.total, self.squares, self.absolute, self.squared = added(sums, rows)

    @property
    def mae(self) -> float:
        """Mean absolute error."""
        return self.absolute / self.weight if self.weight else math.nan

    @property
    def rmse(self) -> float:
        """Root of the mean squared error."""
        return math.sqrt(self.squared / self.weight) if self.weight else math.nan

    @property
    def mean(self) -> float:
        """The mean target."""
        return self.first + self.total / self.weight if self.weight else math.nan

    @property
    def r2(self) -> float:
        """The share of explained variance; NaN if all targets are the same."""
        return self.r2_of(self.squared)

    def r2_of(self, squared: float) -> float:
        """R2 of other predictions for the same rows, by the sum of their squared errors."""
        whole = self.squares - self.total**2 / self.weight if self.weight else 0.0
        return 1 - squared / whole if whole > 0 else math.nan


class Coverage(Mean):
    """The share of the targets that lie within the bounds, [rows, 2].

    >>> coverage = Coverage()
    >>> coverage.update(np.array([[0.0, 2.0], [0.0, 2.0]]), np.array([1.0, 3.0]), np.ones(2))
    >>> coverage.value
    0.5
    """

    def update(self, bounds: Floats, y: Floats, weight: Floats) -> None:
        self.add((bounds[:, 0] <= y) & (y <= bounds[:, 1]), weight)


class Pinball(Mean):
    """Pinball loss: the mean over rows and bounds, [rows, 2], of q d if d = y - bound > 0, else (q - 1) d.

    >>> pinball = Pinball()
    >>> pinball.update(np.array([[0.0, 2.0], [0.0, 2.0]]), np.array([1.0, 3.0]), np.ones(2))
    >>> round(pinball.value, 4)
    0.3
    """

    def update(self, bounds: Floats, y: Floats, weight: Floats) -> None:
        d = y[:, None] - bounds
        losses = np.maximum(_LEVELS * d, (_LEVELS - 1) * d)
        self.add((losses[:, 0] + losses[:, 1]) / 2, weight)


METRICS.add(Metric("mae", "mean absolute error", NumberErrors, attrgetter("mae"), task="number"))
METRICS.add(Metric("rmse", "root mean square", NumberErrors, attrgetter("rmse"), task="number"))
METRICS.add(Metric("r2", "R2", NumberErrors, attrgetter("r2"), task="number", lower_is_better=False))
METRICS.add(
    Metric("coverage", "within 90 % interval", Coverage, needs="intervals", task="number", lower_is_better=False)
)
METRICS.add(Metric("pinball", "pinball loss", Pinball, needs="intervals", task="number"))
