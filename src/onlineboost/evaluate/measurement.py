"""Several metrics in one pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

from onlineboost.data.batch import Floats
from onlineboost.data.scores import as_columns, squeezed
from onlineboost.evaluate.metrics.metric import Accumulator, Metric
from onlineboost.registry import METRICS

_Key: TypeAlias = tuple[Callable[[], Accumulator], str, bool]


class Measurement:
    """Several metrics of the same rows; metrics with the same accumulator share it.

    Parameters
    ----------
    metrics : iterable of metrics or None, default=None
        Metrics of ``onlineboost.extend.registry.METRICS``; None: all metrics of classification.

    Examples
    --------
    >>> import numpy as np
    >>> measurement = Measurement()
    >>> scores, y, weight = np.array([-2.0, 0.5, -0.1, 1.0]), np.array([0.0, 0.0, 1.0, 1.0]), np.ones(4)
    >>> measurement.update(scores, y, weight, probabilities=1 / (1 + np.exp(-scores)))
    >>> {name: round(value, 3) for name, value in measurement.values().items() if value is not None}
    {'auc': 0.75, 'brier': 0.187, 'calibration-error': 0.384, 'error': 0.5, 'f1': 0.5, 'log-loss': 0.54,
    'macro-f1': 0.5, 'mcc': 0.0, 'pr-auc': 0.833, 'precision': 0.5, 'recall': 0.5}
    """

    def __init__(self, metrics: Iterable[Metric] | None = None) -> None:
        metrics = metrics_of("classes") if metrics is None else metrics
        self.metrics = {metric.name: metric for metric in metrics}
        shared = {_key(metric) for metric in self.metrics.values()}
        self._accumulators: dict[_Key, Accumulator] = {key: key[0]() for key in shared}

    def __getitem__(self, name: str) -> Any:
        """The accumulator of a metric, which may have more than its value, such as a curve."""
        return self._accumulators[_key(self.metrics[name])]

    def update(
        self,
        scores: Floats,
        y: Floats,
        weight: Floats,
        probabilities: Floats | None = None,
        intervals: Floats | None = None,
        answers: Floats | None = None,
    ) -> None:
        """Add rows; metrics of probabilities or intervals are computed only if these are given.

        Parameters
        ----------
        scores : array
            Scores of the rows.
        y : array
            Numbers, or places of labels: 0, 1, 2, ...; -1 is 0, too.
        weight : array
            Weight of each row.
        probabilities : array or None, default=None
            Probabilities of the positive label, or of all.
        intervals : array or None, default=None
            Bounds of prediction intervals.
        answers : array or None, default=None
            Scores whose signs are the decisions, for another threshold than 0.
        """
        if any(metric.task == "classes" for metric in self.metrics.values()):
            y = np.maximum(y, 0)
        given = {"scores": scores, "probabilities": probabilities, "intervals": intervals}
        for (_, needs, of_answers), accumulator in self._accumulators.items():
            values = answers if of_answers and answers is not None else given[needs]
            if values is not None:
                accumulator.update(squeezed(as_columns(values)), y, weight)

    def values(self, turned: bool = False) -> dict[str, float | None]:
        """The metrics by name.

        Parameters
        ----------
        turned : bool, default=False
            Whether the positive label has the place 0 (``Classes.turned``).

        Returns
        -------
        dict
            Values by the name of the metric; None for a metric that cannot be computed.
        """
        found = {name: value_of(metric, self[name], turned) for name, metric in self.metrics.items()}
        return {name: None if math.isnan(value) else value for name, value in found.items()}


def metrics_of(task: str) -> list[Metric]:
    """The registered metrics of classes, or of a number."""
    return [metric for metric in METRICS if metric.task == task]


def value_of(metric: Metric, accumulator: Any, turned: bool) -> float:
    """The value of a metric; ``turned``: the positive label has the place 0."""
    return metric.value(accumulator.turned() if turned and metric.of_positive else accumulator)


def _key(metric: Metric) -> _Key:
    return metric.accumulator, metric.needs, metric.of_answers
