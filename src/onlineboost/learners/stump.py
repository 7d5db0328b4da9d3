"""Stump: the best single split so far, for N stumps side by side."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import f32, hot, lean
from onlineboost.data.allocation import filled
from onlineboost.data.batch import LARGEST, Batch, Floats, Floats32, Ints, Ints32
from onlineboost.learners.base import Learner, kernels_of
from onlineboost.learners.binned import Binned, Room
from onlineboost.learners.splits import best_split, carry_histogram, difference, give_sums, some_slots
from onlineboost.loop.explaining import Found, Pulls
from onlineboost.parameters import check_count, check_share
from onlineboost.storage.validity import SUM, Limits, require
from onlineboost.transforms.bins import BINS, Bins, BinsWork, new_bins, new_work, read_row


class StumpState(NamedTuple):
    choice: Ints32  # [stumps, 2] the slot it splits by (-1: none yet), 1 if missing values go right
    threshold: Floats32  # [stumps] the largest value that goes left
    sides: Floats  # [stumps, 2, 2] weights on the left and on the right, of negative and positive examples
    totals: Floats  # [stumps, 3] weights of both in the histograms; examples since the last choice
    allowed: NDArray[np.bool_]  # [stumps, slots] whether the stump may split by the slot
    short: Ints  # [1] 1 if there must be more room before the next example
    bins: Bins
    histograms: Floats  # [stumps * slots, bins, 2] over all examples: more than a float32 can count
    grace_period: int

    def derived(self) -> tuple[str, ...]:
        return ("allowed",)

    def limits(self) -> Limits:
        return {
            "choice": (-1, max(self.allowed.shape[1], 1)),
            "threshold": (-LARGEST, np.inf),
            "short": (0, 1),
            **dict.fromkeys(("totals", "histograms"), SUM),  # sides may be just below 0, by rounding
        }

    def check(self) -> None:
        require(bool((self.choice[:, 0] < self.allowed.shape[1]).all()), "choice", "the number of a slot, or -1")


class StumpWork(NamedTuple):
    row: BinsWork
    side: Ints  # [stumps] of the current row


def workspace(state: StumpState, longest: int) -> StumpWork:
    return StumpWork(new_work(state.bins, longest), np.zeros(state.choice.shape[0], np.int64))


@hot
def predict(state: StumpState, work: StumpWork, batch: Batch, r: int, h: Floats32) -> None:
    read_row(state.bins, work.row, batch, r)
    for i in range(state.choice.shape[0]):
        side = _side(state, work, i)
        work.side[i] = side
        h[i] = f32(difference(state.sides[i, side, 0], state.sides[i, side, 1]))


@hot
def pull(state: StumpState, work: StumpWork, batch: Batch, r: int, h: Floats32, pulls: Pulls) -> None:
    """The terms of a vote are the vote without a split, and what the split adds to it."""
    for i in range(pulls.link.shape[1]):
        pulls.link[r, i] = 1.0
    for i in range(pulls.n):
        term = _added(state, i, work.side[i])
        rest = h[i] - term
        pulls.up[r, i], pulls.down[r, i] = max(term, 0.0) + max(rest, 0.0), min(term, 0.0) + min(rest, 0.0)


@hot
def explain(state: StumpState, work: StumpWork, batch: Batch, r: int, found: Found, k: int) -> int:
    read_row(state.bins, work.row, batch, r)
    for i in range(state.choice.shape[0]):
        if state.choice[i, 0] >= 0:
            term = _added(state, i, _side(state, work, i))
            found.sums[state.choice[i, 0]] += term * (found.plus[r, i] if term > 0 else found.minus[r, i])
    return give_sums(found, state.bins, k)


@hot
def _side(state: StumpState, work: StumpWork, i: int) -> int:
    """The side of the split that the row is on."""
    if state.choice[i, 0] < 0:
        return 0
    x = work.row.values[state.choice[i, 0]]
    return 1 if x > state.threshold[i] or (x != x and state.choice[i, 1] == 1) else 0


@hot
def _added(state: StumpState, i: int, side: int) -> float:
    """What a side of the split adds to the vote of both sides together."""
    sides = state.sides[i]
    if state.choice[i, 0] < 0:
        return 0.0
    both = difference(sides[0, 0] + sides[1, 0], sides[0, 1] + sides[1, 1])
    return difference(sides[side, 0], sides[side, 1]) - both


@lean
def carry(state: StumpState, work: StumpWork, slot: int, old_zero: int) -> None:
    """Carry the histograms of a slot over to its new bins."""
    for i in range(state.choice.shape[0]):
        at = i * state.allowed.shape[1] + slot
        carry_histogram(state.histograms[at], work.row, state.totals[i], old_zero, state.bins.zero[slot], 0.0)


@hot
def learn(state: StumpState, work: StumpWork, batch: Batch, r: int, h: Floats32, t: Floats32, p: Floats) -> None:
    for i in range(p.size):
        w, c = p[i], 1 if t[i] > 0 else 0
        if w <= 0:
            continue
        state.sides[i, work.side[i], c] += w
        if state.histograms.shape[1] == 0:  # there are no bins yet
            continue
        state.totals[i, c] += w
        state.totals[i, 2] += 1
        base = i * state.allowed.shape[1]
        for k in range(work.row.found[1]):
            slot = work.row.counted[k]
            if state.allowed[i, slot]:
                state.histograms[base + slot, work.row.codes[slot], c] += w
        if state.totals[i, 2] >= state.grace_period:
            state.totals[i, 2] = 0
            _choose(state, i)


@lean
def forget(state: StumpState, i: int) -> None:
    state.choice[i, 0], state.choice[i, 1], state.threshold[i] = -1, 0, f32(0)
    for c in range(2):
        state.sides[i, 0, c] = state.sides[i, 1, c] = 0.0
    for k in range(3):
        state.totals[i, k] = 0.0
    for slot in range(state.allowed.shape[1]):
        for k in range(state.histograms.shape[1]):
            state.histograms[i * state.allowed.shape[1] + slot, k, 0] = 0.0
            state.histograms[i * state.allowed.shape[1] + slot, k, 1] = 0.0


@hot
def _choose(state: StumpState, i: int) -> None:
    """Choose the best split of all examples so far; its sides vote by the examples that fall into them."""
    a, b = state.totals[i, 0], state.totals[i, 1]
    slots = state.allowed.shape[1]
    found = best_split(state.histograms[i * slots : (i + 1) * slots], False, state.bins, state.allowed, i, a, b)
    if found[2] >= 0:
        state.choice[i, 0], state.choice[i, 1] = found[2], found[4]
        state.threshold[i] = found[3]
        state.sides[i, 0, 0], state.sides[i, 0, 1] = found[5], found[6]
        state.sides[i, 1, 0], state.sides[i, 1, 1] = max(a - found[5], 0.0), max(b - found[6], 0.0)


@dataclass(eq=False, repr=False)
class Stump(Binned, Learner, name="stump", options=(BINS,), state=StumpState, **kernels_of(__name__)):
    """Decision stump: a single split by the best feature and threshold so far, chosen again every few examples.

    Parameters
    ----------
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is refused before anything is learned.
    bins : int, default=0
        Number of bins of a feature, a power of two; they follow the stream. 0: 32 with up to 8 features, else 16.
    replay : int, default=512
        Number of first rows that are kept, and learned again after 64, 128, ... rows; below 64: none.
    grace_period : int, default=32
        Number of examples between two choices of the split.
    max_features : float, default=1.0
        Share of the feature slots by which each stump may split, drawn independently of the seed.
    max_slots : int, default=1024
        Maximum number of feature slots; further features share slots by hashing.

    Examples
    --------
    >>> from onlineboost import OnlineBBM, Stump
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_error
    >>> X, y = load_letter()
    >>> round(progressive_error(Stump(), X, y), 3)
    0.337
    >>> round(progressive_error(OnlineBBM(Stump(), random_state=0), X, y), 3)
    0.295
    """

    prefers: ClassVar[Literal["weight", "sample"]] = "sample"
    axes: ClassVar[dict[str, int]] = dict.fromkeys(
        ("choice", "threshold", "sides", "totals", "allowed", "histograms"), 0
    )

    strength: ClassVar[str] = "share of the differences between the sides of all splits"

    _: KW_ONLY
    bins: int = 0
    replay: int = 512
    grace_period: int = 32
    max_features: float = 1.0
    max_slots: int = 1024

    def committee(self, n_learners: int, n_features: int) -> StumpState:
        self.check_bins()
        check_count("grace_period", self.grace_period)
        check_share("max_features", self.max_features)
        return self.with_room(n_learners, Room(min(n_features, self.max_slots), 0))

    def with_room(self, n_learners: int, room: Room) -> StumpState:
        slots, n_bins = room
        return StumpState(
            choice=filled([-1, 0], (n_learners, 2), np.int32),
            threshold=filled(0, n_learners, np.float32),
            sides=filled(0, (n_learners, 2, 2)),
            totals=filled(0, (n_learners, 3)),
            allowed=some_slots(n_learners, slots, self.max_features, first=self.first_learner),
            short=np.zeros(1, np.int64),
            bins=new_bins(slots, n_bins, self.max_slots),
            histograms=filled(0, (n_learners * slots, n_bins, 2)),
            grace_period=int(self.grace_period),
        )

    def strengths(self, committee: StumpState, n_learners: int) -> Floats | None:
        """Each slot's share of the differences between the two sides of all splits."""
        a, b = committee.sides[:, :, 0], committee.sides[:, :, 1]
        votes = (b - a) / np.maximum(a + b, 1e-300)
        found, chosen = np.zeros(committee.allowed.shape[1]), committee.choice[:, 0] >= 0
        np.add.at(found, committee.choice[chosen, 0], np.abs(votes[chosen, 1] - votes[chosen, 0]))
        return found / max(float(found.sum()), 1e-300)

    def n_learners(self, committee: StumpState) -> int:
        return len(committee.choice)

    def move(self, old: StumpState, new: StumpState) -> None:
        n, (slots, bins), room = len(old.choice), self.room(old), self.room(new)
        for name in ("choice", "threshold", "sides", "totals"):
            getattr(new, name)[:] = getattr(old, name)
        moved = new.histograms.reshape(n, *room, 2)
        moved[:, :slots, :bins] = old.histograms.reshape(n, slots, bins, 2)
