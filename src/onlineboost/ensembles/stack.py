"""The stack of an ensemble: an online logistic regression on the scores of its members, by Newton steps.

Each member gives log odds: those of its own head, or its score after Platt scaling. They are clipped to [-6, 6]; with a
constant 1 they are x. The answer is z = w.x, and after the label, with p = logistic(z),

    H <- F H + max(p (1 - p), .02) x x' + (1 - F) S I
    w <- w + H^-1 ((y - p) x + (1 - F) S (w_0 - w))

where F = .9995 forgets, and S = 5 draws towards the start w_0, equal weights that sum to 1 and no constant.

A steady stack forgets less where one of two labels is rare, since rows carry less information there:

    F = 1 - .0005 min(weight, 1) 4 q (1 - q)

where q is the share of the positive label, starting at one of two rows, with weights that decay by .9999 per row.

With more than two classes, each member gives the log odds x_k of every class against the rest, z_k = w.x_k with the
same weights for all classes, p = softmax(z), and m is the mean of x_k by p:

    H <- F H + sum_k p_k (x_k - m) (x_k - m)' + (1 - F) S I
    w <- w + H^-1 (x_y - m + (1 - F) S (w_0 - w))

There x_k also has the probabilities of each member, the softmax of its log odds, with weights that start at 0: log odds
far below those of the best class say little, and probabilities tell how sure the member is.

An ensemble has two stacks: on all members, and on the light ones (without probabilities). The one with the smaller loss
predicts. Members that are not light may be paused if they do not lower the loss (``resting.py``).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from onlineboost.compiled.block import unpack
from onlineboost.compiled.jit import hot, lean, njit
from onlineboost.data.allocation import filled, planning
from onlineboost.data.batch import Floats, Floats32
from onlineboost.data.target import mistaken, sign_of
from onlineboost.loop.heads import INVERSE, VoteHead, logistic, vote_correct
from onlineboost.loop.loop import compare
from onlineboost.loop.record import Record
from onlineboost.loop.temperature import chances_of, largest
from onlineboost.storage.validity import SUM, Limits, require

FORGETTING = 0.9995
CLIP = 6.0
_STRENGTH = 5.0  # S
_LEAST = 0.02  # p (1 - p) counts as at least this
_TINY = 1e-12  # smallest pivot, as a share of the diagonal: huge weights of examples leave no digits for the others
_LOSS_FORGETTING = 0.9999
_MOST_LOSS = 20.0
_MOST_WEIGHT = 1e3  # limit of a weight: one example of weight 1e18 may ask for any


class Stack(NamedTuple):
    weights: Floats  # [members + 1] the last is the constant; before it those of probabilities, if any
    information: Floats  # [weights, weights] H; its lower triangle counts
    start: Floats  # w_0
    loss: Floats  # [1] log loss, the recent counting most
    labels: Floats  # [2] weight of the positive label and of all, the recent counting most; [0] if it is not steady

    def derived(self) -> tuple[str, ...]:
        return ("start",)

    def limits(self) -> Limits:
        return {"loss": SUM, "labels": SUM}

    def saved(self) -> dict[str, Any]:
        """Stacks that are not steady have the arrays of older versions."""
        found = {"weights": self.weights, "information": self.information, "loss": self.loss}
        return found | {"labels": self.labels} if self.labels.size else found

    def check(self) -> None:
        if self.labels.size:
            require(bool(self.labels[0] <= self.labels[1] and self.labels[1] > 0), "labels", "a share")
        diagonal = np.diagonal(self.information)
        bound = np.sqrt(np.outer(diagonal, diagonal)) * (1 + 1e-6)
        positive = bool((diagonal > 0).all()) and bool((np.abs(np.tril(self.information)) <= bound).all())
        require(positive, "information", "a positive definite matrix")


def new_stack(n_parts: int, n_chances: int = 0, steady: bool = False) -> Stack:
    size = n_parts + n_chances + 1
    start = filled(1 / max(n_parts, 1), size)
    if not planning():
        start[n_parts:] = 0
    information = filled(0, (size, size)) if planning() else _STRENGTH * np.eye(size)
    labels = filled([1.0, 2.0], (2,)) if steady else np.zeros(0)
    return Stack(start.copy() if not planning() else start, information, start, np.zeros(1), labels)


def with_chances(stack: Stack) -> Stack:
    """The stack of two classes, for more."""
    n = stack.weights.size - 1
    wide = new_stack(n, n)
    if not planning():
        wide.weights[:n], wide.information[:n, :n] = stack.weights[:n], stack.information[:n, :n]
    return wide._replace(loss=stack.loss, labels=stack.labels)


class Scales(NamedTuple):
    """Platt scaling of the members' scores, and their gains."""

    platt: Floats  # [members, 2] as in ``VoteHead``, for members whose score is not log odds
    inverse: Floats  # [members, 3]
    earned: Floats  # [members + 1] weight * label * log odds, recent examples counting most; the last: weights

    def limits(self) -> Limits:
        return {"inverse": INVERSE}

    def check(self) -> None:
        require(bool(self.earned[-1] >= 0), "earned", "a sum of weights of at least 0")


