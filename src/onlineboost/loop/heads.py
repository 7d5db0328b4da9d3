"""Heads: from votes to the score, and from the score to a probability.

| head | score | probability of the positive label |
| --- | --- | --- |
| "vote" | the algorithm's own | Platt scaling: logistic(a score + c), with a and c learned online by Newton steps |
| "stack" | sum of w_i h_i + c, learned online by AdaGrad on the logistic loss, then calibrated | logistic(score) |

The stack sees the learners' real votes, and starts with equal weights, which is the majority vote. Its calibration is
by bins of the probability: the share of positives in a bin shifts the log odds there.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from onlineboost.compiled import dispatch
from onlineboost.compiled.jit import hot
from onlineboost.compiled.simd import load, splat, sqrt, store, total, widen, within, zeros
from onlineboost.data.allocation import filled, planning
from onlineboost.data.batch import Floats, Floats32
from onlineboost.loop.explaining import trust_nothing
from onlineboost.storage.validity import SUM, Limits, require

HeadName = Literal["vote", "stack"]
HEADS: tuple[HeadName, ...] = ("vote", "stack")
RATE, LARGEST_VOTE = 0.05, 8.0
INVERSE = (-2.0, 2.0)  # decay of the curvature, which starts at 1
_TINY = 1e-300  # avoids a division by zero where there was no gradient yet
BINS = 16
PRIOR_WEIGHT = 20.0  # weight of the stack's own probability in a bin, in examples
MAX_BIN_WEIGHT = 1e5  # beyond it the counts of a bin are halved

_BLOCK, _HALF, _ALONE = (0,) * 8, (0,) * 4, (0,)  # lanes: for sums, for roots and divisions, for the remainder


class VoteHead(NamedTuple):
    platt: Floats  # [2] slope and offset
    inverse: Floats  # [3] the inverse of the curvature so far: of slope, of both, of offset

    def limits(self) -> Limits:
        return {"inverse": INVERSE}


class StackHead(NamedTuple):
    weights: Floats  # [n_learners + 1] the last is the offset
    squares: Floats  # of their gradients
    bins: Floats  # [BINS, 3] weight, sum of the predicted probabilities, weight of the positives
    curve: Floats  # [BINS, 2] mean probability, and the shift of the log odds there; computed from the bins

    def limits(self) -> Limits:
        return {"squares": SUM, "bins": SUM}

    def check(self) -> None:
        check_calibration(self.bins, self.curve)


Head: TypeAlias = VoteHead | StackHead


def check_calibration(bins: Floats, curve: Floats) -> None:
    """Raise an error unless these can be bins of probabilities."""
    require(bool((bins[:, 1:] <= bins[:, :1] * (1 + 1e-6)).all()), "bins", "no more than the weight of the bin")
    require(bool(((curve[:, 0] >= 0) & (curve[:, 0] <= 1)).all()), "curve", "probabilities")


def new_head(name: HeadName, n_learners: int) -> Head:
    return new_stack(n_learners) if name == "stack" else VoteHead(np.zeros(2), np.array([1.0, 0.0, 1.0]))


def new_stack(n_learners: int) -> StackHead:
    weights = filled(1 / math.sqrt(n_learners), n_learners + 1)
    if not planning():
        weights[-1] = 0
    return StackHead(weights, filled(0, n_learners + 1), np.zeros((BINS, 3)), np.zeros((BINS, 2)))


_DOUBT = 1e-6  # log odds where they would contradict the prediction


@hot
def logistic(s: float) -> float:
    """1 / (1 + exp(-s)), without overflow."""
    e = math.exp(-abs(s))
    return (1.0 if s >= 0 else e) / (1 + e)


@hot
def with_sign(log_odds: float, said: float) -> float:
    """The log odds if the prediction ``said`` has their sign, else almost 0 with the sign of the prediction."""
    if said * log_odds > 0:
        return log_odds
    return _DOUBT if said >= 0 else -_DOUBT


@hot
def vote_answer(head: VoteHead, score: float, h: Floats32) -> float:
    return score


@hot
def vote_correct(head: VoteHead, score: float, h: Floats32, y: float, weight: float) -> None:
    """A Newton step for one example: Sherman and Morrison's update of the inverse, then the gradient."""
    a, b, c = head.inverse[0], head.inverse[1], head.inverse[2]
    p = logistic(head.platt[0] * score + head.platt[1])
    curvature = weight * p * (1 - p)
    u, v = a * score + b, b * score + c
    scale = curvature / (1 + curvature * (u * score + v))
    head.inverse[0], head.inverse[1], head.inverse[2] = a - scale * u * u, b - scale * u * v, c - scale * v * v
    step = weight * ((1.0 if y > 0 else 0.0) - p) / (1 + curvature * (u * score + v))
    head.platt[0] += step * u
    head.platt[1] += step * v


@hot
def stack_answer(head: StackHead, score: float, h: Floats32) -> float:
    raw = log_odds(head, h)
    return raw + shift(head, chance(raw))


@hot
def stack_correct(head: StackHead, score: float, h: Floats32, y: float, weight: float) -> None:
    learn_stack(head, chance(log_odds(head, h)), h, y, weight)


