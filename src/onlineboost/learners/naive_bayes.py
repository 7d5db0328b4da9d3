"""NaiveBayes: counts of binned values for each label, for N learners side by side."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from onlineboost.compiled.jit import f32, hot, lean, njit
from onlineboost.data.allocation import filled
from onlineboost.data.batch import Batch, Floats, Floats32, Ints, Ints32
from onlineboost.learners.base import Learner
from onlineboost.learners.binned import Binned
from onlineboost.learners.splits import binned_limits, read_codes, remember
from onlineboost.parameters import check_between
from onlineboost.storage.validity import SUM, Limits
from onlineboost.transforms.bins import BINS, check_bins

_RATIOS_PER_LOG = 8  # ratios multiplied before a logarithm is taken; weights go to 1e18, float64 to 1e308


class NaiveBayesState(NamedTuple):
    counts: Floats  # [slots * bins, 2, learners] weights by non-zero code (modulo bins) and label
    present: Floats  # [slots, 2, learners] their sums over codes; the rest of the totals has code zero
    totals: Floats  # [2, learners] weights of all examples since the bins were made, by label
    low: Ints32  # [slots] the lowest code so far, at most 0
    met: Ints  # [1] number of slots seen so far
    smoothing: float

    def limits(self) -> Limits:
        bins = self.counts.shape[0] // self.low.size
        return binned_limits(self.low, bins) | dict.fromkeys(("counts", "present", "totals"), SUM)


class NaiveBayesWork(NamedTuple):
    slots: Ints32
    codes: Ints32
    found: Ints
    ratio: Floats  # [learners]
    score: Floats  # [learners]


@njit
def workspace(state: NaiveBayesState, longest: int) -> NaiveBayesWork:
    n = state.totals.shape[1]
    codes = np.zeros(state.low.size, np.int32)
    return NaiveBayesWork(np.empty(longest, np.int32), codes, np.zeros(1, np.int64), np.empty(n), np.empty(n))


@hot
def predict(state: NaiveBayesState, work: NaiveBayesWork, batch: Batch, r: int, h: Floats32) -> None:
    """The probability of the positive label minus that of the negative one, as if features were independent."""
    read_codes(batch, r, work.slots, work.codes, work.found)
    s = state.smoothing
    slots = state.low.size
    bins = state.counts.shape[0] // slots
    n = state.totals.shape[1]
    for i in range(n):
        work.score[i] = math.log((state.totals[1, i] + s) / (state.totals[0, i] + s))
        work.ratio[i] = 1.0
    for slot in range(state.met[0]):
        code = work.codes[slot]
        row = slot * bins + (code & (bins - 1))
        for i in range(n):
            negative, positive = state.totals[0, i], state.totals[1, i]
            if code != 0:
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
def learn(state: NaiveBayesState, work: NaiveBayesWork, batch: Batch, r: int, h: Floats32, y: float, p: Floats) -> None:
    remember(work.slots, work.codes, work.found, state.low, state.met)
    if state.met[0] == 0:  # the first examples have no codes: there are no bins yet
        return
    c = 1 if y > 0 else 0
    bins = state.counts.shape[0] // state.low.size
    for i in range(p.size):
        state.totals[c, i] += p[i]
    for k in range(work.found[0]):
        slot = work.slots[k]
        row = slot * bins + (work.codes[slot] & (bins - 1))
        for i in range(p.size):
            state.counts[row, c, i] += p[i]
            state.present[slot, c, i] += p[i]


@lean
def forget(state: NaiveBayesState, i: int) -> None:
    for c in range(2):
        state.totals[c, i] = 0.0
        for row in range(state.counts.shape[0]):
            state.counts[row, c, i] = 0.0
        for slot in range(state.met[0]):
            state.present[slot, c, i] = 0.0


@dataclass(eq=False, repr=False)
class NaiveBayes(
    Binned,
    Learner,
    name="naive-bayes",
    options=(BINS,),
    state=NaiveBayesState,
    workspace=workspace,
    predict=predict,
    learn=learn,
    forget=forget,
):
    """Naive Bayes classifier over binned features.

    Parameters
    ----------
    bins : number of bins of a feature, a power of two; made from the first 128 rows
    smoothing : initial value of each count
    max_slots : maximum number of feature slots; further features share slots by a hash

    Examples
    --------
    >>> from onlineboost import NaiveBayes, OnlineBBM
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_score
    >>> X, y = load_letter()
    >>> round(progressive_score(NaiveBayes(), X, y), 3)
    0.237
    >>> round(progressive_score(OnlineBBM(NaiveBayes(), random_state=0), X, y), 3)
    0.195
    """

    prefers: ClassVar[Literal["weight", "sample"]] = "weight"

    _: KW_ONLY
    bins: int = 16
    smoothing: float = 1.0
    max_slots: int = 1024

    def committee(self, n_learners: int, n_features: int) -> NaiveBayesState:
        check_between("smoothing", self.smoothing, 1e-9, 1e6)
        slots = check_bins(self.bins, self.max_slots, n_features, 2 * n_learners)
        return NaiveBayesState(
            counts=filled(0, (slots * int(self.bins), 2, n_learners)),
            present=filled(0, (slots, 2, n_learners)),
            totals=filled(0, (2, n_learners)),
            low=filled(0, slots, np.int32),
            met=np.zeros(1, np.int64),
            smoothing=float(self.smoothing),
        )
