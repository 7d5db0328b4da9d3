"""Compiled functions of ``Linear``: predict and learn, for N learners in adjacent lanes.

| symbol | here | meaning |
| --- | --- | --- |
| w, G | ``numbers[j, 0]``, ``numbers[j, 1]`` | weight and sum of squared gradients of feature j - 1 (0: constant) |
| n | ``numbers[j, 2]`` | largest magnitude of feature j - 1 in the examples that a learner has learned |
| S, T | ``norm_sum``, ``weight_sum`` | sums of the examples' normalized squared lengths, and of their weights |
| r, q | ``rates``, ``gain`` | a feature's step size; change of the score by a unit step |
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onlineboost.compiled.jit import hot, lean
from onlineboost.compiled.simd import (
    any_positive,
    choose,
    first_half,
    join,
    larger,
    load,
    narrow,
    prefetch,
    reciprocal,
    second_half,
    smaller,
    splat,
    sqrt,
    store,
    total,
    where_positive,
    widen,
    zeros,
)
from onlineboost.data.batch import Batch, Floats, Floats32, Ints32
from onlineboost.learners.losses import squared_gradient, step_logistic, step_squared
from onlineboost.loop.explaining import Found, Pulls
from onlineboost.loop.loop import VECTOR
from onlineboost.storage.validity import MAX_FLOAT32, SUM, Limits

f32 = np.float32
_TINY = f32(1.084202e-19)  # smaller magnitudes count as this
_TINY2 = _TINY * _TINY
_MIN_SCALE = f32(1e-16)  # keeps step sizes within float32
_LARGE = f32(2.0**125)  # inverses of larger scales need not have all digits
_MAX_RATE = f32(1e18)
_MAX_SQUARES = f32(1e38)  # keeps sums of squared gradients within float32
_CACHED = 1 << 19  # bytes: fewer are in the second-level cache anyway
_AHEAD = 96  # numbers of a feature that are prefetched in one pass
BLOCK, ALONE = (0,) * VECTOR, (0,)


class LinearState(NamedTuple):
    numbers: Floats32  # [1 + features, 3, all lanes]: the N copies of a number are adjacent
    norm_sum: Floats  # [lanes]
    weight_sum: Floats  # [lanes]
    lane: int  # the first lane of these learners
    block: tuple[int, ...]  # its length is the vector width
    learning_rate: float
    power_t: float
    logistic: bool

    def limits(self) -> Limits:
        return {"scale": (0, MAX_FLOAT32), "norm_sum": SUM, "weight_sum": SUM}

    def saved(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("weights", "scale", "norm_sum", "weight_sum")}

    @property
    def weights(self) -> Floats32:
        return self.numbers[:, :2]

    @property
    def scale(self) -> Floats32:
        return self.numbers[:, 2]


class LinearWork(NamedTuple):
    """Scratch memory for one example: numbers for each of its features, and for each learner."""

    x: Floats32  # magnitude
    x2: Floats32
    rates: Floats32  # [1 + features + 1, width] of some lanes; the first is not used, the constant is last
    importance: Floats32  # [lanes] this and the next are zero for learners with nothing to learn
    squared: Floats32  # [lanes] squared gradient
    length: Floats32  # [lanes] squared length of the example, each feature in units of its scale
    gain: Floats32  # [lanes]
    multiplier: Floats32  # [lanes]
    step: Floats32  # [lanes]


def workspace(state: LinearState, longest: int) -> LinearWork:
    features, lanes = np.empty((2, longest), np.float32), np.zeros((6, state.norm_sum.size), np.float32)
    return LinearWork._make((*features, np.empty(2 * (longest + 2) * len(state.block), np.float32), *lanes))


@hot
def predict(state: LinearState, work: LinearWork, batch: Batch, r: int, h: Floats32) -> None:
    indices = batch.indices[batch.indptr[r] : batch.indptr[r + 1]]
    values = batch.values[batch.indptr[r] : batch.indptr[r + 1]]
    lanes = state.norm_sum.size
    one, two = zeros(state.block), zeros(state.block + state.block)
    width = len(state.block)
    lane = 0
    while lane + 4 * width <= lanes:  # additions of one sum wait less for those of another
        _scores(state, indices, values, lane, lane + 2 * width, two, two, h)
        lane += 4 * width
    if lane + 3 * width == lanes:
        _scores(state, indices, values, lane, lane + 2 * width, two, one, h)
    elif lane + 2 * width == lanes:
        _scores(state, indices, values, lane, lane + width, one, one, h)
    elif lane < lanes:
        _score(state, indices, values, lane, one, h)
    limit = f32(50) if state.logistic else f32(1)
    for i in range(lanes):
        s = h[i]
        s = s if s == s else f32(0)
        s = s if s < limit else limit
        h[i] = s if s > -limit else -limit


@hot
def _scores(
    state: LinearState,
    indices: Ints32,
    values: Floats32,
    lane: int,
    next_lane: int,
    zero: Any,
    next_zero: Any,
    h: Floats32,
) -> None:
    row, at, next_at = 3 * state.numbers.shape[2], state.lane + lane, state.lane + next_lane
    total, next_total = zero, next_zero
    for k in range(indices.size):
        j = (np.int64(indices[k]) + 1) * row
        total += load(state.numbers, j + at, zero) * splat(values[k], zero)
        next_total += load(state.numbers, j + next_at, next_zero) * splat(values[k], next_zero)
    store(h, lane, total + load(state.numbers, at, zero))
    store(h, next_lane, next_total + load(state.numbers, next_at, next_zero))


@hot
def _score(state: LinearState, indices: Ints32, values: Floats32, lane: int, zero: Any, h: Floats32) -> None:
    row, at = 3 * state.numbers.shape[2], state.lane + lane
    total = zero
    for k in range(indices.size):
        total += load(state.numbers, (np.int64(indices[k]) + 1) * row + at, zero) * splat(values[k], zero)
    store(h, lane, total + load(state.numbers, at, zero))


@hot
def learn(state: LinearState, work: LinearWork, batch: Batch, r: int, h: Floats32, t: Floats32, p: Floats) -> None:
    """A step of every learner that has something to learn."""
    indices = batch.indices[batch.indptr[r] : batch.indptr[r + 1]]
    values = batch.values[batch.indptr[r] : batch.indptr[r + 1]]
    following = min(r + 1, batch.y.size - 1)
    ahead = batch.indices[batch.indptr[following] : batch.indptr[following + 1]]
    lanes = state.norm_sum.size
    width = len(state.block)
    idle = True
    for lane in range(0, lanes, width):
        idle &= not _gradients(state, work, lane, h, t, p, zeros(state.block))
    if idle:
        return
    _measure(work, values)
    lane = line = 0
    two = state.block + state.block
    while lane < lanes:
        reach = ahead.size if line < 3 * lanes and 4 * state.numbers.size > _CACHED else 0
        if lane + 2 * width <= lanes:
            line += _learn_lanes(state, work, indices, values, lane, two, ahead, reach, line, h, t)
            lane += 2 * width
        else:
            line += _learn_lanes(state, work, indices, values, lane, state.block, ahead, reach, line, h, t)
            lane += width


@hot
def _learn_lanes(
    state: LinearState,
    work: LinearWork,
    indices: Ints32,
    values: Floats32,
    lane: int,
    block: Any,
    ahead: Ints32,
    reach: int,
    line: int,
    h: Floats32,
    t: Floats32,
) -> int:
    """A step of some learners, if one of them has something to learn: how many numbers were prefetched."""
    if not any_positive(load(work.squared, lane, zeros(block))):
        return 0
    if state.power_t == 0.5:
        length2 = _rates(state, work, indices, lane, block, ahead, reach, line)
    else:
        _rates_by_power(state, work, indices, lane, len(block))
        length2 = load(work.length, lane, zeros(block))
    _steps(state, work, lane, length2, h, t, block)
    _move(state, work, indices, values, lane, block)
    return _AHEAD


@hot
def pull(state: LinearState, work: LinearWork, batch: Batch, r: int, h: Floats32, pulls: Pulls) -> None:
    """The terms of a vote are weights times values."""
    indices = batch.indices[batch.indptr[r] : batch.indptr[r + 1]]
    values = batch.values[batch.indptr[r] : batch.indptr[r + 1]]
    limit = f32(50) if state.logistic else f32(1)
    clipped = pulls.n > 0
    for i in range(pulls.link.shape[1]):
        clipped |= abs(h[i]) >= limit
    for lane in range(0, state.norm_sum.size if clipped else 0, len(state.block)):
        if pulls.n > 0:
            _pull(state, indices, values, lane, zeros(state.block), pulls.up[r], pulls.down[r])
        else:
            _score(state, indices, values, lane, zeros(state.block), work.gain)
    for i in range(pulls.link.shape[1]):
        pulls.link[r, i] = limit / max(abs(work.gain[i]), limit) if abs(h[i]) >= limit else 1.0


@hot
def _pull(
    state: LinearState, indices: Ints32, values: Floats32, lane: int, zero: Any, up: Floats, down: Floats
) -> None:
    row, at = 3 * state.numbers.shape[2], state.lane + lane
    constant = load(state.numbers, at, zero)
    positive = where_positive(constant, constant)
    negative = constant - positive
    for k in range(indices.size):
        term = load(state.numbers, (np.int64(indices[k]) + 1) * row + at, zero) * splat(values[k], zero)
        against = smaller(term, zero)
        positive += term - against
        negative += against
    store(up, lane, widen(positive))
    store(down, lane, widen(negative))


@hot
def explain(state: LinearState, work: LinearWork, batch: Batch, r: int, found: Found, k: int) -> int:
    row, zero, own = 3 * state.numbers.shape[2], zeros(state.block), r * found.plus.shape[1]
    for j in range(batch.indptr[r], batch.indptr[r + 1]):
        at, x = (np.int64(batch.indices[j]) + 1) * row + state.lane, widen(splat(batch.values[j], zero))
        sums = widen(zero)
        for lane in range(0, state.norm_sum.size, len(state.block)):
            term = widen(load(state.numbers, at + lane, zero)) * x
            positive = where_positive(term, term)
            sums += positive * load(found.plus, own + lane, sums)
            sums += (term - positive) * load(found.minus, own + lane, sums)
        found.slots[k], found.values[k] = batch.indices[j], total(sums)
        k += 1
    return k


@lean
def forget(state: LinearState, i: int) -> None:
    for j in range(state.numbers.shape[0]):
        if j == 0 or state.numbers[j, 2, i] > 0:  # others take no memory yet
            for k in range(3):
                state.numbers[j, k, i] = f32(0)
    state.norm_sum[i] = state.weight_sum[i] = 0.0


@hot
def _gradients(state: LinearState, work: LinearWork, lane: int, h: Floats32, t: Floats32, p: Floats, zero: Any) -> bool:
    """The weighted squared derivative of the loss for a block of learners; whether any has something to learn."""
    importance = narrow(load(p, lane, zero))
    if state.logistic:
        for i in range(lane, lane + len(state.block)):
            work.squared[i] = squared_gradient(h[i], t[i])
        squared = importance * load(work.squared, lane, zero)
    else:
        error = load(h, lane, zero) - load(t, lane, zero)
        squared = importance * (splat(f32(4), zero) * error * error)
    store(work.squared, lane, squared)
    store(work.importance, lane, where_positive(squared, importance))
    return bool(any_positive(squared))


@hot
def _measure(work: LinearWork, values: Floats32) -> None:
    """What depends on the example only."""
    whole = values.size // VECTOR * VECTOR
    for k in range(0, whole, VECTOR):
        _magnitudes(work, values, k, zeros(BLOCK))
    for k in range(whole, values.size):
        _magnitudes(work, values, k, zeros(ALONE))


@hot
def _magnitudes(work: LinearWork, values: Floats32, k: int, zero: Any) -> None:
    value = load(values, k, zero)
    store(work.x, k, larger(larger(value, zero - value), splat(_TINY, zero)))
    store(work.x2, k, larger(value * value, splat(_TINY2, zero)))


@hot
def _rates(
    state: LinearState, work: LinearWork, indices: Ints32, lane: int, block: Any, ahead: Ints32, reach: int, line: int
) -> Any:
    """Add the squared gradient to every feature's sum; compute the step sizes and the gain of a unit step.

    Returns the example's squared length, each feature in units of its scale. While the loop waits for roots and
    divisions, it prefetches numbers of the next example.
    """
    width, lanes, zero = len(block), state.numbers.shape[2], zeros(block)
    own = state.lane + lane
    squared, one = load(work.squared, lane, zero), splat(f32(1), zero)
    gain, length2 = zero, zero
    k, n = 0, indices.size
    while k < n:
        if k < reach:
            _prefetch(state, ahead[k], line)
        at = 3 * (np.int64(indices[k]) + 1) * lanes + own
        x, x2 = splat(work.x[k], zero), splat(work.x2[k], zero)
        before, known = load(state.numbers, at + lanes, zero), load(state.numbers, at + 2 * lanes, zero)
        if width == VECTOR and k + 1 < n and indices[k + 1] != indices[k]:  # two features take as long as one
            if k + 1 < reach:
                _prefetch(state, ahead[k + 1], line)
            next_at = 3 * (np.int64(indices[k + 1]) + 1) * lanes + own
            x = join(x, splat(work.x[k + 1], zero))
            x2 = join(x2, splat(work.x2[k + 1], zero))
            before = join(before, load(state.numbers, next_at + lanes, zero))
            known = join(known, load(state.numbers, next_at + 2 * lanes, zero))
            total, rate, ratio, scale, grown = _rated(before, known, x, x2, join(squared, squared))
            if grown:
                _rescale(state, at, first_half(known), first_half(scale))
                _rescale(state, next_at, second_half(known), second_half(scale))
            store(state.numbers, at + lanes, first_half(total))
            store(state.numbers, next_at + lanes, second_half(total))
            store(work.rates, (k + 1) * width, rate)
            term = x2 * rate
            gain = gain + first_half(term) + second_half(term)
            length2 = length2 + first_half(ratio) + second_half(ratio)
            k += 2
            continue
        total, rate, ratio, scale, grown = _rated(before, known, x, x2, squared)
        if grown:
            _rescale(state, at, known, scale)
        store(state.numbers, at + lanes, total)
        store(work.rates, (k + 1) * width, rate)
        gain += x2 * rate
        length2 += ratio
        k += 1
    total = smaller(load(state.numbers, lanes + own, zero) + squared, splat(_MAX_SQUARES, zero))
    store(state.numbers, lanes + own, total)
    rate = where_positive(total, one / sqrt(total))
    store(work.rates, (n + 1) * width, rate)
    store(work.gain, lane, gain + rate)
    return length2 + one


@hot
def _rated(before: Any, known: Any, x: Any, x2: Any, squared: Any) -> Any:
    """The new sum of a feature, its step size, x^2 in units of the scale, the new scale and whether it has grown."""
    one, least = splat(f32(1), x), splat(_MIN_SCALE, x)
    scale = larger(x, known)  # without a branch: learners often differ, in a way that cannot be foreseen
    ratio = x2 / (scale * scale)
    inverse = reciprocal(larger(scale, least))
    grown = any_positive(where_positive(squared, scale - smaller(known, splat(_LARGE, x))))
    if grown:
        inverse = one / larger(scale, least)
        scale = choose(squared, scale, known)
    total = smaller(before + squared * x2, splat(_MAX_SQUARES, x))
    root = sqrt(total)
    return total, where_positive(root, one / root) * inverse, ratio, scale, grown


@hot
def _rescale(state: LinearState, at: int, known: Any, scale: Any) -> None:
    """Keep the score of a feature whose scale has grown."""
    lanes, one = state.numbers.shape[2], splat(f32(1), known)
    store(state.numbers, at + 2 * lanes, scale)
    store(state.numbers, at, load(state.numbers, at, known) * choose(known, known / scale, one))


@hot
def _prefetch(state: LinearState, index: int, line: int) -> None:
    """Prefetch some numbers of a feature."""
    at = 3 * (np.int64(index) + 1) * state.numbers.shape[2] + state.lane + line
    for k in range(0, _AHEAD, 16):
        prefetch(state.numbers, at + k)


@lean
def _rates_by_power(state: LinearState, work: LinearWork, indices: Ints32, lane: int, width: int) -> None:
    """``_rates`` for an exponent other than 1/2: G^-P (n^2)^(P-1), one number at a time."""
    power = f32(state.power_t)
    work.gain[lane : lane + width] = work.length[lane : lane + width] = f32(0)
    last = by_scale = f32(0)
    for k in range(indices.size + 1):
        constant = k == indices.size
        j = 0 if constant else np.int64(indices[k]) + 1
        x2 = f32(1) if constant else work.x2[k]
        x = f32(1) if constant else work.x[k]
        for i in range(width):
            at = state.lane + lane + i
            known = state.numbers[j, 2, at]
            scale = x if x > known else known
            if work.squared[lane + i] > 0 and x > known:
                state.numbers[j, 2, at] = x
                if known > 0:
                    state.numbers[j, 0, at] *= f32(((x / known) * (x / known)) ** (power - f32(1)))
            if scale != last:  # most learners have the same
                last, by_scale = scale, f32((scale * scale) ** (power - f32(1)))
            total = min(state.numbers[j, 1, at] + work.squared[lane + i] * x2, _MAX_SQUARES)
            state.numbers[j, 1, at] = total
            rate = min(f32(total ** (-power)) * by_scale, _MAX_RATE / max(x2, f32(1))) if total > 0 else f32(0)
            work.rates[(k + 1) * width + i] = rate
            work.gain[lane + i] += x2 * rate
            work.length[lane + i] += x2 / (scale * scale)


@hot
def _move(state: LinearState, work: LinearWork, indices: Ints32, values: Floats32, lane: int, block: Any) -> None:
    width, zero = len(block), zeros(block)
    row, own = 3 * state.numbers.shape[2], state.lane + lane
    steps = load(work.step, lane, zero)
    for k in range(indices.size):
        at = (np.int64(indices[k]) + 1) * row + own
        change = steps * (splat(values[k], zero) * load(work.rates, (k + 1) * width, zero))
        store(state.numbers, at, load(state.numbers, at, zero) + change)
    change = steps * load(work.rates, (indices.size + 1) * width, zero)
    store(state.numbers, own, load(state.numbers, own, zero) + change)


@hot
def _steps(state: LinearState, work: LinearWork, lane: int, length2: Any, h: Floats32, t: Floats32, block: Any) -> None:
    """The step of each learner of a block along its rates: the limit of ever smaller steps (``losses.py``)."""
    zero, last = zeros(block), lane + len(block)
    importance = load(work.importance, lane, zero)
    norm_sum = load(state.norm_sum, lane, zero) + widen(importance) * widen(length2)
    weight_sum = load(state.weight_sum, lane, zero) + widen(importance)
    store(state.norm_sum, lane, norm_sum)
    store(state.weight_sum, lane, weight_sum)
    if state.power_t == 0.5:
        store(work.multiplier, lane, sqrt(narrow(weight_sum) / narrow(norm_sum)))
    else:
        store(work.multiplier, lane, narrow(norm_sum) / narrow(weight_sum))
        for i in range(lane, last):
            work.multiplier[i] = f32(work.multiplier[i] ** f32(state.power_t - 1))
    multiplier = load(work.multiplier, lane, zero)
    store(work.gain, lane, load(work.gain, lane, zero) * multiplier)
    rate = f32(state.learning_rate)
    if state.logistic:
        for i in range(lane, last):
            if work.squared[i] > 0:
                work.step[i] = step_logistic(rate * work.importance[i], work.gain[i], h[i], t[i])
        steps = load(work.step, lane, zero)
    else:
        error = load(t, lane, zero) - load(h, lane, zero)
        steps = step_squared(splat(rate, zero) * importance, load(work.gain, lane, zero), error)
    store(work.step, lane, where_positive(load(work.squared, lane, zero), steps * multiplier))
