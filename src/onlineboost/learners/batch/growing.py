"""How a tree is grown: best leaf first.

A split gains G^2 / (H + l2) summed over both sides, less that of the leaf, where G and H are sums of the slopes and
curvatures of the loss (Newton's gain); a leaf has the value -rate G / (H + l2).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import f32, hot, i64, lean, u8, u64
from onlineboost.data.batch import Floats, Floats32, Ints, Ints32
from onlineboost.learners.batch.losses import quantile_of
from onlineboost.learners.batch.memory import Memory, first_of_training
from onlineboost.learners.batch.plan import ABSOLUTE, Plan, l2_of, least_rows, most_leaves, rate_of
from onlineboost.learners.batch.training import (
    AT,
    BIN,
    BINS,
    FAR,
    FEATURES,
    FIRST,
    HIGH,
    LEAVES,
    LEFT,
    LOW,
    MANY,
    MASK,
    NEAR,
    NODE,
    NUMBER,
    SIDE,
    SLOT,
    SPARSE,
    SUM,
    TREE,
    UNIT_G,
    UNIT_H,
    ZERO,
    G,
    H,
    Training,
    place_of,
)
from onlineboost.learners.batch.trees import CHILD, SPLIT, THRESHOLD, VALUE, begin_node
from onlineboost.transforms.bins import Bins

_LEAST_GAIN = 1e-10  # as a share of the leaf's own score


@lean
def choose_units(training: Training) -> None:
    """Units such that sums over all rows fit into 31 and 32 bits."""
    sums = training.sums
    sums[UNIT_G] = max(sums[G], 1e-300) / (1 << 30)
    sums[UNIT_H] = max(sums[H], 1e-300) / (1 << 31)
    training.pool[: training.clock[BINS]] = 0
    training.leaves[0, SUM] = 0


@lean
def count_root(training: Training, start: int, stop: int) -> None:
    """Pack slopes and curvatures of these rows, and count them in the histogram of all."""
    _pack(training.slopes[start:stop], training.packed[start:stop], training.sums)
    for i in range(start, stop):
        training.order[i] = i
        training.leaves[0, SUM] += training.packed[i]
    count(training, training.pool, start, stop)


@lean
def _pack(slopes: Floats32, packed: Ints, sums: Floats) -> None:
    by_g, by_h = 1 / sums[UNIT_G], 1 / sums[UNIT_H]
    for i in range(packed.size):
        g, h = i64(math.floor(slopes[i, 0] * by_g + 0.5)), i64(math.floor(slopes[i, 1] * by_h + 0.5))
        packed[i] = (g << 32) + h


@hot
def count(training: Training, histogram: Ints, start: int, stop: int) -> None:
    """Count the rows in these places of the order."""
    _count(training.order[start:stop], training.packed, training.ends, training.entries, histogram)


@lean
def _count(rows: Ints32, packed: Ints, ends: NDArray[np.uint64], entries: NDArray[np.uint16], histogram: Ints) -> None:
    for row in rows:
        i = u64(row)
        one = packed[i]
        for e in range(ends[i], ends[i + u64(1)]):
            histogram[entries[e]] += one


@lean
def _fill_zero(training: Training, leaf: int) -> None:
    """Write the bins of zero that are not counted: what the others leave of the leaf."""
    histogram, whole = training.pool[place_of(training, leaf) :], training.leaves[leaf, SUM]
    for f in range(training.clock[FEATURES]):
        feature, others = training.features[f], i64(0)
        if feature[SPARSE]:
            first, zero = feature[FIRST], feature[FIRST] + feature[ZERO]
            for b in range(first, first + feature[MANY] + 1):
                others += histogram[b]
            histogram[zero] += whole - others


@lean
def begin_tree(training: Training, plan: Plan, n: int) -> None:
    clock, leaf = training.clock, training.leaves[0]
    leaf[LOW], leaf[HIGH], leaf[NODE] = 0, n, 0
    clock[LEAVES] = 1
    begin_node(training.trees, clock[TREE], 0)
    training.cover[0] = leaf[SUM] & MASK
    _fill_zero(training, 0)
    _find_split(training, plan, n, 0)


@hot
def best_leaf(training: Training) -> int:
    best, found = 0.0, -1
    for leaf in range(training.clock[LEAVES]):
        if training.gains[leaf] > best:
            best, found = training.gains[leaf], leaf
    return found


@lean
def split(training: Training, memory: Memory, bins: Bins, leaf: int) -> None:
    """Split a leaf: its rows, those of the left side first, and its node."""
    clock, near, trees = training.clock, training.leaves[leaf], training.trees
    tree, low, high, slot, side = clock[TREE], near[LOW], near[HIGH], near[SLOT], near[SIDE]
    rows = training.order[low:high]
    most = near[BIN] - bins.zero[slot]
    middle = low + _part(rows, training.spare, memory.codes[slot], first_of_training(memory), most, side)
    other = clock[LEAVES]
    clock[LEAVES] += 1
    far, node, child = training.leaves[other], near[NODE], 2 * other - 1
    trees.nodes[tree, node, SPLIT], trees.nodes[tree, node, CHILD] = 2 * slot + side, child
    edge = bins.edges[slot, near[BIN]] if near[BIN] < bins.edges.shape[1] else f32(np.inf)
    trees.numbers[tree, node, THRESHOLD] = edge
    trees.gains[slot] += training.gains[leaf] * training.sums[UNIT_G] ** 2 / training.sums[UNIT_H]
    begin_node(trees, tree, child)
    begin_node(trees, tree, child + 1)
    far[LOW], far[HIGH], far[NODE], far[SUM] = middle, high, child + 1, near[SUM] - near[LEFT]
    near[HIGH], near[NODE], near[SUM] = middle, child, near[LEFT]
    training.cover[child], training.cover[child + 1] = near[SUM] & MASK, far[SUM] & MASK
    if middle - low > high - middle:  # the smaller one is counted, in other memory
        clock[NEAR], clock[FAR] = other, leaf
    else:
        clock[NEAR], clock[FAR] = leaf, other
        old, new = training.pool[place_of(training, leaf) :], training.pool[place_of(training, other) :]
        for b in range(clock[BINS]):
            new[b] = old[b]
    counted = training.pool[place_of(training, clock[NEAR]) :]
    for b in range(clock[BINS]):
        counted[b] = 0
    clock[AT] = training.leaves[clock[NEAR], LOW]


@lean
def _part(rows: Ints32, spare: Ints32, codes: NDArray[np.int8], first: int, most: int, side: int) -> int:
    """Put the rows that go left first, in the order in which they are; their number.

    As a whole number of 8 bits without a sign, the code of a missing value is the least of all, or the largest.
    """
    n, least = codes.shape[0], u8(most + 128 - side)
    m = others = u64(0)
    for row in rows:
        at = first + row
        at -= n if at >= n else 0
        right = u8(codes[u64(at)] + 128 - side) > least
        rows[m] = spare[others] = row
        m, others = m + u64(not right), others + u64(right)
    for q in range(others):
        rows[m + q] = spare[q]
    return i64(m)  # type: ignore[no-any-return]


@lean
def end_split(training: Training, plan: Plan, n: int) -> None:
    """The larger child is its parent less the smaller one; both get their best splits."""
    near, far = training.clock[NEAR], training.clock[FAR]
    _fill_zero(training, near)
    a, b = training.pool[place_of(training, far) :], training.pool[place_of(training, near) :]
    for k in range(training.clock[BINS]):
        a[k] -= b[k]
    _find_split(training, plan, n, near)
    _find_split(training, plan, n, far)


@lean
def _find_split(training: Training, plan: Plan, n: int, leaf: int) -> None:
    """The best split of a leaf, of which each side has rows enough by its curvature."""
    mine = training.leaves[leaf]
    rows, least, start = mine[HIGH] - mine[LOW], least_rows(plan, n), place_of(training, leaf)
    training.gains[leaf] = 0.0
    if rows < 2 * least or training.clock[LEAVES] == most_leaves(plan, training.trees):
        return
    histogram, features = training.pool[start : start + training.clock[BINS]], training.features
    whole, l2 = mine[SUM], l2_of(plan, training.trees) / training.sums[UNIT_H]
    g, h = float(whole >> 32), float(whole & MASK)
    own = g * g / (h + l2)
    best, place, left = own + _LEAST_GAIN * own, i64(-1), i64(0)
    for way in range(2 if _add_up(histogram, features[: training.clock[FEATURES]], training.sides) else 1):
        sums = training.sides[way, : histogram.size]
        _find_gains(sums, training.found, g, h, l2, least * h / rows)
        at = _best_place(training.found[: histogram.size], best, place)
        if at >= 0:
            best, place, left = training.found[at], at, sums[at]
            mine[SIDE] = way == 0
    if place < 0:
        return
    f = 0
    while place > features[f, FIRST] + features[f, MANY]:
        f += 1
    mine[SLOT], mine[BIN], mine[LEFT] = features[f, NUMBER], place - features[f, FIRST], left
    if histogram[features[f, FIRST] + features[f, MANY]] == 0:  # missing values go with most others
        mine[SIDE] = 2 * (left & MASK) < (whole & MASK)
    training.gains[leaf] = best - own


@lean
def _add_up(histogram: Ints, features: Ints, sides: Ints) -> bool:
    """Add up the bins of each feature; whether there are missing values, which are added as well then."""
    some = False
    for feature in features:
        first, last, sum = u64(feature[FIRST]), u64(feature[FIRST] + feature[MANY]), i64(0)
        for b in range(first, last):
            sum += histogram[b]
            sides[0, b] = sum
        sides[0, last] = 0
        some |= histogram[last] != 0
    if some:
        for feature in features:
            first, last = u64(feature[FIRST]), u64(feature[FIRST] + feature[MANY])
            missing = histogram[last]
            for b in range(first, last + u64(1)):
                sides[1, b] = sides[0, b] + missing if missing != 0 and sides[0, b] != 0 else 0
    return some


@lean
def _find_gains(sums: Ints, found: Floats, all_g: float, all_h: float, l2: float, least: float) -> None:
    """Score of a split by the sums of its left side, the higher the better; 0 if a side has too few rows."""
    for k in range(sums.size):
        g, h = float(sums[k] >> 32), float(sums[k] & MASK)
        gain = g * g / (h + l2) + (all_g - g) * (all_g - g) / (all_h - h + l2)
        found[k] = gain if (h >= least) & (all_h - h >= least) else 0.0


@hot
def _best_place(found: Floats, best: float, place: int) -> int:
    """The first place of the largest gain above ``best``, or as large up to ``place``; -1 if there is none."""
    at = -1
    for k in range(found.size):
        if found[k] >= best and (found[k] > best or k <= place):
            best, at, place = found[k], k, -1
    return at


@lean
def end_tree(training: Training, plan: Plan) -> None:
    """The values of leaves, which are added to the scores of their rows; nodes have the mean below them."""
    clock, sums, numbers = training.clock, training.sums, training.trees.numbers
    tree, k = clock[TREE], clock[TREE] % training.scores.shape[1]
    l2, rate = l2_of(plan, training.trees), rate_of(plan, training.trees)
    for leaf in range(clock[LEAVES]):
        mine = training.leaves[leaf]
        if plan.loss >= ABSOLUTE:
            rows = training.targets, training.weights, training.scores, training.order
            value = quantile_of(*rows, mine[LOW], mine[HIGH], plan.quantile)
        else:
            g, h = float(mine[SUM] >> 32) * sums[UNIT_G], float(mine[SUM] & MASK) * sums[UNIT_H]
            value = -g / (h + l2)
        numbers[tree, mine[NODE], VALUE] = rate * value
        value = np.float64(numbers[tree, mine[NODE], VALUE])
        for i in training.order[mine[LOW] : mine[HIGH]]:
            training.scores[u64(i), k] += value
    for node in range(2 * clock[LEAVES] - 2, -1, -1):  # children come after their parents
        child = training.trees.nodes[tree, node, CHILD]
        if child != node:
            a, b = training.cover[child], training.cover[child + 1]
            sum = a * numbers[tree, child, VALUE] + b * numbers[tree, child + 1, VALUE]
            numbers[tree, node, VALUE] = sum / max(a + b, 1.0)
    used = 2 * clock[LEAVES] - 1
    training.trees.nodes[tree, used:] = 0
    numbers[tree, used:] = f32(0)
