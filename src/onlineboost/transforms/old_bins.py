"""The transform of feature values into bin numbers (codes), for stumps, trees and naive Bayes.

The bins of a feature are made from its values in the first 128 rows, zeros included: one for each value if they are
few, else between quantiles. Later values beyond the outermost edges belong to the outermost bins. A feature that first
appears later has three bins: negative, zero, positive. The code of a value is the number of its bin counted from that
of zero: the code of zero is 0, and is left out like an absent feature.

Features get slots in the order in which they appear; when all slots are taken, further features share them by a hash.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from onlineboost.compiled.jit import f32, hot, i64, njit, u64
from onlineboost.data.allocation import extended, filled
from onlineboost.data.batch import LARGEST, Batch, Floats32, Ints, Ints32
from onlineboost.errors import ParameterError
from onlineboost.parameters import check_count
from onlineboost.registry import TRANSFORMS, Entry, Option
from onlineboost.storage.validity import Limits, require

WARM_UP = 128  # rows from which bins are made


class BinsState(NamedTuple):
    place: Ints32  # [features] 1 + the slot of a feature, or 0
    samples: Floats32  # [slots, WARM_UP] non-zero values of the first rows
    edges: Floats32  # [slots, bins - 1] increasing; a value belongs to the first bin whose edge is not below it
    zero: Ints32  # [slots] the bin of zero
    counts: Ints  # [slots + 2] samples of each slot; rows learnt, up to WARM_UP; slots in use

    def limits(self) -> Limits:
        return bins_limits(self)

    def check(self) -> None:
        check_valid_bins(self)

    @property
    def expands(self) -> bool:
        return False

    def apply(self, batch: Batch, learning: bool) -> Batch:
        """The codes of the rows; the first rows have none, because there are no bins yet."""
        return Batch(*_bin(self, batch, learning), batch.y, batch.weight)

    def grown(self, n_features: int) -> BinsState:
        """The same state with room for more features."""
        return self if n_features <= len(self.place) else self._replace(place=with_room(self.place, n_features))

    def continued(self, old: BinsState) -> BinsState:
        return self

    def rows_at_once(self, batch: Batch) -> int:
        return batch.y.size

    def output_names(self, names: Mapping[int, str]) -> Mapping[int, str]:
        """The name of each slot: its feature, or all features that share it."""
        found: dict[int, str] = {}
        for f in np.flatnonzero(self.place).tolist():
            slot, name = int(self.place[f]) - 1, names.get(f, str(f))
            found[slot] = f"{found[slot]}, {name}" if slot in found else name
        return found


def check_bins(n_bins: object, max_slots: object, n_features: int, histograms: int) -> int:
    """The number of slots; raises an error for wrong parameters, or if the histograms would need too much memory."""
    check_power("bins", n_bins)
    check_count("max_slots", max_slots)
    assert isinstance(n_bins, numbers.Integral) and isinstance(max_slots, numbers.Integral)
    most = int(max_slots)
    slots = min(n_features or most, most)  # 0: dicts, whose number of features is unknown
    size = histograms * slots * int(n_bins) * 8
    if size > 1 << 34:
        raise ParameterError("max_slots", max_slots, f"fewer, or fewer bins: histograms could take {size >> 30} GiB")
    return slots


def check_power(name: str, n_bins: object) -> None:
    if not isinstance(n_bins, numbers.Integral) or n_bins not in (4, 8, 16, 32, 64, 128, 256):
        raise ParameterError(name, n_bins, "a power of two from 4 to 256")


def new_bins(n_features: int, n_slots: int, n_bins: int) -> BinsState:
    """The initial state; ``n_bins`` is a power of two, at least 4."""
    return BinsState(
        filled(0, n_features, np.int32),
        filled(0, (n_slots, WARM_UP), np.float32),
        filled(np.inf, (n_slots, n_bins - 1), np.float32),
        filled(0, n_slots, np.int32),
        filled(0, n_slots + 2, np.int64),
    )


def with_room(array: Ints32, n: int) -> Ints32:
    """The array padded with zeros to the next power of two: seldom copied, and its size depends on n only."""
    return extended(array, 1 << (n - 1).bit_length())


def bins_limits(state: Any) -> Limits:
    """The limits of ``BinsState`` and of the states with the same arrays."""
    slots = state.zero.size
    return {
        "place": (0, slots),
        "samples": (-LARGEST, LARGEST),
        "edges": (-LARGEST, np.inf),
        "zero": (0, state.edges.shape[1]),
        "counts": (0, max(slots, WARM_UP)),
    }


def check_valid_bins(state: Any) -> None:
    """Raise an error unless the arrays of ``BinsState`` fit together."""
    slots = state.zero.size
    n, rows, used = state.counts[:slots], state.counts[slots], state.counts[slots + 1]
    require(bool((n <= WARM_UP).all()) and rows <= WARM_UP and used <= slots, "counts", "samples, rows and slots")
    require(not state.place.size or state.place.max() <= used, "place", "slots in use")
    require(bool((state.edges[:, 1:] >= state.edges[:, :-1]).all()), "edges", "increasing numbers")


@njit
def _bin(state: BinsState, batch: Batch, learning: bool) -> tuple[Ints, Ints32, Floats32]:
    rows = batch.y.size
    n_slots = state.zero.size
    indptr = np.zeros(rows + 1, np.int64)
    room = batch.indptr[rows] - batch.indptr[0]
    indices, values = np.empty(room, np.int32), np.empty(room, np.float32)
    k = 0
    for r in range(rows):
        first, last = batch.indptr[r], batch.indptr[r + 1]
        if state.counts[n_slots] == WARM_UP:
            for j in range(first, last):
                slot = state.place[batch.indices[j]] - 1
                if slot >= 0:
                    indices[k] = slot
                    values[k] = code(state.edges, slot, batch.values[j]) - state.zero[slot]
                    k += values[k] != 0
        indptr[r + 1] = k
        if learning and batch.weight[r] > 0:
            _learn(state, batch, first, last)
    return indptr, indices[:k].copy(), values[:k].copy()


@hot
def code(edges: Floats32, slot: int, x: float) -> int:
    """The bin of a value, by a binary search without branches."""
    low = 0
    step = (edges.shape[1] + 1) // 2
    while step > 0:
        low += step if edges[slot, low + step - 1] < x else 0
        step //= 2
    return low


@njit
def _learn(state: BinsState, batch: Batch, first: int, last: int) -> None:
    """Give new features a slot; keep the values of the first rows, and make the bins after the last of them."""
    n_slots = state.zero.size
    warm = state.counts[n_slots] < WARM_UP
    for j in range(first, last):
        f = batch.indices[j]
        if state.place[f] == 0:
            used = state.counts[n_slots + 1]
            slot = used if used < n_slots else i64(u64(f) * u64(2654435761) % u64(1 << 32)) % n_slots
            state.place[f] = slot + 1
            if used < n_slots:
                state.counts[n_slots + 1] = used + 1
                if not warm:
                    state.edges[slot, 0], state.edges[slot, 1], state.zero[slot] = -1e-45, 0, 1
        if warm:
            keep_sample(state, state.place[f] - 1, batch.values[j])
    if warm:
        state.counts[n_slots] += 1
        if state.counts[n_slots] == WARM_UP:
            make_bins(state)


@hot
def keep_sample(state: Any, slot: int, x: float) -> None:
    """Keep a value of one of the first rows; features that share a slot may have more values than fit."""
    n = state.counts[slot]
    if n < WARM_UP:
        state.samples[slot, n] = x
        state.counts[slot] = n + 1


@njit
def make_bins(state: Any) -> None:
    """The edges of all slots in use, from the samples."""
    n_slots, n_edges = state.zero.size, state.edges.shape[1]
    for slot in range(state.counts[n_slots + 1]):
        values = np.zeros(WARM_UP, np.float32)
        values[: state.counts[slot]] = state.samples[slot, : state.counts[slot]]
        values.sort()
        distinct = 1
        for i in range(1, WARM_UP):
            distinct += values[i] != values[i - 1]
        k = 0
        for q in range(1, WARM_UP):
            # An edge lies halfway between two different neighbours: all of them, or the first from each quantile on.
            i = q if distinct <= n_edges + 1 else q * WARM_UP // (n_edges + 1)
            while i < WARM_UP and values[i] == values[i - 1]:
                i += 1
            if i < WARM_UP:
                edge = f32((values[i] + values[i - 1]) / f32(2))
                if k == 0 or edge > state.edges[slot, k - 1]:
                    state.edges[slot, k] = edge
                    k += 1
        state.zero[slot] = code(state.edges, slot, f32(0))


