"""Nested boosters: one run with N learners that also gives the scores of its first n learners alone.

In AdaBoost.OL and OSBoost a learner's weight depends only on the learners before it, and a random draw only on the
learner's number: the first n of N learners are a booster of n. Only their vote is computed in addition. The algorithms
are not duplicated: this state runs in the same loop as any other.

The learners must be independent (``Learner.separate``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onlineboost.boosters.base import Booster
from onlineboost.classifier import OnlineClassifier
from onlineboost.compiled import dispatch
from onlineboost.compiled.jit import hot, njit
from onlineboost.data.batch import Batch, Floats, Floats32, Ints
from onlineboost.engine.committee import Committee
from onlineboost.engine.program import run_batch
from onlineboost.learners.base import Learner
from onlineboost.loop.heads import VoteHead

_lead, _round, _vote, _settle = dispatch.lead, dispatch.round, dispatch.vote, dispatch.settle
_first = dispatch.first


class NestedBooster(NamedTuple):
    whole: Any  # the state of the booster of all learners
    sizes: Ints  # numbers of learners of the nested boosters
    scores: Floats  # [rows learned, sizes] their scores
    row: Ints  # [1] the next row of ``scores``


@hot
def lead(state: NestedBooster, h: Floats, e: Floats, first: int, carry: Floats) -> None:
    _lead(state.whole, h, e, first, carry)


@hot
def round(state: NestedBooster, h: Floats, y: float, p: Floats, t: Floats32, first: int, carry: Floats) -> None:
    _round(state.whole, h, y, p, t, first, carry)


@njit
def vote(state: NestedBooster, e: Floats) -> float:
    return float(_vote(state.whole, e))


@hot
def settle(state: NestedBooster, e: Floats, y: float) -> None:
    for k in range(state.sizes.size):
        n = state.sizes[k]
        state.scores[state.row[0], k] = _vote(_first(state.whole, n), e[:n])
    state.row[0] += 1
    _settle(state.whole, e, y)


dispatch.register(dispatch.lead, NestedBooster, lead)
dispatch.register(dispatch.round, NestedBooster, round)
dispatch.register(dispatch.vote, NestedBooster, vote)
dispatch.register(dispatch.settle, NestedBooster, settle)


def can_nest(model: OnlineClassifier) -> bool:
    """Whether the model contains the boosters with fewer learners; a stack does not."""
    if (
        not isinstance(model, Booster)
        or not isinstance(model._new_head(1), VoteHead)
        or model.lag
        or model.class_weight
    ):
        return False
    learner, n = model._base_learner(), model.n_estimators
    # Classes from outside the package are compiled in each process, by the class of their state.
    ours = all(type(part).__module__.startswith("onlineboost.") for part in (model, learner))
    if not ours or not isinstance(learner, Learner) or learner.replay or not learner.separate(n, 0):
        return False
    return type(model.initial_state(n, False, 0)) in dispatch.first.kernels  # type: ignore[attr-defined]


def nest(node: Committee, sizes: list[int]) -> None:
    """Make the node also compute the scores of its first learners, for these sizes."""
    within = np.array(sizes, np.int64)
    node.booster = NestedBooster(node.booster, within, np.empty((0, within.size)), np.zeros(1, np.int64))


def run_nested(node: Committee, batch: Batch) -> tuple[Floats, Floats]:
    """Learn the batch. Scores of the whole booster and, for rows of positive weight, of each nested one."""
    rows = int(np.count_nonzero(batch.weight > 0))
    scores, row = np.empty((rows, node.booster.sizes.size)), np.zeros(1, np.int64)
    node.booster = node.booster._replace(scores=scores, row=row)
    node.replace()
    return run_batch(node, batch, True)[:, 0], scores
