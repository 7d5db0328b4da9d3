"""Metrics of the positive one of two labels: precision, recall, F1, MCC; and what mistakes cost."""

from __future__ import annotations

import math

from onlineboost.evaluate.metrics.confusion import Confusion
from onlineboost.evaluate.metrics.metric import Metric
from onlineboost.registry import METRICS

NAN = float("nan")


def precision(confusion: Confusion) -> float:
    """The share of the positive answers that are right.

    >>> import numpy as np
    >>> confusion = Confusion(np.array([[90.0, 4.0], [2.0, 4.0]]))
    >>> precision(confusion), round(recall(confusion), 3), round(f1(confusion), 3), round(mcc(confusion), 3)
    (0.5, 0.667, 0.571, 0.546)
    >>> cost(confusion, fn=10, fp=1)
    0.24
    """
    _, fp, _, tp = _cells(confusion)
    return _share(tp, tp + fp)


def recall(confusion: Confusion) -> float:
    """The share of the positive examples that are found."""
    _, _, fn, tp = _cells(confusion)
    return _share(tp, tp + fn)


def f1(confusion: Confusion) -> float:
    """The harmonic mean of precision and recall."""
    _, fp, fn, tp = _cells(confusion)
    return _share(2 * tp, 2 * tp + fp + fn)


def mcc(confusion: Confusion) -> float:
    """Matthews' correlation coefficient of labels and answers: 0 is chance, 1 is always right."""
    tn, fp, fn, tp = _cells(confusion)
    return _share(tp * tn - fp * fn, math.sqrt(tp + fp) * math.sqrt(tp + fn) * math.sqrt(tn + fp) * math.sqrt(tn + fn))


def cost(confusion: Confusion, fn: float, fp: float) -> float:
    """What an example costs on average: ``fn`` if it is positive and missed, ``fp`` if it is taken for positive."""
    _, false, missed, _ = _cells(confusion)
    return _share(fn * missed + fp * false, float(confusion.table.sum()))


def _cells(confusion: Confusion) -> tuple[float, float, float, float]:
    """Weights of true negatives, false positives, false negatives and true positives; NaN of more than two labels."""
    if len(confusion.table) > 2:
        return NAN, NAN, NAN, NAN
    (tn, fp), (fn, tp) = confusion.table.tolist()
    return tn, fp, fn, tp


def _share(part: float, whole: float) -> float:
    return part / whole if whole else NAN


for name, title, value in (
    ("f1", "F1", f1),
    ("mcc", "MCC", mcc),
    ("precision", "precision", precision),
    ("recall", "recall", recall),
):
    METRICS.add(Metric(name, title, Confusion, value, lower_is_better=False, of_answers=True, of_positive=True))