def new_scales(n_parts: int) -> Scales:
    inverse = filled([1.0, 0.0, 1.0], (n_parts, 3))
    return Scales(filled(0, (n_parts, 2)), inverse, filled(0, n_parts + 1))


class StackWork(NamedTuple):
    """Memory for one row."""

    x: Floats
    step: Floats
    factor: Floats
    nothing: Floats32


def new_stack_work(n_parts: int) -> StackWork:
    n = n_parts + 1
    return StackWork(np.empty(n), np.empty(n), np.empty((n, n)), np.empty(0, np.float32))


def new_classes_work(n_parts: int, n_classes: int) -> tuple[Floats, ...]:
    n, odds = 2 * n_parts + 1, [np.empty(n_classes) for _ in range(3)]
    return np.empty((n, n_classes)), np.empty(n), np.empty((n, n)), *odds


@njit
def stack_rows(block: Any) -> None:
    """Predictions from the scores of the members, [members, rows]; with ``learning``, each row updates the states.

    Without scores of other members than the light ones, the others are paused. ``as_odds`` tells which scores are log
    odds.
    """
    span, scores, y, weight, answers, all_parts, light, scales, record, as_odds, learning, given, work = unpack(block)
    n, n_light = scores.shape[0], light.weights.size - 1
    resting = n < all_parts.weights.size - 1
    x, step, factor, nothing = work
    for r in range(span[0], span[1]):
        for k in range(n):
            odds = scores[k, r] if as_odds[k] else scales.platt[k, 0] * scores[k, r] + scales.platt[k, 1]
            x[k] = min(max(odds, -CLIP), CLIP)
        x[n] = 1.0
        by_light = _odds(light, x, n_light)
        by_all = by_light if resting else _odds(all_parts, x, n)
        lightly = resting or (light.loss[0] > 0 and light.loss[0] <= all_parts.loss[0])
        if not (given and answers[r] == answers[r]):
            answers[r] = by_light if lightly else by_all
        if learning and weight[r] > 0:
            sign = sign_of(y[r])
            for k in range(n):
                if not as_odds[k]:
                    vote_correct(VoteHead(scales.platt[k], scales.inverse[k]), scores[k, r], nothing, sign, weight[r])
            weights = light.weights if lightly else all_parts.weights
            _note(scales, record, weights, scores[:, r], x, answers[r], sign, weight[r])
            if not resting:
                _learn(all_parts, x, n, by_all, sign, weight[r], step, factor)
            if n_light < n or resting:
                _learn(light, x, n_light, by_light, sign, weight[r], step, factor)


@njit
def stack_classes(block: Any) -> None:
    """``stack_rows`` for more than two classes: scores are log odds, [parts, rows, classes]."""
    span, scores, y, weight, answers, all_parts, light, scales, record, learning, given, work = unpack(block)
    n, n_light, classes = scores.shape[0], light.weights.size - 1, scores.shape[2]
    resting = n < scales.platt.shape[0]
    x, step, factor, by_light, by_all, p = work
    for r in range(span[0], span[1]):
        for j in range(n):
            for k in range(classes):
                x[j, k] = min(max(scores[j, r, k], -CLIP), CLIP)
            chances_of(x[j], 1.0, x[n + j])
        _odds_of_classes(light, x, n_light, by_light)
        if not resting:
            _odds_of_classes(all_parts, x, 2 * n, by_all)
        lightly = resting or (light.loss[0] > 0 and light.loss[0] <= all_parts.loss[0])
        if not (given and answers[r, 0] == answers[r, 0]):
            for k in range(classes):
                answers[r, k] = by_light[k] if lightly else by_all[k]
        if learning and weight[r] > 0:
            place = int(y[r])
            weights = light.weights if lightly else all_parts.weights
            _note_classes(scales, record, weights, scores[:, r], x, answers[r], place, weight[r])
            if not resting:
                _learn_classes(all_parts, x, 2 * n, by_all, p, place, weight[r], step, factor)
            if n_light < n or resting:
                _learn_classes(light, x, n_light, by_light, p, place, weight[r], step, factor)


@hot
def _odds_of_classes(stack: Stack, x: Floats, n: int, z: Floats) -> None:
    """The log odds of all classes by the first n rows of x."""
    for k in range(z.size):
        z[k] = 0.0
    for j in range(n):
        for k in range(z.size):
            z[k] += stack.weights[j] * x[j, k]


@lean
def _note_classes(
    scales: Scales,
    record: Record,
    weights: Floats,
    scores: Floats,
    x: Floats,
    answer: Floats,
    place: int,
    weight: float,
) -> None:
    """Add an example to the statistics. The gain of a member is its share of the margin to the best other class."""
    wrong, first_wrong = largest(answer) != place, largest(scores[0]) != place
    record.totals[0] += weight
    record.totals[1] += weight if wrong else 0.0
    if wrong != first_wrong:
        record.totals[3 if wrong else 2] += weight
        record.totals[4] += weight * weight
    other = 1 if place == 0 else 0
    for k in range(answer.size):
        if k != place and answer[k] > answer[other]:
            other = k
    for j in range(scales.earned.size):
        scales.earned[j] *= FORGETTING
    scales.earned[-1] += weight
    n = scores.shape[0]
    for j in range(n):
        if j < weights.size - 1:
            scales.earned[j] += weight * weights[j] * (x[j, place] - x[j, other])
        if n + j < weights.size - 1:
            scales.earned[j] += weight * weights[n + j] * (x[n + j, place] - x[n + j, other])
        record.weights[j] += weight
        record.edges[j] += weight if largest(scores[j]) == place else -weight
    record.clock[0] += 1


