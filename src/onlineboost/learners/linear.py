"""Linear: the default learner of Vowpal Wabbit, for any number of learners at once.

A linear score over the features and a constant, learnt by adaptive (AdaGrad), normalised, importance-invariant
gradient steps: Karampatziakis and Langford (2011); Ross, Mineiro and Langford (2013).

| symbol | here | meaning |
| --- | --- | --- |
| w, G | ``weights[j, 0]``, ``weights[j, 1]`` | weight, and sum of squared gradients, of feature j - 1 (row 0: the constant) |
| n | ``scale[j]`` | largest magnitude seen of feature j - 1, shared by all learners |
| S, T | ``norm_sum``, ``weight_sum`` | sums of the examples' normalised squared lengths, and of their weights |
| r, q | ``rates``, ``gain`` | a feature's step size; by how much a unit step changes the score |
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from onlineboost._jit import njit
from onlineboost.batch import Floats, Floats32, Ints, Ints32
from onlineboost.engine import VECTOR
from onlineboost.learners.base import Learner
from onlineboost.parameters import check_between, check_one_of
from onlineboost.simd import load, prefetch, splat, sqrt, store, where_positive, zeros

f32 = np.float32
_TINY = f32(1.084202e-19)  # magnitudes are floored here, so that a square is never a subnormal
_TINY2 = _TINY * _TINY
_AHEAD = 6  # features between asking for a row of weights and using it


class LinearState(NamedTuple):
    weights: Floats32  # [1 + features, 2, lanes]: the N copies of a number are adjacent
    scale: Floats32  # [1 + features]
    norm_sum: Floats  # [lanes]
    weight_sum: Floats  # [lanes]
    block: tuple[int, ...]  # its length is the vector width
    learning_rate: float
    power_t: float
    logistic: bool


class LinearWork(NamedTuple):
    """Scratch memory for one example: its features with the constant last."""

    n: Ints  # [1] how many
    row: Ints  # where a feature's numbers begin in ``weights``
    slot: Ints32  # which row of ``scale``
    x: Floats32
    x2: Floats32
    inverse: Floats32  # 1 / scale
    rates: Floats32  # [features, width] of one block of lanes
    squared: Floats32  # [lanes] squared gradient; zero where there is nothing to learn
    gain: Floats32  # [lanes]
    step: Floats32  # [lanes]


@njit
def workspace(state: LinearState, longest: int) -> LinearWork:
    n = longest + 1
    lanes = state.weights.shape[2]
    return LinearWork(
        np.zeros(1, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int32),
        np.empty(n, np.float32),
        np.empty(n, np.float32),
        np.empty(n, np.float32),
        np.empty(n * len(state.block), np.float32),
        np.zeros(lanes, np.float32),
        np.zeros(lanes, np.float32),
        np.zeros(lanes, np.float32),
    )


@njit
def predict(state: LinearState, work: LinearWork, indices: Ints32, values: Floats32, h: Floats32) -> None:
    n = indices.size + 1
    lanes = state.weights.shape[2]
    work.n[0] = n
    for k in range(n - 1):
        work.slot[k] = indices[k] + 1
        work.row[k] = np.int64(indices[k] + 1) * (2 * lanes)
        work.x[k] = values[k]
    work.slot[n - 1], work.row[n - 1], work.x[n - 1] = 0, 0, f32(1)
    for lane in range(0, lanes, len(state.block)):
        _score(state, work, n, lane, zeros(state.block), h)
    limit = f32(50) if state.logistic else f32(1)
    for i in range(lanes):
        s = h[i]
        s = s if s == s else f32(0)
        s = s if s < limit else limit
        h[i] = s if s > -limit else -limit


@njit
def _score(state: LinearState, work: LinearWork, n: int, lane: int, zero: Any, h: Floats32) -> None:
    total = zero
    for k in range(n):
        total += load(state.weights, work.row[k] + lane, zero) * splat(work.x[k], zero)
    store(h, lane, total)


@njit
def learn(
    state: LinearState, work: LinearWork, indices: Ints32, values: Floats32, h: Floats32, y: float, p: Floats
) -> None:
    n = work.n[0]
    lanes = state.weights.shape[2]
    width = len(state.block)
    target = f32(y)
    last = -1
    for i in range(p.size):
        g = _squared_gradient(state.logistic, h[i], target)
        work.squared[i] = f32(p[i]) * g if p[i] > 0 else f32(0)
        if work.squared[i] > 0:
            last = i
    if last < 0:
        return
    length2 = _rescale(state, work, n)
    for lane in range(0, last + 1, width):
        active = False
        for i in range(lane, lane + width):
            active |= work.squared[i] > 0
        if active:
            if state.power_t == 0.5:
                _rates(state, work, n, lane, zeros(state.block))
            else:
                _rates_by_power(state, work, n, lane)
            for i in range(lane, min(lane + width, p.size)):
                work.step[i] = _step(state, i, f32(p[i]), length2, h[i], target, work.squared[i], work.gain[i])
            _move(state, work, n, lane, zeros(state.block))


@njit
def _squared_gradient(logistic: bool, score: np.float32, y: np.float32) -> np.float32:
    """The squared derivative of the loss, or 0 where the loss is 0 in float32."""
    if not logistic:
        return f32(4) * (score - y) * (score - y)
    if f32(1) + math.exp(-y * score) == f32(1):
        return f32(0)
    d = -y / (f32(1) + math.exp(y * score))
    return d * d


@njit
def _rescale(state: LinearState, work: LinearWork, n: int) -> np.float32:
    """Meet larger magnitudes than before, and return the example's normalised squared length."""
    lanes = state.weights.shape[2]
    for k in range(n):
        x = abs(work.x[k])
        x = x if x * x >= _TINY2 else _TINY
        known = state.scale[work.slot[k]]
        if x > known:
            if known > 0:
                shrink = known / x if state.power_t == 0.5 else f32(((x / known) ** 2) ** (state.power_t - 1))
                for i in range(lanes):
                    state.weights[work.slot[k], 0, i] *= shrink
            state.scale[work.slot[k]] = x
    for k in range(n):
        work.inverse[k] = state.scale[work.slot[k]]
    for k in range(n):
        x2 = work.x[k] * work.x[k]
        x2 = x2 if x2 >= _TINY2 else _TINY2
        scale = work.inverse[k]
        work.x2[k] = x2
        work.rates[k] = x2 / (scale * scale)
        work.inverse[k] = f32(1) / scale
    length2 = f32(0)
    for k in range(n):
        length2 += work.rates[k]
    return length2


