"""Quality of the last predictions, beyond the metrics of a model.

None of it is part of a model: after a restart it begins with the examples that are replayed.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from onlineboost.data.batch import Floats
from onlineboost.data.classes import Classes
from onlineboost.data.scores import as_columns
from onlineboost.ensembles.regressor import OnlineBoostRegressor
from onlineboost.fitted.running import LAST
from onlineboost.model import OnlineModel
from onlineboost.serve.answers import fitted_of

_BINS = 10
_COVERAGES = (0.5, 0.8, 0.9, 0.95, 0.99)


class _Rows(NamedTuple):
    """Examples that are not counted yet."""

    before: Any  # label of the example before them; None: there is none
    labels: list[Any]
    scores: Floats  # [rows, width]


class Watch:
    """The last 1,000 examples: the error of no change, which repeats the last label, and the calibration.

    The writer adds examples, and readers count them, so that learning takes hardly longer.

    >>> from onlineboost import Perceptron
    >>> watch, model = Watch(), Perceptron().fit([[1.0], [2.0]], ["no", "yes"])
    >>> for label in ("yes", "no", "no", "yes", "yes"):
    ...     watch.add([label], np.array([[0.5]]))
    >>> watch.no_change(model)
    0.5
    """

    def __init__(self) -> None:
        self._fresh: deque[_Rows] = deque()
        self._rows = 0  # of ``_fresh``
        self._last: Any = None  # label
        self._adding, self._counting = threading.Lock(), threading.Lock()
        self._repeated: deque[float] = deque(maxlen=LAST)
        self._said: deque[float] = deque(maxlen=LAST)  # probability of the label that was predicted
        self._right: deque[bool] = deque(maxlen=LAST)
        self._within: deque[Any] = deque(maxlen=LAST)  # of regression: whether each interval held the target

    def add(self, labels: list[Any], scores: Floats) -> None:
        """Add examples and their scores before learning, [rows, width]."""
        if not labels:
            return
        with self._adding:
            fresh = _Rows(self._last if len(labels) <= LAST else labels[-LAST - 1], labels[-LAST:], scores[-LAST:])
            self._fresh.append(fresh)
            self._rows += len(fresh.labels)
            self._last = labels[-1]
            while self._rows - len(self._fresh[0].labels) >= LAST:  # nobody will ask for these
                self._rows -= len(self._fresh.popleft().labels)

    def no_change(self, model: OnlineModel) -> float | None:
        """The error of repeating the last label; of regression, the mean absolute error."""
        self._count(model)
        with self._counting:
            return math.fsum(self._repeated) / len(self._repeated) if self._repeated else None

    def calibration(self, model: OnlineModel) -> list[dict[str, float | int]]:
        """Groups of examples of similar probability, and the number of right predictions in each.

        Of regression with intervals: the share of targets within each.
        """
        self._count(model)
        with self._counting:
            said, right, within = np.array(self._said), np.array(self._right, float), np.array([*self._within])
        if within.size:
            shares = within.mean(axis=0).tolist()
            return [
                {"said": said, "seen": share, "rows": len(within)}
                for said, share in zip(_COVERAGES, shares, strict=True)
            ]
        bins = np.minimum((said * _BINS).astype(int), _BINS - 1)
        return [
            {"said": float(said[mine].mean()), "seen": float(right[mine].mean()), "rows": int(mine.sum())}
            for mine in (bins == place for place in range(_BINS))
            if mine.any()
        ]

    def _count(self, model: OnlineModel) -> None:
        with self._counting:
            with self._adding:
                fresh, self._fresh, self._rows = self._fresh, deque(), 0
            fitted = fitted_of(model)
            for _, some in itertools.groupby(fresh, lambda rows: rows.scores.shape[1]):
                together = [*some]
                labels = [label for rows in together for label in rows.labels]
                before = [label for rows in together for label in (rows.before, *rows.labels[:-1])]
                scores = np.concatenate([rows.scores for rows in together])
                pairs = [(x, y) for x, y in zip(before, labels, strict=True) if x is not None]
                if fitted.of_numbers:
                    self._repeated.extend(abs(float(y) - float(x)) for x, y in pairs)
                    if isinstance(model, OnlineBoostRegressor):
                        self._within.extend(_within(model, scores, np.array(labels, float)))
                else:
                    self._repeated.extend(float(x != y) for x, y in pairs)
                    self._count_classes(fitted, labels, as_columns(scores))

    def _count_classes(self, fitted: Any, labels: list[Any], scores: Floats) -> None:
        chances = fitted.probabilities(scores)
        chances = chances.reshape(len(labels), -1)
        if chances.shape[1] == 1:  # of the positive label
            chances = np.concatenate([chances, 1 - chances], axis=1)
        chances = chances.max(axis=1)
        wrong = Classes.mistakes(scores, fitted.target.encode(labels))
        known = np.isfinite(chances)
        self._said.extend(chances[known].tolist())
        self._right.extend((~wrong[known]).tolist())


def _within(model: OnlineBoostRegressor, scores: Floats, y: Floats) -> list[list[bool]]:
    bounds = [model.bounds(scores, coverage) for coverage in _COVERAGES]
    held = np.stack([(low <= y) & (y <= high) for low, high in bounds], axis=1)
    return held.tolist()  # type: ignore[no-any-return]
