"""The compiled functions of ``Tree``: Hoeffding trees over binned features, for N trees side by side.

| symbol | here | meaning |
| --- | --- | --- |
| n_eff | ``since[2]`` | (sum w)^2 / sum w^2 of a leaf: how many examples its weights are worth, whatever their scale |
| epsilon | ``_bound`` | the Hoeffding bound sqrt(ln(1/delta) / (2 n_eff)) on the gain, which is at most 1 |
| G(a), G(b) | ``best``, ``second`` | information gain of the best split, and of the best one by another feature |

A leaf splits if G(a) - G(b) > epsilon, or epsilon < tie: Domingos and Hulten (2000), with the effective sample size.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost._jit import f32, hot, i64, lean, njit
from onlineboost.batch import Batch, Floats, Floats32, Ints, Ints32
from onlineboost.learners.splits import best_split, read_codes, remember

SLOT, CODE, CHILD, ROW, DEPTH = range(5)  # of a node; a row of histograms is -1 where none is kept


class TreeState(NamedTuple):
    nodes: Ints32  # [trees, nodes, 5] the slot that it splits by (-1: a leaf), the highest code that goes left, ...
    weight: Floats  # [trees, nodes, 2] of negative and positive examples: the vote
    since: Floats  # [trees, nodes, 4] weights of both since the leaf began, their squares, updates since the last look
    used: Ints  # [trees, 2] nodes and rows of histograms
    free: Ints32  # [trees, rows] the rows that are not used, at the beginning
    gains: Floats  # [slots] what splits by this slot have gained, in bits times weight
    allowed: NDArray[np.bool_]  # [trees, slots] whether the tree may split by the slot
    low: Ints32  # [slots] the lowest code met, at most 0
    met: Ints  # [1] slots met so far
    histograms: Floats32  # [trees * rows * slots, bins, 2] weights by code (modulo bins) of non-zero codes, and label
    rows: int  # rows of histograms of a tree
    scarce: bool  # whether they are fewer than there may be leaves
    grace: int
    log_delta: float
    tie: float
    max_depth: int


class TreeWork(NamedTuple):
    slots: Ints32  # of the row at hand
    codes: Ints32  # [slots] by slot; 0 where the row has nothing
    found: Ints  # [1] how many it has
    leaf: Ints  # [trees] where it falls


@njit
def workspace(state: TreeState, longest: int) -> TreeWork:
    return TreeWork(
        np.empty(longest, np.int32),
        np.zeros(state.low.size, np.int32),
        np.zeros(1, np.int64),
        np.zeros(state.used.shape[0], np.int64),
    )


@hot
def predict(state: TreeState, work: TreeWork, batch: Batch, r: int, h: Floats32) -> None:
    read_codes(batch, r, work.slots, work.codes, work.found)
    for i in range(state.used.shape[0]):
        node = 0
        while state.nodes[i, node, SLOT] >= 0:
            right = work.codes[state.nodes[i, node, SLOT]] > state.nodes[i, node, CODE]
            node = i64(state.nodes[i, node, CHILD]) + right
        work.leaf[i] = node
        a, b = state.weight[i, node, 0], state.weight[i, node, 1]
        h[i] = f32((b - a) / (a + b)) if a + b > 0 else f32(0)


@hot
def learn(state: TreeState, work: TreeWork, batch: Batch, r: int, h: Floats32, y: float, p: Floats) -> None:
    c = 1 if y > 0 else 0
    slots = state.low.size
    remember(work.slots, work.codes, work.found, state.low, state.met)
    bins = state.histograms.shape[1]
    for i in range(p.size):
        w = p[i]
        if w <= 0:
            continue
        node = work.leaf[i]
        state.weight[i, node, c] += w
        # An example that shows nothing, as the first ones, says nothing about splits.
        if work.found[0] == 0 or state.nodes[i, node, DEPTH] >= state.max_depth:
            continue
        row = _row(state, i, node)
        if row < 0 or state.used[i, 0] + 2 > state.nodes.shape[1]:
            continue
        state.since[i, node, c] += w
        state.since[i, node, 2] += w * w
        state.since[i, node, 3] += 1
        base = (i * state.rows + row) * slots
        for k in range(work.found[0]):
            slot = work.slots[k]
            if state.allowed[i, slot]:
                state.histograms[base + slot, work.codes[slot] & (bins - 1), c] += f32(w)
        if state.since[i, node, 3] >= state.grace:
            state.since[i, node, 3] = 0
            _look(state, i, node, row)


@hot
def _row(state: TreeState, i: int, node: int) -> int:
    """The row of histograms of a leaf; it takes a free one if it has none, and is -1 if there is none."""
    row = i64(state.nodes[i, node, ROW])
    left = state.free.shape[1] - state.used[i, 1]
    if row < 0 and left > 0:
        row = i64(state.free[i, left - 1])
        state.used[i, 1] += 1
        state.nodes[i, node, ROW] = row
    return int(row)


@lean
def _release(state: TreeState, i: int, node: int) -> None:
    """Clear the histograms of a leaf, for others to take."""
    row = i64(state.nodes[i, node, ROW])
    base = (i * state.rows + row) * state.low.size
    for s in range(state.met[0]):
        for k in range(state.histograms.shape[1]):
            state.histograms[base + s, k, 0] = state.histograms[base + s, k, 1] = f32(0)
    state.free[i, state.rows - state.used[i, 1]] = row
    state.used[i, 1] -= 1
    state.nodes[i, node, ROW] = -1


@lean
def _look(state: TreeState, i: int, node: int, row: int) -> None:
    """Whether the leaf shall be split, and by what."""
    a, b, squares = state.since[i, node, 0], state.since[i, node, 1], state.since[i, node, 2]
    if a <= 0 or b <= 0:
        if (
            state.scarce and state.used[i, 1] == state.rows
        ):  # others wait for histograms: leaves with one label give theirs away
            _release(state, i, node)
            state.since[i, node, 0] = state.since[i, node, 1] = state.since[i, node, 2] = 0.0
        return
    n = a + b
    base = (i * state.rows + row) * state.low.size
    best, second, slot, code, left_a, left_b = best_split(
        state.histograms, base, state.low, state.allowed, i, state.met[0], a, b
    )
    bound = math.sqrt(state.log_delta * squares / (2 * n * n))
    if slot >= 0 and (best - second > bound or bound < state.tie):
        state.gains[slot] += best * n
        _split(state, i, node, slot, code, left_a, left_b)


@lean
def _split(state: TreeState, i: int, node: int, slot: int, code: int, left_a: float, left_b: float) -> None:
    """Two leaves in the place of one; they begin with its votes since it began."""
    _release(state, i, node)
    left = state.used[i, 0]
    state.used[i, 0] = left + 2
    depth = state.nodes[i, node, DEPTH] + 1
    state.nodes[i, node, SLOT], state.nodes[i, node, CODE] = slot, code
    state.nodes[i, node, CHILD] = left
    a, b = state.since[i, node, 0], state.since[i, node, 1]
    state.weight[i, left, 0], state.weight[i, left, 1] = left_a, left_b
    state.weight[i, left + 1, 0], state.weight[i, left + 1, 1] = max(a - left_a, 0.0), max(b - left_b, 0.0)
    state.nodes[i, left, DEPTH] = state.nodes[i, left + 1, DEPTH] = depth
