"""The verdict: whether boosting paid, by a paired test on the stream, in one or two sentences."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from onlineboost.data.batch import Floats
from onlineboost.loop.record import Record

_MIN_EDGE = 0.02  # learners below add almost nothing
_WIDTH = 1.96  # standard errors of a 95 % interval
_RARE = 0.05  # error below which a difference is given as a share of mistakes


class Difference(NamedTuple):
    """The advantage of the predictions of one model over those of another in points, and its standard error."""

    points: float
    error: float

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the points."""
        return self.points - _WIDTH * self.error, self.points + _WIDTH * self.error


def difference(totals: Floats) -> Difference:
    """A paired comparison of the predictions of two models; ``totals`` as in ``Record``.

    >>> points, error = difference(np.array([1000.0, 0, 60, 20, 80]))
    >>> points, round(error, 2)
    (4.0, 0.89)
    """
    total, better, worse, squares = (float(totals[k]) for k in (0, 2, 3, 4))
    unit = squares / (better + worse) if better + worse else 0.0  # typical weight where predictions differ
    error = 100 * math.sqrt(max(squares - unit * (better - worse) ** 2 / total, 0)) / total
    return Difference(100 * (better - worse) / total, error)


def gain(totals: Floats, other: str, error: float | None = None) -> str:
    """The gain of the predictions over those of another model, by a paired test; ``totals`` as in ``Record``.

    ``error`` is that of the other, if known. Where mistakes are rare, the difference is given as a share of them.

    >>> gain(np.array([1000.0, 0, 60, 20, 80]), "Linear()")
    'gained 4.0 points over Linear() (95 %: +2.3 to +5.7 points)'
    >>> gain(np.array([1000.0, 0, 25, 20, 45]), "Linear()")
    'made no difference to Linear() (95 %: -0.8 to +1.8 points)'
    >>> gain(np.array([100000.0, 0, 90, 40, 130]), "Linear()")
    'gained 0.050 points over Linear() (95 %: +0.028 to +0.072 points)'
    >>> gain(np.array([100000.0, 0, 90, 40, 130]), "Linear()", error=0.00122)
    'made 41 % fewer mistakes than Linear() (95 %: 23 % to 59 % fewer)'
    """
    found = difference(totals)
    low, high = found.interval
    if error is not None and 0 < error < _RARE:
        return _relative(other, *(one / (100 * error) for one in (low, found.points, high)))
    most = max(-low, high)
    digits = 1 if most >= 0.5 or not most else 1 - math.floor(math.log10(most))  # two digits that are not 0
    interval = f"(95 %: {low:+.{digits}f} to {high:+.{digits}f} points)"
    if low > 0:
        return f"gained {found.points:.{digits}f} points over {other} {interval}"
    lost = f"lost {-found.points:.{digits}f} points against" if high < 0 else "made no difference to"
    return f"{lost} {other} {interval}"


def _relative(other: str, low: float, share: float, high: float) -> str:
    """``gain`` as a share of the mistakes of the other."""
    if low > 0:
        return f"made {_percent(share)} fewer mistakes than {other} (95 %: {_percent(low)} to {_percent(high)} fewer)"
    if high < 0:
        return f"made {_percent(-share)} more mistakes than {other} (95 %: {_percent(-high)} to {_percent(-low)} more)"
    most = f"{_percent(high)} fewer to {_percent(-low)} more"
    return f"made no difference to {other} (95 %: {most} mistakes)"


def _percent(share: float) -> str:
    return f"{abs(100 * share):.0f} %"


def comparison(totals: Floats, share: float | None, model: Any, learner: Any, error: float | None = None) -> str:
    """The gain of a model over its base learner alone, or advice; ``totals`` as in ``Record``.

    ``share`` is the part of the learner's mistakes that the model avoids, and ``error`` that of the learner, if known.

    >>> from onlineboost import Linear, OnlineBBM
    >>> comparison(np.array([1000.0, 0, 60, 20, 80]), 0.2, OnlineBBM(), Linear())
    'OnlineBBM gained 4.0 points over Linear alone (95 %: +2.3 to +5.7 points), 20.0 % fewer mistakes.'
    """
    sentence = f"{type(model).__name__} {gain(totals, f'{type(learner).__name__} alone', error)}"
    low, high = difference(totals).interval
    if share is not None and (low > 0 or high < 0) and "mistakes" not in sentence:
        sentence += f", {abs(100 * share):.1f} % {'fewer' if low > 0 else 'more'} mistakes"
    return f"{sentence}." if low > 0 else f"{sentence}: try {_advice(model, learner)}."


def comparison_of_losses(gain: float, interval: tuple[float, float], model: Any, learner: Any) -> str:
    """``comparison`` by log loss: the share of the learner's loss that the model saves, and its 95 % interval.

    >>> from onlineboost import Linear, OnlineBBM
    >>> comparison_of_losses(0.123, (0.1, 0.146), OnlineBBM(), Linear())
    'OnlineBBM has a 12 % lower log loss than Linear alone (95 %: 10 % to 15 % lower).'
    """
    low, high = interval
    who, other, least, most = type(model).__name__, f"{type(learner).__name__} alone", *map(_percent, interval)
    if low > 0:
        return f"{who} has a {_percent(gain)} lower log loss than {other} (95 %: {least} to {most} lower)."
    if high < 0:
        sentence = f"has a {_percent(gain)} higher log loss than {other} (95 %: {most} to {least} higher)"
    else:
        sentence = f"made no difference to {other} (95 %: {most} lower to {least} higher log loss)"
    return f"{who} {sentence}: try {_advice(model, learner)}."


def _advice(model: Any, learner: Any) -> str:
    """Advice if boosting did not pay."""
    booster = model._model() if hasattr(model, "_model") else model  # of a model that resets on drift
    if not hasattr(booster, "advice"):
        return "other features, or the learner alone, which is faster"
    return "trees, or bins and crosses" if getattr(learner, "linear", False) else str(booster.advice)


def verdict(record: Record, booster: Any, learner: Any) -> str:
    """Whether the predictions were better than those of the first learner.

    In most boosters the first learner is the base learner; in others it gets only part of each example's weight.

    >>> from onlineboost import OnlineBBM
    >>> edges, weights = np.array([500.0, 90]), np.array([1000.0, 300])
    >>> record = Record(np.array([1000]), edges, weights, np.array([1000.0, 0, 60, 20, 80]))
    >>> verdict(record, OnlineBBM(), None)
    'Boosting gained 4.0 points over its base learner (95 %: +2.3 to +5.7 points).'
    """
    total = float(record.totals[0])
    if not total:
        return ""
    if record.edges.size == 1:
        return "Only one learner: nothing to compare."
    whole = record.weights[0] > 0.999 * total
    other = "its base learner" if whole else "its first learner, which gets part of each example's weight,"
    sentence = f"Boosting {gain(record.totals, other)}"
    if difference(record.totals).interval[0] <= 0:
        sentence += f": try {_advice(booster, learner)}"
    return " ".join(filter(None, [f"{sentence}.", spare_learners(record, booster)]))


def spare_learners(record: Record, booster: Any) -> str:
    """A sentence if fewer learners would be enough; empty if all are needed."""
    edges = np.divide(record.edges, record.weights, out=np.zeros(record.edges.size), where=record.weights > 0)
    useful = np.flatnonzero(np.abs(edges) >= _MIN_EDGE)
    enough = int(useful[-1]) + 1 if useful.size else 1
    if enough == edges.size or booster.grouped:
        return ""
    return f"The first {enough} of {edges.size} learners would be enough: the others have no edge."
