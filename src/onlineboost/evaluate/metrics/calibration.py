"""Quality of probabilities: log loss, Brier score and calibration error."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import attrgetter

import numpy as np

from onlineboost.data.batch import Floats
from onlineboost.data.scores import as_columns, widened
from onlineboost.evaluate.metrics.metric import Metric
from onlineboost.evaluate.sums import added, added_at
from onlineboost.registry import METRICS


@dataclass
class Calibration:
    """Sums for log loss, Brier score and a reliability curve, from probabilities of the positive label.

    With more than two classes, from those of all classes; the curve is that of the predicted label.

    >>> calibration = Calibration()
    >>> calibration.update(np.array([0.8, 0.8, 0.3, 0.8]), np.array([1, 1, 0, 0]), np.ones(4))
    >>> round(calibration.log_loss, 3), round(calibration.brier, 4), round(calibration.error, 4)
    (0.603, 0.2025, 0.175)
    >>> calibration.line()  # mean probability, share of positives, weight
    [(0.3, 0.0, 1.0), (0.8, 0.6667, 3.0)]
    """

    BINS = 15
    loss: float = 0.0
    squares: float = 0.0
    bins: Floats = field(default_factory=lambda: np.zeros((Calibration.BINS, 3)))  # weight, probability, positives

    def update(self, probability: Floats, y: Floats, weight: Floats) -> None:
        columns, places = as_columns(probability), y.astype(np.int64)
        each = widened(columns, 2, True)
        known = places < each.shape[1]
        true = np.where(known, each[np.arange(y.size), np.where(known, places, 0)], 0.0)
        if columns.shape[1] > 1:
            squares = ((columns**2).sum(axis=1) - 2 * true + 1) / 2
            positive, probability = columns.argmax(axis=1) == places, columns.max(axis=1)
        else:
            squares = (1 - true) ** 2
            positive, probability = places == 1, columns[:, 0]
        losses = -weight * np.log(np.clip(true, 1e-15, 1.0))
        self.loss, self.squares = added([self.loss, self.squares], [losses, weight * squares])
        at = np.minimum((probability * self.BINS).astype(np.int64), self.BINS - 1)
        sums = zip(self.bins.T, (weight, weight * probability, weight * positive), strict=True)
        self.bins = np.stack([added_at(column, at, values) for column, values in sums], axis=1)

    @property
    def weight(self) -> float:
        return float(self.bins[:, 0].sum())

    @property
    def log_loss(self) -> float:
        """Mean of -log of the probability of the true label."""
        return self.loss / self.weight if self.weight else float("nan")

    @property
    def brier(self) -> float:
        """Mean of the squared probability of the other label; of many classes, half the squared distance."""
        return self.squares / self.weight if self.weight else float("nan")

    @property
    def error(self) -> float:
        """Expected calibration error: mean distance of probability and share of positives, over bins of equal width."""
        return float(np.abs(self.bins[:, 1] - self.bins[:, 2]).sum() / self.weight) if self.weight else float("nan")

    def line(self) -> list[tuple[float, float, float]]:
        """The reliability curve: mean probability, share of positives and weight of each bin that is not empty."""
        used = self.bins[self.bins[:, 0] > 0]
        return [(round(p / w, 4), round(t / w, 4), float(w)) for w, p, t in used.tolist()]


for name, title, value in (
    ("brier", "Brier score", "brier"),
    ("calibration-error", "calibration error", "error"),
    ("log-loss", "log loss", "log_loss"),
):
    METRICS.add(Metric(name, title, Calibration, attrgetter(value), needs="probabilities"))
