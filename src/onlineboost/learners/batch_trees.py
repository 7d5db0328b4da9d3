"""Gradient boosted trees of the batch kind, made of the rows of a ``Memory`` in small steps.

Where one of two labels is rare, ``gentle`` plans make smaller and weaker trees: with e = min(5 q (1 - q), 1), where q
is the share of the positive label, e^2 times as many leaves (15 at least), e times the rate (.4 times at least), and
10 (1 - e) more l2.

Each tree is grown best leaf first, by Newton's gain G^2 / (H + l2) summed over the leaves, where G and H are sums of
the slopes and curvatures of the loss; a leaf has the value -rate G / (H + l2).

**Sums are whole numbers.** Slopes and curvatures are rounded to multiples of units that are chosen for each tree, and
packed into one number, the slope above and the curvature in the lower 32 bits. So a histogram takes one addition for
each value; sums do not depend on their order; and the larger child is its parent less the smaller one, exactly.

**Values that are zero are not counted**: the rest of a leaf is in the bin of zero.

**Steps.** ``work_until`` takes steps that touch some 100,000 values at most, until as much is done as is due. What a
step does depends on nothing but the rows in the memory, so a training that was lost is done again, with the same trees.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import f32, hot, i64, lean
from onlineboost.data.allocation import filled, reserved
from onlineboost.data.batch import Floats, Floats32, Ints, Ints32
from onlineboost.learners.memory import LENGTH, MISSING, Memory, first_of_training
from onlineboost.storage.validity import MAX_FLOAT32, SUM, Limits, require
from onlineboost.transforms.bins import MET, Bins
from onlineboost.transforms.edges import n_bins_of

CLASSES, SQUARED, ABSOLUTE, QUANTILE = range(4)  # losses
MOST_BINS = 1 << 16  # of all features together
_STEP = 1 << 17  # values of a step
_FEW_ROWS = 500  # fewer have smaller leaves
_MASK = (1 << 32) - 1
_LEAST_GAIN = 1e-10  # as a share of the leaf's own score
_GENTLE_LEAVES, _GENTLE_L2, _LEAST_RATE = 15, 10.0, 0.4  # of ``gentle`` plans: the fewest leaves; at most; a factor
_LEAST_CURVATURE = 1e-6  # of a row, as a share of its weight
_SPLIT, _CHILD = range(2)  # of a node: 2 * slot + 1 if missing values go right; its left child, itself if it is a leaf
_THRESHOLD, _VALUE = range(2)  # of a node
_TREES, _KNOWN = range(2)  # of the clock of trees: number of trees; of scores that they make
_PHASE, _TREE, _AT, _LEAVES, _NEAR, _FAR, _FEATURES, _OF = range(8)  # of the clock of a training
_READ, _SLOPES, _ROOT, _CHOOSE, _COUNT, _DONE = range(6)  # phases
_LOW, _HIGH, _NODE, _SLOT, _BIN, _SIDE, _SUM = range(7)  # of a leaf
_NUMBER, _FIRST, _ZERO, _BINS = range(4)  # of a feature: its slot, where its bins begin, that of zero, how many
_G, _H, _UNIT_G, _UNIT_H = range(4)  # of the sums of a training


class Trees(NamedTuple):
    nodes: Ints32  # [trees, nodes, 2] by the fields above
    numbers: Floats32  # [trees, nodes, 2] the largest value that goes left; the value of a leaf, or mean below a node
    base: Floats  # [scores] where scores begin
    gains: Floats  # [slots] total gain of splits by this slot
    clock: Ints  # [2] number of trees, of scores that they make

    def limits(self) -> Limits:
        return {
            "nodes": (0, 2 * max(self.gains.size, self.nodes.shape[1])),
            "numbers": (-MAX_FLOAT32, np.inf),
            "gains": SUM,
            "clock": (0, max(len(self.nodes), self.base.size)),
        }

    def check(self) -> None:
        n, known = self.clock.tolist()
        whole = n == 0 if known == 0 else n % known == 0
        require(n <= len(self.nodes) and known <= self.base.size and whole, "clock", "whole rounds")
        split, child = self.nodes[:n, :, _SPLIT], self.nodes[:n, :, _CHILD]
        at = np.arange(self.nodes.shape[1])
        leaf = child == at
        inner = (child > at) & (child + 1 < at.size) & (split // 2 < self.gains.size)
        unused = (child == 0) & (split == 0) & (at > 0)
        require(bool((leaf | inner | unused).all()), "nodes", "trees: children after their parents")
        still = (split == 0) & (self.numbers[:n, :, _THRESHOLD] == np.inf)
        require(bool((~leaf | still).all()), "nodes", "leaves that no value leaves")
        require(bool((np.abs(self.numbers[..., _VALUE]) <= MAX_FLOAT32).all()), "numbers", "finite values")


def new_trees(n: int, nodes: int, scores: int, slots: int) -> Trees:
    arrays = filled(0, (n, nodes, 2), np.int32), filled(0, (n, nodes, 2), np.float32)
    return Trees(*arrays, filled(0, scores), filled(0, slots), np.zeros(2, np.int64))


class Plan(NamedTuple):
    """How trees are made."""

    loss: int
    quantile: float
    rounds: int
    rate: float
    leaves: int
    least: int  # rows of a leaf
    few: int  # the same while there are fewer than 500 rows
    l2: float
    gentle: bool = False  # whether trees are smaller and weaker where one of two labels is rare


class Training(NamedTuple):
    """The trees that are being made; nothing of it is in model files."""

    clock: Ints  # [8] by the fields above
    entries: NDArray[np.uint16]  # the bins of each row that are not those of zero
    ends: Ints  # [rows + 1] where those of a row end
    targets: Floats32  # [rows]
    weights: Floats32  # [rows]
    scores: Floats  # [rows, scores]
    chances: Floats32  # [rows, classes]
    slopes: Floats32  # [rows, 2] slope and curvature
    packed: Ints  # [rows] both as whole numbers
    order: Ints32  # [rows] by leaf
    spare: Ints32  # [rows]
    pool: Ints  # histograms, one for each leaf, without gaps: of all bins that features have
    leaves: Ints  # [leaves, 7] by the fields above
    gains: Floats  # [leaves] of their best splits
    cover: Floats  # [nodes] sums of curvatures
    features: Ints  # [slots, 4] by the fields above
    sums: Floats  # [4] of slopes and of curvatures; their units
    trees: Trees

    def saved(self) -> dict[str, Any]:
        return {}


def new_training(rows: int, slots: int, n_bins: int, scores: int, plan: Plan) -> Training:
    leaves, nodes = plan.leaves, 2 * plan.leaves - 1
    bins = min(slots * (n_bins + 1), MOST_BINS)
    return Training(
        np.zeros(8, np.int64),
        reserved((rows * slots,), np.uint16),
        reserved((rows + 1 if rows else 0,), np.int64),
        reserved((rows,), np.float32),
        reserved((rows,), np.float32),
        reserved((rows, scores), np.float64),
        reserved((rows, scores if scores > 1 else 0), np.float32),
        reserved((rows, 2), np.float32),
        reserved((rows,), np.int64),
        reserved((rows,), np.int32),
        reserved((rows,), np.int32),
        reserved((leaves * bins if rows else 0,), np.int64),
        filled(0, (leaves, 7), np.int64),
        filled(0, leaves),
        filled(0, nodes),
        filled(0, (slots, 4), np.int64),
        np.zeros(4),
        new_trees(plan.rounds * scores if rows else 0, nodes, scores, slots),
    )


# ---- answers


@hot
def _next(trees: Trees, values: Floats32, tree: int, node: int) -> int:
    """The child of a node that the row falls into; a leaf is its own."""
    split = trees.nodes[tree, node, _SPLIT]
    x = values[split >> 1]
    right = (x > trees.numbers[tree, node, _THRESHOLD]) | ((x != x) & ((split & 1) == 1))
    return i64(trees.nodes[tree, node, _CHILD]) + right  # type: ignore[no-any-return]


@lean
def answer(trees: Trees, values: Floats32, scores: Floats) -> None:
    """Write the scores of a row, given its values by slot; four trees at a time, which do not wait for each other."""
    n, known = trees.clock[_TREES], trees.clock[_KNOWN]
    for k in range(scores.size):
        scores[k] = trees.base[k]
    whole = n - n % 4
    k = 0
    for tree in range(0, whole, 4):
        a = b = c = d = i64(0)
        while True:
            a1, b1 = _next(trees, values, tree, a), _next(trees, values, tree + 1, b)
            c1, d1 = _next(trees, values, tree + 2, c), _next(trees, values, tree + 3, d)
            if (a1 == a) & (b1 == b) & (c1 == c) & (d1 == d):
                break
            a, b, c, d = a1, b1, c1, d1
        scores[k] += trees.numbers[tree, a, _VALUE]
        k = k + 1 if k + 1 < known else 0
        scores[k] += trees.numbers[tree + 1, b, _VALUE]
        k = k + 1 if k + 1 < known else 0
        scores[k] += trees.numbers[tree + 2, c, _VALUE]
        k = k + 1 if k + 1 < known else 0
        scores[k] += trees.numbers[tree + 3, d, _VALUE]
        k = k + 1 if k + 1 < known else 0
    for tree in range(whole, n):
        node = i64(0)
        while _next(trees, values, tree, node) != node:
            node = _next(trees, values, tree, node)
        scores[k] += trees.numbers[tree, node, _VALUE]
        k = k + 1 if k + 1 < known else 0


@lean
def give_terms(trees: Trees, values: Floats32, score: int, sums: Floats) -> None:
    """Add what each split on the path of a row adds to the mean value below it, to the sum of its slot."""
    known = trees.clock[_KNOWN]
    for tree in range(score, trees.clock[_TREES] if score < known else 0, max(known, 1)):
        node = i64(0)
        while True:
            child = _next(trees, values, tree, node)
            if child == node:
                break
            change = np.float64(trees.numbers[tree, child, _VALUE]) - trees.numbers[tree, node, _VALUE]
            sums[trees.nodes[tree, node, _SPLIT] >> 1] += change
            node = child


# ---- training


@lean
def begin(training: Training) -> None:
    """Begin at the first step."""
    training.clock[:] = 0
    training.trees.gains[:] = 0.0


@lean
def work_until(training: Training, memory: Memory, bins: Bins, plan: Plan, share: float) -> None:
    """Take steps until this share of the work is done."""
    trees = plan.rounds * training.scores.shape[1]
    while training.clock[_PHASE] != _DONE and (share >= 1 or _done(training, memory, plan) < share * (1 + trees)):
        _step(training, memory, bins, plan)


@hot
def _done(training: Training, memory: Memory, plan: Plan) -> float:
    """Number of trees that are done; reading the rows counts as one."""
    clock, n = training.clock, memory.clock[LENGTH]
    if clock[_PHASE] == _READ:
        return float(clock[_AT] / n)
    if clock[_PHASE] == _SLOPES:
        return float(1 + clock[_TREE] + 0.1 * clock[_AT] / n)
    if clock[_PHASE] == _ROOT:
        return float(1 + clock[_TREE] + 0.1 + 0.3 * clock[_AT] / n)
    return float(1 + clock[_TREE] + 0.4 + 0.6 * clock[_LEAVES] / _most_leaves(training, plan))


@lean
def _step(training: Training, memory: Memory, bins: Bins, plan: Plan) -> None:
    clock, n = training.clock, memory.clock[LENGTH]
    phase = clock[_PHASE]
    if phase == _READ:
        if clock[_AT] == 0:
            _choose_features(training, memory, bins, _least(plan, n))
        _read(training, memory, bins)
        if clock[_AT] == n:
            _set_base(training.trees, training.targets, training.weights, training.scores, training.spare, plan, n)
            clock[_PHASE], clock[_AT] = _SLOPES, 0
    elif phase == _SLOPES:
        _find_slopes(training, plan, n)
        if clock[_AT] == n:
            _choose_units(training)
            clock[_PHASE], clock[_AT] = _ROOT, 0
    elif phase == _ROOT:
        _count_root(training, n)
        if clock[_AT] == n:
            _begin_tree(training, plan, n)
            clock[_PHASE] = _CHOOSE
    elif phase == _CHOOSE:
        leaf = _best_leaf(training)
        if leaf >= 0 and clock[_LEAVES] < _most_leaves(training, plan):
            _split(training, memory, bins, leaf)
            clock[_PHASE] = _COUNT
        else:
            _end_tree(training, plan)
            clock[_TREE] += 1
            last = clock[_TREE] == plan.rounds * training.scores.shape[1]
            clock[_PHASE], clock[_AT] = _DONE if last else _SLOPES, 0
    elif phase == _COUNT:
        near = training.leaves[clock[_NEAR]]
        stop = min(near[_HIGH], clock[_AT] + _rows_of_step(training))
        _count(training, training.pool[_at(training, clock[_NEAR]) :], clock[_AT], stop)
        clock[_AT] = stop
        if stop == near[_HIGH]:
            _end_split(training, plan, n)
            clock[_PHASE] = _CHOOSE


@hot
def _rows_of_step(training: Training) -> int:
    return max(_STEP // (training.clock[_FEATURES] + 8), 16)  # type: ignore[no-any-return]


@hot
def _least(plan: Plan, n: int) -> int:
    """Number of rows that a leaf must have."""
    return plan.few if n < _FEW_ROWS else plan.least


@hot
def _evenness(training: Training, plan: Plan) -> float:
    """Of the labels of the training, by the share q of the positive one; 1 where it does not count."""
    if not plan.gentle or plan.loss != CLASSES or training.scores.shape[1] > 1:
        return 1.0
    q = 1 / (1 + math.exp(-training.trees.base[0]))
    return min(5 * q * (1 - q), 1.0)


@hot
def _most_leaves(training: Training, plan: Plan) -> int:
    leaves: int = plan.leaves
    evenness = _evenness(training, plan)
    most: int = max(i64(evenness * evenness * leaves), min(leaves, _GENTLE_LEAVES))
    return most


@hot
def _l2(training: Training, plan: Plan) -> float:
    return plan.l2 + _GENTLE_L2 * (1 - _evenness(training, plan))


@lean
def _choose_features(training: Training, memory: Memory, bins: Bins, least: int) -> None:
    """The features by which rows may be split, and where in a histogram their bins are.

    Each has a further bin for missing values. A feature that is zero in all rows but a few could only split off leaves
    that are too small.
    """
    n = first = 0
    most = training.pool.shape[0] // training.leaves.shape[0]
    for slot in range(bins.clock[MET]):
        many = n_bins_of(bins.edges[slot])
        if first + many + 1 <= most and _has_values(memory, slot, least):
            feature = training.features[n]
            feature[_NUMBER], feature[_FIRST], feature[_ZERO], feature[_BINS] = slot, first, bins.zero[slot], many
            n, first = n + 1, first + many + 1
    training.clock[_FEATURES], training.clock[_OF] = n, first


@hot
def _has_values(memory: Memory, slot: int, least: int) -> bool:
    """Whether so many rows of the training have another bin than that of zero."""
    codes, at, rows, n = memory.codes[slot], first_of_training(memory), memory.targets.shape[0], 0
    for _ in range(memory.clock[LENGTH]):
        n += codes[at] != 0
        if n == least:
            return True
        at = at + 1 if at + 1 < rows else 0
    return False


@lean
def _read(training: Training, memory: Memory, bins: Bins) -> None:
    """Write the bins of rows that are not those of zero."""
    clock = training.clock
    n, features, first = memory.clock[LENGTH], training.features, first_of_training(memory)
    rows = memory.targets.shape[0]
    stop = min(n, clock[_AT] + _rows_of_step(training))
    if clock[_AT] == 0:
        training.ends[0] = 0
    m = training.ends[clock[_AT]]
    for i in range(clock[_AT], stop):
        at = first + i - (rows if first + i >= rows else 0)
        for f in range(clock[_FEATURES]):
            code = i64(memory.codes[features[f, _NUMBER], at])
            place = features[f, _FIRST] + (features[f, _BINS] if code == MISSING else features[f, _ZERO] + code)
            training.entries[m] = place
            m += code != 0
        training.ends[i + 1] = m
        training.targets[i], training.weights[i] = memory.targets[at], memory.weights[at]
    clock[_AT] = stop


@lean
def _set_base(
    trees: Trees, targets: Floats32, weights: Floats32, scores: Floats, spare: Ints32, plan: Plan, n: int
) -> None:
    """The scores that all rows begin with: log odds, or the mean, median or quantile of the targets."""
    known, total, sum = scores.shape[1], 0.0, 0.0
    trees.clock[_TREES], trees.clock[_KNOWN] = plan.rounds * known, known
    for k in range(known):
        trees.base[k] = 0.0
    for i in range(n):
        total += weights[i]
        sum += np.float64(weights[i]) * targets[i]
        if known > 1:
            trees.base[i64(targets[i])] += weights[i]
    if known > 1:
        for k in range(known):
            trees.base[k] = math.log((trees.base[k] + total / n / known) / (total + total / n))
    elif plan.loss == CLASSES:
        trees.base[0] = math.log((sum + total / n / 2) / (total - sum + total / n / 2))
    elif plan.loss == SQUARED:
        trees.base[0] = sum / total
    else:
        for i in range(n):
            spare[i] = i
            scores[i, 0] = 0.0
        trees.base[0] = _quantile(targets, weights, scores, spare, 0, n, plan.quantile)
    for i in range(n):
        for k in range(known):
            scores[i, k] = trees.base[k]


@lean
def _quantile(
    targets: Floats32, weights: Floats32, scores: Floats, rows: Ints32, low: int, high: int, level: float
) -> float:
    """The weighted quantile of what scores leave of the targets of some rows, which are sorted by it."""
    gap, n, total = 1, high - low, 0.0
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:  # Shell's sort
        for k in range(low + gap, high):
            i, j = rows[k], k
            x = targets[i] - scores[i, 0]
            while j >= low + gap and targets[rows[j - gap]] - scores[rows[j - gap], 0] > x:
                rows[j] = rows[j - gap]
                j -= gap
            rows[j] = i
        gap //= 3
    for k in range(low, high):
        total += weights[rows[k]]
    before, k = np.float64(weights[rows[low]]), low
    while k + 1 < high and before < level * total:
        k += 1
        before += weights[rows[k]]
    return float(targets[rows[k]] - scores[rows[k], 0])


@lean
def _find_slopes(training: Training, plan: Plan, n: int) -> None:
    """The slopes and curvatures of the loss of rows, for the score of the next tree."""
    clock, scores, known = training.clock, training.scores, training.scores.shape[1]
    stop = min(n, clock[_AT] + _STEP // (8 * known if known > 1 else 16))
    k, sums = clock[_TREE] % known, training.sums
    if clock[_AT] == 0:
        sums[_G] = sums[_H] = 0.0
    for i in range(clock[_AT], stop):
        w, y = np.float64(training.weights[i]), training.targets[i]
        if plan.loss == CLASSES:
            if known == 1:
                p = 1 / (1 + math.exp(-scores[i, 0]))
                g = p - y
                h = p * (1 - p)
            else:
                if k == 0:
                    _find_chances(scores[i], training.chances[i])
                p = np.float64(training.chances[i, k])
                g = p - (1.0 if i64(y) == k else 0.0)
                h = p * (1 - p) * known / (known - 1)
            h = max(h, _LEAST_CURVATURE)
        else:
            far = scores[i, 0] - y
            g = far if plan.loss == SQUARED else (1 - plan.quantile if far > 0 else -plan.quantile)
            h = 1.0
        training.slopes[i, 0], training.slopes[i, 1] = w * g, w * h
        sums[_G] += abs(w * g)
        sums[_H] += w * h
    clock[_AT] = stop


@hot
def _find_chances(scores: Floats, chances: Floats32) -> None:
    most, total = scores[0], 0.0
    for k in range(1, scores.size):
        most = max(most, scores[k])
    for k in range(scores.size):
        chances[k] = math.exp(scores[k] - most)
        total += chances[k]
    for k in range(scores.size):
        chances[k] = chances[k] / total


@lean
def _choose_units(training: Training) -> None:
    """Units such that sums over all rows fit into 31 and 32 bits."""
    sums = training.sums
    sums[_UNIT_G] = max(sums[_G], 1e-300) / (1 << 30)
    sums[_UNIT_H] = max(sums[_H], 1e-300) / (1 << 31)
    training.pool[: training.clock[_OF]] = 0
    training.leaves[0, _SUM] = 0


@lean
def _count_root(training: Training, n: int) -> None:
    """Pack slopes and curvatures, and count them in the histogram of all rows."""
    clock, slopes, whole = training.clock, training.slopes, i64(0)
    stop = min(n, clock[_AT] + _rows_of_step(training))
    by_g, by_h = 1 / training.sums[_UNIT_G], 1 / training.sums[_UNIT_H]
    for i in range(clock[_AT], stop):
        g, h = i64(math.floor(slopes[i, 0] * by_g + 0.5)), i64(math.floor(slopes[i, 1] * by_h + 0.5))
        training.packed[i] = (g << 32) + h
        training.order[i] = i
        whole += training.packed[i]
    training.leaves[0, _SUM] += whole
    _count(training, training.pool[_at(training, 0) :], clock[_AT], stop)
    clock[_AT] = stop


@hot
def _at(training: Training, leaf: int) -> int:
    """Where the histogram of a leaf begins."""
    return leaf * training.clock[_OF]  # type: ignore[no-any-return]


@hot
def _count(training: Training, histogram: Ints, start: int, stop: int) -> None:
    """Count the rows in these places of the order."""
    order, packed, ends, entries = training.order, training.packed, training.ends, training.entries
    for q in range(start, stop):
        i = order[q]
        one = packed[i]
        for e in range(ends[i], ends[i + 1]):
            histogram[entries[e]] += one


@lean
def _fill_zero(training: Training, leaf: int) -> None:
    """Write the bins of zero: what the others leave of the leaf."""
    histogram, whole = training.pool[_at(training, leaf) :], training.leaves[leaf, _SUM]
    for f in range(training.clock[_FEATURES]):
        feature, others = training.features[f], i64(0)
        first, zero = feature[_FIRST], feature[_FIRST] + feature[_ZERO]
        histogram[zero] = 0
        for b in range(first, first + feature[_BINS] + 1):
            others += histogram[b]
        histogram[zero] = whole - others


@lean
def _begin_tree(training: Training, plan: Plan, n: int) -> None:
    clock, leaf = training.clock, training.leaves[0]
    leaf[_LOW], leaf[_HIGH], leaf[_NODE] = 0, n, 0
    clock[_LEAVES] = 1
    _begin_node(training, clock[_TREE], 0)
    training.cover[0] = leaf[_SUM] & _MASK
    _fill_zero(training, 0)
    _find_split(training, plan, n, 0)


@hot
def _begin_node(training: Training, tree: int, node: int) -> None:
    """A leaf."""
    nodes, numbers = training.trees.nodes, training.trees.numbers
    nodes[tree, node, _SPLIT], nodes[tree, node, _CHILD] = 0, node
    numbers[tree, node, _THRESHOLD], numbers[tree, node, _VALUE] = f32(np.inf), f32(0)


@hot
def _best_leaf(training: Training) -> int:
    best, found = 0.0, -1
    for leaf in range(training.clock[_LEAVES]):
        if training.gains[leaf] > best:
            best, found = training.gains[leaf], leaf
    return found


@lean
def _split(training: Training, memory: Memory, bins: Bins, leaf: int) -> None:
    """Split a leaf: its rows, those of the left side first, and its node."""
    clock, near = training.clock, training.leaves[leaf]
    tree, low, high = clock[_TREE], near[_LOW], near[_HIGH]
    slot, last, side = near[_SLOT], near[_BIN] - bins.zero[near[_SLOT]], near[_SIDE]
    first, rows, order, spare = first_of_training(memory), memory.targets.shape[0], training.order, training.spare
    m, others, whole, codes = low, 0, i64(0), memory.codes[slot]
    for q in range(low, high):
        i = order[q]
        at = first + i
        code = i64(codes[at - (rows if at >= rows else 0)])
        left = code <= last if code != MISSING else side == 0
        order[m], spare[others] = i, i
        whole += training.packed[i] if left else 0
        m, others = m + left, others + (not left)
    for q in range(others):
        order[m + q] = spare[q]
    other = clock[_LEAVES]
    clock[_LEAVES] += 1
    far = training.leaves[other]
    nodes, node, child = training.trees.nodes, near[_NODE], 2 * other - 1
    nodes[tree, node, _SPLIT], nodes[tree, node, _CHILD] = 2 * slot + side, child
    edge = bins.edges[slot, near[_BIN]] if near[_BIN] < bins.edges.shape[1] else f32(np.inf)
    training.trees.numbers[tree, node, _THRESHOLD] = edge
    training.trees.gains[slot] += training.gains[leaf] * training.sums[_UNIT_G] ** 2 / training.sums[_UNIT_H]
    _begin_node(training, tree, child)
    _begin_node(training, tree, child + 1)
    far[_LOW], far[_HIGH], far[_NODE], far[_SUM] = m, high, child + 1, near[_SUM] - whole
    near[_HIGH], near[_NODE], near[_SUM] = m, child, whole
    training.cover[child], training.cover[child + 1] = near[_SUM] & _MASK, far[_SUM] & _MASK
    if m - low > high - m:  # the smaller one is counted, in other memory
        clock[_NEAR], clock[_FAR] = other, leaf
    else:
        clock[_NEAR], clock[_FAR] = leaf, other
        old, new = training.pool[_at(training, leaf) :], training.pool[_at(training, other) :]
        for b in range(clock[_OF]):
            new[b] = old[b]
    counted = training.pool[_at(training, clock[_NEAR]) :]
    for b in range(clock[_OF]):
        counted[b] = 0
    clock[_AT] = training.leaves[clock[_NEAR], _LOW]


@lean
def _end_split(training: Training, plan: Plan, n: int) -> None:
    """The larger child is its parent less the smaller one; both get their best splits."""
    near, far = training.clock[_NEAR], training.clock[_FAR]
    _fill_zero(training, near)
    a, b = training.pool[_at(training, far) :], training.pool[_at(training, near) :]
    for k in range(training.clock[_OF]):
        a[k] -= b[k]
    _find_split(training, plan, n, near)
    _find_split(training, plan, n, far)


@lean
def _find_split(training: Training, plan: Plan, n: int, leaf: int) -> None:
    """The best split of a leaf, of which each side has rows enough by its curvature."""
    mine, histogram = training.leaves[leaf], training.pool[_at(training, leaf) :]
    rows = mine[_HIGH] - mine[_LOW]
    training.gains[leaf] = 0.0
    least = _least(plan, n)
    if rows < 2 * least or training.clock[_LEAVES] == _most_leaves(training, plan):
        return
    whole = mine[_SUM]
    G, H = float(whole >> 32), float(whole & _MASK)
    l2 = _l2(training, plan) / training.sums[_UNIT_H]
    least_H = least * H / rows
    own = G * G / (H + l2)
    start = own + _LEAST_GAIN * own
    best = start
    for f in range(training.clock[_FEATURES]):
        feature = training.features[f]
        first, many = feature[_FIRST], feature[_BINS]
        missing, sum = histogram[first + many], i64(0)
        for b in range(many if missing != 0 else many - 1):
            here = histogram[first + b]
            if here == 0:
                continue
            sum += here
            for side in range(2 if missing != 0 else 1):  # 1: missing values go right
                left = sum + missing if side == 0 else sum
                h = float(left & _MASK)
                if h < least_H or H - h < least_H:
                    continue
                g = float(left >> 32)
                gain = g * g / (h + l2) + (G - g) * (G - g) / (H - h + l2)
                if gain > best:
                    best = gain
                    mine[_SLOT], mine[_BIN] = feature[_NUMBER], b
                    mine[_SIDE] = side if missing != 0 else 2 * h < H
    if best > start:
        training.gains[leaf] = best - own


@lean
def _end_tree(training: Training, plan: Plan) -> None:
    """The values of leaves, which are added to the scores of their rows; nodes have the mean below them."""
    clock, sums, numbers = training.clock, training.sums, training.trees.numbers
    tree, k = clock[_TREE], clock[_TREE] % training.scores.shape[1]
    l2, rate = _l2(training, plan), plan.rate * max(_evenness(training, plan), _LEAST_RATE)
    for leaf in range(clock[_LEAVES]):
        mine = training.leaves[leaf]
        if plan.loss >= ABSOLUTE:
            rows = training.targets, training.weights, training.scores, training.order
            value = _quantile(*rows, mine[_LOW], mine[_HIGH], plan.quantile)
        else:
            g, h = float(mine[_SUM] >> 32) * sums[_UNIT_G], float(mine[_SUM] & _MASK) * sums[_UNIT_H]
            value = -g / (h + l2)
        numbers[tree, mine[_NODE], _VALUE] = rate * value
        value = np.float64(numbers[tree, mine[_NODE], _VALUE])
        for q in range(mine[_LOW], mine[_HIGH]):
            training.scores[training.order[q], k] += value
    for node in range(2 * clock[_LEAVES] - 2, -1, -1):  # children come after their parents
        child = training.trees.nodes[tree, node, _CHILD]
        if child != node:
            a, b = training.cover[child], training.cover[child + 1]
            sum = a * numbers[tree, child, _VALUE] + b * numbers[tree, child + 1, _VALUE]
            numbers[tree, node, _VALUE] = sum / max(a + b, 1.0)
    used = 2 * clock[_LEAVES] - 1
    training.trees.nodes[tree, used:] = 0
    numbers[tree, used:] = f32(0)


@lean
def take(training: Training, trees: Trees) -> None:
    """Copy the trees that were made in the place of others."""
    mine = training.trees
    nodes = 2 * training.leaves.shape[0] - 1
    for tree in range(mine.clock[_TREES]):
        for node in range(nodes):
            for k in range(2):
                trees.nodes[tree, node, k] = mine.nodes[tree, node, k]
                trees.numbers[tree, node, k] = mine.numbers[tree, node, k]
    for k in range(mine.base.size):
        trees.base[k] = mine.base[k]
    for slot in range(mine.gains.size):
        trees.gains[slot] = mine.gains[slot]
    trees.clock[0], trees.clock[1] = mine.clock[0], mine.clock[1]
