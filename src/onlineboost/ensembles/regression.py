"""The node of an ensemble of regressors: its members, a stack on their scores, and intervals.

All numbers are in the units of ``engine/regression.py``; t is the scaled target.

**Members.** Two linear models come first. The third member, which remembers most, learns the residuals of the second
one, and its score is that of both. There may be two more members of the same kind on the logarithm of the target: they
see rows if the first 16 targets are positive and the largest is more than twice the smallest. Their scores are
converted to the scale of t before they are stacked. A later target that is not positive counts there as one far below
the others.

**Stack.** Scores of the members, kept within the range of targets so far and a tenth of it on both sides, and a
constant 1 are x; their mean without the constant is a. The answer is a + w.x, within the same bounds. After the label

    A <- F A + x x',   b <- F b + (t - a) x,   w = argmin w'(A + R) w - 2 w'b

with F = .998, and no member has a weight below 0 (w is at least -1 / members), so members that disagree far from the
rows seen cannot cancel. R is diagonal, the mean square of the targets (1 for the constant): one example of equal
weights. The minimum is followed by two rounds over the coordinates for each row, from the weights of the row before.

**Intervals.** The scale s of an error is what the last part, which learns |t - answer| less its running mean, expects;
at least a quarter of that mean. The interval is from answer - u s to answer + v s. For each level alpha, u and v follow
their own misses: u <- u + g max(u, .5) (1[y < low] - alpha), with g = .02. So the share of misses on each side comes to
alpha whatever the errors are, also after a change (Gibbs and Candes 2021).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from onlineboost.compiled.block import unpack
from onlineboost.compiled.jit import hot, lean, njit
from onlineboost.data.allocation import filled
from onlineboost.data.batch import Batch, Floats, Ints
from onlineboost.engine.classes import mean_importances, mean_strengths
from onlineboost.engine.regression import RegressionNode, chord
from onlineboost.engine.stage import Stage
from onlineboost.loop.explaining import Explained
from onlineboost.loop.record import Record
from onlineboost.loop.target_scaling import TargetScaling, in_units, scale_targets, set_units, to_scores
from onlineboost.storage.validity import COUNT, SUM, Limits, check_products, require

COVERAGES = (0.5, 0.8, 0.9, 0.95, 0.99)
FORGETTING = 0.998
_BASE, _FOLLOWER = 1, 2  # numbers of members
_LEAST_RATIO = 2.0  # ratio of the largest and smallest first target, for members on the logarithm
_ROUNDS = 2  # over the weights of the stack, for each row
_TYPICAL_RATE = 0.002  # share of the last error in the running mean
_LEAST_SCALE = 0.25  # of the running mean
_MARGIN_RATE = 0.02  # g
_FIRST_MARGIN, _LEAST_MARGIN, _MOST_MARGIN = 2.0, 0.5, 1e6
_SQUARE_RATE = 1e-3


class NumberStack(NamedTuple):
    weights: Floats  # [members + 1] the last is the constant
    products: Floats  # [members + 1, members + 1] A; its upper triangle counts
    moment: Floats  # [members + 1] b
    range: Floats  # [2] of targets so far, and 0
    square: Floats  # [1] running mean of squared targets

    def limits(self) -> Limits:
        return {"square": SUM}

    def check(self) -> None:
        require(bool(self.range[0] <= 0 <= self.range[1]), "range", "a range around 0")
        check_products("products", self.products)


class Spread(NamedTuple):
    typical: Floats  # [1] running mean of the errors
    margins: Floats  # [coverages, 2] u and v
    clock: Ints  # [1] rows

    def limits(self) -> Limits:
        return {"typical": SUM, "margins": SUM, "clock": COUNT}


class LogParts(NamedTuple):
    awake: Ints  # [1] whether the members on the logarithm see rows

    def limits(self) -> Limits:
        return {"awake": (0, 1)}


def new_number_stack(n_parts: int) -> NumberStack:
    n = n_parts + 1
    return NumberStack(filled(0, n), filled(0, (n, n)), filled(0, n), np.zeros(2), np.ones(1))


def new_spread() -> Spread:
    return Spread(np.zeros(1), filled(_FIRST_MARGIN, (len(COVERAGES), 2)), np.zeros(1, np.int64))


@njit
def stack_numbers(block: Any) -> None:
    """Predictions z from the scores of the members, [members, rows], and targets of the last part: their errors.

    ``middle`` gets z, and ``typical`` the running mean of the errors before each row. Answers that are ``given`` are
    in the units of y.
    """
    span, scores, t, weight, answers, centers, middle, typical, errors, states, learning, given, x = unpack(block)
    scaling, stack, spread, logs, log_centers, plain = states
    for r in range(span[0], span[1]):
        _read(scores, r, plain, x)
        for k in range(plain, scores.shape[0]):
            x[k] = to_scores(scaling, centers[r], in_units(logs, log_centers[r], x[k]))
        mean = _bound(stack, x)
        if given and answers[r, 0] == answers[r, 0]:
            middle[r] = to_scores(scaling, centers[r], answers[r, 0])
        else:
            middle[r] = _answer(stack, x, mean)
        typical[r] = spread.typical[0]
        errors[r] = 0.0
        if learning and weight[r] > 0:
            error = abs(t[r] - middle[r])
            errors[r] = error - typical[r]
            spread.typical[0] += max(_TYPICAL_RATE, 1 / (spread.clock[0] + 1.0)) * errors[r]
            _learn(stack, x, mean, t[r], weight[r], spread.clock[0])
            spread.clock[0] += 1


@njit
def subtract(block: Any) -> None:
    span, a, b, found = unpack(block)
    for r in range(span[0], span[1]):
        found[r] = a[r] - b[r]


@hot
def _bounded(stack: NumberStack, z: float) -> float:
    low, high = stack.range[0], stack.range[1]
    more = (high - low) / 10
    return float(min(max(z, low - more), high + more))


@hot
def _read(scores: Floats, r: int, plain: int, x: Floats) -> None:
    for k in range(scores.shape[0]):
        x[k] = scores[k, r] + scores[k - 1, r] if k == _FOLLOWER or k == plain + 1 else scores[k, r]
    x[scores.shape[0]] = 1.0


@hot
def _bound(stack: NumberStack, x: Floats) -> float:
    """Keep scores of members within bounds; returns their mean."""
    n, mean = x.size - 1, 0.0
    for k in range(n):
        x[k] = _bounded(stack, x[k])
        mean += x[k] / n
    return mean


@hot
def _answer(stack: NumberStack, x: Floats, mean: float) -> float:
    z = mean
    for k in range(x.size):
        z += stack.weights[k] * x[k]
    return _bounded(stack, z)


@lean
def _learn(stack: NumberStack, x: Floats, mean: float, t: float, weight: float, rows: int) -> None:
    n = x.size
    for i in range(n):
        stack.moment[i] = FORGETTING * stack.moment[i] + weight * x[i] * (t - mean)
        for k in range(i, n):
            stack.products[i, k] = FORGETTING * stack.products[i, k] + weight * x[i] * x[k]
    stack.square[0] += max(1 / (rows + 2.0), _SQUARE_RATE) * (t * t - stack.square[0])
    for _ in range(_ROUNDS):
        for i in range(n):
            stack.weights[i] = _best(stack, i, n)
    stack.range[0], stack.range[1] = min(stack.range[0], t), max(stack.range[1], t)


@hot
def _best(stack: NumberStack, i: int, n: int) -> float:
    """The best weight in place i, given the others."""
    A, w, rest = stack.products, stack.weights, stack.moment[i]
    for k in range(n):
        if k != i:
            rest -= A[min(i, k), max(i, k)] * w[k]
    if i == n - 1:
        return float(rest / (A[i, i] + 1.0))
    return float(max(rest / (A[i, i] + max(stack.square[0], 1e-24)), -1 / (n - 1)))


@njit
def intervals(block: Any) -> None:
    """Answers and their bounds in the units of y, [rows, 1 + 2 coverages]; with ``learning``, the margins follow y."""
    span, middle, typical, local, centers, y, weight, levels, answers, states, learning, given = unpack(block)
    scaling, spread, record = states
    number = record.clock[0]  # the stack may be ahead
    for r in range(span[0], span[1]):
        scale = max(typical[r] + local[r], _LEAST_SCALE * typical[r])
        if not (given and answers[r, 0] == answers[r, 0]):
            _bounds(scaling, centers[r], spread.margins, middle[r], scale, answers[r])
        if learning and weight[r] > 0:
            if scale > 0:
                _follow(spread.margins, levels, answers[r], y[r], max(_MARGIN_RATE, 1 / (number + 2.0)))
            number += 1
            _count(record, weight[r])


@hot
def _bounds(scaling: TargetScaling, c: float, margins: Floats, z: float, scale: float, answers: Floats) -> None:
    below = above = 0.0
    answers[0] = in_units(scaling, c, z)
    for k in range(margins.shape[0]):
        below, above = max(below, margins[k, 0]), max(above, margins[k, 1])  # wider coverages contain the others
        answers[1 + 2 * k] = in_units(scaling, c, z - below * scale)
        answers[2 + 2 * k] = in_units(scaling, c, z + above * scale)


@hot
def _follow(margins: Floats, levels: Floats, answers: Floats, y: float, rate: float) -> None:
    for k in range(levels.size):
        below, above = y < answers[1 + 2 * k], y > answers[2 + 2 * k]
        u, v = margins[k, 0], margins[k, 1]
        u += rate * ((1.0 if below else 0.0) - levels[k]) * max(u, _LEAST_MARGIN)
        v += rate * ((1.0 if above else 0.0) - levels[k]) * max(v, _LEAST_MARGIN)
        margins[k, 0], margins[k, 1] = min(max(u, 0.0), _MOST_MARGIN), min(max(v, 0.0), _MOST_MARGIN)


@hot
def _count(record: Record, weight: float) -> None:
    record.totals[0] += weight
    record.clock[0] += 1


def _kept(bounded: Floats, value: Floats) -> Floats:
    """The share of a value that remains within bounds."""
    found: Floats = np.where(bounded == value, 1.0, bounded / np.where(value == 0, 1.0, value))
    return found


_LEVELS = np.array([(1 - coverage) / 2 for coverage in COVERAGES])


@dataclass
class RegressionEnsemble(RegressionNode):
    """Members and the stack on them; the last part learns the size of errors."""

    stack: NumberStack
    spread: Spread
    logs: TargetScaling | None = None  # state of members on the logarithm, if there may be some
    log_parts: LogParts | None = None

    @property
    def width(self) -> int:
        return 1 + 2 * len(COVERAGES)

    def set_units(self, first: Floats) -> None:
        super().set_units(first)
        if self.logs is not None and self.log_parts is not None and first.min() > 0:
            self.log_parts.awake[0] = first.max() > _LEAST_RATIO * first.min()
            set_units(self.logs, first)

    @property
    def n_plain(self) -> int:
        """Number of members before those on the logarithm."""
        return len(self.parts) - (1 if self.logs is None else 3)

    def awake(self) -> tuple[Any, ...]:
        if self.log_parts is None or self.log_parts.awake[0]:
            return self.parts
        return (*self.parts[: self.n_plain], self.parts[-1])

    def add_parts(self, stage: Stage, y: Floats, targets: Floats, centers: Floats, out: Floats) -> None:
        *parts, last = self.awake()
        capacity, n, mode, weight = stage.table.capacity, len(parts), stage.mode, stage.table.weight
        left, middle, typical, errors = (
            stage.array(name, capacity) for name in ("left", "middle", "typical", "errors")
        )
        scores, local = stage.array("scores", (n, capacity, 1)), stage.array("local", (capacity, 1))
        flat, of_error = scores.reshape(n, capacity), local.reshape(capacity)
        logs, log_targets, log_centers = self.scaling, targets, centers
        if n > self.n_plain and self.logs is not None:
            logs = self.logs
            log_targets, log_centers, log_left = (
                stage.array(name, capacity) for name in ("log targets", "log centers", "log left")
            )
            stage.call(scale_targets, stage.span, y, weight, log_targets, log_centers, logs, mode.learning)
        for k, part in enumerate(parts):
            goal = targets if k < self.n_plain else log_targets
            if k in (_FOLLOWER, self.n_plain + 1):
                rest = left if k == _FOLLOWER else log_left
                stage.call(subtract, stage.span, goal, flat[k - 1], rest)
                goal = rest
            stage.part(k, part, goal, scores[k])
        for part in self.parts[n:-1]:
            stage.silent(part)
        states = self.scaling, self.stack, self.spread, logs, log_centers, self.n_plain
        more = states, mode.learning, mode.given, np.empty(n + 1)
        stage.call(stack_numbers, stage.span, flat, targets, weight, out, centers, middle, typical, errors, *more)
        stage.part(len(self.parts) - 1, last, errors, local)
        ends = (self.scaling, self.spread, self.record), mode.learning, mode.given
        stage.call(intervals, stage.span, middle, typical, of_error, centers, y, weight, _LEVELS, out, *ends)

    def explain_parts(self, batches: Mapping[int, Batch], rows: Batch) -> Explained:
        found = [part.explain(batches, rows) for part in self.awake()[:-1]]
        n, low, high = len(found), *self.stack.range
        least, most = low - (high - low) / 10, high + (high - low) / 10
        scores = np.array([one.scores[:, 0] for one in found])
        scores[_FOLLOWER] += scores[_BASE]
        inner = np.ones(scores.shape)  # slopes of scores in those of the members
        if n > self.n_plain and self.logs is not None:
            base, follower = found[self.n_plain :]
            scores[self.n_plain + 1] += scores[self.n_plain]
            changes = base.sums(), base.sums() + follower.sums()
            for k, change in enumerate(changes, self.n_plain):
                answers, slopes = chord(self.logs, scores[k], change)
                (c, s) = self.scaling.units
                scores[k], inner[k] = (answers - c) / s, slopes / s
        x = np.clip(scores, least, most)
        z = sum(x / n)
        for k, weight in enumerate(self.stack.weights[: n + 1].tolist()):  # in this order, as ``_answer`` does
            z = z + (weight * x[k] if k < n else weight)
        answers = np.clip(z, least, most)
        slopes = (1 / n + self.stack.weights[:n, None]) * _kept(x, scores) * _kept(answers, z) * inner
        for base in (_BASE, self.n_plain)[: 1 + (n > self.n_plain)]:
            slopes[base] += slopes[base + 1]
        terms = [term for one, slope in zip(found, slopes, strict=True) for term in one.scaled(slope.reshape(-1, 1))]
        return self.explain_in_units(Explained(answers.reshape(-1, 1), terms))

    def may_rest(self, k: int) -> bool:
        return self.log_parts is not None and self.n_plain <= k < len(self.parts) - 1

    def may_be_silent(self, k: int) -> bool:
        return True  # while the first rows are held back; members on the logarithm at any time

    def check(self) -> None:
        super().check()
        if self.log_parts is not None:
            require(not (self.young and self.log_parts.awake[0]), "log_parts.awake", "0 while rows are held back")

    def own_states(self) -> dict[str, Any]:
        found = {"stack": self.stack, "spread": self.spread} | super().own_states()
        if self.logs is not None:
            found |= {"logs": self.logs, "log_parts": self.log_parts}
        return found

    @property
    def _trees(self) -> list[Any]:
        return [part for part in self.awake()[:-1] if part.learner.takes_missing]

    def importances(self) -> dict[int, float]:
        """Only trees count, as in ``strengths``."""
        return mean_importances(self._trees)

    def strengths(self, names: Mapping[int, str]) -> list[tuple[str, int, float]]:
        """The features' shares of the gain of all splits, mean over the members that are trees."""
        return mean_strengths([part.strengths(names) for part in self._trees])
