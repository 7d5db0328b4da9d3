"""Description of a metric, and the mean of a number for each row."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal, Protocol

from onlineboost.data.batch import Floats
from onlineboost.evaluate.sums import added


class Accumulator(Protocol):
    """Statistics of the rows so far for a metric, in bounded memory."""

    def update(self, given: Floats, y: Floats, weight: Floats, /) -> None:
        """Add rows: scores or probabilities, [rows] of two labels, or bounds; places of labels, or targets; weights."""


@dataclass(frozen=True)
class Metric:
    """A metric and its name."""

    name: str
    title: str  # in tables and summaries
    accumulator: Callable[[], Accumulator]  # a class; metrics with the same one share an instance
    value: Callable[[Any], float] = attrgetter("value")  # from the accumulator; NaN if it cannot be computed
    needs: Literal["scores", "probabilities", "intervals"] = "scores"
    task: Literal["classes", "number"] = "classes"
    lower_is_better: bool = True
    of_answers: bool = False  # uses only the signs of scores, so a threshold matters
    of_positive: bool = False  # that of place 1; the accumulator's ``turned()`` is that of place 0


@dataclass
class Mean:
    """The weighted mean of a number for each row; NaN of no rows."""

    weight: float = 0.0
    total: float = 0.0

    def add(self, rows: Any, weight: Floats) -> None:
        self.weight, self.total = added([self.weight, self.total], [weight, weight * rows])

    @property
    def value(self) -> float:
        return self.total / self.weight if self.weight else math.nan
