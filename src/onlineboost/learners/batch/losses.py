"""Where scores begin, and the slopes and curvatures of losses."""

from __future__ import annotations

import math

import numpy as np

from onlineboost.compiled.jit import hot, i64, lean
from onlineboost.data.batch import Floats, Floats32, Ints32
from onlineboost.learners.batch.plan import CLASSES, SQUARED, Plan
from onlineboost.learners.batch.training import AT, TREE, G, H, Training
from onlineboost.learners.batch.trees import KNOWN, TREES

_LEAST_CURVATURE = 1e-6  # of a row, as a share of its weight
_STEP = 1 << 13  # scores of a step


@lean
def set_base(training: Training, plan: Plan, n: int) -> None:
    """The scores that all rows begin with: log odds, or the mean, median or quantile of the targets."""
    trees, targets, weights = training.trees, training.targets, training.weights
    scores, spare = training.scores, training.spare
    known, total, sum = scores.shape[1], 0.0, 0.0
    trees.clock[TREES], trees.clock[KNOWN] = plan.rounds * known, known
    for k in range(known):
        trees.base[k] = 0.0
    for i in range(n):
        total += weights[i]
        sum += np.float64(weights[i]) * targets[i]
        if known > 1:
            trees.base[i64(targets[i])] += weights[i]
    if known > 1:
        for k in range(known):
            trees.base[k] = math.log((trees.base[k] + total / n / known) / (total + total / n))
    elif plan.loss == CLASSES:
        trees.base[0] = math.log((sum + total / n / 2) / (total - sum + total / n / 2))
    elif plan.loss == SQUARED:
        trees.base[0] = sum / total
    else:
        for i in range(n):
            spare[i] = i
            scores[i, 0] = 0.0
        trees.base[0] = quantile_of(targets, weights, scores, spare, 0, n, plan.quantile)
    for i in range(n):
        for k in range(known):
            scores[i, k] = trees.base[k]


@lean
def quantile_of(
    targets: Floats32, weights: Floats32, scores: Floats, rows: Ints32, low: int, high: int, level: float
) -> float:
    """The weighted quantile of what scores leave of the targets of some rows, which are sorted by it."""
    gap, n, total = 1, high - low, 0.0
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:  # Shell's sort
        for k in range(low + gap, high):
            i, j = rows[k], k
            x = targets[i] - scores[i, 0]
            while j >= low + gap and targets[rows[j - gap]] - scores[rows[j - gap], 0] > x:
                rows[j] = rows[j - gap]
                j -= gap
            rows[j] = i
        gap //= 3
    for k in range(low, high):
        total += weights[rows[k]]
    before, k = np.float64(weights[rows[low]]), low
    while k + 1 < high and before < level * total:
        k += 1
        before += weights[rows[k]]
    return float(targets[rows[k]] - scores[rows[k], 0])


@lean
def find_slopes(training: Training, plan: Plan, n: int) -> None:
    """The slopes and curvatures of the loss of rows, for the score of the next tree."""
    clock, scores, known = training.clock, training.scores, training.scores.shape[1]
    stop = min(n, clock[AT] + (2 * _STEP // known if known > 1 else _STEP))
    k, sums = clock[TREE] % known, training.sums
    if clock[AT] == 0:
        sums[G] = sums[H] = 0.0
    for i in range(clock[AT], stop):
        w, y = np.float64(training.weights[i]), training.targets[i]
        if plan.loss == CLASSES:
            if known == 1:
                p = 1 / (1 + math.exp(-scores[i, 0]))
                g = p - y
                h = p * (1 - p)
            else:
                if k == 0:
                    _find_chances(scores[i], training.chances[i])
                p = np.float64(training.chances[i, k])
                g = p - (1.0 if i64(y) == k else 0.0)
                h = p * (1 - p) * known / (known - 1)
            h = max(h, _LEAST_CURVATURE)
        else:
            far = scores[i, 0] - y
            g = far if plan.loss == SQUARED else (1 - plan.quantile if far > 0 else -plan.quantile)
            h = 1.0
        training.slopes[i, 0], training.slopes[i, 1] = w * g, w * h
        sums[G] += abs(w * g)
        sums[H] += w * h
    clock[AT] = stop


@hot
def _find_chances(scores: Floats, chances: Floats32) -> None:
    most, total = scores[0], 0.0
    for k in range(1, scores.size):
        most = max(most, scores[k])
    for k in range(scores.size):
        chances[k] = math.exp(scores[k] - most)
        total += chances[k]
    for k in range(scores.size):
        chances[k] = chances[k] / total
