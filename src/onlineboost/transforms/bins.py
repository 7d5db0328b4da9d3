"""Bins that follow the stream: edges between values of a feature, made from a sample of those seen so far.

1. Each feature (slot) keeps a sample of its non-zero values: all of the first 256, then each value with probability
   256 / n, but at least 1 / 64, in the place of a random one. So the sample is of about the last 16,000 values.
2. Features get edges after the first 64 rows: between all different values if they are few, else such that bins hold
   about equal shares of the values, zeros included. A feature that is met later has three bins at first: negative,
   zero, positive.
3. Edges are made anew whenever the number of values has doubled, from 32 on, and every 16,384 values. They are
   kept if they are about as even as new ones would be.
4. If more than half of 32 sampled values are outside the middle 7/8 of those that the edges were made from, the values
   have left their range: the next values take the place of half of the sample.

A value belongs to the first bin whose edge is not below it. Zeros and absent features belong to the bin of zero and are
not counted; the place of that bin in a histogram holds the examples whose value is missing (NaN).
"""

from __future__ import annotations

import numbers
from typing import NamedTuple

import numpy as np

from onlineboost.compiled.draws import uniform
from onlineboost.compiled.jit import f32, hot, i64, lean, njit
from onlineboost.data.allocation import extended, filled, planning
from onlineboost.data.batch import LARGEST, Batch, Floats, Floats32, Ints, Ints32
from onlineboost.errors import ParameterError
from onlineboost.parameters import check_count
from onlineboost.registry import Option
from onlineboost.storage.validity import COUNT, Limits, require
from onlineboost.transforms.edges import code, n_bins_of, place, sort_with_zero, spread, unevenness

FIRST = 64  # rows before there are bins
SAMPLES = 256  # values kept of a feature
_HORIZON = 1 << 14  # values that the sample follows
_EARLIEST = 32  # values of a late feature before it has edges of its own
_TAIL = 16  # the range of the edges leaves out the lowest and highest of so many sampled values
_SUSPECT = 32  # sampled values for the test whether values have left the range of the edges
_SPARSE, _FEWEST = 8, 4  # slots that are non-zero in one of so many rows have few bins if features share slots
_SLACK = 1.2  # tolerated unevenness of old edges, relative to new ones
FEW, MANY_BINS, FEW_BINS = 8, 32, 16  # up to so many features have many bins, further features few

# Fields of ``counts``: values since the sample began; the values after which the next is sampled, and edges are made
# anew; the row in which the sample began, plus the rows without a value since; sampled values since the edges were
# made, and those out of range; how often values have left their range.
SEEN, NEXT, REMAKE, BORN, DRAWN, OUTSIDE, LEFT = range(7)
_FIELDS = 7
ROWS, MET, BEGUN, STRAYED = range(4)  # fields of ``clock``


class Bins(NamedTuple):
    edges: Floats32  # [slots, bins - 1] increasing, infinite where there are fewer bins
    zero: Ints32  # [slots] the bin of zero
    samples: Floats32  # [slots, SAMPLES] non-zero values
    range: Floats32  # [slots, 2] the lowest and the highest of the middle ones when the edges were made
    counts: Ints  # [slots, 7] by the fields above
    bound: int  # most slots; if all are met, features may share them
    clock: Ints  # [4] rows learned; 1 + the last slot met; slots met; samples that began anew

    def limits(self) -> Limits:
        return {
            "edges": (-LARGEST, np.inf),
            "zero": (0, self.edges.shape[1]),
            "samples": (-LARGEST, LARGEST),
            "range": (-LARGEST, LARGEST),
            "counts": COUNT,
            "clock": COUNT,
        }

    def check(self) -> None:
        require(self.edges.shape[1] > 0 or self.clock[ROWS] < FIRST, "clock", "bins after the first rows")
        require(bool((self.edges[:, 1:] >= self.edges[:, :-1]).all()), "edges", "increasing numbers")
        require(bool((self.counts[:, REMAKE] > 0).all()), "counts", "edges that are due after a value")
        require(self.clock[MET] <= len(self.zero), "clock", "no more slots than there is room for")
        require(bool((self.counts[:, BORN] <= self.clock[ROWS] + 1).all()), "counts", "samples that have begun")


