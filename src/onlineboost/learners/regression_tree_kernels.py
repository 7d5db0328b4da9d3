"""Compiled functions of ``RegressionTree``: regression trees over binned features, for N trees side by side.

| symbol | here | meaning |
| --- | --- | --- |
| n, S, Q | ``since[0]``, ``since[1]``, ``since[4]`` | sums of w, w (t - t0) and w (t - t0)^2 in a leaf |
| t0 | ``since[5]`` | the vote of the leaf when it began: sums stay small |
| n_eff | n^2 / ``since[2]`` | (sum w)^2 / sum w^2: the effective sample size, whatever the scale of weights |
| G | ``gain`` | (S_L n - S n_L)^2 / (n n_L n_R): the reduction of the sum of squares by a split |

A leaf splits if n_eff G is at least ``min_split_gain`` times the remaining sum of squares. It votes by a running mean,
over all of its examples or about the last ``memory``. A new leaf begins with the mean of its examples, drawn towards
the vote of its parent as if that were ``smoothing`` examples more; the root begins with as many of 0.

A leaf below a split also follows a line, on the feature x of that split (fields of ``line``):

| symbol | meaning |
| --- | --- |
| m, x0, t0 | weight of its examples, at most ``memory``, and the running means of x and t |
| v, c | running variance of x, and covariance with t |
| D | recent squared error of the mean minus that of the line |

The line answers t0 + (x - x0) c / v, times m / (m + ``smoothing``), with x within 3 deviations of x0. The leaf votes by
it if D is positive.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import f32, hot, i64, lean
from onlineboost.compiled.simd import load, pair, store
from onlineboost.data.batch import Batch, Floats, Floats32, Ints, Ints32
from onlineboost.learners import forest_kernels as forest
from onlineboost.learners.forest_kernels import DEPTH
from onlineboost.learners.splits import give_sums
from onlineboost.loop.explaining import Found, Pulls
from onlineboost.storage.validity import Limits, require
from onlineboost.transforms.bins import MET, Bins, BinsWork, new_work, read_row

_LEAST = 4.0  # examples on each side of a split
MEAN, LINE, EITHER = range(3)  # how leaves vote
FEATURE, WEIGHT, X0, T0, V, C, D = range(7)  # fields of a line; the first is 1 + its slot, 0: none
_FARTHEST = 3.0  # deviations of x
_KEPT = 1 - 1 / 64  # of D, after each example


class RegressionTreeState(NamedTuple):
    nodes: Ints32  # [trees, nodes, 5] by the fields of ``forest_kernels``
    threshold: Floats32  # [trees, nodes] the largest value that goes left
    vote: Floats  # [trees, nodes, 2] weight of the examples, at most ``memory``, and their mean
    since: Floats  # [trees, nodes, 6] n, S, sum of squared weights, updates since the last try, Q, t0
    line: Floats  # [trees, nodes, 7] by the fields above; [trees, nodes, 0] if leaves vote by their mean
    used: Ints  # [trees, 2] nodes and rows of histograms in use
    start: Ints  # [trees + 1] the first row of histograms of each tree; at the end, the number of all
    free: Ints32  # [rows] a stack of the free rows of each tree, numbered from its first
    gains: Floats  # [trees, slots] total gain of splits by this slot
    allowed: NDArray[np.bool_]  # [trees, slots] whether the tree may split by the slot
    short: Ints  # [1] 1 if there must be more room before the next example
    stride: int  # from a row of a tree to its next one
    bins: Bins
    histograms: Floats32  # [rows, bins, slots, 2] n and S by bin, without the bin of zero
    most_rows: int  # of a tree
    most_nodes: int  # of a tree
    scarce: bool  # whether there may be more leaves than rows of histograms
    grace_period: int
    min_split_gain: float
    memory: float  # infinite: all
    smoothing: float
    max_depth: int
    leaf_prediction: int

    def saved(self) -> dict[str, Any]:
        return forest.saved(self)

    def fill(self, arrays: dict[str, Any]) -> None:
        forest.fill(self, arrays)

    def limits(self) -> Limits:
        return forest.limits(self)

    def check(self) -> None:
        forest.check(self, "threshold", "vote", "since", "line")
        if self.leaf_prediction != MEAN:
            slots = self.line[..., FEATURE]
            known = (slots >= 0) & (slots <= self.gains.shape[1]) & (slots == np.floor(slots))
            require(bool(known.all()), "line", "numbers of slots")
            require(bool((self.line[..., [WEIGHT, V]] >= 0).all()), "line", "weights and variances of at least 0")


class RegressionTreeWork(NamedTuple):
    row: BinsWork
    leaf: Ints  # [trees] the leaf that the row falls into
    mine: Ints  # where those values that a tree may split by are counted, in numbers from the first of all histograms


def workspace(state: RegressionTreeState, longest: int) -> RegressionTreeWork:
    leaf = np.zeros(state.used.shape[0], np.int64)
    return RegressionTreeWork(new_work(state.bins, longest), leaf, np.empty(longest, np.int64))


@hot
def predict(state: RegressionTreeState, work: RegressionTreeWork, batch: Batch, r: int, h: Floats32) -> None:
    read_row(state.bins, work.row, batch, r)
    for i in range(state.used.shape[0]):
        leaf = forest.leaf_of(state, work.row, i)
        work.leaf[i] = leaf
        h[i] = f32(state.vote[i, leaf, 1])
        if _by_line(state, i, leaf):
            h[i] = f32(_on_line(state, state.line[i, leaf], work.row, state.vote[i, leaf, 1]))


@hot
def _by_line(state: RegressionTreeState, i: int, leaf: int) -> bool:
    """Whether a leaf votes by its line."""
    return state.leaf_prediction != MEAN and (state.leaf_prediction == LINE or state.line[i, leaf, D] > 0)


@hot
def _on_line(state: RegressionTreeState, line: Floats, row: BinsWork, mean: float) -> float:
    """The vote of a leaf by its line; the mean, if there is none or the feature is missing."""
    if line[V] <= 0:
        return mean
    far = row.values[i64(line[FEATURE]) - 1] - line[X0]
    if far != far:
        return mean
    most = _FARTHEST * math.sqrt(line[V])
    slope = line[C] / line[V] * line[WEIGHT] / (line[WEIGHT] + state.smoothing)
    return float(line[T0] + slope * min(max(far, -most), most))


@hot
def _learn_line(state: RegressionTreeState, line: Floats, row: BinsWork, mean: float, t: float, w: float) -> None:
    if line[FEATURE] == 0:
        return
    x = float(row.values[i64(line[FEATURE]) - 1])
    if x != x:
        return
    by_line = _on_line(state, line, row, mean)
    line[D] = _KEPT * line[D] + w * ((t - mean) ** 2 - (t - by_line) ** 2)
    line[WEIGHT] = min(line[WEIGHT] + w, state.memory)
    a = min(w / line[WEIGHT], 1.0)
    dx, dt = x - line[X0], t - line[T0]
    line[X0] += a * dx
    line[T0] += a * dt
    line[V] = (1 - a) * (line[V] + a * dx * dx)
    line[C] = (1 - a) * (line[C] + a * dx * dt)


@hot
def pull(state: RegressionTreeState, work: RegressionTreeWork, batch: Batch, r: int, h: Floats32, pulls: Pulls) -> None:
    """The terms of a vote: the mean vote of the tree, what each split adds, and the line of the leaf."""
    for i in range(pulls.link.shape[1]):
        pulls.link[r, i] = 1.0
    for i in range(pulls.n):
        leaf, more = work.leaf[i], 0.0
        mean = state.vote[i, leaf, 1]
        if _by_line(state, i, leaf):
            more = _on_line(state, state.line[i, leaf], work.row, mean) - mean
        forest.pull_path(state, work.row, i, r, mean, more, pulls)


@hot
def explain(state: RegressionTreeState, work: RegressionTreeWork, batch: Batch, r: int, found: Found, k: int) -> int:
    read_row(state.bins, work.row, batch, r)
    for i in range(state.used.shape[0]):
        leaf = forest.leaf_of(state, work.row, i)
        mean = state.vote[i, leaf, 1]
        forest.explain_path(state, work.row, i, r, mean, found)
        if _by_line(state, i, leaf) and state.line[i, leaf, FEATURE] > 0:
            line = state.line[i, leaf]
            forest.add_term(found, r, i, i64(line[FEATURE]) - 1, _on_line(state, line, work.row, mean) - mean)
    return give_sums(found, state.bins, k)


@hot
def learn(
    state: RegressionTreeState, work: RegressionTreeWork, batch: Batch, r: int, h: Floats32, t: Floats32, p: Floats
) -> None:
    for i in range(p.size):
        if p[i] > 0:
            _learn(state, work, i, work.leaf[i], float(t[i]), p[i])


@hot
def _learn(state: RegressionTreeState, work: RegressionTreeWork, i: int, node: int, t: float, w: float) -> None:
    vote, since = state.vote[i, node], state.since[i, node]
    if state.leaf_prediction != MEAN:
        _learn_line(state, state.line[i, node], work.row, vote[1], t, w)
    vote[0] = min(vote[0] + w, state.memory)
    count = min(vote[0] + state.smoothing, state.memory) if node == 0 else vote[0]
    vote[1] += min(w / count, 1.0) * (t - vote[1])
    if state.nodes[i, node, DEPTH] >= state.max_depth or state.used[i, 0] + 2 > state.most_nodes:
        return
    row = forest.row_for(state, i, node)
    if row == 0:
        return
    t -= since[5]
    since[0] += w
    since[1] += w * t
    since[2] += w * w
    since[3] += 1
    since[4] += w * t * t
    _count(state, work, i, forest.place_of(state, i, row), f32(w), f32(w * t))
    if since[3] >= state.grace_period and forest.is_due(since[3], since[2], since[0]):
        since[3] = 0
        forest.fade(state, i, node, row, since[0], since[2], 5)
        _try_split(state, i, node, row)


@hot
def _count(state: RegressionTreeState, work: RegressionTreeWork, i: int, place: int, w: Any, wt: Any) -> None:
    """Add an example to the histograms. First the places, then the sums: a branch for each slot would take longer."""
    m = 0
    for k in range(work.row.found[1]):
        work.mine[m] = 2 * (place + work.row.places[k])
        m += state.allowed[i, work.row.counted[k]]
    more = pair(w, wt)
    for k in range(m):
        store(state.histograms, work.mine[k], load(state.histograms, work.mine[k], more) + more)


@lean
def _try_split(state: RegressionTreeState, i: int, node: int, row: int) -> None:
    """Split the leaf if its best split is good enough."""
    since = state.since[i, node]
    n, S, squares = since[0], since[1], since[2]
    histogram, least = state.histograms[forest.row_of(state, i, row)], _LEAST * squares / n
    gain, slot, edge, missing, left_n, left_S = best_split(histogram, state.bins, state.allowed, i, n, S, least)
    whole = since[4] - S * S / n
    rest = max(whole - gain, 1e-9 * whole)
    if slot >= 0 and gain * n * n >= state.min_split_gain * squares * rest:
        left = forest.split_leaf(state, i, node, slot, edge, missing, gain)
        _begin(state, i, left, state.vote[i, node, 1], since[5], left_n, left_S)
        _begin(state, i, left + 1, state.vote[i, node, 1], since[5], n - left_n, S - left_S)
        if state.leaf_prediction != MEAN:
            state.line[i, left, FEATURE] = state.line[i, left + 1, FEATURE] = slot + 1
    else:
        forest.make_way(state, i, node, n, squares, 5)


@hot
def _begin(state: RegressionTreeState, i: int, node: int, parent: float, t0: float, n: float, S: float) -> None:
    """Begin a leaf with the mean of its examples, drawn towards the vote of its parent."""
    mean = parent + (t0 + S / n - parent) * n / (n + state.smoothing)
    state.vote[i, node, 0], state.vote[i, node, 1] = min(n, state.memory), mean
    state.since[i, node, 5] = mean


@lean
def best_split(
    histogram: Floats32,
    bins: Bins,
    allowed: NDArray[np.bool_],
    i: int,
    n: float,
    S: float,
    least: float,
) -> tuple[float, int, float, int, float, float]:
    """The split of some examples that lowers the sum of squares most, with a weight of ``least`` on each side.

    ``histogram[bin, slot]`` holds n and S: the rest is in the bin of zero, whose place holds the examples
    without a value. Returns the gain, slot (-1: none), the largest value of the left side (infinite if only examples
    without a value go right), the side of those (1: right), and n and S of the left side.
    """
    last = bins.edges.shape[1]
    best, best_slot, best_edge, best_side, best_n, best_S = 0.0, -1, np.inf, 0, 0.0, 0.0
    for slot in range(bins.clock[MET]):
        if not allowed[i, slot]:
            continue
        zero = bins.zero[slot]
        zero_n, zero_S = n, S
        for k in range(last + 1):
            zero_n -= histogram[k, slot, 0]
            zero_S -= histogram[k, slot, 1]
        missing_n, missing_S = float(histogram[zero, slot, 0]), float(histogram[zero, slot, 1])
        sides = 2 if missing_n > 0 else 1
        left_n = left_S = 0.0
        for k in range(last + 1):
            if sides == 1 and (k == last or bins.edges[slot, k] == np.inf):
                break  # nothing is to the right; with missing values, all others may be on the left
            here_n = float(histogram[k, slot, 0]) if k != zero else zero_n
            if here_n <= 0:
                continue
            left_n += here_n
            left_S += float(histogram[k, slot, 1]) if k != zero else zero_S
            for side in range(sides):
                a, s = left_n, left_S
                if sides == 2 and side == 0:
                    a, s = left_n + missing_n, left_S + missing_S
                if a >= least and n - a >= least:
                    apart, size = s * n - S * a, n * a * (n - a)
                    if apart * apart > best * size:  # a division takes as long as all of this
                        best, best_slot, best_n, best_S = apart * apart / size, slot, a, s
                        best_edge = float(bins.edges[slot, k]) if k < last else np.inf
                        best_side = side if sides == 2 else (1 if 2 * a < n else 0)
    return best, best_slot, best_edge, best_side, best_n, best_S


@lean
def carry(state: RegressionTreeState, work: RegressionTreeWork, slot: int, old_zero: int) -> None:
    forest.carry(state, work.row, slot, old_zero, 0, -math.inf)


@lean
def forget(state: RegressionTreeState, i: int) -> None:
    used = state.used[i, 0]
    state.vote[i, :used] = 0.0
    state.line[i, :used] = 0.0
    forest.forget(state, i)
