"""Sharpness: how far apart the scores of many classes are as log odds; probabilities are softmax(b scores).

The sharpness b is learnt on the way: one Newton step for each example, with forgetting F and a draw S towards 1, as in
the stack of an ensemble.
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


def new_sharpness() -> Floats:
    """b, and the information on it."""
    return np.array([1.0, _STRENGTH])


def check_sharpness(sharpness: Floats) -> None:
    sharp, information = sharpness.tolist()
    require(_LEAST <= sharp <= _MOST and information > 0, "sharpness", "a sharpness and its information")


def softmax(scores: Floats) -> Floats:
    """Probabilities of all classes, for each row of scores."""
    e = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-1e300))
    found: Floats = e / e.sum(axis=1, keepdims=True)
    return found


def probabilities(sharpness: Floats, scores: Floats) -> Floats:
    """Those of all classes; given one score for two classes, those of the second."""
    scaled = float(sharpness[0]) * scores
    return chances(scaled) if scaled.ndim == 1 else softmax(scaled)


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
def sharpen(sharpness: Floats, z: Floats, p: Floats, place: int, weight: float) -> None:
    """A Newton step, given the scores of an example and the place of its class; ``p`` is memory."""
    chances_of(z, sharpness[0], p)
    mean = square = 0.0
    for k in range(z.size):
        mean += p[k] * z[k]
        square += p[k] * z[k] * z[k]
    draw = (1 - _FORGETTING) * _STRENGTH
    sharpness[1] = _FORGETTING * sharpness[1] + weight * max(square - mean * mean, 0.0) + draw
    step = (weight * (z[place] - mean) + draw * (1 - sharpness[0])) / sharpness[1]
    sharpness[0] = min(max(sharpness[0] + step, _LEAST), _MOST)
