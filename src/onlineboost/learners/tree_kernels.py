"""Compiled functions of ``Tree``: Hoeffding trees over binned features, for N trees side by side.

| symbol | here | meaning |
| --- | --- | --- |
| n_eff | n^2 / ``since[2]`` | (sum w)^2 / sum w^2: the effective sample size, whatever the scale of weights |
| G(a), G(b) | ``best``, ``second`` | gain of the best split, and of the best one by another feature, in bits |
| epsilon | ``bound`` | the Hoeffding bound sqrt(ln(1/delta) / (2 n_eff)) on the gain, which is at most 1 |

A leaf splits if the evidence n_eff G(a) is large: 5 bits are a likelihood ratio of 32. Or, as in Domingos and Hulten
(2000) with the effective sample size, if G(a) - G(b) > epsilon, or epsilon < tau.

An adaptive leaf (Holmes, Kirkby and Pfahringer, 2005) votes by majority, or by naive Bayes over its histograms,
whichever made fewer mistakes in it so far.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import f32, hot, lean
from onlineboost.compiled.simd import load, pair, prefetch, splat, store, total, widen, zeros
from onlineboost.data.batch import Batch, Floats, Floats32, Ints, Ints32
from onlineboost.learners import forest_kernels as forest
from onlineboost.learners.forest_kernels import DEPTH, ROW
from onlineboost.learners.splits import best_split, difference, give_sums
from onlineboost.loop.explaining import Found, Pulls
from onlineboost.storage.validity import MAX_FLOAT32, SUM, Limits
from onlineboost.transforms.bins import Bins, BinsWork, new_work, read_row

_SMOOTHING, _TINY = 0.1, 1e-100  # initial value of each count of naive Bayes; smaller probabilities are scaled up
_NOT_COMPUTED = 2.0
_ALONE = (0,)
_MAX_LOG = 600.0


class TreeState(NamedTuple):
    nodes: Ints32  # [trees, nodes, 5] by the fields of ``forest_kernels``
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
    histograms: Floats32  # [rows, bins, slots, 2] weights by bin and label, without the bin of zero
    most_rows: int  # of a tree
    most_nodes: int  # of a tree
    scarce: bool  # whether there may be more leaves than rows of histograms
    adaptive: bool  # whether leaves may vote by naive Bayes
    grace_period: int
    min_split_gain: float  # minimum gain of a split in bits; 0: the Hoeffding bound decides
    log_delta: float
    tau: float
    max_depth: int

    def saved(self) -> dict[str, Any]:
        return forest.saved(self)

    def fill(self, arrays: dict[str, Any]) -> None:
        forest.fill(self, arrays)

    def limits(self) -> Limits:
        # Weights may be just below 0, by rounding.
        return forest.limits(self) | {"histograms": (0, MAX_FLOAT32), "wrong": SUM, "since": SUM}

    def check(self) -> None:
        forest.check(self, "threshold", "weight", "wrong", "since")


class TreeWork(NamedTuple):
    row: BinsWork
    terms: Floats  # log odds of the counted values in a leaf
    leaf: Ints  # [trees] the leaf that the row falls into
    bayes: Floats  # [trees] the vote of naive Bayes there, or _NOT_COMPUTED
    whole: bool  # whether all trees may split by all slots


def workspace(state: TreeState, longest: int) -> TreeWork:
    trees = state.used.shape[0]
    return TreeWork(
        new_work(state.bins, longest),
        np.empty(longest),
        np.zeros(trees, np.int64),
        np.zeros(trees),
        bool(state.allowed.all()),
    )


@hot
def predict(state: TreeState, work: TreeWork, batch: Batch, r: int, h: Floats32) -> None:
    read_row(state.bins, work.row, batch, r)
    for i in range(state.used.shape[0]):
        work.leaf[i] = forest.leaf_of(state, work.row, i)
        if _by_bayes(state, i, work.leaf[i]):
            _fetch(state, work, i, work.leaf[i])
    for i in range(state.used.shape[0]):
        node = work.leaf[i]
        work.bayes[i] = _NOT_COMPUTED
        h[i] = f32(difference(state.weight[i, node, 0], state.weight[i, node, 1]))
        if _by_bayes(state, i, node):
            work.bayes[i] = _bayes(state, work, i, node)
            h[i] = f32(work.bayes[i])


@hot
def pull(state: TreeState, work: TreeWork, batch: Batch, r: int, h: Floats32, pulls: Pulls) -> None:
    """The terms of a vote: the mean vote of the tree, what each split adds, and what naive Bayes adds in the leaf.

    The change by naive Bayes is shared among the values by their log odds.
    """
    for i in range(pulls.link.shape[1]):
        pulls.link[r, i] = 1.0
    for i in range(pulls.n):
        value = _value(state, work, i)
        more = work.bayes[i] - value if work.bayes[i] != _NOT_COMPUTED else 0.0
        forest.pull_path(state, work.row, i, r, value, more, pulls)


@hot
def explain(state: TreeState, work: TreeWork, batch: Batch, r: int, found: Found, k: int) -> int:
    read_row(state.bins, work.row, batch, r)
    for i in range(state.used.shape[0]):
        work.leaf[i] = forest.leaf_of(state, work.row, i)
        by_bayes = _by_bayes(state, i, work.leaf[i])
        work.bayes[i] = 0.0 if by_bayes else _NOT_COMPUTED
        forest.explain_path(state, work.row, i, r, _value(state, work, i), found)
        if by_bayes:
            change, slope = _log_odds(state, work, i)
            slope *= found.plus[r, i] if change > 0 else found.minus[r, i]
            for j in range(work.row.found[1]):
                found.sums[work.row.counted[j]] += slope * work.terms[j]
    return give_sums(found, state.bins, k)


@hot
def _value(state: TreeState, work: TreeWork, i: int) -> float:
    """The vote of the leaf, by the numbers of its examples: before its naive Bayes looks at a value."""
    node = work.leaf[i]
    if work.bayes[i] != _NOT_COMPUTED:
        return difference(state.since[i, node, 0] + 1, state.since[i, node, 1] + 1)
    return difference(state.weight[i, node, 0], state.weight[i, node, 1])


@hot
def _by_bayes(state: TreeState, i: int, node: int) -> bool:
    """Whether a leaf votes by naive Bayes."""
    return bool(state.wrong[i, node, 1] < state.wrong[i, node, 0] and state.nodes[i, node, ROW] > 0)


@hot
def _fetch(state: TreeState, work: TreeWork, i: int, node: int) -> None:
    """Prefetch the used part of the histograms of a leaf, while other trees are processed."""
    base = forest.place_of(state, i, state.nodes[i, node, ROW])
    for k in range(work.row.found[1]):
        prefetch(state.histograms, 2 * (base + work.row.places[k]))


@hot
def _bayes(state: TreeState, work: TreeWork, i: int, node: int) -> float:
    """Naive Bayes by the histograms of a leaf, over the values that are counted there: P(+) - P(-)."""
    a, b = state.since[i, node, 0], state.since[i, node, 1]
    base = forest.place_of(state, i, state.nodes[i, node, ROW])
    both = pair(a + 1, b + 1)  # of the negative and the positive label
    by = pair(1 / (a + 2 * _SMOOTHING), 1 / (b + 2 * _SMOOTHING))
    smoothing, tiny = splat(_SMOOTHING, both), splat(_TINY, both)
    for k in range(work.row.found[1]):
        if work.whole or state.allowed[i, work.row.counted[k]]:
            counts = load(state.histograms, 2 * (base + work.row.places[k]), both)
            both *= (widen(counts) + smoothing) * by
            if total(both) < _TINY:
                both /= tiny
    return total(both * pair(-1.0, 1.0)) / total(both)  # type: ignore[no-any-return]


@hot
def _log_odds(state: TreeState, work: TreeWork, i: int) -> tuple[float, float]:
    """Write the log odds of each value by the naive Bayes of a leaf.

    Returns their total change of the vote, and that divided by their sum.
    """
    node = work.leaf[i]
    a, b = state.since[i, node, 0], state.since[i, node, 1]
    histogram = state.histograms[forest.row_of(state, i, state.nodes[i, node, ROW])]
    share, total = (a + 2 * _SMOOTHING) / (b + 2 * _SMOOTHING), 0.0
    for k in range(work.row.found[1]):  # first all ratios: a logarithm would wait for each of them
        slot = work.row.counted[k]
        code = work.row.codes[slot]
        negative, positive = histogram[code, slot, 0], histogram[code, slot, 1]
        ratio = (positive + _SMOOTHING) / (negative + _SMOOTHING) * share
        work.terms[k] = ratio if state.allowed[i, slot] else 1.0
    for k in range(work.row.found[1]):
        work.terms[k] = math.log(work.terms[k])
        total += work.terms[k]
    before = (b - a) / (a + b + 2)
    odds = (b + 1) / (a + 1) * math.exp(min(max(total, -_MAX_LOG), _MAX_LOG))
    change = (odds - 1) / (odds + 1) - before
    return change, change / total if abs(total) > 1e-6 else (1 - before * before) / 2


@lean
def carry(state: TreeState, work: TreeWork, slot: int, old_zero: int) -> None:
    forest.carry(state, work.row, slot, old_zero, 0, 0.0)


@hot
def learn(state: TreeState, work: TreeWork, batch: Batch, r: int, h: Floats32, t: Floats32, p: Floats) -> None:
    for i in range(p.size):
        if p[i] > 0 and work.bayes[i] == _NOT_COMPUTED and state.nodes[i, work.leaf[i], ROW] > 0:
            _fetch(state, work, i, work.leaf[i])
    for i in range(p.size):
        if p[i] > 0:
            _learn(state, work, i, work.leaf[i], 1 if t[i] > 0 else 0, p[i])


@lean
def forget(state: TreeState, i: int) -> None:
    used = state.used[i, 0]
    state.weight[i, :used] = state.wrong[i, :used] = 0.0
    forest.forget(state, i)


@hot
def _learn(state: TreeState, work: TreeWork, i: int, node: int, c: int, w: float) -> None:
    if state.adaptive and state.nodes[i, node, ROW] > 0:
        _compare(state, work, i, node, c, w)
    state.weight[i, node, c] += w
    splits = state.nodes[i, node, DEPTH] < state.max_depth and state.used[i, 0] + 2 <= state.most_nodes
    row = forest.row_for(state, i, node) if splits or (state.adaptive and not state.scarce) else 0
    if row == 0:
        return
    state.since[i, node, c] += w
    state.since[i, node, 2] += w * w
    state.since[i, node, 3] += 1
    base, weight = forest.place_of(state, i, row), splat(f32(w), zeros(_ALONE))
    for k in range(work.row.found[1]):
        if work.whole or state.allowed[i, work.row.counted[k]]:
            at = 2 * (base + work.row.places[k]) + c
            store(state.histograms, at, load(state.histograms, at, weight) + weight)
    n, squares = state.since[i, node, 0] + state.since[i, node, 1], state.since[i, node, 2]
    if state.since[i, node, 3] >= state.grace_period and forest.is_due(state.since[i, node, 3], squares, n):
        state.since[i, node, 3] = 0
        forest.fade(state, i, node, row, n, squares, 4)
        if splits:
            _try_split(state, i, node, row)


@hot
def _compare(state: TreeState, work: TreeWork, i: int, node: int, c: int, w: float) -> None:
    """Count the mistakes by majority and by naive Bayes, before the leaf learns."""
    if state.since[i, node, 0] > 0 and state.since[i, node, 1] > 0:
        bayes = work.bayes[i] if work.bayes[i] != _NOT_COMPUTED else _bayes(state, work, i, node)
        majority = 1 if state.weight[i, node, 1] >= state.weight[i, node, 0] else 0
        state.wrong[i, node, 0] += w if majority != c else 0.0
        state.wrong[i, node, 1] += w if (bayes >= 0) != (c == 1) else 0.0


@lean
def _try_split(state: TreeState, i: int, node: int, row: int) -> None:
    """Split the leaf if its best split is good enough."""
    a, b, squares = state.since[i, node, 0], state.since[i, node, 1], state.since[i, node, 2]
    n = a + b
    if a > 0 and b > 0:
        histogram = state.histograms[forest.row_of(state, i, row)]
        best, second, slot, edge, missing, left_a, left_b = best_split(
            histogram, True, state.bins, state.allowed, i, a, b
        )
        bound = math.sqrt(state.log_delta * squares / (2 * n * n))
        if state.min_split_gain > 0:
            justified = best * n * n > state.min_split_gain * squares
        else:
            justified = best - second > bound or bound < state.tau
        if slot >= 0 and justified:
            left = forest.split_leaf(state, i, node, slot, edge, missing, best * n)
            state.weight[i, left, 0], state.weight[i, left, 1] = left_a, left_b
            state.weight[i, left + 1, 0], state.weight[i, left + 1, 1] = max(a - left_a, 0.0), max(b - left_b, 0.0)
            return
    forest.make_way(state, i, node, n, squares, 4)
