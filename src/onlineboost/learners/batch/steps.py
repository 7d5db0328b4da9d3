"""The steps of a training.

Each touches some 100,000 values at most. ``work_until`` takes steps until as much is done as is due. A step
depends on nothing but the rows in the memory, so a training that was lost is done again, with the same trees.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import hot, i64, lean, u64
from onlineboost.learners.batch import growing, losses
from onlineboost.learners.batch.memory import LENGTH, MISSING, Memory, first_of_training
from onlineboost.learners.batch.plan import Plan, least_rows, most_leaves
from onlineboost.learners.batch.training import (
    AT,
    BINS,
    FEATURES,
    FIRST,
    HIGH,
    LEAVES,
    MANY,
    NEAR,
    NUMBER,
    PHASE,
    SPARSE,
    TREE,
    ZERO,
    Training,
    place_of,
)
from onlineboost.transforms.bins import MET, Bins
from onlineboost.transforms.edges import n_bins_of

_STEP = 1 << 17  # values of a step
_READ, _SLOPES, _ROOT, _CHOOSE, _COUNT, _DONE = range(6)  # phases
_DENSE = 8  # a feature that is zero in more rows than one of so many is sparse


@lean
def begin(training: Training) -> None:
    """Begin at the first step."""
    training.clock[:] = 0
    training.trees.gains[:] = 0.0


@lean
def work_until(training: Training, memory: Memory, bins: Bins, plan: Plan, share: float) -> None:
    """Take steps until this share of the work is done."""
    trees = plan.rounds * training.scores.shape[1]
    while training.clock[PHASE] != _DONE and (share >= 1 or _done(training, memory, plan) < share * (1 + trees)):
        _step(training, memory, bins, plan)


@hot
def _done(training: Training, memory: Memory, plan: Plan) -> float:
    """Number of trees that are done; reading the rows counts as one."""
    clock, n = training.clock, memory.clock[LENGTH]
    if clock[PHASE] == _READ:
        return float(clock[AT] / n)
    if clock[PHASE] == _SLOPES:
        return float(1 + clock[TREE] + 0.1 * clock[AT] / n)
    if clock[PHASE] == _ROOT:
        return float(1 + clock[TREE] + 0.1 + 0.3 * clock[AT] / n)
    return float(1 + clock[TREE] + 0.4 + 0.6 * clock[LEAVES] / most_leaves(plan, training.trees))


@lean
def _step(training: Training, memory: Memory, bins: Bins, plan: Plan) -> None:
    clock, n = training.clock, memory.clock[LENGTH]
    phase, stop = clock[PHASE], min(n, clock[AT] + _rows_of_step(training))
    if phase == _READ:
        if clock[AT] == 0:
            _choose_features(training, memory, bins, least_rows(plan, n))
            stop = min(n, _rows_of_step(training))
        _read(training, memory, stop)
        clock[AT] = stop
        if stop == n:
            losses.set_base(training, plan, n)
            clock[PHASE], clock[AT] = _SLOPES, 0
    elif phase == _SLOPES:
        losses.find_slopes(training, plan, n)
        if clock[AT] == n:
            growing.choose_units(training)
            clock[PHASE], clock[AT] = _ROOT, 0
    elif phase == _ROOT:
        growing.count_root(training, clock[AT], stop)
        clock[AT] = stop
        if stop == n:
            growing.begin_tree(training, plan, n)
            clock[PHASE] = _CHOOSE
    elif phase == _CHOOSE:
        leaf = growing.best_leaf(training)
        if leaf >= 0 and clock[LEAVES] < most_leaves(plan, training.trees):
            growing.split(training, memory, bins, leaf)
            clock[PHASE] = _COUNT
        else:
            growing.end_tree(training, plan)
            clock[TREE] += 1
            last = clock[TREE] == plan.rounds * training.scores.shape[1]
            clock[PHASE], clock[AT] = _DONE if last else _SLOPES, 0
    elif phase == _COUNT:
        stop = min(stop, training.leaves[clock[NEAR], HIGH])
        growing.count(training, training.pool[place_of(training, clock[NEAR]) :], clock[AT], stop)
        clock[AT] = stop
        if stop == training.leaves[clock[NEAR], HIGH]:
            growing.end_split(training, plan, n)
            clock[PHASE] = _CHOOSE


@hot
def _rows_of_step(training: Training) -> int:
    return max(_STEP // (training.clock[FEATURES] + 8), 16)  # type: ignore[no-any-return]


@lean
def _choose_features(training: Training, memory: Memory, bins: Bins, least: int) -> None:
    """The features by which rows may be split, and where in a histogram their bins are.

    Each has a further bin for missing values. A feature that is zero in all rows but a few could only split off leaves
    that are too small.
    """
    n = first = 0
    most = training.pool.shape[0] // training.leaves.shape[0]
    start, length, rows = first_of_training(memory), memory.clock[LENGTH], memory.targets.shape[0]
    for slot in range(bins.clock[MET]):
        many, codes = n_bins_of(bins.edges[slot]), memory.codes[slot]
        others = _not_zero(codes[start : start + length]) + _not_zero(codes[: max(start + length - rows, 0)])
        if first + many + 1 <= most and others >= least:
            feature = training.features[n]
            feature[NUMBER], feature[FIRST], feature[ZERO], feature[MANY] = slot, first, bins.zero[slot], many
            feature[SPARSE] = _DENSE * (length - others) > length
            n, first = n + 1, first + many + 1
    training.clock[FEATURES], training.clock[BINS] = n, first


@hot
def _not_zero(codes: NDArray[np.int8]) -> int:
    """How many rows have another bin than that of zero."""
    n = 0
    for k in range(codes.size):
        n += codes[k] != 0
    return n


@lean
def _read(training: Training, memory: Memory, stop: int) -> None:
    """Write the bins of rows that are counted."""
    clock, features, rows = training.clock, training.features, memory.targets.shape[0]
    first, m = first_of_training(memory), training.ends[clock[AT]]
    for i in range(clock[AT], stop):
        at = first + i - (rows if first + i >= rows else 0)
        for f in range(clock[FEATURES]):
            code = i64(memory.codes[features[f, NUMBER], at])
            place = features[f, FIRST] + (features[f, MANY] if code == MISSING else features[f, ZERO] + code)
            training.entries[m] = place
            m += u64((code != 0) | (features[f, SPARSE] == 0))
        training.ends[i + 1] = m
        training.targets[i], training.weights[i] = memory.targets[at], memory.weights[at]
