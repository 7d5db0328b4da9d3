"""A paired comparison: two models on the same rows, of which only those count on which one of the two is wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.batch import Floats
from onlineboost.evaluate.sums import added


@dataclass
class Paired:
    """The answers of a model compared with those of another; the sums do not depend on how the rows were batched.

    >>> paired = Paired()
    >>> paired.update(np.array([False, True, True]), np.array([True, True, False]), np.array([1.0, 1.0, 2.0]))
    >>> paired
    Paired(weight=4.0, better=1.0, worse=2.0, squares=5.0)
    """

    weight: float = 0.0  # of all rows
    better: float = 0.0  # of those on which only the other is wrong
    worse: float = 0.0  # of those on which only the model is wrong
    squares: float = 0.0  # squared weights of these two

    def update(self, wrong: NDArray[np.bool_], other: NDArray[np.bool_], weight: Floats) -> None:
        """Add rows: whether the model and the other are wrong, and the weights."""
        differ = wrong != other
        sums = [self.weight, self.better, self.worse, self.squares]
        rows = [weight, (differ & other) * weight, (differ & wrong) * weight, differ * weight**2]
        self.weight, self.better, self.worse, self.squares = added(sums, rows)

    @property
    def totals(self) -> Floats:
        """The sums in the order of ``Record.totals``; margins are not counted."""
        return np.array([self.weight, 0, self.better, self.worse, self.squares])
