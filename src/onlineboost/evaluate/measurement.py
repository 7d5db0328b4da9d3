"""Several metrics in one pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from onlineboost.data.batch import Floats
from onlineboost.evaluate.metrics.metric import Accumulator, Metric
from onlineboost.registry import METRICS

_Key: TypeAlias = tuple[Callable[[], Accumulator], str]


class Measurement:
    """Metrics of the same rows; by default all registered ones of classes. Metrics with the same accumulator share it.

    >>> import numpy as np
    >>> measurement = Measurement()
    >>> scores, y, weight = np.array([-2.0, 0.5, -0.1, 1.0]), np.array([-1.0, -1.0, 1.0, 1.0]), np.ones(4)
    >>> measurement.update(scores, y, weight, probabilities=1 / (1 + np.exp(-scores)))
    >>> {name: round(value, 3) for name, value in measurement.values().items() if value is not None}
    {'auc': 0.75, 'brier': 0.187, 'calibration-error': 0.384, 'error': 0.5, 'log-loss': 0.54, 'macro-f1': 0.5}
    """

    def __init__(self, metrics: Iterable[Metric] | None = None) -> None:
        metrics = metrics_of("classes") if metrics is None else metrics
        self.metrics = {metric.name: metric for metric in metrics}
        shared = {_key(metric) for metric in self.metrics.values()}
        self._accumulators: dict[_Key, Accumulator] = {(make, needs): make() for make, needs in shared}

    def __getitem__(self, name: str) -> Any:
        """The accumulator of a metric, which may know more than its value: a curve, for instance."""
        return self._accumulators[_key(self.metrics[name])]

    def update(
        self,
        scores: Floats,
        y: Floats,
        weight: Floats,
        probabilities: Floats | None = None,
        intervals: Floats | None = None,
    ) -> None:
        """Add rows; without probabilities or the bounds of intervals, the metrics of them are not computed."""
        given = {"scores": scores, "probabilities": probabilities, "intervals": intervals}
        for (_, needs), accumulator in self._accumulators.items():
            values = given[needs]
            if values is not None:
                accumulator.update(values, y, weight)

    def values(self) -> dict[str, float | None]:
        """The metrics by name; None where there was nothing to compute one from."""
        found = {name: metric.value(self[name]) for name, metric in self.metrics.items()}
        return {name: None if math.isnan(value) else value for name, value in found.items()}


def metrics_of(task: str) -> list[Metric]:
    """The registered metrics of classes, or of a number."""
    return [metric for metric in METRICS if metric.task == task]


def _key(metric: Metric) -> _Key:
    return metric.accumulator, metric.needs
