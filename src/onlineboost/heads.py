"""Heads: how votes become the answer, and the answer a probability.

| head | score | probability of the positive label |
| --- | --- | --- |
| "vote" | the algorithm's own | Platt's: logistic(a score + c), with a and c learnt on the way by Newton's steps |
| "stack" | sum of w_i h_i + c, learnt on the way by AdaGrad on the logistic loss | logistic(score) |

The stack sees the learners' real votes, and begins with equal weights: with the majority.
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


class VoteHead(NamedTuple):
    platt: Floats  # [2] slope and offset
    inverse: Floats  # [3] the inverse of the curvature so far: of slope, of both, of offset


class StackHead(NamedTuple):
    weights: Floats  # [n_learners + 1] the last is the offset
    squares: Floats  # of their gradients


Head: TypeAlias = VoteHead | StackHead


def new_head(name: HeadName, n_learners: int) -> Head:
    return new_stack(n_learners) if name == "stack" else VoteHead(np.zeros(2), np.array([1.0, 0.0, 1.0]))


def new_stack(n_learners: int) -> StackHead:
    weights = np.full(n_learners + 1, 1 / math.sqrt(n_learners))
    weights[-1] = 0
    return StackHead(weights, np.zeros(n_learners + 1))


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
    n = head.weights.size - 1
    total = head.weights[n]
    for i in range(n):
        total += head.weights[i] * _bounded(h[i])
    return float(total)


@hot
def stack_correct(head: StackHead, score: float, h: Floats32, y: float, weight: float) -> None:
    n = head.weights.size - 1
    slope = weight * ((1.0 if y > 0 else 0.0) - logistic(score))
    for i in range(n + 1):
        gradient = slope * (_bounded(h[i]) if i < n else 1.0)
        head.squares[i] += gradient * gradient
        if head.squares[i] > 0:
            head.weights[i] += RATE * gradient / math.sqrt(head.squares[i])


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