class BinsWork(NamedTuple):
    slots: Ints32  # of the current row
    values: Floats32  # [slots] by slot; 0 where the row has none
    codes: Ints32  # [slots] the bins of these values
    counted: Ints32  # those of its slots that are counted in histograms: not in the bin of zero, or missing
    places: Ints  # of each of these in a histogram [bins, slots]
    found: Ints  # [2] number of slots in the row, and of those that are counted
    sorted: Floats32  # [SAMPLES + 1]
    fresh: Floats32  # [bins - 1] new edges
    carry: Floats  # [bins, bins] the share of an old bin that belongs to a new one
    band: Ints32  # [bins, 2] the first and the last new bin that an old one belongs to
    histogram: Floats  # [2, bins] by the old and by the new bins


def new_bins(slots: int, n_bins: int, bound: int) -> Bins:
    return Bins(
        filled(np.inf, (slots, max(n_bins - 1, 0)), np.float32),
        filled(0, slots, np.int32),
        filled(0, (slots, SAMPLES), np.float32),
        filled(0, (slots, 2), np.float32),
        filled([0, 1, _EARLIEST, 0, 0, 0, 0], (slots, _FIELDS), np.int64),
        int(bound),
        np.zeros(4, np.int64),
    )


def grown_bins(bins: Bins, slots: int, n_bins: int) -> Bins:
    """The same bins with room for more slots, or for more bins before any are made."""
    new = new_bins(slots, n_bins, bins.bound)
    if planning():
        return new
    old = len(bins.zero)
    if bins.edges.shape[1] == new.edges.shape[1]:
        new.edges[:old] = bins.edges
    new.counts[:old] = bins.counts
    return new._replace(
        zero=extended(bins.zero, slots),
        samples=extended(bins.samples, slots),
        range=extended(bins.range, slots),
        clock=bins.clock,
    )


def n_bins_for(wanted: int, slots: int) -> int:
    """The number of bins of a feature: as set, or by the number of features."""
    return wanted or (MANY_BINS if slots <= FEW else FEW_BINS)


def new_work(bins: Bins, longest: int) -> BinsWork:
    slots, n = len(bins.zero), bins.edges.shape[1]
    return BinsWork(
        np.empty(longest, np.int32),
        np.zeros(slots, np.float32),
        np.zeros(slots, np.int32),
        np.empty(longest, np.int32),
        np.empty(longest, np.int64),
        np.zeros(2, np.int64),
        np.empty(SAMPLES + 1, np.float32),
        np.empty(n, np.float32),
        np.empty((n + 1, n + 1)),
        np.empty((n + 1, 2), np.int32),
        np.empty((2, n + 1)),
    )


def first_edges(bins: Bins) -> None:
    """The edges of all slots met so far, before anything is counted by them."""
    _first_edges(bins, new_work(bins, 0))


@njit
def _first_edges(bins: Bins, work: BinsWork) -> None:
    for slot in range(bins.clock[MET]):
        if bins.counts[slot, BORN] and bins.counts[slot, SEEN] == 0:  # all values so far are missing
            _late_edges(bins, slot)
        elif bins.counts[slot, BORN] and make_edges(bins, work, slot):
            take_edges(bins, work, slot)


@hot
def read_row(bins: Bins, work: BinsWork, batch: Batch, r: int) -> None:
    """Write the slots of a row, and values and bins by slot; those of the row before are cleared."""
    for k in range(work.found[0]):
        work.values[work.slots[k]] = 0
    m = 0
    for j in range(batch.indptr[r], batch.indptr[r + 1]):
        slot = batch.indices[j]
        work.slots[m] = slot
        m += work.values[slot] == 0  # if features share a slot, the last one counts
        work.values[slot] = batch.values[j]
    work.found[0] = m
    find_bins(bins, work)


