"""The verdict: whether boosting paid, by a paired test on the stream, in one or two sentences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onlineboost.data.batch import Floats
from onlineboost.engine.record import Record

_MIN_EDGE = 0.02  # learners below add almost nothing
_WIDTH = 1.96  # standard errors of a 95 % interval


def gain(totals: Floats, other: str) -> str:
    """What the answers gained over those of another, by a paired test; ``totals`` as in ``Record``.

    >>> gain(np.array([1000.0, 0, 60, 20, 80]), "Linear()")
    'gained 4.0 points over Linear() (95 %: +2.3 to +5.7 points)'
    >>> gain(np.array([1000.0, 0, 25, 20, 45]), "Linear()")
    'made no difference to Linear() (95 %: -0.8 to +1.8 points)'
    """
    total, better, worse, squares = (float(totals[k]) for k in (0, 2, 3, 4))
    points = 100 * (better - worse) / total
    unit = squares / (better + worse) if better + worse else 0.0  # typical weight of examples where the two differ
    error = 100 * math.sqrt(max(squares - unit * (better - worse) ** 2 / total, 0)) / total
    interval = f"(95 %: {points - _WIDTH * error:+.1f} to {points + _WIDTH * error:+.1f} points)"
    if points > _WIDTH * error:
        return f"gained {points:.1f} points over {other} {interval}"
    lost = f"lost {-points:.1f} points against" if points < -_WIDTH * error else "made no difference to"
    return f"{lost} {other} {interval}"


def verdict(record: Record, booster: Any, learner: Any) -> str:
    """Whether the answers were better than those of the first learner.

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
    if "gained" not in sentence:
        sentence += f": try {'trees, or bins and crosses' if getattr(learner, 'linear', False) else booster.advice}"
    sentences = [f"{sentence}."]
    edges = np.divide(record.edges, record.weights, out=np.zeros(record.edges.size), where=record.weights > 0)
    useful = np.flatnonzero(np.abs(edges) >= _MIN_EDGE)
    enough = int(useful[-1]) + 1 if useful.size else 1
    if enough < edges.size and not booster.grouped:
        sentences.append(f"The first {enough} of {edges.size} learners would be enough: the others have no edge.")
    return " ".join(sentences)
