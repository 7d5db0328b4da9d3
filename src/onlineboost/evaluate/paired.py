"""Paired comparisons of two models on the same rows: by mistakes, and by log loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.batch import Floats
from onlineboost.evaluate.sums import added

_SCORES = 2.0**-10 * np.sinh(np.arange(-32, 33) / 2)  # at which probabilities are looked up
_FIRST = 64  # rows before the first look
_LEAST = 1e-15  # probability


@dataclass
class Paired:
    """The predictions of two models compared: only rows on which exactly one of the two is wrong count.

    The sums do not depend on how the rows were batched.

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


@dataclass
class PairedLoss:
    """The log loss of two models compared, for binary classification with a rare label.

    Probabilities come from a table of log odds by score, which is learned online. The table is renewed whenever the
    number of rows is a power of two, so the sums do not depend on batches.

    >>> logistic = lambda scores: (1 + np.tanh(scores / 2)) / 2
    >>> paired = PairedLoss()
    >>> paired.look(logistic, logistic)
    >>> paired.update(np.array([2.0, -1.0]), np.array([0.0, 0.0]), np.array([1.0, 0.0]), np.ones(2))
    >>> round(paired.gain, 2), paired.weight
    (0.68, 2.0)
    """

    rows: int = 0
    weight: float = 0.0
    gained: float = 0.0  # the loss of the other minus that of the model
    squares: float = 0.0  # of these differences, with their weights
    other: float = 0.0  # the loss of the other
    odds: list[list[float]] = field(default_factory=list)  # log odds at the scores looked up, of both; empty: none yet

    def update(self, scores: Floats, others: Floats, y: Floats, weight: Floats) -> None:
        """Add rows: the scores of the model and of the other; not beyond the next power of two."""
        self.rows += y.size
        if self.odds:
            mine, theirs = (_losses(one, odds, y) for one, odds in zip((scores, others), self.odds, strict=True))
            gained = weight * (theirs - mine)
            sums = [self.weight, self.gained, self.squares, self.other]
            self.weight, self.gained, self.squares, self.other = added(
                sums, [weight, gained, gained**2, weight * theirs]
            )

    def look(self, *probabilities: Callable[[Floats], Floats]) -> None:
        """Renew the tables of log odds, of the model and of the other."""
        chances = (np.clip(one(_SCORES[:, None])[:, 0], _LEAST, 1 - _LEAST) for one in probabilities)
        self.odds = [np.log(one / (1 - one)).tolist() for one in chances]

    @property
    def left(self) -> int:
        """Rows up to the next power of two."""
        return (1 << self.rows.bit_length()) - self.rows

    @property
    def due(self) -> bool:
        """Whether it is time to ``look``."""
        return self.rows >= _FIRST and self.rows.bit_count() == 1

    @property
    def gain(self) -> float:
        """The share of the other's loss that the model saves."""
        return self.gained / self.other if self.other else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the gain."""
        width = 1.96 * self.squares**0.5 / self.other if self.other else 0.0
        return self.gain - width, self.gain + width


def _losses(scores: Floats, odds: Sequence[float], y: Floats) -> Floats:
    margins = np.where(y > 0, 1.0, -1.0) * np.interp(scores, _SCORES, odds)
    found: Floats = np.log(1 + np.exp(-np.abs(margins))) + np.maximum(-margins, 0.0)
    return found
