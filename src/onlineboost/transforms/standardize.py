"""The transform that centres and bounds features, incrementally; sparse data stay sparse.

1. A feature that is non-zero in at least 3/4 of the rows learnt so far (until that falls below 1/2) becomes x - m, kept
   within +-3 s: m and s are its mean and standard deviation over the rows before this one, its zeros included.
2. Any other feature is left as it is, but kept within +-3 root mean squares of its non-zero values. An indicator
   never changes.
3. After 32 non-zero values, a value beyond the smallest or largest so far counts as that one, before rules 1 and 2. So
   linear learners do not extrapolate: a later date, far from the running mean, is the last date learnt.

Without ``centring``, for learners that keep sums over rows, which a moving centre would mix: every feature is left as
it is, but kept within +-3 standard deviations of the mean of its non-zero values, and by rule 3.

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
from onlineboost.data.batch import Batch, Floats, Floats32, Ints, Ints32
from onlineboost.registry import TRANSFORMS, Entry, Option
from onlineboost.storage.validity import COUNT, Limits, require
from onlineboost.transforms.chain import Level

KNOWN = 32  # non-zero values, after which their range bounds others
JOIN, LEAVE = 0.75, 0.5  # share of non-zero rows from which, and down to which, a feature is centred
BOUND, WINDOW = 3.0, 1000.0  # in standard deviations; in non-zero values
_COUNT, _MEAN, _VARIANCE, _PLACE, _LOW, _HIGH = range(6)
FIELDS = 6


class StandardizeState(NamedTuple):
    """Statistics of the features. Those of all rows follow from the non-zero values and the number of rows."""

    # [n, 6]: rows with a non-zero value; mean and variance of these values; 1 + place among the centred, or 0; range
    features: Floats
    centred: Ints32  # [n]: the features that are centred ...
    counts: Ints  # ... how many they are, and how many rows were learnt
    centring: bool

    def limits(self) -> Limits:
        return {"centred": (0, max(self.centred.size - 1, 0)), "counts": COUNT}

    def check(self) -> None:
        require(self.counts[0] <= self.centred.size, "counts", "at most the number of features")
        require(_is_valid(self), "features", "counts, means, variances, and the places of the centred features")

    @property
    def apart(self) -> bool:
        return False

    def apply(self, batch: Batch, learning: bool) -> Batch:
        """The transformed rows; with ``learning``, rows of positive weight update the state for the next row."""
        return Batch(*_standardize(self, batch, learning), batch.y, batch.weight)

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


def new_standardize(n_features: int, centring: bool = True) -> StandardizeState:
    features, centred = filled(0, (n_features, FIELDS)), filled(0, n_features, np.int32)
    return StandardizeState(features, centred, np.zeros(2, np.int64), centring)


@njit
def _is_valid(state: StandardizeState) -> bool:
    """Whether the centred features are those that have a place among them, each its own."""
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
def _standardize(state: StandardizeState, batch: Batch, learning: bool) -> tuple[Ints, Ints32, Floats32]:
    counts = state.counts
    rows = batch.y.size
    indptr = np.zeros(rows + 1, np.int64)
    room = batch.indptr[rows] - batch.indptr[0] + 1024
    indices, values = np.empty(room, np.int32), np.empty(room, np.float32)
    present = np.zeros(counts[0], np.int64)  # by place: the last row, from 1, in which the feature was
    k = 0
    for r in range(rows):
        first, last = batch.indptr[r], batch.indptr[r + 1]
        if k + last - first + counts[0] > room:
            room = 2 * room + last - first + counts[0]
            indices, values = _larger(indices, room), _larger(values, room)
        if counts[0] > present.size:
            present = _larger(present, 2 * counts[0])
        learns = learning and batch.weight[r] > 0
        k = _row(state, batch.indices, batch.values, first, last, r + 1, learns, present, indices, values, k)
        indptr[r + 1] = k
    return indptr, indices[:k].copy(), values[:k].copy()


@njit
def standardize_rows(block: Any) -> None:
    """``_standardize`` in memory that stays where it is; ``number`` counts the rows."""
    state, level, learning, present, number = unpack(block)
    before, after, rows, ends, n = level
    k = 0
    after.indptr[rows[0]] = 0
    ends[n] = ends[n - 1]
    for r in range(rows[0], ends[n - 1]):
        first, last = before.indptr[r], before.indptr[r + 1]
        if k + last - first + state.counts[0] >= after.indices.size:  # the place after the last entry is written to
            ends[n] = r
            return
        number[0] += 1
        learns = learning and before.weight[r] > 0
        k = _row(
            state,
            before.indices,
            before.values,
            first,
            last,
            number[0],
            learns,
            present,
            after.indices,
            after.values,
            k,
        )
        after.indptr[r + 1] = k


@hot
def _row(
    state: StandardizeState,
    index: Ints32,
    value: Floats32,
    first: int,
    last: int,
    row: int,
    learns: bool,
    present: Ints,
    indices: Ints32,
    values: Floats32,
    k: int,
) -> int:
    features, counts = state.features, state.counts
    n = float(counts[1])
    centred = counts[0]
    changed = False
    for j in range(first, last):
        f = u32(index[j])
        x = _known(features, f, float(value[j]))
        place = i64(features[f, _PLACE])
        if place > 0:
            present[place - 1] = row
            z = _centred(features, f, x, n)
        else:
            z = _bounded(features, f, x) if state.centring else _near_mean(features, f, x)
        indices[k] = f
        values[k] = z
        # The first row is left out: without statistics, a raw value could set the learner's scale for ever.
        k += (n > 0) & (f32(z) != 0)
        if learns:
            _learn(features, f, float(value[j]))
            changed |= state.centring & (place == 0) & (features[f, _COUNT] >= JOIN * (n + 1))
    for p in range(centred):
        if present[p] != row:
            f = u32(state.centred[p])
            z = _centred(features, f, 0.0, n)
            indices[k] = f
            values[k] = z
            k += f32(z) != 0
            changed |= learns & (features[f, _COUNT] < LEAVE * (n + 1))
    if learns:
        counts[1] += 1
        if changed:
            _choose_centred(state, index, first, last)
    return k


@hot
def _known(features: Floats, f: int, x: float) -> float:
    """x clipped to the range met, once that is known."""
    return min(max(x, features[f, _LOW]), features[f, _HIGH]) if features[f, _COUNT] >= KNOWN else x


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
def _centred(features: Floats, f: int, x: float, n: float) -> float:
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
def _choose_centred(state: StandardizeState, index: Ints32, first: int, last: int) -> None:
    """Choose the features centred from now on. Rare after the first rows: the two thresholds are far apart."""
    features, centred, counts = state.features, state.centred, state.counts
    m = 0
    for place in range(counts[0]):
        f = centred[place]
        features[f, _PLACE] = 0
        if features[f, _COUNT] >= LEAVE * counts[1]:
            centred[m] = f
            m += 1
            features[f, _PLACE] = m
    for j in range(first, last):
        f = index[j]
        if features[f, _PLACE] == 0 and features[f, _COUNT] >= JOIN * counts[1]:
            centred[m] = f
            m += 1
            features[f, _PLACE] = m
    counts[0] = m


@njit
def _larger(array: Any, size: int) -> Any:
    larger = np.zeros(size, array.dtype)
    for k in range(array.size):  # Numba takes two seconds to compile larger[: array.size] = array
        larger[k] = array[k]
    return larger


STANDARDIZE = Option("standardize", "Centring and bounding of features while learning.", bool, default=True)
TRANSFORMS.add(Entry("standardize", new_standardize, "Standardize", (STANDARDIZE,)))
