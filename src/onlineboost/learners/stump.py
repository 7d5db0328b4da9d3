"""Stump: the best single split so far, for N stumps side by side."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import f32, hot, lean, njit
from onlineboost.data.allocation import filled
from onlineboost.data.batch import Batch, Floats, Floats32, Ints, Ints32
from onlineboost.learners.base import Learner
from onlineboost.learners.binned import Binned
from onlineboost.learners.splits import best_split, binned_limits, read_codes, remember, some_slots
from onlineboost.parameters import check_count, check_share
from onlineboost.storage.validity import SUM, Limits, require
from onlineboost.transforms.bins import BINS, check_bins


class StumpState(NamedTuple):
    choice: Ints32  # [stumps, 2] the slot it splits by (-1: none yet), the highest code that goes left
    sides: Floats  # [stumps, 2, 2] weights on the left and on the right, of negative and positive examples
    totals: Floats  # [stumps, 3] weights of both in the histograms; examples since the last choice
    low: Ints32  # [slots] the lowest code so far, at most 0
    met: Ints  # [1] number of slots seen so far
    allowed: NDArray[np.bool_]  # [stumps, slots] whether the stump may split by the slot
    histograms: Floats  # [stumps * slots, bins, 2] over all examples: more than a float32 can count
    grace: int

    def derived(self) -> tuple[str, ...]:
        return ("allowed",)

    def limits(self) -> Limits:
        bins = self.histograms.shape[1]
        return binned_limits(self.low, bins) | {
            "choice": (-bins, max(self.low.size, bins)),
            **dict.fromkeys(("totals", "histograms"), SUM),  # sides may be just below 0, by rounding
        }

    def check(self) -> None:
        require(bool((self.choice[:, 0] < self.low.size).all()), "choice", "the number of a slot, or -1")


class StumpWork(NamedTuple):
    slots: Ints32
    codes: Ints32
    found: Ints
    side: Ints  # [stumps] of the current row


@njit
def workspace(state: StumpState, longest: int) -> StumpWork:
    n = state.choice.shape[0]
    return StumpWork(
        np.empty(longest, np.int32), np.zeros(state.low.size, np.int32), np.zeros(1, np.int64), np.zeros(n, np.int64)
    )


@hot
def predict(state: StumpState, work: StumpWork, batch: Batch, r: int, h: Floats32) -> None:
    read_codes(batch, r, work.slots, work.codes, work.found)
    for i in range(state.choice.shape[0]):
        slot = state.choice[i, 0]
        side = 1 if slot >= 0 and work.codes[slot] > state.choice[i, 1] else 0
        work.side[i] = side
        a, b = state.sides[i, side, 0], state.sides[i, side, 1]
        h[i] = f32((b - a) / (a + b)) if a + b > 0 else f32(0)


@hot
def learn(state: StumpState, work: StumpWork, batch: Batch, r: int, h: Floats32, y: float, p: Floats) -> None:
    remember(work.slots, work.codes, work.found, state.low, state.met)
    c = 1 if y > 0 else 0
    bins = state.histograms.shape[1]
    for i in range(p.size):
        w = p[i]
        if w <= 0:
            continue
        state.sides[i, work.side[i], c] += w
        if state.met[0] == 0:  # the first examples have no codes: there are no bins yet
            continue
        state.totals[i, c] += w
        state.totals[i, 2] += 1
        base = i * state.low.size
        for k in range(work.found[0]):
            slot = work.slots[k]
            if state.allowed[i, slot]:
                state.histograms[base + slot, work.codes[slot] & (bins - 1), c] += w
        if state.totals[i, 2] >= state.grace:
            state.totals[i, 2] = 0
            _choose(state, i)


@lean
def forget(state: StumpState, i: int) -> None:
    state.choice[i, 0] = state.choice[i, 1] = -1
    for c in range(2):
        state.sides[i, 0, c] = state.sides[i, 1, c] = 0.0
    for k in range(3):
        state.totals[i, k] = 0.0
    for slot in range(state.met[0]):
        for code in range(state.histograms.shape[1]):
            state.histograms[i * state.low.size + slot, code, 0] = 0.0
            state.histograms[i * state.low.size + slot, code, 1] = 0.0


@hot
def _choose(state: StumpState, i: int) -> None:
    """Choose the best split of all examples so far; its sides vote by the examples that fall into them."""
    a, b = state.totals[i, 0], state.totals[i, 1]
    found = best_split(state.histograms, i * state.low.size, state.low, state.allowed, i, state.met[0], a, b)
    if found[2] >= 0:
        state.choice[i, 0], state.choice[i, 1] = found[2], found[3]
        state.sides[i, 0, 0], state.sides[i, 0, 1] = found[4], found[5]
        state.sides[i, 1, 0], state.sides[i, 1, 1] = max(a - found[4], 0.0), max(b - found[5], 0.0)


@dataclass(eq=False, repr=False)
class Stump(
    Binned,
    Learner,
    name="stump",
    options=(BINS,),
    state=StumpState,
    workspace=workspace,
    predict=predict,
    learn=learn,
    forget=forget,
):
    """Decision stump: a single split by the best feature and threshold so far, chosen again every few examples.

    Parameters
    ----------
    bins : number of bins of a feature, a power of two; made from the first 128 rows
    grace : number of examples between two choices of the split
    features : share of the feature slots that each stump may split by; random, but independent of the seed
    max_slots : maximum number of feature slots; further features share slots by a hash

    Examples
    --------
    >>> from onlineboost import OnlineBBM, Stump
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_score
    >>> X, y = load_letter()
    >>> round(progressive_score(Stump(), X, y), 3)
    0.335
    >>> round(progressive_score(OnlineBBM(Stump(), random_state=0), X, y), 3)
    0.302
    """

    prefers: ClassVar[Literal["weight", "sample"]] = "sample"

    _: KW_ONLY
    bins: int = 16
    grace: int = 32
    features: float = 1.0
    max_slots: int = 1024

    def committee(self, n_learners: int, n_features: int) -> StumpState:
        check_count("grace", self.grace)
        check_share("features", self.features)
        slots = check_bins(self.bins, self.max_slots, n_features, n_learners)
        return StumpState(
            choice=filled(-1, (n_learners, 2), np.int32),
            sides=filled(0, (n_learners, 2, 2)),
            totals=filled(0, (n_learners, 3)),
            low=filled(0, slots, np.int32),
            met=np.zeros(1, np.int64),
            allowed=some_slots(n_learners, slots, self.features),
            histograms=filled(0, (n_learners * slots, int(self.bins), 2)),
            grace=int(self.grace),
        )
