"""Confusion table: how often each label was predicted as which. A table, not a number: it is not registered."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from onlineboost.data.batch import Floats
from onlineboost.data.target import Classes


@dataclass
class Confusion:
    """Weight of the examples by label (row) and prediction (column), negative first.

    >>> confusion = Confusion()
    >>> confusion.update(np.array([0.1, 0.4, -0.3]), np.array([-1.0, 1.0, 1.0]), np.ones(3))
    >>> confusion.table.tolist()
    [[0.0, 1.0], [1.0, 1.0]]
    """

    table: Floats = field(default_factory=lambda: np.zeros((2, 2)))

    def update(self, scores: Floats, y: Floats, weight: Floats) -> None:
        positive = y > 0
        predicted = positive ^ Classes.mistakes(scores, y)
        self.table += np.bincount(2 * positive + predicted, weight, 4).reshape(2, 2)

    @property
    def error(self) -> float:
        total = self.table.sum()
        return float((self.table[0, 1] + self.table[1, 0]) / total) if total else float("nan")
