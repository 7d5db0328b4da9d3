"""Indicators of bins, for linear learners: a dense feature becomes one feature per bin.

1. A feature that is non-zero in at least an eighth of the rows since it was met gets bins (``bins.py``), after the
   first 64 rows, or after 32 values of its own. It becomes an indicator of its bin; the bin of zero has none. Until
   there are bins, rows are left empty.
2. Any other feature is kept as it is, and so is every feature beyond the first 4,096.
3. When edges are made anew, a linear learner gives each new bin the mean weight of the values in it. Products of
   indicators cannot be carried over: if there are any, edges stay after 256 values, unless values leave their range.

Feature f has the numbers f (bins + 1), for itself, and those that follow, for its bins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.block import Call, unpack
from onlineboost.compiled.jit import f32, hot, njit
from onlineboost.data.allocation import extended, filled
from onlineboost.data.batch import Batch, Floats32, Ints, Ints32
from onlineboost.registry import TRANSFORMS, Entry
from onlineboost.storage.validity import Limits
from onlineboost.transforms.bins import (
    BINS,
    BORN,
    FIRST,
    MET,
    REMAKE,
    ROWS,
    SAMPLES,
    SEEN,
    Bins,
    BinsWork,
    grown_bins,
    make_edges,
    meet_value,
    new_bins,
    new_work,
    take_edges,
)
from onlineboost.transforms.chain import Level
from onlineboost.transforms.edges import code

SLOTS = 4096  # features that may have bins
_DENSE = 8  # a feature that is non-zero in one of so many rows gets bins
_NEVER = 1 << 62


class IndicatorsState(NamedTuple):
    bins: Bins
    binned: NDArray[np.bool_]  # [features] whether the feature has bins
    due: Ints  # [1] 1 if edges are to be made anew before the next row
    n_bins: int
    steady: bool  # whether edges are to stay

    def limits(self) -> Limits:
        return {"due": (0, 1)}

    @property
    def apart(self) -> bool:
        """Whether each model must transform rows by itself."""
        return True

    @property
    def pauses(self) -> bool:
        return True

    def call(self, level: Level, learning: bool) -> Call:
        return Call(indicate_rows, self, level, learning)

    def most(self, longest: int) -> int:
        return longest

    def grown(self, n_features: int) -> IndicatorsState:
        """The same state with room for more features."""
        n = min(1 << (n_features - 1).bit_length() if n_features else 0, SLOTS)
        if n <= len(self.binned):
            return self
        return self._replace(bins=grown_bins(self.bins, n, self.n_bins), binned=extended(self.binned, n))

    def continued(self, old: IndicatorsState) -> IndicatorsState:
        return self

    def settle(self, numbers: Floats32, first: int) -> None:
        """Make the edges that are due, for the numbers of linear learners; feature 0 has row ``first``."""
        if self.due[0]:
            self.due[0] = 0
            begin = bool(self.bins.clock[ROWS] == FIRST)
            _settle(self, new_work(self.bins, 0), begin, numbers, first)

    def sources(self, first: Ints32, second: Ints32, before: Batch) -> tuple[Ints32, Ints32]:
        return feature_of(first, self.n_bins), feature_of(second, self.n_bins)

    def origins(self, given: Mapping[int, tuple[int, ...]]) -> Mapping[int, tuple[int, ...]]:
        found: dict[int, tuple[int, ...]] = {}
        for f, origin in given.items():
            first = number_of(f, self.n_bins)
            found |= dict.fromkeys(range(first, first + (self.n_bins + 1 if f < SLOTS else 1)), origin)
        return found

    def output_names(self, names: Mapping[int, str]) -> Mapping[int, str]:
        """The names of output features, as far as known."""
        found = {}
        for f, name in names.items():
            first = number_of(f, self.n_bins)
            found[first] = name
            if f < len(self.binned) and self.binned[f]:
                edges = self.bins.edges[f]
                ends = [-np.inf, *edges[np.isfinite(edges)].tolist(), np.inf]
                for b in range(len(ends) - 1):
                    found[first + 1 + b] = f"{name} in ({ends[b]:.6g}, {ends[b + 1]:.6g}]"
        return found


def new_indicators(n_features: int, n_bins: int, steady: bool) -> IndicatorsState:
    n = min(n_features, SLOTS)
    return IndicatorsState(
        new_bins(n, n_bins, SLOTS), filled(False, n, np.bool_), np.zeros(1, np.int64), n_bins, steady
    )


def number_of(f: int, n_bins: int) -> int:
    """The number of the feature itself."""
    return f * (n_bins + 1) if f < SLOTS else SLOTS * (n_bins + 1) + f - SLOTS


def feature_of(numbers: Ints32, n_bins: int) -> Ints32:
    """The features to which numbers belong; -1 for -1."""
    each = n_bins + 1
    return np.where(numbers < SLOTS * each, numbers // each, numbers - SLOTS * each + SLOTS)


_number = hot(number_of)


@njit
def indicate_rows(block: Any) -> None:
    """Rows with indicators of bins, up to the row after which edges are due."""
    state, level, learning = unpack(block)
    before, after, rows, ends, n = level
    known = state.bins.clock[ROWS] >= FIRST
    k = 0
    after.indptr[rows[0]] = 0
    ends[n] = ends[n - 1]
    for r in range(rows[0], ends[n - 1]):
        if k + before.indptr[r + 1] - before.indptr[r] >= after.indices.size:
            ends[n] = r
            return
        k = _row(state, before, r, known, after.indices, after.values, k)
        after.indptr[r + 1] = k
        if learning and before.weight[r] > 0 and _meet(state, before, r):
            ends[n] = r + 1
            return


@hot
def _row(state: IndicatorsState, batch: Batch, r: int, known: bool, indices: Ints32, values: Floats32, k: int) -> int:
    """Write the output features of a row from k on; returns where they end."""
    for j in range(batch.indptr[r], batch.indptr[r + 1]):
        f, x = batch.indices[j], batch.values[j]
        indices[k], values[k] = _number(f, state.n_bins), x
        there = known or f >= SLOTS
        if f < SLOTS and state.binned[f]:
            b = code(state.bins.edges, f, x)
            indices[k] += 1 + b
            values[k] = f32(1)
            there = b != state.bins.zero[f]
        k += there
    return k


@hot
def _meet(state: IndicatorsState, batch: Batch, r: int) -> bool:
    """Count the values of a row; returns whether edges are due."""
    state.bins.clock[ROWS] += 1
    due = state.bins.clock[ROWS] == FIRST
    for j in range(batch.indptr[r], batch.indptr[r + 1]):
        if batch.indices[j] < SLOTS:
            due |= meet_value(state.bins, batch.indices[j], batch.values[j])
    state.due[0] = due
    return due


@njit
def _settle(state: IndicatorsState, work: BinsWork, begin: bool, numbers: Floats32, first: int) -> None:
    """Make the edges that are due, and carry the weights of indicators over to the new bins."""
    bins, counts = state.bins, state.bins.counts
    for f in range(bins.clock[MET]):
        if counts[f, BORN] == 0 or not (begin or counts[f, SEEN] >= counts[f, REMAKE]):
            continue
        had = state.binned[f]
        state.binned[f] = had or _DENSE * counts[f, SEEN] >= bins.clock[ROWS] + 1 - counts[f, BORN]
        if make_edges(bins, work, f):
            old_zero = take_edges(bins, work, f)
            if had and numbers.size:
                _carry(state, work, f, old_zero, numbers, first + 1 + _number(f, state.n_bins))
        if state.steady and counts[f, SEEN] >= SAMPLES:
            counts[f, REMAKE] = _NEVER


@njit
def _carry(state: IndicatorsState, work: BinsWork, f: int, old_zero: int, numbers: Floats32, first: int) -> None:
    """Each new bin gets the mean of the weights of its values; that of zero stays 0, and all others move by it."""
    n, zero = state.n_bins, state.bins.zero[f]
    old = numbers[first : first + n].copy()
    old[old_zero] = 0
    for b in range(n):
        total = 0.0
        for k in range(n):
            total += work.histogram[0, k] * work.carry[k, b]
        numbers[first + b] = 0
        if total == 0:  # without values: the old bin of its edge
            edge = state.bins.edges[f, min(b, n - 2)]
            k = 0
            while k < n - 1 and work.fresh[k] < edge:
                k += 1
            numbers[first + b] = old[k]
            continue
        for k in range(n):
            share = work.histogram[0, k] * work.carry[k, b] / total
            if share > 0:
                for i in range(numbers.shape[2]):
                    for field in range(2):
                        numbers[first + b, field, i] += f32(share * old[k, field, i])
                    numbers[first + b, 2, i] = max(numbers[first + b, 2, i], old[k, 2, i])
    for i in range(numbers.shape[2]):
        moved = numbers[first + zero, 0, i]
        numbers[0, 0, i] += moved
        for b in range(n):
            numbers[first + b, 0, i] -= moved
            if numbers[first + b, 0, i] != 0:
                numbers[first + b, 2, i] = f32(1)
    numbers[first + zero] = 0


TRANSFORMS.add(Entry("bins", new_indicators, "Indicators of bins", (BINS,)))