@lean
def _learn_classes(
    stack: Stack, x: Floats, n: int, z: Floats, p: Floats, place: int, weight: float, step: Floats, factor: Floats
) -> None:
    """A Newton step for one example of several classes."""
    H, w = stack.information, stack.weights
    chances_of(z, 1.0, p)
    loss = -math.log(max(p[place], 1e-300))
    stack.loss[0] = _LOSS_FORGETTING * stack.loss[0] + weight * min(loss, _MOST_LOSS)
    draw = (1 - FORGETTING) * _STRENGTH
    for i in range(n + 1):
        mean = 0.0
        for k in range(p.size):
            mean += p[k] * (x[i, k] if i < n else 0.0)
        factor[n, i] = mean  # until the factor is computed
        step[i] = weight * ((x[i, place] if i < n else 0.0) - mean) + draw * (stack.start[i] - w[i])
    for i in range(n + 1):
        for j in range(i + 1):
            spread = 0.0
            if i < n:
                for k in range(p.size):
                    spread += p[k] * (x[i, k] - factor[n, i]) * (x[j, k] - factor[n, j])
            H[i, j] = FORGETTING * H[i, j] + weight * spread
        H[i, i] += draw
    _go(stack, n, step, factor)


@hot
def _odds(stack: Stack, x: Floats, n: int) -> float:
    """The log odds by the first n members."""
    z = stack.weights[n]
    for k in range(n):
        z += stack.weights[k] * x[k]
    return float(z)


@lean
def _note(
    scales: Scales, record: Record, weights: Floats, scores: Floats, x: Floats, answer: float, y: float, weight: float
) -> None:
    """Add an example to the statistics."""
    compare(record.totals, answer, answer, scores[0], y, weight)
    for k in range(scales.earned.size):
        scales.earned[k] *= FORGETTING
    scales.earned[-1] += weight
    for k in range(scores.size):
        if k < weights.size - 1:
            scales.earned[k] += weight * y * weights[k] * x[k]
        record.weights[k] += weight
        record.edges[k] += -weight if mistaken(scores[k], y) else weight
    record.clock[0] += 1


@lean
def _learn(stack: Stack, x: Floats, n: int, z: float, y: float, weight: float, step: Floats, factor: Floats) -> None:
    """A Newton step for one example, by a Cholesky factor of the information."""
    H, w = stack.information, stack.weights
    loss = math.log1p(math.exp(-abs(z))) + (abs(z) if y * z < 0 else 0.0)
    stack.loss[0] = _LOSS_FORGETTING * stack.loss[0] + weight * min(loss, _MOST_LOSS)
    p = logistic(z)
    curvature = weight * max(p * (1 - p), _LEAST)
    slope = weight * ((1.0 if y > 0 else 0.0) - p)
    forgetting = FORGETTING
    if stack.labels.size:
        q = stack.labels[0] / stack.labels[1]
        forgetting = 1 - (1 - FORGETTING) * min(weight, 1.0) * 4 * q * (1 - q)
        stack.labels[0] = _LOSS_FORGETTING * stack.labels[0] + (weight if y > 0 else 0.0)
        stack.labels[1] = _LOSS_FORGETTING * stack.labels[1] + weight
    draw = (1 - forgetting) * _STRENGTH
    for i in range(n + 1):
        a = x[i] if i < n else 1.0
        for j in range(i + 1):
            b = x[j] if j < n else 1.0
            H[i, j] = forgetting * H[i, j] + curvature * a * b
        H[i, i] += draw
        step[i] = slope * a + draw * (stack.start[i] - w[i])
    _go(stack, n, step, factor)


@lean
def _go(stack: Stack, n: int, step: Floats, factor: Floats) -> None:
    """Move the weights by the inverse of the information times ``step``."""
    H, w = stack.information, stack.weights
    for i in range(n + 1):
        for j in range(i + 1):
            s = H[i, j]
            for k in range(j):
                s -= factor[i, k] * factor[j, k]
            factor[i, j] = s / factor[j, j] if j < i else math.sqrt(max(s, _TINY * H[i, i]))
    for i in range(n + 1):
        s = step[i]
        for k in range(i):
            s -= factor[i, k] * step[k]
        step[i] = s / factor[i, i]
    for i in range(n, -1, -1):
        s = step[i]
        for k in range(i + 1, n + 1):
            s -= factor[k, i] * step[k]
        step[i] = s / factor[i, i]
        moved = w[i] + step[i]
        if moved == moved:  # otherwise weights of rows such as 1e18 have made the factor overflow
            w[i] = min(max(moved, -_MOST_WEIGHT), _MOST_WEIGHT)
