"""The state of ``BatchBoost``, and what each row does."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from onlineboost.compiled.jit import f32, hot, lean
from onlineboost.data.batch import Batch, Floats, Floats32, Ints
from onlineboost.learners.batch import steps
from onlineboost.learners.batch.memory import BEGAN, KEPT, LENGTH, NEXT, Memory, follow, remember
from onlineboost.learners.batch.plan import CLASSES, Plan
from onlineboost.learners.batch.training import Training
from onlineboost.learners.batch.trees import KNOWN, Trees, answer, give_terms, take
from onlineboost.loop.explaining import Found, Pulls
from onlineboost.storage.validity import Limits
from onlineboost.transforms.bins import (
    BEGUN,
    FIRST,
    MET,
    ROWS,
    Bins,
    BinsWork,
    find_bins,
    make_edges,
    meet_value,
    new_work,
    read_row,
    take_edges,
)

PACE = 32  # a training takes one part in so many of its rows
_LEAST_RANGE, _MOST_SCORE = -30.0, 30.0


class BatchState(NamedTuple):
    bins: Bins
    memory: Memory
    trees: Trees
    training: Training
    short: Ints  # [1] 1 if there must be more room before the next example
    plan: Plan
    growth: float
    most_rows: int  # of the memory
    votes: int  # number of learners: 1, or one for each class
    first: int  # the class of the first of them

    def limits(self) -> Limits:
        return {"short": (0, 1)}


class BatchWork(NamedTuple):
    row: BinsWork
    scores: Floats


def workspace(state: BatchState, longest: int) -> BatchWork:
    return BatchWork(new_work(state.bins, longest), np.zeros(state.trees.base.size))


@hot
def predict(state: BatchState, work: BatchWork, batch: Batch, r: int, h: Floats32) -> None:
    """The log odds of each class against the rest, with the other sign of the first of several; or a number."""
    read_row(state.bins, work.row, batch, r)
    answer(state.trees, work.row.values, work.scores)
    _say(state, work.scores, h)


@lean
def _say(state: BatchState, scores: Floats, h: Floats32) -> None:
    if scores.size == 1:
        h[0] = f32(scores[0])
        return
    known = state.trees.clock[KNOWN]
    for i in range(state.votes):
        k = state.first + i
        if known == 1 and k < 2:  # from when there were two classes
            score = scores[0] if k > 0 else -scores[0]
        elif k < known:
            most = -np.inf
            for j in range(known):
                most = max(most, scores[j]) if j != k else most
            total = 0.0
            for j in range(known):
                total += math.exp(scores[j] - most) if j != k else 0.0
            score = scores[k] - most - math.log(total)
        else:
            score = -math.log(state.memory.clock[KEPT] + 1.0) if known > 0 else 0.0
        score = min(max(score, _LEAST_RANGE), _MOST_SCORE)
        h[i] = f32(score if k > 0 else -score)


@hot
def meet(state: BatchState, work: BatchWork, batch: Batch, r: int) -> None:
    """Take note of the values of a row; make the edges that are due, unless a training goes by those that there are."""
    bins, row = state.bins, work.row
    known = bins.clock[BEGUN]
    bins.clock[ROWS] += 1
    if bins.clock[ROWS] == FIRST:
        state.short[0] = 1
    for k in range(row.found[0]):
        slot = row.slots[k]
        due = meet_value(bins, slot, row.values[slot]) and state.memory.clock[LENGTH] == 0
        if due and make_edges(bins, row, slot):
            known = -1
            follow(state.memory, bins, row, slot, take_edges(bins, row, slot))
    if known != bins.clock[BEGUN]:
        find_bins(bins, row)


@hot
def learn(state: BatchState, work: BatchWork, batch: Batch, r: int, h: Floats32, t: Floats32, p: Floats) -> None:
    if state.memory.targets.shape[0] == 0 or p[0] <= 0:
        return
    remember(state.memory, state.bins, work.row, _target(state, t), p[0])
    _train(state)


@hot
def _target(state: BatchState, t: Floats32) -> float:
    """The number, or the place of the class, that a row's targets say."""
    if state.plan.loss != CLASSES:
        return float(t[0])
    if state.votes == 1:
        return 1.0 if t[0] > 0 else 0.0
    place = 0.0
    for i in range(1, state.votes):
        place = float(i) if t[i] > 0 else place
    return place


@lean
def _train(state: BatchState) -> None:
    """Begin a training that is due, or do the share of a row of that which runs."""
    memory, training = state.memory, state.training
    clock = memory.clock
    if clock[LENGTH] > 0:
        window = max(clock[LENGTH] // PACE, 1)
        share = (clock[KEPT] - clock[BEGAN]) / window
        steps.work_until(training, memory, state.bins, state.plan, share)
        if clock[KEPT] == clock[BEGAN] + window:
            take(training.trees, state.trees)
            steps.begin(training)
            clock[BEGAN] = clock[LENGTH] = 0
    elif clock[KEPT] >= max(clock[NEXT], state.bins.clock[MET]):
        clock[BEGAN] = clock[KEPT]
        clock[LENGTH] = min(clock[KEPT], memory.targets.shape[0] * PACE // (PACE + 1))
        clock[NEXT] = math.floor(clock[KEPT] * state.growth + 0.5)
        steps.begin(training)


@hot
def pull(state: BatchState, work: BatchWork, batch: Batch, r: int, h: Floats32, pulls: Pulls) -> None:
    """A vote is a sum of terms."""
    for i in range(pulls.link.shape[1]):
        pulls.link[r, i] = 1.0
    for i in range(pulls.n):
        pulls.up[r, i], pulls.down[r, i] = max(h[i], f32(0)), min(h[i], f32(0))


@hot
def explain(state: BatchState, work: BatchWork, batch: Batch, r: int, found: Found, k: int) -> int:
    read_row(state.bins, work.row, batch, r)
    of_two = state.trees.clock[KNOWN] == 1
    for i in range(state.votes):
        score = state.first + i
        give_terms(state.trees, work.row.values, 0 if of_two and score < 2 else score, found.sums)
        sign = 1.0 if score > 0 or of_two else -1.0
        for slot in range(state.bins.clock[MET]):
            found.slots[k] = slot
            found.values[k] = found.sums[slot] * sign * found.plus[r, i]
            k += found.sums[slot] != 0
            found.sums[slot] = 0.0
    return k