@njit
def _rates(state: LinearState, work: LinearWork, n: int, lane: int, zero: Any) -> None:
    """Add the squared gradient to every feature's sum; work out the step sizes and the gain of a unit step."""
    width = len(state.block)
    lanes = state.weights.shape[2]
    squared = load(work.squared, lane, zero)
    gain = zero
    for k in range(n):
        at = work.row[k] + lanes + lane
        x2 = splat(work.x2[k], zero)
        total = load(state.weights, at, zero) + squared * x2
        store(state.weights, at, total)
        rate = where_positive(total, splat(f32(1), zero) / sqrt(total)) * splat(work.inverse[k], zero)
        store(work.rates, k * width, rate)
        gain += x2 * rate
    store(work.gain, lane, gain)


@njit
def _rates_by_power(state: LinearState, work: LinearWork, n: int, lane: int) -> None:
    """``_rates`` for an exponent other than 1/2: G^-P (n^2)^(P-1), one number at a time."""
    width = len(state.block)
    power = f32(state.power_t)
    work.gain[lane : lane + width] = f32(0)
    for k in range(n):
        scale = state.scale[work.slot[k]]
        by_scale = f32((scale * scale) ** (power - f32(1)))
        for i in range(width):
            state.weights[work.slot[k], 1, lane + i] += work.squared[lane + i] * work.x2[k]
            total = state.weights[work.slot[k], 1, lane + i]
            rate = f32(total ** (-power)) * by_scale if total > 0 else f32(0)
            work.rates[k * width + i] = rate
            work.gain[lane + i] += work.x2[k] * rate


@njit
def _move(state: LinearState, work: LinearWork, n: int, lane: int, zero: Any) -> None:
    width = len(state.block)
    step = load(work.step, lane, zero)
    for k in range(n):
        at = work.row[k] + lane
        rate = load(work.rates, k * width, zero)
        store(state.weights, at, load(state.weights, at, zero) + step * (splat(work.x[k], zero) * rate))