@hot
def learn_stack(head: StackHead, p: float, h: Floats32, y: float, weight: float) -> None:
    """Update the stack and its calibration by a label, for which it had predicted the probability p."""
    n = head.weights.size - 1
    true = 1.0 if y > 0 else 0.0
    k = int(p * BINS)
    if head.bins[k, 0] > MAX_BIN_WEIGHT:
        for j in range(3):
            head.bins[k, j] /= 2
    head.bins[k, 0] += weight
    head.bins[k, 1] += weight * p
    head.bins[k, 2] += weight * true
    _update_curve(head.bins, head.curve, k)
    slope = weight * (true - p)
    whole = n // len(_HALF) * len(_HALF)
    _step(head, slope, h, 0, whole, _HALF)
    _step(head, slope, h, whole, n, _ALONE)
    head.squares[n] += slope * slope
    head.weights[n] += RATE * slope / math.sqrt(head.squares[n] + _TINY)


@hot
def _step(head: StackHead, slope: float, h: Floats32, first: int, last: int, block: Any) -> None:
    """AdaGrad for the weights from ``first`` to ``last``."""
    zero = widen(zeros(block))
    for i in range(first, last, len(block)):
        gradient = splat(slope, zero) * _votes(h, i, zeros(block))
        squares = load(head.squares, i, zero) + gradient * gradient
        change = splat(RATE, zero) * gradient / sqrt(squares + splat(_TINY, zero))
        store(head.squares, i, squares)
        store(head.weights, i, load(head.weights, i, zero) + change)


@hot
def log_odds(head: StackHead, h: Floats32) -> float:
    """The log odds of the stack before calibration."""
    n = head.weights.size - 1
    whole = n // len(_BLOCK) * len(_BLOCK)
    by_blocks = _weighted_sum(head.weights, h, 0, whole, _BLOCK)
    return float(head.weights[n] + (by_blocks + _weighted_sum(head.weights, h, whole, n, _ALONE)))


@hot
def _weighted_sum(weights: Floats, h: Floats32, first: int, last: int, block: Any) -> float:
    sums = widen(zeros(block))
    for i in range(first, last, len(block)):
        sums += load(weights, i, sums) * _votes(h, i, zeros(block))
    return float(total(sums))


@hot
def _votes(h: Floats32, i: int, zero: Any) -> Any:
    """As many votes as ``zero`` has lanes."""
    return widen(within(load(h, i, zero), splat(LARGEST_VOTE, zero)))


@hot
def chance(log_odds: float) -> float:
    """The probability, away from 0 and 1."""
    p = logistic(log_odds)
    p = p if p > 1e-9 else 1e-9  # also for NaN: p chooses a bin
    return p if p < 1 - 1e-9 else 1 - 1e-9


@hot
def shift(head: StackHead, p: float) -> float:
    """The shift of the log odds at p: interpolated between the bins on both sides."""
    low = int(p * BINS)
    low -= 1 if head.curve[low, 0] > p else 0
    high = low + 1
    while low >= 0 and head.bins[low, 0] == 0:
        low -= 1
    while high < BINS and head.bins[high, 0] == 0:
        high += 1
    if low < 0 or high == BINS:
        at = high if low < 0 else low
        return float(head.curve[at, 1]) if at < BINS else 0.0
    a, b = head.curve[low, 0], head.curve[high, 0]
    near = (p - a) / (b - a)
    return float((1 - near) * head.curve[low, 1] + near * head.curve[high, 1])


@hot
def _update_curve(bins: Floats, curve: Floats, k: int) -> None:
    """Compute the point of the curve for bin k."""
    weight, true = bins[k, 0], bins[k, 2]
    p = bins[k, 1] / weight
    curve[k, 0] = p
    curve[k, 1] = math.log((true + PRIOR_WEIGHT * p) * (1 - p) / ((weight - true + PRIOR_WEIGHT * (1 - p)) * p))


@hot
def stack_trust(head: StackHead, h: Floats32, slopes: Floats) -> bool:
    """The weights of the votes, as far as these are not clipped; the offset and the calibration belong to no vote."""
    stack_slopes(head.weights, h, slopes)
    return True


@hot
def stack_slopes(weights: Floats, h: Floats32, slopes: Floats) -> None:
    """By how much the log odds of a stack follow each vote."""
    for i in range(h.size):
        slopes[i] = weights[i] * (LARGEST_VOTE / abs(h[i]) if abs(h[i]) > LARGEST_VOTE else 1.0)


dispatch.register(dispatch.answer, VoteHead, vote_answer)
dispatch.register(dispatch.correct, VoteHead, vote_correct)
dispatch.register(dispatch.answer, StackHead, stack_answer)
dispatch.register(dispatch.correct, StackHead, stack_correct)
dispatch.register(dispatch.trust, VoteHead, trust_nothing)
dispatch.register(dispatch.trust, StackHead, stack_trust)


def probabilities(head: Head, scores: Floats) -> Floats:
    """Probabilities of the positive label, on the side of the prediction."""
    if not isinstance(head, VoteHead):
        return chances(scores)
    log_odds = max(float(head.platt[0]), 0.0) * scores + head.platt[1]  # a higher score is never less likely
    return chances(np.where((scores >= 0) == (log_odds > 0), log_odds, np.where(scores >= 0, _DOUBT, -_DOUBT)))


def chances(log_odds: Floats) -> Floats:
    """1 / (1 + exp(-s)), without overflow; above 1/2 for 0, which counts as positive."""
    e = np.exp(-np.abs(np.where(log_odds == 0, _DOUBT, log_odds)))
    found: Floats = np.where(log_odds >= 0, 1, e) / (1 + e)
    return found
