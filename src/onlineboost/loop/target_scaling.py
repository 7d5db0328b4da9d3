"""Target scaling: numbers are centered, scaled and limited, so that neither their unit nor a single row matters.

The first 16 rows are held back, and predicted by the median of the targets so far. Then

| symbol | here | meaning |
| --- | --- | --- |
| c | ``units[0]`` | median of the first targets |
| s | ``units[1]`` | their mean distance from c, without the largest; of counts (``EXP``), their mean |
| y | | the target; its logarithm, where that is learned (``LOG``) |
| z | | (y - c) / s |
| m, v | ``moments`` | running mean and variance of z, of which no value counts as more than 4 deviations |
| t | | z within m +- 10 sqrt(v): what the learners see |

One row beyond a limit is an outlier, many in turn are a change. After 16 in turn beyond the same limit, c moves so that
their median becomes m: learners go on as if nothing had changed. Rows in turn beyond both limits, k more than those
beyond the last one, make the limits 2^k times as wide. Learners predict in units of z, and predictions are c + s z.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from onlineboost.compiled import dispatch
from onlineboost.compiled.block import unpack
from onlineboost.compiled.jit import hot, lean, njit
from onlineboost.data.batch import Floats, Floats32, Ints
from onlineboost.loop.explaining import trust_nothing
from onlineboost.loop.heads import logistic
from onlineboost.storage.validity import COUNT, Limits, require

FIRST = 16  # rows held back
IDENTITY, LOGISTIC, EXP, LOG = range(4)  # links from score to prediction; LOG: of log y, then exp
_LIMIT, _COUNTED = 10.0, 4.0  # in standard deviations
_SLOWEST = 1e-4  # share of the last row in the moments
_MOST = 1e30  # of z
_MOST_LOG = 80.0  # of the logarithm of an answer
_MOST_TURNS = 60  # rows in turn beyond the limit that widen it


class NumberHead(NamedTuple):
    """The score is the prediction."""

    n: int


@hot
def answer(head: NumberHead, score: float, h: Floats32) -> float:
    return score


@hot
def correct(head: NumberHead, score: float, h: Floats32, y: float, weight: float) -> None:
    pass


dispatch.register(dispatch.answer, NumberHead, answer)
dispatch.register(dispatch.correct, NumberHead, correct)
dispatch.register(dispatch.trust, NumberHead, trust_nothing)


class TargetScaling(NamedTuple):
    units: Floats  # [2] c and s
    moments: Floats  # [2] m and v
    recent: Floats  # [FIRST] z of the rows in turn beyond the same limit
    clock: Ints  # [3] rows; rows in turn beyond a limit; those in turn above it, or below (negative)
    link: int

    def limits(self) -> Limits:
        return {"clock": (1 - FIRST, COUNT[1])}

    def check(self) -> None:
        require(bool(self.units[1] > 0), "units", "a center and a positive scale")
        require(bool(self.moments[1] >= 0), "moments", "a mean and a variance")
        rows, turns, same = self.clock.tolist()
        require(rows >= 0 and FIRST > abs(same) <= turns, "clock", "a number of rows, and of rows in turn")


def new_scaling(link: int = IDENTITY) -> TargetScaling:
    return TargetScaling(np.array([0.0, 1.0]), np.array([0.0, 1.6]), np.zeros(FIRST), np.zeros(3, np.int64), link)


def set_units(scaling: TargetScaling, first: Floats) -> None:
    """Center and scale, from the first targets: one of them can be anything."""
    if scaling.link == EXP:
        scaling.units[1] = float(np.sort(first)[: max(first.size - 1, 1)].mean()) or 1.0
    if scaling.link not in (IDENTITY, LOG):
        return
    first = np.log(first) if scaling.link == LOG else first
    c = float(np.sort(first)[first.size // 2])
    far = np.sort(np.abs(first - c))
    scale = float(far[: max(far.size - 1, 1)].mean()) or float(far[-1])
    scaling.units[:] = c, scale if scale > 1e-12 * abs(c) else abs(c) or 1.0


@hot
def scale_target(scaling: TargetScaling, y: float) -> float:
    """The scaled target; updates the state for the next."""
    clock, moments = scaling.clock, scaling.moments
    if scaling.link == LOGISTIC:
        return y
    m, deviation = moments[0], math.sqrt(moments[1])
    if scaling.link == LOG and y <= 0:
        return float(m - _LIMIT * deviation)  # it has no logarithm
    z = to_scores(scaling, scaling.units[0], y)
    z = min(max(z, -_MOST), _MOST)
    side = 1 if z > m + _LIMIT * deviation else (-1 if z < m - _LIMIT * deviation else 0)
    clock[1] = clock[1] + 1 if side != 0 else 0
    clock[2] = clock[2] + side if clock[2] * side > 0 else side
    width = deviation * 2.0 ** min(clock[1] - abs(clock[2]), _MOST_TURNS)
    share = max(1 / (clock[0] + 1.0 + FIRST), _SLOWEST)
    e = min(max(z - m, -_COUNTED * width), _COUNTED * width)
    moments[0] = m + share * e
    moments[1] = (1 - share) * (moments[1] + share * e * e)
    clock[0] += 1
    if side != 0:
        _move(scaling, z)
    return float(min(max(z, m - _LIMIT * width), m + _LIMIT * width))


@lean
def _move(scaling: TargetScaling, z: float) -> None:
    """Note a row beyond a limit; if it is the last of many in turn, the center moves to them."""
    clock, recent, units = scaling.clock, scaling.recent, scaling.units
    at = abs(clock[2]) - 1  # kept in order
    while at > 0 and recent[at - 1] > z:
        recent[at] = recent[at - 1]
        at -= 1
    recent[at] = z
    if abs(clock[2]) == FIRST:
        clock[1] = clock[2] = 0
        if scaling.link == IDENTITY or scaling.link == LOG:
            units[0] += units[1] * (recent[FIRST // 2] - scaling.moments[0])


@njit
def scale_targets(block: Any) -> None:
    """Scaled targets, and c before each row."""
    span, y, weight, targets, centers, scaling, learning = unpack(block)
    for r in range(span[0], span[1]):
        centers[r] = scaling.units[0]
        targets[r] = scale_target(scaling, y[r]) if learning and weight[r] > 0 else 0.0


@njit
def answer_rows(block: Any) -> None:
    """Predictions from scores, [rows, 1]; ``centers`` has c before each row."""
    span, scores, centers, weight, answers, scaling, record, learning, given = unpack(block)
    for r in range(span[0], span[1]):
        if not (given and answers[r, 0] == answers[r, 0]):
            answers[r, 0] = in_units(scaling, centers[r], scores[r, 0])
        if learning and weight[r] > 0:
            record.totals[0] += weight[r]
            record.clock[0] += 1


@hot
def to_scores(scaling: TargetScaling, center: float, y: float) -> float:
    """The score of a prediction, by the identity or the logarithm."""
    return float(((math.log(y) if scaling.link == LOG else y) - center) / scaling.units[1])


@hot
def in_units(scaling: TargetScaling, center: float, score: float) -> float:
    """The prediction of a score."""
    if scaling.link == LOG:
        return math.exp(min(center + scaling.units[1] * score, _MOST_LOG))
    if scaling.link == LOGISTIC:
        return logistic(score)
    if scaling.link == EXP:
        return float(scaling.units[1] * math.exp(min(score, 50.0)))
    return float(center + scaling.units[1] * score)


@njit
def answers_in_units(scaling: TargetScaling, scores: Floats) -> Floats:
    """Predictions by a link other than the identity."""
    found = np.empty(scores.size)
    for r in range(scores.size):
        found[r] = in_units(scaling, scaling.units[0], scores[r])
    return found
