"""Heads: how votes become the answer, and the answer a probability.

| head | score | probability of the positive label |
| --- | --- | --- |
| "vote" | the algorithm's own | Platt's: logistic(a score + c), with a and c learnt on the way by Newton's steps |
| "stack" | sum of w_i h_i + c, learnt on the way by AdaGrad on the logistic loss; calibrated | logistic(score) |

The stack sees the learners' real votes, and begins with equal weights: with the majority. It is calibrated by bins of
the probability: what came true in a bin shifts the log odds there.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from onlineboost import dispatch
from onlineboost._jit import hot
from onlineboost.batch import Floats, Floats32

HeadName = Literal["vote", "stack"]
HEADS: tuple[HeadName, ...] = ("vote", "stack")
RATE, LARGEST_VOTE = 0.05, 8.0
_TINY = 1e-300  # where no gradient was yet there is nothing to divide by
BINS, DOUBT, MOST = 16, 20.0, 1e5  # a bin's own opinion counts as so many examples; beyond so many it forgets half


class VoteHead(NamedTuple):
    platt: Floats  # [2] slope and offset
    inverse: Floats  # [3] the inverse of the curvature so far: of slope, of both, of offset


class StackHead(NamedTuple):
    weights: Floats  # [n_learners + 1] the last is the offset
    squares: Floats  # of their gradients
    bins: Floats  # [BINS, 3] of the probabilities given: weight, sum of probabilities, weight of what came true


Head: TypeAlias = VoteHead | StackHead


def new_head(name: HeadName, n_learners: int) -> Head:
    return new_stack(n_learners) if name == "stack" else VoteHead(np.zeros(2), np.array([1.0, 0.0, 1.0]))


def new_stack(n_learners: int) -> StackHead:
    weights = np.full(n_learners + 1, 1 / math.sqrt(n_learners))
    weights[-1] = 0
    return StackHead(weights, np.zeros(n_learners + 1), np.zeros((BINS, 3)))


@hot
def logistic(s: float) -> float:
    """1 / (1 + exp(-s)), without overflow."""
    if s >= 0:
        return 1 / (1 + math.exp(-s))
    e = math.exp(s)
    return e / (1 + e)


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
    log_odds = _log_odds(head, h)
    return log_odds + _shift(head.bins, _chance(log_odds))


@hot
def stack_correct(head: StackHead, score: float, h: Floats32, y: float, weight: float) -> None:
    n = head.weights.size - 1
    p = _chance(_log_odds(head, h))
    true = 1.0 if y > 0 else 0.0
    k = min(int(p * BINS), BINS - 1)
    if head.bins[k, 0] > MOST:
        for j in range(3):
            head.bins[k, j] /= 2
    head.bins[k, 0] += weight
    head.bins[k, 1] += weight * p
    head.bins[k, 2] += weight * true
    slope = weight * (true - p)
    for i in range(n):  # without a branch, so that it becomes vector code
        gradient = slope * _bounded(h[i])
        head.squares[i] += gradient * gradient
        head.weights[i] += RATE * gradient / math.sqrt(head.squares[i] + _TINY)
    head.squares[n] += slope * slope
    head.weights[n] += RATE * slope / math.sqrt(head.squares[n] + _TINY)


@hot
def _log_odds(head: StackHead, h: Floats32) -> float:
    n = head.weights.size - 1
    total = head.weights[n]
    for i in range(n):
        total += head.weights[i] * _bounded(h[i])
    return float(total)


@hot
def _chance(log_odds: float) -> float:
    """The probability, away from 0 and 1."""
    p = logistic(log_odds)
    p = 1e-9 if p < 1e-9 else p
    return 1 - 1e-9 if p > 1 - 1e-9 else p


@hot
def _shift(bins: Floats, p: float) -> float:
    """How far the log odds are to be moved: what the bins on both sides of p say, by how near they are."""
    low = high = -1
    for k in range(BINS):
        if bins[k, 0] > 0:
            if bins[k, 1] <= p * bins[k, 0]:
                low = k
            elif high < 0:
                high = k
    if low < 0 or high < 0:
        return _shift_of(bins, max(low, high)) if low >= 0 or high >= 0 else 0.0
    a, b = bins[low, 1] / bins[low, 0], bins[high, 1] / bins[high, 0]
    near = (p - a) / (b - a)
    return float((1 - near) * _shift_of(bins, low) + near * _shift_of(bins, high))


@hot
def _shift_of(bins: Floats, k: int) -> float:
    weight, true = bins[k, 0], bins[k, 2]
    p = bins[k, 1] / weight
    return math.log((true + DOUBT * p) / (weight - true + DOUBT * (1 - p))) - math.log(p / (1 - p))


@hot
def _bounded(h: float) -> float:
    h = LARGEST_VOTE if h > LARGEST_VOTE else h
    return -LARGEST_VOTE if h < -LARGEST_VOTE else h


dispatch.register(dispatch.answer, VoteHead, vote_answer)
dispatch.register(dispatch.correct, VoteHead, vote_correct)
dispatch.register(dispatch.answer, StackHead, stack_answer)
dispatch.register(dispatch.correct, StackHead, stack_correct)


def probabilities(head: Head, scores: Floats) -> Floats:
    """Of the positive label."""
    if isinstance(head, VoteHead):
        scores = head.platt[0] * scores + head.platt[1]
    e = np.exp(-np.abs(scores))
    chances: Floats = np.where(scores >= 0, 1, e) / (1 + e)
    return chances
