"""Compiled functions of ``Tree``: Hoeffding trees over binned features, for N trees side by side.

| symbol | here | meaning |
| --- | --- | --- |
| n_eff | n^2 / ``since[2]`` | (sum w)^2 / sum w^2: the effective sample size, whatever the scale of weights |
| G(a), G(b) | ``best``, ``second`` | gain of the best split, and of the best one by another feature, in bits |
| epsilon | ``bound`` | the Hoeffding bound sqrt(ln(1/delta) / (2 n_eff)) on the gain, which is at most 1 |

A leaf splits by evidence if n_eff G(a) is large: 5 bits are a likelihood ratio of 32. Or, as in Domingos and Hulten
(2000) with the effective sample size, if G(a) - G(b) > epsilon, or epsilon < tie.

An adaptive leaf (Holmes, Kirkby and Pfahringer, 2005) votes by majority, or by naive Bayes over its histograms,
whichever made fewer mistakes in it so far.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import f32, hot, i64, lean, njit
from onlineboost.data.batch import LARGEST, Batch, Floats, Floats32, Ints, Ints32
from onlineboost.learners.splits import best_split, carry_histogram
from onlineboost.storage.validity import MAX_FLOAT32, SUM, Limits, require
from onlineboost.transforms.bins import (
    MET,
    Bins,
    BinsWork,
    new_work,
    read_row,
)

_SMOOTHING, _TINY = 0.1, 1e-100  # initial value of each count of naive Bayes; smaller probabilities are scaled up
_NOT_COMPUTED = 2.0
_FEWER = 8.0  # a leaf is tried again when it has one part in so many more examples
MAX_EXAMPLES = 1 << 23  # effective number of examples of a leaf; in float32, adding 1 to 2^24 has no effect
# Fields of a node: 1 + the slot it splits by (0: a leaf), 1 if missing values go right, the left child, 1 + its row of
# histograms (0: none), depth. A new leaf is all zeros, so that reserved nodes take no memory.
SLOT, MISSING, CHILD, ROW, DEPTH = range(5)


class TreeState(NamedTuple):
    nodes: Ints32  # [trees, nodes, 5] by the fields above
    threshold: Floats32  # [trees, nodes] the largest value that goes left
    weight: Floats  # [trees, nodes, 2] of negative and positive examples: the vote
    wrong: Floats  # [trees, nodes, 2] weights of the mistakes by majority and by naive Bayes
    since: Floats  # [trees, nodes, 4] weights of both since the leaf began, their squares, updates since the last try
    used: Ints  # [trees, 2] nodes and rows of histograms in use
    start: Ints  # [trees + 1] the first row of histograms of each tree; at the end, the number of all
    free: Ints32  # [rows] a stack of the free rows of each tree, numbered from its first
    gains: Floats  # [trees, slots] total gain of splits by this slot, in bits times weight
    allowed: NDArray[np.bool_]  # [trees, slots] whether the tree may split by the slot
    short: Ints  # [1] 1 if there must be more room before the next example
    stride: int  # from a row of a tree to its next one
    bins: Bins
    histograms: Floats32  # [rows * slots, bins, 2] weights by bin and label, without the bin of zero
    most_rows: int  # of a tree
    most_nodes: int  # of a tree
    scarce: bool  # whether there may be more leaves than rows of histograms
    adaptive: bool  # whether leaves may vote by naive Bayes
    grace: int
    evidence: float  # minimum gain of a split in bits; 0: the Hoeffding bound decides
    log_delta: float
    tie: float
    max_depth: int

    def derived(self) -> tuple[str, ...]:
        return ("allowed",)

    def limits(self) -> Limits:
        return {
            "nodes": (0, max(self.gains.shape[1], self.nodes.shape[1], self.free.size, 1)),
            "threshold": (-LARGEST, np.inf),
            "short": (0, 1),
            "used": (0, max(self.nodes.shape[1], self.free.size)),
            "start": (0, self.free.size),
            "free": (0, max(self.free.size - 1, 0)),
            "histograms": (0, MAX_FLOAT32),
            **dict.fromkeys(("wrong", "since", "gains"), SUM),  # weights may be just below 0, by rounding
        }

    def check(self) -> None:
        require(_is_forest(self), "nodes", "trees: children after their parents, each leaf with its own histograms")


class TreeWork(NamedTuple):
    row: BinsWork
    leaf: Ints  # [trees] the leaf that the row falls into
    bayes: Floats  # [trees] the vote of naive Bayes there, or _NOT_COMPUTED


@njit
def _is_forest(state: TreeState) -> bool:
    """Whether every tree is one, with nodes in the order in which splits make them, and no row of histograms twice."""
    n_nodes, slots, trees = state.nodes.shape[1], state.gains.shape[1], state.used.shape[0]
    parent, owned = np.empty(n_nodes, np.int64), np.zeros(state.free.size, np.bool_)
    if state.start[0] != 0 or state.start[trees] != state.free.size:
        return False
    for i in range(trees):
        used, taken = state.used[i, 0], state.used[i, 1]
        reserved = _reserved(state, i)
        if not (1 <= used <= n_nodes and 0 <= taken <= min(state.most_rows, reserved)):
            return False
        mine = owned[state.start[i] :: state.stride][:reserved]
        parent.fill(-1)
        splits = rows = 0
        for node in range(n_nodes):
            slot, missing = state.nodes[i, node, SLOT], state.nodes[i, node, MISSING]
            child, row, depth = state.nodes[i, node, CHILD], state.nodes[i, node, ROW], state.nodes[i, node, DEPTH]
            if node >= used:  # not in use yet
                if slot or missing or child or row or depth:
                    return False
                if (
                    state.threshold[i, node] != 0
                    or state.weight[i, node].any()
                    or state.wrong[i, node].any()
                    or state.since[i, node].any()
                ):
                    return False
            elif slot > 0:
                if not (slot <= slots and node < child < used - 1 and row == 0 and depth < state.max_depth):
                    return False
                for side in range(2):
                    if parent[child + side] >= 0 or state.nodes[i, child + side, DEPTH] != depth + 1:
                        return False
                    parent[child + side] = node
                splits += 1
            elif row > 0:
                if row > mine.size or mine[row - 1]:
                    return False
                mine[row - 1] = True
                rows += 1
        if state.nodes[i, 0, DEPTH] != 0 or used != 1 + 2 * splits or taken != rows:
            return False
        for k in range(reserved - taken):
            row = state.free[state.start[i] + k * state.stride]
            if row >= mine.size or mine[row]:
                return False
            mine[row] = True
    return True


def workspace(state: TreeState, longest: int) -> TreeWork:
    trees = state.used.shape[0]
    return TreeWork(
        new_work(state.bins, longest),
        np.zeros(trees, np.int64),
        np.zeros(trees),
    )


@hot
def predict(state: TreeState, work: TreeWork, batch: Batch, r: int, h: Floats32) -> None:
    read_row(state.bins, work.row, batch, r)
    for i in range(state.used.shape[0]):
        node = 0
        while state.nodes[i, node, SLOT] > 0:
            x = work.row.values[state.nodes[i, node, SLOT] - 1]
            right = x > state.threshold[i, node] or (x != x and state.nodes[i, node, MISSING] == 1)
            node = i64(state.nodes[i, node, CHILD]) + right
        work.leaf[i] = node
        work.bayes[i] = _NOT_COMPUTED
        a, b = state.weight[i, node, 0], state.weight[i, node, 1]
        h[i] = f32((b - a) / (a + b)) if a + b > 0 else f32(0)
        if state.wrong[i, node, 1] < state.wrong[i, node, 0] and state.nodes[i, node, ROW] > 0:
            work.bayes[i] = _bayes(state, work, i, node)
            h[i] = f32(work.bayes[i])


@hot
def _bayes(state: TreeState, work: TreeWork, i: int, node: int) -> float:
    """Naive Bayes by the histograms of a leaf, over the values that are counted there: P(+) - P(-)."""
    a, b = state.since[i, node, 0], state.since[i, node, 1]
    base = _base(state, i, state.nodes[i, node, ROW])
    negative, positive = a + 1, b + 1
    by_a, by_b = 1 / (a + 2 * _SMOOTHING), 1 / (b + 2 * _SMOOTHING)
    for k in range(work.row.found[1]):
        slot = work.row.counted[k]
        if state.allowed[i, slot]:
            code = work.row.codes[slot]
            negative *= (state.histograms[base + slot, code, 0] + _SMOOTHING) * by_a
            positive *= (state.histograms[base + slot, code, 1] + _SMOOTHING) * by_b
            if negative + positive < _TINY:
                negative /= _TINY
                positive /= _TINY
    return float((positive - negative) / (positive + negative))


@hot
def _base(state: TreeState, i: int, row: int) -> int:
    """Where the histograms of a leaf begin."""
    return (state.start[i] + (i64(row) - 1) * state.stride) * state.gains.shape[1]  # type: ignore[no-any-return]


@hot
def _reserved(state: TreeState, i: int) -> int:
    """Number of rows of histograms of a tree, taken or free."""
    if state.stride > 1:
        return state.free.size // state.stride
    return state.start[i + 1] - state.start[i]  # type: ignore[no-any-return]


@lean
def carry(state: TreeState, work: TreeWork, slot: int, old_zero: int) -> None:
    """Carry the histograms of a slot over to its new bins."""
    for i in range(state.used.shape[0]):
        for node in range(state.used[i, 0]):
            if state.nodes[i, node, ROW] > 0:
                at = _base(state, i, state.nodes[i, node, ROW]) + slot
                carry_histogram(state.histograms[at], work.row, state.since[i, node], old_zero, state.bins.zero[slot])


@hot
def learn(state: TreeState, work: TreeWork, batch: Batch, r: int, h: Floats32, t: Floats32, p: Floats) -> None:
    for i in range(p.size):
        if p[i] > 0:
            _learn(state, work, i, work.leaf[i], 1 if t[i] > 0 else 0, p[i])


@njit
def move_histograms(old: TreeState, new: TreeState) -> None:
    """Copy the histograms of all leaves into other room; leaves of a tree beyond its rows lose theirs.

    Each tree has as many rows as it may have; or as it has leaves with histograms, if there is no room for more.
    """
    trees, slots, bins = old.used.shape[0], old.gains.shape[1], old.histograms.shape[1]
    reserved = new.most_rows if new.free.size == trees * new.most_rows else 0
    for i in range(trees):
        rows = 0
        if new.stride > 1:
            new.start[i] = i
        for node in range(old.used[i, 0]):
            if old.nodes[i, node, ROW] == 0:
                continue
            if rows == new.most_rows:
                new.nodes[i, node, ROW] = 0
                new.since[i, node] = 0.0
                continue
            rows += 1
            new.nodes[i, node, ROW] = rows
            a, b = _base(old, i, old.nodes[i, node, ROW]), _base(new, i, rows)
            for slot in range(slots):
                for k in range(bins):
                    new.histograms[b + slot, k, 0] = old.histograms[a + slot, k, 0]
                    new.histograms[b + slot, k, 1] = old.histograms[a + slot, k, 1]
        new.used[i, 1] = rows
        new.start[i + 1] = new.start[i] + max(rows, reserved) if new.stride == 1 else new.free.size
        for k in range(max(reserved - rows, 0)):
            new.free[new.start[i] + k * new.stride] = reserved - 1 - k


@lean
def forget(state: TreeState, i: int) -> None:
    """Reset the tree to one leaf; the gains of its splits stay."""
    for node in range(state.used[i, 0]):
        if state.nodes[i, node, ROW] > 0:
            _release(state, i, node)
        for k in range(5):
            state.nodes[i, node, k] = 0
        state.threshold[i, node] = f32(0)
        for c in range(2):
            state.weight[i, node, c] = state.wrong[i, node, c] = 0.0
        for k in range(4):
            state.since[i, node, k] = 0.0
    state.used[i, 0] = 1


@hot
def _learn(state: TreeState, work: TreeWork, i: int, node: int, c: int, w: float) -> None:
    if state.adaptive and state.nodes[i, node, ROW] > 0:
        _compare(state, work, i, node, c, w)
    state.weight[i, node, c] += w
    splits = state.nodes[i, node, DEPTH] < state.max_depth and state.used[i, 0] + 2 <= state.most_nodes
    row = _row(state, i, node) if splits or (state.adaptive and not state.scarce) else 0
    if row == 0:
        return
    state.since[i, node, c] += w
    state.since[i, node, 2] += w * w
    state.since[i, node, 3] += 1
    base = _base(state, i, row)
    for k in range(work.row.found[1]):
        slot = work.row.counted[k]
        if state.allowed[i, slot]:
            state.histograms[base + slot, work.row.codes[slot], c] += f32(w)
    if state.since[i, node, 3] >= state.grace and _is_due(state, i, node):
        state.since[i, node, 3] = 0
        _fade(state, i, node, row)
        if splits:
            _try_split(state, i, node, row)


@hot
def _is_due(state: TreeState, i: int, node: int) -> bool:
    """Whether the leaf has an eighth more examples than at the last try: tries become fewer as a leaf grows old."""
    n = state.since[i, node, 0] + state.since[i, node, 1]
    return bool(_FEWER * state.since[i, node, 3] * state.since[i, node, 2] >= n * n)


@hot
def _compare(state: TreeState, work: TreeWork, i: int, node: int, c: int, w: float) -> None:
    """Count the mistakes by majority and by naive Bayes, before the leaf learns."""
    if state.since[i, node, 0] > 0 and state.since[i, node, 1] > 0:
        bayes = work.bayes[i] if work.bayes[i] != _NOT_COMPUTED else _bayes(state, work, i, node)
        majority = 1 if state.weight[i, node, 1] >= state.weight[i, node, 0] else 0
        state.wrong[i, node, 0] += w if majority != c else 0.0
        state.wrong[i, node, 1] += w if (bayes >= 0) != (c == 1) else 0.0


@hot
def _row(state: TreeState, i: int, node: int) -> int:
    """1 + the row of histograms of a leaf, a free one if it has none; 0 if no row is free."""
    row = i64(state.nodes[i, node, ROW])
    left = _reserved(state, i) - state.used[i, 1]
    if row == 0 and left > 0 and state.used[i, 1] < state.most_rows:
        row = 1 + i64(state.free[state.start[i] + (left - 1) * state.stride])
        state.used[i, 1] += 1
        state.nodes[i, node, ROW] = row
    return int(row)


@lean
def _release(state: TreeState, i: int, node: int) -> None:
    """Clear the histograms of a leaf and free their row."""
    row = i64(state.nodes[i, node, ROW])
    base = _base(state, i, row)
    for s in range(state.bins.clock[MET]):
        for k in range(state.histograms.shape[1]):
            state.histograms[base + s, k, 0] = state.histograms[base + s, k, 1] = f32(0)
    state.free[state.start[i] + (_reserved(state, i) - state.used[i, 1]) * state.stride] = row - 1
    state.used[i, 1] -= 1
    state.nodes[i, node, ROW] = 0


@lean
def _fade(state: TreeState, i: int, node: int, row: int) -> None:
    """Halve the counts of a leaf with very many examples: float32 cannot count any further."""
    n = state.since[i, node, 0] + state.since[i, node, 1]
    if n * n > MAX_EXAMPLES * state.since[i, node, 2]:
        base = _base(state, i, row)
        for s in range(state.bins.clock[MET]):
            for k in range(state.histograms.shape[1]):
                state.histograms[base + s, k, 0] /= f32(2)
                state.histograms[base + s, k, 1] /= f32(2)
        for k in range(3):
            state.since[i, node, k] /= 2


@lean
def _try_split(state: TreeState, i: int, node: int, row: int) -> None:
    """Split the leaf if its best split is good enough."""
    a, b, squares = state.since[i, node, 0], state.since[i, node, 1], state.since[i, node, 2]
    n = a + b
    if a > 0 and b > 0:
        base = _base(state, i, row)
        best, second, slot, edge, missing, left_a, left_b = best_split(
            state.histograms, base, state.bins, state.allowed, i, a, b
        )
        bound = math.sqrt(state.log_delta * squares / (2 * n * n))
        if state.evidence > 0:
            justified = best * n * n > state.evidence * squares
        else:
            justified = best - second > bound or bound < state.tie
        if slot >= 0 and justified:
            state.gains[i, slot] += best * n
            state.nodes[i, node, SLOT], state.nodes[i, node, MISSING] = slot + 1, missing
            state.threshold[i, node] = edge
            _split(state, i, node, left_a, left_b)
            return
    if state.scarce and state.used[i, 1] == state.most_rows and n * n >= 4 * state.grace * squares:
        _release(state, i, node)  # other leaves wait for histograms
        state.since[i, node, 0] = state.since[i, node, 1] = state.since[i, node, 2] = 0.0


@lean
def _split(state: TreeState, i: int, node: int, left_a: float, left_b: float) -> None:
    """Replace a leaf by two, which begin with the weights of its examples on each side."""
    _release(state, i, node)
    left = state.used[i, 0]
    state.used[i, 0] = left + 2
    depth = state.nodes[i, node, DEPTH] + 1
    state.nodes[i, node, CHILD] = left
    a, b = state.since[i, node, 0], state.since[i, node, 1]
    state.weight[i, left, 0], state.weight[i, left, 1] = left_a, left_b
    state.weight[i, left + 1, 0], state.weight[i, left + 1, 1] = max(a - left_a, 0.0), max(b - left_b, 0.0)
    state.nodes[i, left, DEPTH] = state.nodes[i, left + 1, DEPTH] = depth
