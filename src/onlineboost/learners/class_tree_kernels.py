"""Compiled functions of ``ClassTree``: trees with a count for each class in a leaf, for N trees side by side.

Nodes, histograms and routing are those of ``Tree``; the vote of a leaf is a class, the one with the largest weight or,
where that was wrong less often, the likeliest by naive Bayes. A split is decided by its information gain: with k
classes in the leaf, a split by noise gains (k - 1) / (2 ln 2) bits on average over all examples, so ``min_split_gain``
is the number of bits for each class but one.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import f32, hot, lean, njit
from onlineboost.data.batch import Batch, Floats, Floats32, Ints, Ints32
from onlineboost.learners import forest_kernels as forest
from onlineboost.learners.forest_kernels import CHILD, DEPTH, ROW, SLOT
from onlineboost.loop.explaining_classes import ClassFound, add_change, begin, share_vote
from onlineboost.storage.validity import MAX_FLOAT32, SUM, Limits
from onlineboost.transforms.bins import MET, Bins, BinsWork, new_work, read_row

_SMOOTHING, _TINY = 0.1, 1e-100  # as in ``Tree``
_LN2 = math.log(2)
SQUARES, UPDATES, FIRST = range(3)  # fields of ``since``: the weights of the classes begin at FIRST


class ClassTreeState(NamedTuple):
    nodes: Ints32  # [trees, nodes, 5] by the fields of ``forest_kernels``
    threshold: Floats32  # [trees, nodes] the largest value that goes left
    weight: Floats  # [trees, nodes, classes] of examples: the vote
    wrong: Floats  # [trees, nodes, 2] weights of the mistakes by majority and by naive Bayes
    since: Floats  # [trees, nodes, 2 + classes] squared weights, updates since the last try; weights since it began
    used: Ints  # [trees, 2] nodes and rows of histograms in use
    start: Ints  # [trees + 1] the first row of histograms of each tree; at the end, the number of all
    free: Ints32  # [rows] a stack of the free rows of each tree, numbered from its first
    gains: Floats  # [trees, slots] total gain of splits by this slot, in bits times weight
    allowed: NDArray[np.bool_]  # [trees, slots] whether the tree may split by the slot
    short: Ints  # [1] 1 if there must be more room before the next example
    stride: int  # from a row of a tree to its next one
    bins: Bins
    histograms: Floats32  # [rows, bins, slots, classes] weights by bin and class, without the bin of zero
    most_rows: int  # of a tree
    most_nodes: int  # of a tree
    scarce: bool  # whether there may be more leaves than rows of histograms
    adaptive: bool  # whether leaves may vote by naive Bayes
    grace_period: int
    min_split_gain: float
    max_depth: int

    def saved(self) -> dict[str, Any]:
        return forest.saved(self)

    def fill(self, arrays: dict[str, Any]) -> None:
        forest.fill(self, arrays)

    def limits(self) -> Limits:
        return forest.limits(self) | {"histograms": (0, MAX_FLOAT32), "weight": SUM, "wrong": SUM, "since": SUM}

    def check(self) -> None:
        forest.check(self, "threshold", "weight", "wrong", "since")


class ClassTreeWork(NamedTuple):
    row: BinsWork
    leaf: Ints  # [trees] the leaf that the row falls into
    bayes: Ints  # [trees] the vote of naive Bayes there; -1: not computed
    chance: Floats  # [classes]
    zero: Floats  # [classes] weights in the bin of zero
    left: Floats  # [classes] weights on the left of a split
    kept: Floats  # [classes] those of the best split


def workspace(state: ClassTreeState, longest: int) -> ClassTreeWork:
    trees, classes = state.used.shape[0], state.weight.shape[2]
    counts = (np.zeros(classes) for _ in range(4))
    return ClassTreeWork(new_work(state.bins, longest), np.zeros(trees, np.int64), np.zeros(trees, np.int64), *counts)


@hot
def predict(state: ClassTreeState, work: ClassTreeWork, batch: Batch, r: int, h: Floats32) -> None:
    read_row(state.bins, work.row, batch, r)
    for i in range(state.used.shape[0]):
        node = forest.leaf_of(state, work.row, i)
        work.leaf[i] = node
        work.bayes[i] = -1
        if state.wrong[i, node, 1] < state.wrong[i, node, 0] and state.nodes[i, node, ROW] > 0:
            work.bayes[i] = _bayes(state, work, i, node)
            h[i] = f32(work.bayes[i])
        else:
            h[i] = f32(_majority(state, i, node))


@hot
def _majority(state: ClassTreeState, i: int, node: int) -> int:
    """The class with the largest weight in a leaf, the first of several."""
    best = 0
    for c in range(1, state.weight.shape[2]):
        if state.weight[i, node, c] > state.weight[i, node, best]:
            best = c
    return best


@lean
def _bayes(state: ClassTreeState, work: ClassTreeWork, i: int, node: int) -> int:
    """The likeliest class by the histograms of a leaf, over the values that are counted there."""
    chance, best = work.chance, 0
    _begin_bayes(state, work, i, node)
    for k in range(work.row.found[1]):
        if state.allowed[i, work.row.counted[k]]:
            _add_value(state, work, i, node, work.row.counted[k])
    for c in range(1, chance.size):
        if chance[c] > chance[best]:
            best = c
    return best


@hot
def _begin_bayes(state: ClassTreeState, work: ClassTreeWork, i: int, node: int) -> None:
    """The chances of the classes in a leaf, up to a factor, before any value."""
    for c in range(work.chance.size):
        weight = state.since[i, node, FIRST + c]
        work.chance[c] = weight + 1 if weight > 0 else 0.0


@hot
def _add_value(state: ClassTreeState, work: ClassTreeWork, i: int, node: int, slot: int) -> float:
    """Take the value of a slot into account; returns the sum of all chances."""
    since, chance = state.since[i, node], work.chance
    histogram = state.histograms[forest.row_of(state, i, state.nodes[i, node, ROW]), work.row.codes[slot], slot]
    for c in range(chance.size):
        chance[c] *= (histogram[c] + _SMOOTHING) / (since[FIRST + c] + 2 * _SMOOTHING)
    total = _total(chance)
    if total < _TINY:
        for c in range(chance.size):
            chance[c] /= _TINY
        return _total(chance)
    return total


@hot
def explain(state: ClassTreeState, work: ClassTreeWork, batch: Batch, r: int, h: Floats32, found: ClassFound) -> None:
    """The terms of a vote: what each split of the path changes in the shares of the classes below it, and in a leaf
    that votes by naive Bayes what each value does, in the order of ids.
    """
    for i in range(state.used.shape[0]):
        node = n = 0
        begin(found, work.chance, _shares(state, work, i, node, found))
        while state.nodes[i, node, SLOT] > 0:
            slot = state.nodes[i, node, SLOT] - 1
            node = forest.child_of(state, work.row, i, node)
            add_change(found, n, slot, work.chance, _shares(state, work, i, node, found))
            n += 1
        if work.bayes[i] >= 0:
            n = _explain_bayes(state, work, i, n, found)
        share_vote(found, i, n, int(h[i]))


@hot
def _shares(state: ClassTreeState, work: ClassTreeWork, i: int, node: int, found: ClassFound) -> float:
    """Write the shares of the classes below a node; of a leaf that votes by naive Bayes, before it looks at a value.

    Returns the factor that they are to be multiplied by.
    """
    if work.bayes[i] >= 0 and node == work.leaf[i]:
        _begin_bayes(state, work, i, node)
        return 1 / _total(work.chance)
    for c in range(work.chance.size):
        work.chance[c] = found.means[i, node, c]
    return 1.0


@lean
def _explain_bayes(state: ClassTreeState, work: ClassTreeWork, i: int, n: int, found: ClassFound) -> int:
    for k in range(work.row.found[1]):
        slot = work.row.counted[k]
        if state.allowed[i, slot]:
            add_change(found, n, slot, work.chance, 1 / _add_value(state, work, i, work.leaf[i], slot))
            n += 1
    return n


@hot
def _total(chance: Floats) -> float:
    total = 0.0
    for c in range(chance.size):
        total += chance[c]
    return total


@njit
def shares_below(state: ClassTreeState) -> NDArray[np.float64]:
    """The shares of the classes below each node, [trees, nodes, classes]; equal ones where there is no example."""
    shares, n = state.weight.copy(), state.weight.shape[2]
    for i in range(shares.shape[0]):
        for node in range(state.used[i, 0] - 1, -1, -1):  # children come after their parents
            if state.nodes[i, node, SLOT] > 0:
                child = state.nodes[i, node, CHILD]
                for c in range(n):  # Numba takes two seconds to compile an assignment to a row
                    shares[i, node, c] = shares[i, child, c] + shares[i, child + 1, c]
    for i in range(shares.shape[0]):
        for node in range(state.used[i, 0]):
            total = _total(shares[i, node])
            for c in range(n):
                shares[i, node, c] = shares[i, node, c] / total if total > 0 else 1 / n
    return shares


@lean
def carry(state: ClassTreeState, work: ClassTreeWork, slot: int, old_zero: int) -> None:
    forest.carry(state, work.row, slot, old_zero, FIRST, 0.0)


@hot
def learn(
    state: ClassTreeState, work: ClassTreeWork, batch: Batch, r: int, h: Floats32, t: Floats32, p: Floats
) -> None:
    for i in range(p.size):
        if p[i] > 0:
            _learn(state, work, i, work.leaf[i], int(t[i]), p[i])


@lean
def forget(state: ClassTreeState, i: int) -> None:
    used = state.used[i, 0]
    state.weight[i, :used] = state.wrong[i, :used] = 0.0
    forest.forget(state, i)


@hot
def _learn(state: ClassTreeState, work: ClassTreeWork, i: int, node: int, c: int, w: float) -> None:
    if state.adaptive and state.nodes[i, node, ROW] > 0:
        _compare(state, work, i, node, c, w)
    state.weight[i, node, c] += w
    splits = state.nodes[i, node, DEPTH] < state.max_depth and state.used[i, 0] + 2 <= state.most_nodes
    row = forest.row_for(state, i, node) if splits or (state.adaptive and not state.scarce) else 0
    if row == 0:
        return
    since = state.since[i, node]
    since[FIRST + c] += w
    since[SQUARES] += w * w
    since[UPDATES] += 1
    histogram = state.histograms[forest.row_of(state, i, row)]
    for k in range(work.row.found[1]):
        slot = work.row.counted[k]
        if state.allowed[i, slot]:
            histogram[work.row.codes[slot], slot, c] += f32(w)
    if since[UPDATES] >= state.grace_period and forest.is_due(since[UPDATES], since[SQUARES], _sum(since)):
        since[UPDATES] = 0
        forest.fade(state, i, node, row, _sum(since), since[SQUARES], since.size)
        if splits:
            _try_split(state, work, i, node, row)


@hot
def _sum(since: Floats) -> float:
    """The weight of all examples since the leaf began."""
    total = 0.0
    for k in range(FIRST, since.size):
        total += since[k]
    return total


@hot
def _compare(state: ClassTreeState, work: ClassTreeWork, i: int, node: int, c: int, w: float) -> None:
    """Count the mistakes by majority and by naive Bayes, before the leaf learns."""
    if _present(state.since[i, node]) > 1:
        bayes = work.bayes[i] if work.bayes[i] >= 0 else _bayes(state, work, i, node)
        state.wrong[i, node, 0] += w if _majority(state, i, node) != c else 0.0
        state.wrong[i, node, 1] += w if bayes != c else 0.0


@hot
def _present(since: Floats) -> int:
    """Number of classes in a leaf."""
    n = 0
    for k in range(FIRST, since.size):
        n += 1 if since[k] > 0 else 0
    return n


@lean
def _try_split(state: ClassTreeState, work: ClassTreeWork, i: int, node: int, row: int) -> None:
    """Split the leaf if its best split is good enough."""
    since = state.since[i, node]
    n, squares, present = _sum(since), since[SQUARES], _present(since)
    if present > 1:
        best, slot, edge, missing = _best_split(state, work, i, forest.row_of(state, i, row), since, n)
        if slot >= 0 and best * n * n > state.min_split_gain * (present - 1) * squares:
            left = forest.split_leaf(state, i, node, slot, edge, missing, best * n)
            for c in range(work.kept.size):
                state.weight[i, left, c] = work.kept[c]
                state.weight[i, left + 1, c] = max(since[FIRST + c] - work.kept[c], 0.0)
            return
    forest.make_way(state, i, node, n, squares, since.size)


@lean
def _best_split(
    state: ClassTreeState, work: ClassTreeWork, i: int, row: int, since: Floats, n: float
) -> tuple[float, int, float, int]:
    """Gain, slot (-1: none), largest value of the left side, side of missing values, as ``best_split`` has them.

    The weights of the left side are in ``work.kept``.
    """
    bins, zero, left, classes = state.bins, work.zero, work.left, work.zero.size
    last = bins.edges.shape[1]
    whole = 0.0
    for c in range(classes):
        whole += _information(since[FIRST + c])
    whole = _information(n) - whole
    best, best_slot, best_edge, best_side = 0.0, -1, np.inf, 0
    for slot in range(bins.clock[MET]):
        if not state.allowed[i, slot]:
            continue
        histogram, at = state.histograms[row, :, slot], bins.zero[slot]
        missing = 0.0
        for c in range(classes):
            rest = since[FIRST + c]
            for k in range(last + 1):
                rest -= histogram[k, c]
            zero[c], left[c] = max(rest, 0.0), 0.0
            missing += histogram[at, c]
        sides = 2 if missing > 0 else 1
        for k in range(last + 1):
            if sides == 1 and (k == last or bins.edges[slot, k] == np.inf):
                break  # nothing is to the right; with missing values, all others may be on the left
            here = 0.0
            for c in range(classes):
                added = zero[c] if k == at else float(histogram[k, c])
                left[c] += added
                here += added
            if here == 0:
                continue
            for side in range(sides):
                with_missing = sides == 2 and side == 0
                inside, gain = _gain(histogram, at, left, since, with_missing, n, whole)
                if inside > 0 and inside < n and gain > best:
                    best, best_slot = gain, slot
                    best_edge = float(bins.edges[slot, k]) if k < last else np.inf
                    best_side = side if sides == 2 else (1 if 2 * inside < n else 0)
                    for c in range(classes):
                        work.kept[c] = left[c] + (histogram[at, c] if with_missing else 0.0)
    return best, best_slot, best_edge, best_side


@hot
def _gain(
    histogram: Any, at: int, left: Floats, since: Floats, with_missing: bool, n: float, whole: float
) -> tuple[float, float]:
    """The weight on the left of a split, and its gain for each unit of weight."""
    inside = parts = 0.0
    for c in range(left.size):
        mine = left[c] + (histogram[at, c] if with_missing else 0.0)
        inside += mine
        parts += _information(mine) + _information(since[FIRST + c] - mine)
    return inside, (whole - _information(inside) - _information(n - inside) + parts) / n


@hot
def _information(x: float) -> float:
    return x * math.log(x) / _LN2 if x > 0 else 0.0
