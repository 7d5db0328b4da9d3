"""Temperature of a softmax: the scale of the log odds of many classes.

Probabilities are softmax(b scores). What is stored is b, the inverse of the temperature: a large b makes probabilities
extreme. It is learned online: one Newton step for each example, with forgetting F and a pull S towards 1, as in the
stack of an ensemble.
"""

from __future__ import annotations

import math

import numpy as np

from onlineboost.compiled.jit import hot
from onlineboost.data.batch import Floats
from onlineboost.loop.heads import chances
from onlineboost.storage.validity import require

_FORGETTING, _STRENGTH = 0.9995, 5.0  # F, S
_LEAST, _MOST = 0.01, 50.0  # of b


def new_temperature() -> Floats:
    """The inverse temperature b, and its information."""
    return np.array([1.0, _STRENGTH])


def check_temperature(temperature: Floats) -> None:
    b, information = temperature.tolist()
    require(_LEAST <= b <= _MOST and information > 0, "temperature", "an inverse temperature and its information")


def softmax(scores: Floats) -> Floats:
    """Probabilities of all classes, for each row of scores."""
    e = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-1e300))
    found: Floats = e / e.sum(axis=1, keepdims=True)
    return found


def probabilities(temperature: Floats, scores: Floats) -> Floats:
    """Those of all classes; given one score for two classes, those of the second."""
    scaled = float(temperature[0]) * scores
    return chances(scaled) if scaled.shape[1] == 1 else softmax(scaled)


@hot
def largest(scores: Floats) -> int:
    """The place of the largest score, the first of several."""
    best = 0
    for k in range(1, scores.size):
        if scores[k] > scores[best]:
            best = k
    return best


@hot
def chances_of(z: Floats, scale: float, p: Floats) -> None:
    """The softmax of scaled scores."""
    top, total = z[largest(z)], 0.0
    for k in range(z.size):
        p[k] = math.exp(scale * (z[k] - top))
        total += p[k]
    for k in range(z.size):
        p[k] /= total


@hot
def learn_temperature(temperature: Floats, z: Floats, p: Floats, place: int, weight: float) -> None:
    """A Newton step, given the scores of an example and the place of its class; ``p`` is memory."""
    chances_of(z, temperature[0], p)
    mean = square = 0.0
    for k in range(z.size):
        mean += p[k] * z[k]
        square += p[k] * z[k] * z[k]
    draw = (1 - _FORGETTING) * _STRENGTH
    temperature[1] = _FORGETTING * temperature[1] + weight * max(square - mean * mean, 0.0) + draw
    step = (weight * (z[place] - mean) + draw * (1 - temperature[0])) / temperature[1]
    temperature[0] = min(max(temperature[0] + step, _LEAST), _MOST)
