"""The transform that centers and bounds features, incrementally; sparse data stay sparse.

1. A feature that is non-zero in at least 3/4 of the rows learned so far (until that falls below 1/2) becomes x - m,
   within +-3 s: m and s are its mean and standard deviation over the rows before this one, its zeros included.
2. Any other feature is left as it is, but kept within +-3 root mean squares of its non-zero values. An indicator
   never changes.
3. After 32 non-zero values, a value beyond the smallest or largest so far counts as that one, before rules 1 and 2. So
   linear learners do not extrapolate: a later date, far from the running mean, is the last date learned.

Without ``centering``, for learners that keep sums over rows, which a moving center would mix: every feature is left as
it is, but kept within +-3 standard deviations of the mean of its non-zero values, and by rule 3. With ``follows``, a
feature that grows with the stream, such as its date, may lie beyond its range by half of it, so that a trend goes on:
one of at least 2,000 values, whose last thousand have a deviation below a fifth of the range, and a mean within three
of them of its end.

Mean and variance follow about the last thousand non-zero values. There is no division by s: the linear learner
rescales each feature itself. The row itself is not in m and s, so that ``predict`` sees what ``learn`` would.
docs/data.md has the measurements behind the rule.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from onlineboost.compiled.block import Call, unpack
from onlineboost.compiled.jit import f32, hot, i64, njit, u32
from onlineboost.data.allocation import filled, with_room
from onlineboost.data.batch import Batch, Floats, Ints, Ints32
from onlineboost.registry import TRANSFORMS, Entry, Option
from onlineboost.storage.validity import COUNT, Limits, require
from onlineboost.transforms.chain import Level

KNOWN = 32  # non-zero values, after which their range bounds others
JOIN, LEAVE = 0.75, 0.5  # share of non-zero rows from which, and down to which, a feature is centered
BOUND, WINDOW = 3.0, 1000.0  # in standard deviations; in non-zero values
_COUNT, _MEAN, _VARIANCE, _PLACE, _LOW, _HIGH = range(6)
FIELDS = 6
_FOLLOWED = 2 * WINDOW  # non-zero values, before a feature is known to grow with the stream
_NARROW = 0.2  # deviation of its last values, as a share of its range
_REACH = 0.5  # how far it may be beyond its range, as a share of that


class StandardizeState(NamedTuple):
    """Statistics of the features. Those of all rows follow from the non-zero values and the number of rows."""

    # [n, 6]: rows with a non-zero value; mean and variance of these values; 1 + place among the centered, or 0; range
    features: Floats
    centred: Ints32  # [n]: the features that are centered ...
    counts: Ints  # ... how many they are, and how many rows were learned
    centring: bool
    follows: bool

    def limits(self) -> Limits:
        return {"centred": (0, max(self.centred.size - 1, 0)), "counts": COUNT}

    def check(self) -> None:
        require(self.counts[0] <= self.centred.size, "counts", "at most the number of features")
        require(_is_valid(self), "features", "counts, means, variances, and the places of the centered features")

    @property
    def apart(self) -> bool:
        return False

    @property
    def pauses(self) -> bool:
        return False

    def call(self, level: Level, learning: bool) -> Call:
        present, number = np.zeros(self.centred.size, np.int64), np.zeros(1, np.int64)
        return Call(standardize_rows, self, level, learning, present, number)

    def most(self, longest: int) -> int:
        return longest + self.centred.size

    def grown(self, n_features: int) -> StandardizeState:
        """The same state with room for more features, which have been zero so far."""
        return self._replace(features=with_room(self.features, n_features), centred=with_room(self.centred, n_features))

    def continued(self, old: StandardizeState) -> StandardizeState:
        return self

    def sources(self, first: Ints32, second: Ints32, before: Batch) -> tuple[Ints32, Ints32]:
        return first, second

    def origins(self, given: Mapping[int, tuple[int, ...]]) -> Mapping[int, tuple[int, ...]]:
        return given

    def output_names(self, names: Mapping[int, str]) -> Mapping[int, str]:
        return names


def new_standardize(n_features: int, centering: bool = True, follows: bool = False) -> StandardizeState:
    features, centered = filled(0, (n_features, FIELDS)), filled(0, n_features, np.int32)
    return StandardizeState(features, centered, np.zeros(2, np.int64), centering, follows)


@njit
def _is_valid(state: StandardizeState) -> bool:
    """Whether the centered features are those that have a place among them, each its own."""
    n = state.counts[0]
    for place in range(n):
        if state.features[state.centred[place], _PLACE] != place + 1:
            return False
    bad = placed = 0
    for f in range(state.features.shape[0]):
        bad += (state.features[f, _COUNT] < 0) | (state.features[f, _VARIANCE] < 0)
        bad += state.features[f, _LOW] > state.features[f, _HIGH]
        placed += state.features[f, _PLACE] != 0
    return bad == 0 and placed == n


@njit
def standardize_rows(block: Any) -> None:
    """Transform rows; ``present`` has the last row, by ``number``, in which each centered feature was."""
    state, level, learning, present, number = unpack(block)
    before, after, rows, ends, n = level
    k = 0
    after.indptr[rows[0]] = 0
    ends[n] = ends[n - 1]
    for r in range(rows[0], ends[n - 1]):
        most = before.indptr[r + 1] - before.indptr[r] + state.counts[0]
        if k + most >= after.indices.size:  # the place after the last entry is written to
            ends[n] = r
            return
        number[0] += 1
        k = _row(state, before, r, number[0], learning and before.weight[r] > 0, present, after, k)
        after.indptr[r + 1] = k


@hot
def _row(
    state: StandardizeState, before: Batch, r: int, number: int, learns: bool, present: Ints, after: Batch, k: int
) -> int:
    """Write the output features of a row from k on; returns where they end."""
    features, counts = state.features, state.counts
    n = float(counts[1])
    centered = counts[0]
    changed = False
    for j in range(before.indptr[r], before.indptr[r + 1]):
        f = u32(before.indices[j])
        x = _known(features, f, float(before.values[j]))
        place = i64(features[f, _PLACE])
        if place > 0:
            present[place - 1] = number
            z = _centered(features, f, x, n)
        else:
            z = _bounded(features, f, x) if state.centring else _near_mean(features, f, x)
            if state.follows and before.values[j] > features[f, _HIGH] and _grows(features, f):
                z = _beyond(features, f, float(before.values[j]))
        after.indices[k] = f
        after.values[k] = z
        # The first row is left out: without statistics, a raw value could set the learner's scale for ever.
        k += (n > 0) & (f32(z) != 0)
        if learns:
            _learn(features, f, float(before.values[j]))
            changed |= state.centring & (place == 0) & (features[f, _COUNT] >= JOIN * (n + 1))
    for p in range(centered):
        if present[p] != number:
            f = u32(state.centred[p])
            z = _centered(features, f, 0.0, n)
            after.indices[k] = f
            after.values[k] = z
            k += f32(z) != 0
            changed |= learns & (features[f, _COUNT] < LEAVE * (n + 1))
    if learns:
        counts[1] += 1
        if changed:
            _choose_centered(state, before, r)
    return k


@hot
def _known(features: Floats, f: int, x: float) -> float:
    """x clipped to the range met, once that is known."""
    return min(max(x, features[f, _LOW]), features[f, _HIGH]) if features[f, _COUNT] >= KNOWN else x


@hot
def _grows(features: Floats, f: int) -> bool:
    """Whether a feature grows with the stream."""
    high, variance = features[f, _HIGH], features[f, _VARIANCE]
    narrow, gap = _NARROW * (high - features[f, _LOW]), high - features[f, _MEAN]
    return bool(features[f, _COUNT] >= _FOLLOWED and variance < narrow * narrow and gap * gap < 9 * variance)


@hot
def _beyond(features: Floats, f: int, x: float) -> float:
    return min(x, features[f, _HIGH] + _REACH * (features[f, _HIGH] - features[f, _LOW]))


@hot
def _within(x: float, limit: float) -> float:
    """x clipped to +-sqrt(limit)."""
    return math.copysign(math.sqrt(limit), x) if x * x > limit else x


@hot
def _bounded(features: Floats, f: int, x: float) -> float:
    if features[f, _COUNT] == 0:
        return x
    return _within(x, BOUND * BOUND * (features[f, _VARIANCE] + features[f, _MEAN] * features[f, _MEAN]))


@hot
def _near_mean(features: Floats, f: int, x: float) -> float:
    if features[f, _COUNT] == 0:
        return x
    mean = features[f, _MEAN]
    return mean + _within(x - mean, BOUND * BOUND * features[f, _VARIANCE])


@hot
def _centered(features: Floats, f: int, x: float, n: float) -> float:
    """x minus its mean over all n rows, within the bound."""
    count, mean = features[f, _COUNT], features[f, _MEAN]
    density = 1.0 if count >= n else count / n  # exactly 1 where never zero: a constant vanishes exactly
    variance = density * (features[f, _VARIANCE] + (1 - density) * mean * mean)  # within the non-zero ones, and between
    return _within(x - density * mean, BOUND * BOUND * variance)


@hot
def _learn(features: Floats, f: int, x: float) -> None:
    """Welford's update: no cancellation, however far the values are from zero."""
    count = features[f, _COUNT] + 1
    step = 1 / min(count, WINDOW)  # a mean at first, then old values fade
    d = x - features[f, _MEAN]
    mean = features[f, _MEAN] + step * d
    features[f, _VARIANCE] += step * (d * (x - mean) - features[f, _VARIANCE])
    features[f, _MEAN] = mean
    features[f, _COUNT] = count
    features[f, _LOW] = x if count == 1 else min(features[f, _LOW], x)
    features[f, _HIGH] = x if count == 1 else max(features[f, _HIGH], x)


@njit
def _choose_centered(state: StandardizeState, batch: Batch, r: int) -> None:
    """Choose the features centered from now on. Rare after the first rows: the two thresholds are far apart."""
    features, centered, counts = state.features, state.centred, state.counts
    m = 0
    for place in range(counts[0]):
        f = centered[place]
        features[f, _PLACE] = 0
        if features[f, _COUNT] >= LEAVE * counts[1]:
            centered[m] = f
            m += 1
            features[f, _PLACE] = m
    for j in range(batch.indptr[r], batch.indptr[r + 1]):
        f = batch.indices[j]
        if features[f, _PLACE] == 0 and features[f, _COUNT] >= JOIN * counts[1]:
            centered[m] = f
            m += 1
            features[f, _PLACE] = m
    counts[0] = m


STANDARDIZE = Option("standardize", "Center and clip features online.", bool, default=True)
TRANSFORMS.add(Entry("standardize", new_standardize, "Standardize", (STANDARDIZE,)))
