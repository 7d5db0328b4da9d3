"""Lagged labels: the last learned labels as features of the next row."""

from __future__ import annotations

from typing import Any

import numpy as np

from onlineboost.data.batch import Batch, Floats, Floats32, Ints32, with_features
from onlineboost.data.classes import Classes
from onlineboost.data.columns import LAG_NAME, MAX_LAG
from onlineboost.data.hashing import feature_id, indicator_id
from onlineboost.data.regression import Numbers
from onlineboost.parameters import check_whole


class Lags:
    """Lagged labels. Feature ``label[-k]`` of a row is the k-th last label learned before it.

    Numbers are values, classes are categories: ``label[-1]=spam``. Labels before the first row are left out, and so are
    labels of rows of weight 0.

    >>> lags = Lags(2)
    >>> lags.meet(Numbers())[0][1]
    'label[-1]'
    >>> lags.learn(np.array([5.0, 7.0, 8.0]), np.array([1.0, 1.0, 0.0]))
    >>> lags.last, lags.of_next()[1]
    (array([5., 7.]), (7.0, 5.0))
    """

    def __init__(self, k: int) -> None:
        self.k = check_whole("lag", k, 1, MAX_LAG)
        self.last: Floats = np.empty(0)  # places of classes, or numbers; the oldest first; replaced, never written to
        self.ids: Ints32 = np.empty((self.k, 0), np.int32)  # of the features [k-th last, place of the class]
        self.labels: list[Any] = []  # of the classes that have ids
        self.target: Any = None  # met last

    def meet(self, target: Classes | Numbers) -> list[tuple[int, str]]:
        """Add labels; returns ids and names of new features."""
        if target is self.target:
            return []
        self.target = target
        if isinstance(target, Numbers):
            names = self.columns
            self.ids = np.array([[feature_id(name)] for name in names], np.int32)
            return [*zip(self.ids[:, 0].tolist(), names, strict=True)]
        found: list[tuple[int, str]] = []
        old = len(self.labels)
        labels = target.labels
        same = [place for place in range(old) if labels[place] is self.labels[place]]
        ids = np.zeros((self.k, len(labels)), np.int32)
        ids[:, same] = self.ids[:, same]
        for place in sorted({*range(len(labels))} - {*same}):
            if target.knows(place):
                rest = target.named is not None and place == 0  # whose name may change
                label = target.not_positive if rest else labels[place]
                names = [f"{column}={label}" for column in self.columns]
                ids[:, place] = [*map(indicator_id, names)]
                found += zip(ids[:, place].tolist(), names, strict=True)
        self.ids, self.labels = ids, [*labels]
        return found

    @property
    def columns(self) -> list[str]:
        """The names of the features, without categories."""
        return [LAG_NAME.format(k) for k in range(1, self.k + 1)]

    def rows(self, rows: Batch, learning: bool) -> Batch:
        """Rows with lagged labels; rows to learn see the labels of the rows before them."""
        n, known = rows.y.size, np.full(rows.y.size, self.last.size)
        labels = self.last
        if learning:
            learned = rows.weight > 0
            labels = np.concatenate([labels, rows.y[learned]])
            known = self.last.size + np.cumsum(learned) - learned
        at = known[:, None] - np.arange(1, self.k + 1)
        if not labels.size or not n:
            return rows
        ids, values = self._features(labels[np.maximum(at, 0)])
        return with_features(rows, ids, values, (at >= 0) & (values != 0))

    def of_next(self) -> tuple[Ints32, tuple[float, ...]]:
        """Ids and values of the features that the next row gets."""
        ids, values = self._features(self.last[None, ::-1])
        given = values[0] != 0
        return ids[0, given], tuple(values[0, given].tolist())

    def _features(self, labels: Floats) -> tuple[Ints32, Floats32]:
        """Ids and values of the features for labels [rows, up to k]."""
        place = np.zeros(labels.shape, np.int64) if self._of_numbers else labels.astype(np.int64)
        values = labels.astype(np.float32) if self._of_numbers else np.ones(labels.shape, np.float32)
        return self.ids[np.arange(labels.shape[1]), place], values

    def learn(self, y: Floats, weight: Floats) -> None:
        """Add the labels of learned rows."""
        new = y[weight > 0]
        if new.size:
            self.last = np.concatenate([self.last, new])[-self.k :]

    @property
    def _of_numbers(self) -> bool:
        return isinstance(self.target, Numbers)

    # ---- model files

    def describe(self) -> list[float]:
        """As JSON, for a model file."""
        found: list[float] = self.last.tolist()
        return found

    def restore(self, described: Any, target: Classes | Numbers) -> None:
        """Take in what was saved; raises a ValueError if it makes no sense."""
        if (
            not isinstance(described, list)
            or len(described) > self.k
            or not all(type(one) is float for one in described)
        ):
            raise ValueError("the last labels are not numbers")
        self.meet(target)
        if isinstance(target, Numbers):
            self.last = target.encode(described)
            return
        if not all(place.is_integer() and target.knows(int(place)) for place in described):
            raise ValueError("the last labels are not known")
        self.last = np.array(described, np.float64)
