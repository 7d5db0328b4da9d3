"""Did boosting pay? A paired test on the stream itself, in one or two sentences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onlineboost.batch import Floats

_LEAST_EDGE = 0.02  # learners below add next to nothing
_WIDTH = 1.96  # standard errors of a 95 % interval


def verdict(totals: Floats, edges: Floats, learner: Any) -> str:
    """Whether the answers were better than those of the first learner, which is the base learner alone.

    ``totals`` is that of the engine's record: examples; margins at or below zero; where the answer was right and the
    first learner wrong; the other way round; the squares of the weights of both.

    >>> verdict(np.array([1000.0, 0, 60, 20, 80]), np.array([0.5, 0.3, 0.01]), None)[:77]
    'Boosting gained 4.0 points over its base learner (95 %: +2.3 to +5.7 points).'
    """
    total, better, worse, squares = (float(totals[k]) for k in (0, 2, 3, 4))
    if not total or math.isnan(total + better):
        return ""
    gain = 100 * (better - worse) / total
    error = 100 * math.sqrt(max(squares - (better - worse) ** 2 / total, 0)) / total
    interval = f"(95 %: {gain - _WIDTH * error:+.1f} to {gain + _WIDTH * error:+.1f} points)"
    if gain > _WIDTH * error:
        sentences = [f"Boosting gained {gain:.1f} points over its base learner {interval}."]
    else:
        lost = f"lost {-gain:.1f} points against" if gain < -_WIDTH * error else "made no difference to"
        sentences = [f"Boosting {lost} its base learner {interval}: try {_advice(learner)}."]
    useful = np.flatnonzero(np.abs(edges) >= _LEAST_EDGE)
    enough = int(useful[-1]) + 1 if useful.size else 1
    if enough < len(edges):
        sentences.append(
            f"The first {enough} of {len(edges)} learners would have been enough: the others have no edge."
        )
    return " ".join(sentences)


def _advice(learner: Any) -> str:
    if type(learner).__name__ in ("Linear", "Perceptron"):
        return "trees, or bins and crosses"
    return "SafeBoost, a lower gamma, or real votes"