@hot
def find_bins(bins: Bins, work: BinsWork) -> None:
    """Write the bins of the values of a row, and which of them are counted."""
    m = 0
    for k in range(work.found[0]):
        slot = work.slots[k]
        x = work.values[slot]
        b = code(bins.edges, slot, x) if x == x else i64(bins.zero[slot])
        work.codes[slot] = b
        work.counted[m] = slot
        work.places[m] = b * bins.zero.shape[0] + slot
        m += b != bins.zero[slot] or (x != x and bins.counts[slot, BORN] > 0)
    work.found[1] = m


@hot
def meet_value(bins: Bins, slot: int, x: float) -> bool:
    """Count a non-zero value; returns whether the edges of the slot must be renewed."""
    if bins.counts[slot, BORN] == 0:
        _begin(bins, slot)
    if x != x:
        bins.counts[slot, BORN] += 1  # a row less
        return False
    seen = bins.counts[slot, SEEN] + 1
    bins.counts[slot, SEEN] = seen
    return seen == bins.counts[slot, NEXT] and _sample(bins, slot, x, seen)


@lean
def _begin(bins: Bins, slot: int) -> None:
    bins.counts[slot, BORN] = bins.clock[ROWS]
    bins.clock[MET] = max(bins.clock[MET], slot + 1)
    bins.clock[BEGUN] += 1
    if bins.clock[ROWS] > FIRST:
        _late_edges(bins, slot)


@hot
def _late_edges(bins: Bins, slot: int) -> None:
    """Negative, zero, positive."""
    bins.edges[slot, 0], bins.edges[slot, 1], bins.zero[slot] = f32(-1e-45), f32(0), 1


@lean
def _sample(bins: Bins, slot: int, x: float, seen: int) -> bool:
    counts = bins.counts
    if seen <= SAMPLES:
        at, gap = seen - 1, 1
    else:
        at = i64(uniform(1, slot, seen) * SAMPLES)
        gap = 1 + i64(uniform(2, slot, seen) * (2 * min(seen, _HORIZON) / SAMPLES - 1))
    bins.samples[slot, at] = x
    counts[slot, NEXT] = seen + gap
    if bins.clock[ROWS] <= FIRST:
        return False
    if seen >= counts[slot, REMAKE]:
        return True
    counts[slot, DRAWN] += 1
    counts[slot, OUTSIDE] += x < bins.range[slot, 0] or x > bins.range[slot, 1]
    if counts[slot, DRAWN] >= _SUSPECT:
        if 2 * counts[slot, OUTSIDE] > counts[slot, DRAWN]:
            _forget(bins, slot)
        counts[slot, DRAWN] = counts[slot, OUTSIDE] = 0
    return False