@njit
def _step(
    state: LinearState,
    i: int,
    importance: np.float32,
    length2: np.float32,
    score: np.float32,
    y: np.float32,
    squared: np.float32,
    gain: np.float32,
) -> np.float32:
    """How far learner i moves along its rates: the exact result of infinitely many infinitely small steps."""
    if squared == 0:
        return f32(0)
    state.norm_sum[i] += np.float64(importance) * np.float64(length2)
    state.weight_sum[i] += np.float64(importance)
    if state.power_t == 0.5:
        multiplier = f32(math.sqrt(f32(state.weight_sum[i]) / f32(state.norm_sum[i])))
    else:
        multiplier = f32((f32(state.norm_sum[i]) / f32(state.weight_sum[i])) ** f32(state.power_t - 1))
    gain *= multiplier
    rate = f32(state.learning_rate) * importance
    if not state.logistic:
        if rate * gain < f32(1e-6):
            return f32(2) * (y - score) * rate * multiplier
        return (y - score) * (f32(1) - math.exp(f32(-2) * rate * gain)) / gain * multiplier
    d = math.exp(y * score)
    if rate * gain < f32(1e-6):
        return y * rate / (f32(1) + d) * multiplier
    return -(y * f32(_implicit(rate * gain + y * score + d)) + score) / gain * multiplier


@njit
def _implicit(x: float) -> float:
    """W(e^x) - x to about six digits, W being Lambert's function: one step of Halley's rule from a good start."""
    if x >= 1:
        a = 0.86 * x + 0.01
        c = x - math.log(a) - a
    else:
        a = math.exp(0.8 * x - 0.65)
        c = 0.2 * x + 0.65 - a
    t = 1 + a
    b = 2 * t * (t + 2 * c / 3)
    return a * (1 + (c / t) * (b - c) / (b - 2 * c)) - x


class Linear(Learner, state=LinearState, workspace=workspace, predict=predict, learn=learn):
    """A linear classifier, the default weak learner: Vowpal Wabbit's, to the last digit.

    Parameters
    ----------
    loss : "squared" (scores are clipped to [-1, 1]) or "logistic" (to [-50, 50])
    learning_rate : the size of a step
    power_t : the exponent by which a feature's steps shrink with its squared gradients

    Examples
    --------
    >>> from onlineboost import Linear
    >>> from onlineboost.datasets import load_letter
    >>> X, y = load_letter()
    >>> scores = Linear().progressive_fit(X, y)
    >>> round(float(((scores >= 0) != (y > 0)).mean()), 4)
    0.2846
    """

    prefers: ClassVar[Literal["weight", "sample"]] = "weight"

    def __init__(
        self,
        loss: Literal["squared", "logistic"] = "squared",
        *,
        learning_rate: float = 0.5,
        power_t: float = 0.5,
    ) -> None:
        self.loss = loss
        self.learning_rate = learning_rate
        self.power_t = power_t

    def committee(self, n_learners: int, n_features: int) -> LinearState:
        check_one_of("loss", self.loss, ("squared", "logistic"))
        check_between("learning_rate", self.learning_rate, 0, math.inf)
        if not 0 <= self.power_t <= 1:
            check_between("power_t", self.power_t, 0, 1)
        width = VECTOR if n_learners > 1 else 1
        lanes = -(-n_learners // width) * width
        return LinearState(
            weights=np.zeros((1 + n_features, 2, lanes), np.float32),
            scale=np.zeros(1 + n_features, np.float32),
            norm_sum=np.zeros(lanes),
            weight_sum=np.zeros(lanes),
            block=(0,) * width,
            learning_rate=float(self.learning_rate),
            power_t=float(self.power_t),
            logistic=self.loss == "logistic",
        )

    def grow(self, committee: LinearState, n_features: int) -> LinearState:
        if n_features < len(committee.scale):
            return committee
        more = (1 << n_features.bit_length()) - len(committee.scale)
        weights = np.pad(committee.weights, ((0, more), (0, 0), (0, 0)))
        return committee._replace(weights=weights, scale=np.pad(committee.scale, (0, more)))
