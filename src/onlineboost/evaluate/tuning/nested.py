"""Boosters within a booster: one run with N learners that also tells what its first n alone would have said.

In AdaBoost.OL and OSBoost a learner's weight depends on the learners before it alone, and random draws on its number
alone: the first n of N learners are a booster of n. Only the vote of those has to be taken as well. Nothing of the
algorithms is written again: the two states here go through the engine's one loop like any other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost import dispatch
from onlineboost._jit import hot, njit
from onlineboost.batch import Batch, Floats, Floats32, Ints
from onlineboost.model import Machine

_vote, _round, _first = dispatch.vote, dispatch.round, dispatch.first
_workspace, _predict, _learn, _apart = dispatch.workspace, dispatch.predict, dispatch.learn, dispatch.apart


class NestedBooster(NamedTuple):
    whole: Any  # the state of the booster of all learners
    sizes: Ints  # of the boosters within
    scores: Floats  # [rows learnt, sizes] what those said
    row: Ints  # [1] the next of them


class NestedCommittee(NamedTuple):
    whole: Any
    sizes: Ints
    apart: NDArray[np.bool_]  # [sizes] whether the first learners have never felt the others


@njit
def vote(state: NestedBooster, h: Floats) -> float:
    return float(_vote(state.whole, h))


@hot
def round(state: NestedBooster, h: Floats, y: float, p: Floats) -> None:
    for k in range(state.sizes.size):
        n = state.sizes[k]
        state.scores[state.row[0], k] = _vote(_first(state.whole, n), h[:n])
    state.row[0] += 1
    _round(state.whole, h, y, p)


@njit
def workspace(state: NestedCommittee, longest: int) -> Any:
    return _workspace(state.whole, longest)


@hot
def predict(state: NestedCommittee, work: Any, batch: Batch, r: int, h: Floats32) -> None:
    _predict(state.whole, work, batch, r, h)


@hot
def learn(state: NestedCommittee, work: Any, batch: Batch, r: int, h: Floats32, y: float, p: Floats) -> None:
    for k in range(state.sizes.size):
        if state.apart[k]:
            state.apart[k] = _apart(state.whole, batch, r, h, y, p, state.sizes[k])
    _learn(state.whole, work, batch, r, h, y, p)


dispatch.register(dispatch.vote, NestedBooster, vote)
dispatch.register(dispatch.round, NestedBooster, round)
dispatch.register(dispatch.workspace, NestedCommittee, workspace)
dispatch.register(dispatch.predict, NestedCommittee, predict)
dispatch.register(dispatch.learn, NestedCommittee, learn)


def can_nest(machine: Machine) -> bool:
    """Whether it holds boosters of fewer learners; the answer must be the booster's own, not that of a stack."""
    parts = ((dispatch.first, machine.booster), (dispatch.apart, machine.committee))
    known = all(type(state) in generic.kernels for generic, state in parts)  # type: ignore[attr-defined]
    ours = all(type(state).__module__.startswith("onlineboost.") for _, state in parts)  # for the cache of the engine
    return machine.compiled and known and ours and type(machine.head).__name__ == "VoteHead"


def nest(machine: Machine, sizes: list[int]) -> None:
    """From now on the machine also tells what its first learners say."""
    within = np.array(sizes, np.int64)
    machine.committee = NestedCommittee(machine.committee, within, np.ones(within.size, np.bool_))
    machine.booster = NestedBooster(machine.booster, within, np.empty((0, within.size)), np.zeros(1, np.int64))


def run_nested(machine: Machine, batch: Batch) -> tuple[Floats, Floats]:
    """Learn the batch; scores of the whole, and, for rows of positive weight, of each size within."""
    rows = int(np.count_nonzero(batch.weight > 0))
    scores, row = np.empty((rows, machine.booster.sizes.size)), np.zeros(1, np.int64)
    machine.booster = machine.booster._replace(scores=scores, row=row)
    return machine.run(batch, True), scores
