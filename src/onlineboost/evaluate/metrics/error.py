"""Error: the share of the weight with wrong predictions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from onlineboost.data.batch import Floats
from onlineboost.data.classes import Classes
from onlineboost.evaluate.metrics.metric import Metric
from onlineboost.evaluate.sums import running
from onlineboost.registry import METRICS


@dataclass
class Curve:
    """The error so far, kept at evenly spaced examples; with more than ``most`` points every other one is dropped.

    The points do not depend on how the examples were batched.

    >>> import numpy as np
    >>> curve = Curve()
    >>> curve.update(np.array([True, False, False, True]), np.ones(4))
    >>> curve.error, curve.points[-1]
    (0.5, (4, 0.5))
    """

    most: int = 512
    stride: int = 1
    examples: int = 0
    weight: float = 0.0
    mistakes: float = 0.0  # their weight; of numbers, the sum of absolute errors
    points: list[tuple[int, float]] = field(default_factory=list)  # examples, error so far
    marks: list[tuple[int, float, float]] = field(default_factory=list)  # at powers of two: examples, weight, mistakes

    @property
    def error(self) -> float:
        return self.mistakes / self.weight if self.weight else float("nan")

    def update(self, wrong: NDArray[Any], weight: Floats) -> None:
        weights, mistakes = running([self.weight, self.mistakes], [weight, wrong * weight])[:, 1:]
        first = self.examples + 1
        while (self.examples + wrong.size) // self.stride > self.most:
            self.stride *= 2
        self.points = [point for point in self.points if point[0] % self.stride == 0]
        for k in range(-first % self.stride, wrong.size, self.stride):
            if weights[k] > 0:
                self.points.append((first + k, float(mistakes[k] / weights[k])))
        mark = 1 << len(self.marks)
        while mark < first + wrong.size:
            self.marks.append((mark, float(weights[mark - first]), float(mistakes[mark - first])))
            mark *= 2
        if wrong.size:
            self.examples += wrong.size
            self.weight, self.mistakes = float(weights[-1]), float(mistakes[-1])

    def line(self) -> list[tuple[int, float]]:
        """The points, and the last example."""
        return [*self.points, (self.examples, self.error)] if self.weight else []


@dataclass
class Mistakes:
    """The error curve, from scores."""

    curve: Curve = field(default_factory=Curve)

    def update(self, scores: Floats, y: Floats, weight: Floats) -> None:
        self.curve.update(Classes.mistakes(scores, y), weight)

    @property
    def value(self) -> float:
        return self.curve.error


METRICS.add(Metric("error", "error", Mistakes, of_answers=True))