@lean
def _forget(bins: Bins, slot: int) -> None:
    """Drop half of the sample for the next values; after a few of them, edges are renewed."""
    counts, seen = bins.counts, bins.counts[slot, SEEN]
    rows = bins.clock[ROWS] + 1 - counts[slot, BORN]
    m = min(seen, SAMPLES)
    kept = min(m, SAMPLES // 2)
    for k in range(kept):  # the last ones: while there are few, they are the newest
        bins.samples[slot, k] = bins.samples[slot, m - kept + k]
    counts[slot, BORN] = bins.clock[ROWS] + 1 - rows * kept // seen
    counts[slot, SEEN], counts[slot, NEXT], counts[slot, REMAKE] = kept, kept + 1, kept + _EARLIEST
    counts[slot, LEFT] += 1
    bins.clock[STRAYED] += 1


@lean
def make_edges(bins: Bins, work: BinsWork, slot: int) -> bool:
    """Write new edges into ``work.fresh``; returns whether they are better enough to replace the old ones."""
    counts = bins.counts
    seen = counts[slot, SEEN]
    while counts[slot, REMAKE] <= min(seen, _HORIZON):
        counts[slot, REMAKE] *= 2
    if counts[slot, REMAKE] <= seen:
        counts[slot, REMAKE] += (1 + (seen - counts[slot, REMAKE]) // _HORIZON) * _HORIZON
    m = min(seen, SAMPLES)
    for k in range(m):
        work.sorted[k] = bins.samples[slot, k]
    zeros = _zeros(bins, slot, m)
    m = sort_with_zero(work.sorted, m, zeros > 0)
    if m > 0:
        bins.range[slot, 0], bins.range[slot, 1] = work.sorted[m // _TAIL], work.sorted[m - 1 - m // _TAIL]
    rows = bins.clock[ROWS] + 1 - counts[slot, BORN]
    shared = bins.clock[BEGUN] == bins.bound and _SPARSE * seen < rows
    n = _FEWEST if shared else max(m // 4, _FEWEST)
    spread(work.sorted, m, zeros, min(bins.edges.shape[1] + 1, n), work.fresh)
    old = bins.edges[slot]
    if n_bins_of(work.fresh) > n_bins_of(old):
        return True
    return unevenness(old, work.sorted, m, zeros) > _SLACK * unevenness(work.fresh, work.sorted, m, zeros)


@hot
def _zeros(bins: Bins, slot: int, m: int) -> float:
    """The weight of zeros relative to m sampled values of weight 1."""
    seen = bins.counts[slot, SEEN]
    return float(max(bins.clock[ROWS] + 1 - bins.counts[slot, BORN] - seen, 0) * m / max(seen, 1))


@lean
def take_edges(bins: Bins, work: BinsWork, slot: int) -> int:
    """Replace the edges of a slot by ``work.fresh``; write the share of each old bin in each new one.

    Shares are those of the sampled values, whose histogram by old bins is written too. A bin without any goes where its
    edge belongs. Returns the old bin of zero.
    """
    seen = bins.counts[slot, SEEN]
    m = min(seen, SAMPLES)
    zeros = _zeros(bins, slot, m)
    old_zero, n = i64(bins.zero[slot]), bins.edges.shape[1]
    carry = work.carry
    carry[:] = 0.0
    for b in range(n):
        x = work.fresh[b]
        work.fresh[b] = bins.edges[slot, b]
        bins.edges[slot, b] = x
    bins.zero[slot] = code(bins.edges, slot, f32(0))
    for k in range(m):
        x = bins.samples[slot, k]
        carry[place(work.fresh, x), code(bins.edges, slot, x)] += 1
    carry[old_zero, bins.zero[slot]] += zeros
    for old in range(n + 1):
        total, first, last = 0.0, n, 0
        for b in range(n + 1):
            if carry[old, b] > 0:
                total, first, last = total + carry[old, b], min(first, b), b
        work.histogram[0, old] = total
        if total > 0:
            for b in range(first, last + 1):
                carry[old, b] /= total
        else:
            edge = work.fresh[old] if old < n and work.fresh[old] < np.inf else work.fresh[max(old - 1, 0)]
            first = last = code(bins.edges, slot, edge) if old != old_zero else i64(bins.zero[slot])
            carry[old, first] = 1.0
        work.band[old, 0], work.band[old, 1] = first, last
    return int(old_zero)


@hot
def carry_over(work: BinsWork) -> None:
    """Spread the first histogram of ``work``, by old bins, over the new ones of the second."""
    work.histogram[1] = 0.0
    for old in range(work.band.shape[0]):
        if work.histogram[0, old] != 0:
            for b in range(work.band[old, 0], work.band[old, 1] + 1):
                work.histogram[1, b] += work.histogram[0, old] * work.carry[old, b]


def check_bins(n_bins: object, max_slots: object) -> None:
    """Raise an error for wrong parameters."""
    if not isinstance(n_bins, numbers.Integral) or isinstance(n_bins, bool) or n_bins != 0:
        check_power("bins", n_bins)
    check_count("max_slots", max_slots)


def check_power(name: str, n_bins: object) -> None:
    if not isinstance(n_bins, numbers.Integral) or n_bins not in (4, 8, 16, 32, 64, 128, 256):
        raise ParameterError(name, n_bins, "a power of two from 4 to 256, or 0")


BINS = Option("bins", "Number of bins per feature, a power of two; 0: default of the learner (linear: no bins).", int)
