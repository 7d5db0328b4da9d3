"""NaiveBayes: counts of binned values for each label, for N learners side by side."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from onlineboost.compiled.jit import f32, hot, lean
from onlineboost.data.allocation import filled
from onlineboost.data.batch import Batch, Floats, Floats32, Ints
from onlineboost.learners.base import Learner, kernels_of
from onlineboost.learners.binned import Binned, Room
from onlineboost.loop.explaining import Found, Pulls
from onlineboost.parameters import check_between
from onlineboost.storage.validity import SUM, Limits
from onlineboost.transforms.bins import BINS, MET, Bins, BinsWork, carry_over, new_bins, new_work, read_row

_RATIOS_PER_LOG = 8  # ratios multiplied before a logarithm is taken; weights go to 1e18, float64 to 1e308


class NaiveBayesState(NamedTuple):
    counts: Floats  # [slots * bins, 2, learners] weights by bin and label; in the place of zero's, of missing values
    present: Floats  # [slots, 2, learners] their sums over bins; the rest of the totals is in the bin of zero
    totals: Floats  # [2, learners] weights of all examples since the bins were made, by label
    short: Ints  # [1] 1 if there must be more room before the next example
    bins: Bins
    smoothing: float

    def limits(self) -> Limits:
        return {"short": (0, 1)} | dict.fromkeys(("counts", "present", "totals"), SUM)


class NaiveBayesWork(NamedTuple):
    row: BinsWork
    ratio: Floats  # [learners]
    score: Floats  # [learners]


def workspace(state: NaiveBayesState, longest: int) -> NaiveBayesWork:
    n = state.totals.shape[1]
    return NaiveBayesWork(new_work(state.bins, longest), np.empty(n), np.empty(n))


@hot
def predict(state: NaiveBayesState, work: NaiveBayesWork, batch: Batch, r: int, h: Floats32) -> None:
    """The probability of the positive label minus that of the negative one, as if features were independent."""
    read_row(state.bins, work.row, batch, r)
    s = state.smoothing
    bins = state.bins.edges.shape[1] + 1
    n = state.totals.shape[1]
    for i in range(n):
        work.score[i] = math.log((state.totals[1, i] + s) / (state.totals[0, i] + s))
        work.ratio[i] = 1.0
    for slot in range(state.bins.clock[MET] if bins > 1 else 0):
        x = work.row.values[slot]
        there = x != x or (x != 0 and work.row.codes[slot] != state.bins.zero[slot])  # MET: x was met before
        row = slot * bins + work.row.codes[slot]
        for i in range(n):
            negative, positive = state.totals[0, i], state.totals[1, i]
            if there:
                a, b = state.counts[row, 0, i], state.counts[row, 1, i]
            else:
                a = max(negative - state.present[slot, 0, i], 0.0)
                b = max(positive - state.present[slot, 1, i], 0.0)
            ratio = (b + s) * (negative + s * bins) / ((a + s) * (positive + s * bins))
            work.ratio[i] *= ratio if state.present[slot, 0, i] + state.present[slot, 1, i] > 0 else 1.0
        if slot % _RATIOS_PER_LOG == _RATIOS_PER_LOG - 1:
            for i in range(n):
                work.score[i] += math.log(work.ratio[i])
                work.ratio[i] = 1.0
    for i in range(n):
        h[i] = f32(math.tanh((work.score[i] + math.log(work.ratio[i])) / 2))


@hot
def pull(state: NaiveBayesState, work: NaiveBayesWork, batch: Batch, r: int, h: Floats32, pulls: Pulls) -> None:
    """The terms of a vote are log odds, which ``link`` turns into a difference of probabilities."""
    up, down, link = pulls.up[r], pulls.down[r], pulls.link[r]
    s, slots = state.smoothing, state.bins.clock[MET] if state.bins.edges.shape[1] > 0 else 0
    for i in range(link.size):
        z = work.score[i] + math.log(work.ratio[i])
        link[i] = math.tanh(z / 2) / z if abs(z) > 1e-6 else 0.5
    for i in range(pulls.n):
        prior = math.log((state.totals[1, i] + s) / (state.totals[0, i] + s))
        up[i], down[i] = max(prior, 0.0), min(prior, 0.0)
        for slot in range(slots):
            term = _log_ratio(state, work, slot, i)
            up[i], down[i] = up[i] + max(term, 0.0), down[i] + min(term, 0.0)


@hot
def explain(state: NaiveBayesState, work: NaiveBayesWork, batch: Batch, r: int, found: Found, k: int) -> int:
    read_row(state.bins, work.row, batch, r)
    for slot in range(state.bins.clock[MET] if state.bins.edges.shape[1] > 0 else 0):
        found.slots[k], found.values[k] = slot, 0.0
        for i in range(state.totals.shape[1]):
            term = _log_ratio(state, work, slot, i)
            found.values[k] += term * (found.plus[r, i] if term > 0 else found.minus[r, i])
        k += found.values[k] != 0
    return k


@hot
def _log_ratio(state: NaiveBayesState, work: NaiveBayesWork, slot: int, i: int) -> float:
    """The logarithm of the ratio by which ``predict`` multiplies."""
    if state.present[slot, 0, i] + state.present[slot, 1, i] <= 0:
        return 0.0
    s, bins, x = state.smoothing, state.bins.edges.shape[1] + 1, work.row.values[slot]
    negative, positive = state.totals[0, i], state.totals[1, i]
    if x != x or (x != 0 and work.row.codes[slot] != state.bins.zero[slot]):
        row = slot * bins + work.row.codes[slot]
        a, b = state.counts[row, 0, i], state.counts[row, 1, i]
    else:
        a = max(negative - state.present[slot, 0, i], 0.0)
        b = max(positive - state.present[slot, 1, i], 0.0)
    return math.log((b + s) * (negative + s * bins) / ((a + s) * (positive + s * bins)))


@lean
def carry(state: NaiveBayesState, work: NaiveBayesWork, slot: int, old_zero: int) -> None:
    """Carry the counts of a slot over to its new bins."""
    bins, zero, histogram = state.bins.edges.shape[1] + 1, state.bins.zero[slot], work.row.histogram
    for c in range(2):
        for i in range(state.totals.shape[1]):
            for k in range(bins):
                histogram[0, k] = state.counts[slot * bins + k, c, i]
            missing = histogram[0, old_zero]
            histogram[0, old_zero] = max(state.totals[c, i] - state.present[slot, c, i], 0.0)
            carry_over(work.row)
            histogram[1, zero] = missing
            state.present[slot, c, i] = 0.0
            for k in range(bins):
                state.counts[slot * bins + k, c, i] = histogram[1, k]
                state.present[slot, c, i] += histogram[1, k]


@hot
def learn(
    state: NaiveBayesState, work: NaiveBayesWork, batch: Batch, r: int, h: Floats32, t: Floats32, p: Floats
) -> None:
    bins = state.bins.edges.shape[1] + 1
    if bins == 1:  # there are no bins yet
        return
    for i in range(p.size):
        state.totals[1 if t[i] > 0 else 0, i] += p[i]
    for k in range(work.row.found[1]):
        slot = work.row.counted[k]
        row = slot * bins + work.row.codes[slot]
        for i in range(p.size):
            c = 1 if t[i] > 0 else 0
            state.counts[row, c, i] += p[i]
            state.present[slot, c, i] += p[i]


@lean
def forget(state: NaiveBayesState, i: int) -> None:
    for c in range(2):
        state.totals[c, i] = 0.0
        for row in range(state.counts.shape[0]):
            state.counts[row, c, i] = 0.0
        for slot in range(state.present.shape[0]):
            state.present[slot, c, i] = 0.0


@dataclass(eq=False, repr=False)
class NaiveBayes(Binned, Learner, name="naive-bayes", options=(BINS,), state=NaiveBayesState, **kernels_of(__name__)):
    """Naive Bayes classifier over binned features.

    Parameters
    ----------
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is refused before anything is learned.
    bins : int, default=0
        Number of bins of a feature, a power of two; they follow the stream. 0: 32 with up to 8 features, else 16.
    replay : int, default=512
        Number of first rows that are kept, and learned again after 64, 128, ... rows; below 64: none.
    smoothing : float, default=1.0
        Initial value of each count.
    max_slots : int, default=1024
        Maximum number of feature slots; further features share slots by hashing.

    Examples
    --------
    >>> from onlineboost import NaiveBayes, OnlineBBM
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_error
    >>> X, y = load_letter()
    >>> round(progressive_error(NaiveBayes(), X, y), 3)
    0.229
    >>> round(progressive_error(OnlineBBM(NaiveBayes(), random_state=0), X, y), 3)
    0.194
    """

    prefers: ClassVar[Literal["weight", "sample"]] = "weight"
    axes: ClassVar[dict[str, int]] = {"counts": 2, "present": 2, "totals": 1}
    strength: ClassVar[str] = "mean size of its log odds"
    several_classes: ClassVar[bool] = True

    _: KW_ONLY
    bins: int = 0
    replay: int = 512
    smoothing: float = 1.0
    max_slots: int = 1024

    def committee(self, n_learners: int, n_features: int) -> NaiveBayesState:
        self.check_bins()
        check_between("smoothing", self.smoothing, 1e-9, 1e6)
        return self.with_room(n_learners, Room(min(n_features, self.max_slots), 0))

    def with_room(self, n_learners: int, room: Room) -> NaiveBayesState:
        slots, n_bins = room
        return NaiveBayesState(
            counts=filled(0, (slots * n_bins, 2, n_learners)),
            present=filled(0, (slots, 2, n_learners)),
            totals=filled(0, (2, n_learners)),
            short=np.zeros(1, np.int64),
            bins=new_bins(slots, n_bins, self.max_slots),
            smoothing=float(self.smoothing),
        )

    def strengths(self, committee: NaiveBayesState, n_learners: int) -> Floats | None:
        """The mean size of the log odds of a value, over all examples."""
        counts, s = committee.counts, committee.smoothing
        slots, bins = self.room(committee)
        if not bins:
            return np.zeros(slots)
        counts = counts.reshape(slots, bins, 2, n_learners)
        zero = np.maximum(committee.totals - committee.present, 0)[:, None]
        every, totals = np.concatenate([counts, zero], axis=1), committee.totals + s * bins
        odds = np.log((every[:, :, 1] + s) * totals[0] / ((every[:, :, 0] + s) * totals[1]))
        shares = every.sum(axis=2) / np.maximum(committee.totals.sum(axis=0), 1e-300)
        met = committee.present.sum(axis=1) > 0
        found: Floats = np.where(met, (shares * np.abs(odds)).sum(axis=1), 0.0).mean(axis=1)
        return found

    def n_learners(self, committee: NaiveBayesState) -> int:
        return int(committee.totals.shape[1])

    def move(self, old: NaiveBayesState, new: NaiveBayesState) -> None:
        new.counts[: len(old.counts)] = old.counts
        new.present[: len(old.present)] = old.present
        new.totals[:] = old.totals
