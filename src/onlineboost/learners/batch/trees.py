"""The trees that are made, and their answers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onlineboost.compiled.jit import f32, hot, lean, u64
from onlineboost.data.allocation import filled
from onlineboost.data.batch import Floats, Floats32, Ints, Ints32
from onlineboost.storage.validity import MAX_FLOAT32, SUM, Limits, require

SPLIT, CHILD = range(2)  # of a node: 2 * slot + 1 if missing values go right; its left child, itself if it is a leaf
THRESHOLD, VALUE = range(2)  # of a node
TREES, KNOWN = range(2)  # of the clock of trees: number of trees; of scores that they make


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
        split, child = self.nodes[:n, :, SPLIT], self.nodes[:n, :, CHILD]
        at = np.arange(self.nodes.shape[1])
        leaf = child == at
        inner = (child > at) & (child + 1 < at.size) & (split // 2 < self.gains.size)
        unused = (child == 0) & (split == 0) & (at > 0)
        require(bool((leaf | inner | unused).all()), "nodes", "trees: children after their parents")
        still = (split == 0) & (self.numbers[:n, :, THRESHOLD] == np.inf)
        require(bool((~leaf | still).all()), "nodes", "leaves that no value leaves")
        require(bool((np.abs(self.numbers[..., VALUE]) <= MAX_FLOAT32).all()), "numbers", "finite values")


def new_trees(n: int, nodes: int, scores: int, slots: int) -> Trees:
    arrays = filled(0, (n, nodes, 2), np.int32), filled(0, (n, nodes, 2), np.float32)
    return Trees(*arrays, filled(0, scores), filled(0, slots), np.zeros(2, np.int64))


@hot
def _next(nodes: Ints32, numbers: Floats32, values: Floats32, node: int) -> int:
    """The child of a node that the row falls into; a leaf is its own."""
    split = nodes[node, SPLIT]
    x = values[u64(split >> 1)]
    right = (x > numbers[node, THRESHOLD]) | ((x != x) & ((split & 1) == 1))
    return u64(nodes[node, CHILD]) + u64(right)  # type: ignore[no-any-return]


@lean
def answer(trees: Trees, values: Floats32, scores: Floats) -> None:
    """Write the scores of a row, given its values by slot; four trees at a time, which do not wait for each other."""
    n, known = trees.clock[TREES], trees.clock[KNOWN]
    for k in range(scores.size):
        scores[k] = trees.base[k]
    whole = n - n % 4
    k = 0
    nodes, numbers = trees.nodes, trees.numbers
    for tree in range(0, whole, 4):
        n0, n1, n2, n3 = nodes[tree], nodes[tree + 1], nodes[tree + 2], nodes[tree + 3]
        x0, x1, x2, x3 = numbers[tree], numbers[tree + 1], numbers[tree + 2], numbers[tree + 3]
        a = b = c = d = u64(0)
        while True:
            a1, b1 = _next(n0, x0, values, a), _next(n1, x1, values, b)
            c1, d1 = _next(n2, x2, values, c), _next(n3, x3, values, d)
            a, b = _next(n0, x0, values, a1), _next(n1, x1, values, b1)
            c, d = _next(n2, x2, values, c1), _next(n3, x3, values, d1)
            if (a1 == a) & (b1 == b) & (c1 == c) & (d1 == d):
                break
        for value in (x0[a, VALUE], x1[b, VALUE], x2[c, VALUE], x3[d, VALUE]):
            scores[k] += value
            k = k + 1 if k + 1 < known else 0
    for tree in range(whole, n):
        node = u64(0)
        while _next(nodes[tree], numbers[tree], values, node) != node:
            node = _next(nodes[tree], numbers[tree], values, node)
        scores[k] += numbers[tree, node, VALUE]
        k = k + 1 if k + 1 < known else 0


@lean
def give_terms(trees: Trees, values: Floats32, score: int, sums: Floats) -> None:
    """Add what each split on the path of a row adds to the mean value below it, to the sum of its slot."""
    known = trees.clock[KNOWN]
    for tree in range(score, trees.clock[TREES] if score < known else 0, max(known, 1)):
        node = u64(0)
        while True:
            child = _next(trees.nodes[tree], trees.numbers[tree], values, node)
            if child == node:
                break
            change = np.float64(trees.numbers[tree, child, VALUE]) - trees.numbers[tree, node, VALUE]
            sums[trees.nodes[tree, node, SPLIT] >> 1] += change
            node = child


@hot
def begin_node(trees: Trees, tree: int, node: int) -> None:
    """A leaf."""
    trees.nodes[tree, node, SPLIT], trees.nodes[tree, node, CHILD] = 0, node
    trees.numbers[tree, node, THRESHOLD], trees.numbers[tree, node, VALUE] = f32(np.inf), f32(0)


@lean
def take(made: Trees, trees: Trees) -> None:
    """Copy the trees that were made in the place of others."""
    for tree in range(made.clock[TREES]):
        for node in range(made.nodes.shape[1]):
            for k in range(2):
                trees.nodes[tree, node, k] = made.nodes[tree, node, k]
                trees.numbers[tree, node, k] = made.numbers[tree, node, k]
    for k in range(made.base.size):
        trees.base[k] = made.base[k]
    for slot in range(made.gains.size):
        trees.gains[slot] = made.gains[slot]
    trees.clock[TREES], trees.clock[KNOWN] = made.clock[TREES], made.clock[KNOWN]
