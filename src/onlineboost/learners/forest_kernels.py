"""Compiled functions of classification and regression trees: nodes, and rows of histograms.

A state has ``nodes``, ``threshold``, ``since``, ``used``, ``start``, ``free``, ``gains``, ``stride``, ``bins``,
``histograms``, ``most_rows``, ``scarce``, ``grace_period`` and ``max_depth``, as ``TreeState`` describes them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onlineboost.compiled.jit import f32, hot, i64, lean, njit, u64
from onlineboost.data.allocation import filled, planning
from onlineboost.data.batch import LARGEST, Floats, Floats32
from onlineboost.learners.splits import carry_histogram
from onlineboost.loop.explaining import Found, Pulls
from onlineboost.storage.validity import SUM, Limits, require
from onlineboost.transforms.bins import MET, BinsWork

FEWER = 8.0  # a leaf is tried again when its examples have grown by one part in so many
MAX_EXAMPLES = 1 << 23  # effective number of examples of a leaf; in float32, adding 1 to 2^24 has no effect
# Fields of a node: 1 + the slot it splits by (0: a leaf), 1 if missing values go right, the left child, 1 + its row of
# histograms (0: none), depth. A new leaf is all zeros, so that reserved nodes take no memory.
SLOT, MISSING, CHILD, ROW, DEPTH = range(5)


def limits(state: Any) -> Limits:
    """Limits of the common arrays of trees."""
    return {
        "nodes": (0, max(state.gains.shape[1], state.nodes.shape[1], state.free.size, 1)),
        "threshold": (-LARGEST, np.inf),
        "short": (0, 1),
        "used": (0, max(state.nodes.shape[1], state.free.size)),
        "start": (0, state.free.size),
        "free": (0, max(state.free.size - 1, 0)),
        "gains": SUM,
    }


def saved(state: Any) -> dict[str, Any]:
    """The arrays of trees in model files, where histograms are [rows * slots, bins, counts]."""
    arrays = {name: array for name, array in zip(state._fields, state, strict=True) if isinstance(array, np.ndarray)}
    del arrays["allowed"]  # it follows from the parameters
    return arrays | {"histograms": _by_slot(arrays["histograms"])}


def _by_slot(histograms: Floats32) -> Floats32:
    rows, bins, slots, counts = histograms.shape
    shape = rows * slots, bins, counts
    return filled(0, shape, np.float32) if planning() else histograms.swapaxes(1, 2).reshape(shape)


def fill(state: Any, arrays: dict[str, Any]) -> None:
    """Take histograms as model files have them."""
    rows, bins, slots, counts = state.histograms.shape
    found = arrays["histograms"].reshape(rows, slots, bins, counts).swapaxes(1, 2)
    for row in range(rows):  # zeros take no memory
        np.copyto(state.histograms[row], found[row], where=found[row] != 0)


def check(state: Any, *of_nodes: str) -> None:
    """Raise an error unless the state is valid; ``of_nodes`` are arrays with a place for each node."""
    expected = "trees: children after their parents, each leaf with its own histograms"
    require(_is_forest(state), "nodes", expected)
    for name in of_nodes:
        array, used = getattr(state, name), state.used[:, 0]
        idle = np.arange(array.shape[1]) >= used[:, None]
        require(not array[idle].any(), "nodes", expected)


@njit
def _is_forest(state: Any) -> bool:
    """Whether every tree is valid, with nodes in the order of splits, and no row of histograms twice."""
    n_nodes, slots, trees = state.nodes.shape[1], state.gains.shape[1], state.used.shape[0]
    parent, owned = np.empty(n_nodes, np.int64), np.zeros(state.free.size, np.bool_)
    if state.start[0] != 0 or state.start[trees] != state.free.size:
        return False
    for i in range(trees):
        used, taken = state.used[i, 0], state.used[i, 1]
        reserved = reserved_rows(state, i)
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


@hot
def leaf_of(state: Any, work: BinsWork, i: int) -> int:
    """The leaf of tree i that the row falls into."""
    node = 0
    while state.nodes[u64(i), u64(node), SLOT] > 0:
        node = child_of(state, work, i, node)
    return node


@hot
def child_of(state: Any, work: BinsWork, i: int, node: int) -> int:
    """The child of a node that the row falls into."""
    tree, at = u64(i), u64(node)  # a signed index takes longer, and each level waits for the one before
    x = work.values[u64(state.nodes[tree, at, SLOT] - 1)]
    right = (x > state.threshold[tree, at]) | ((x != x) & (state.nodes[tree, at, MISSING] == 1))
    return i64(state.nodes[tree, at, CHILD]) + right  # type: ignore[no-any-return]


@hot
def pull_path(state: Any, work: BinsWork, i: int, r: int, value: float, more: float, pulls: Pulls) -> None:
    """Add the terms of a path through tree i to a leaf of this value: its mean vote, and what each split adds to it.

    ``more`` is what the leaf adds to its value.
    """
    node, before = 0, pulls.means[i, 0]
    pulls.up[r, i] = pulls.down[r, i] = 0.0
    _add_pull(pulls, r, i, before if state.nodes[i, 0, SLOT] > 0 else value)
    while state.nodes[i, node, SLOT] > 0:
        node = child_of(state, work, i, node)
        after = pulls.means[i, node] if state.nodes[i, node, SLOT] > 0 else value
        _add_pull(pulls, r, i, after - before)
        before = after
    _add_pull(pulls, r, i, more)


@hot
def _add_pull(pulls: Pulls, r: int, i: int, term: float) -> None:
    """Add a term of tree i to the sum of its sign."""
    pulls.up[r, i] += max(term, 0.0)
    pulls.down[r, i] += min(term, 0.0)


@hot
def explain_path(state: Any, work: BinsWork, i: int, r: int, value: float, found: Found) -> None:
    """Add what each split of a path to a leaf of this value adds to the mean vote below it, to the sum of its slot."""
    node, before = 0, found.means[i, 0]
    while state.nodes[i, node, SLOT] > 0:
        slot = state.nodes[i, node, SLOT] - 1
        node = child_of(state, work, i, node)
        after = found.means[i, node] if state.nodes[i, node, SLOT] > 0 else value
        add_term(found, r, i, slot, after - before)
        before = after


@hot
def add_term(found: Found, r: int, i: int, slot: int, term: float) -> None:
    """Add a term of tree i to the sum of its slot."""
    found.sums[slot] += term * (found.plus[r, i] if term > 0 else found.minus[r, i])


@hot
def row_of(state: Any, i: int, row: int) -> int:
    """The row of a leaf among those of all trees, given 1 + its row."""
    return state.start[i] + (i64(row) - 1) * state.stride  # type: ignore[no-any-return]


@hot
def place_of(state: Any, i: int, row: int) -> int:
    """The first bin of the histograms of a leaf, given 1 + its row, counted over all histograms."""
    return row_of(state, i, row) * state.histograms.shape[1] * state.histograms.shape[2]  # type: ignore[no-any-return]


@hot
def reserved_rows(state: Any, i: int) -> int:
    """Number of rows of histograms of a tree, taken or free."""
    if state.stride > 1:
        return state.free.size // state.stride  # type: ignore[no-any-return]
    return state.start[i + 1] - state.start[i]  # type: ignore[no-any-return]


@hot
def row_for(state: Any, i: int, node: int) -> int:
    """1 + the row of histograms of a leaf, a free one if it has none; 0 if no row is free."""
    row = i64(state.nodes[i, node, ROW])
    left = reserved_rows(state, i) - state.used[i, 1]
    if row == 0 and left > 0 and state.used[i, 1] < state.most_rows:
        row = 1 + i64(state.free[state.start[i] + (left - 1) * state.stride])
        state.used[i, 1] += 1
        state.nodes[i, node, ROW] = row
    return int(row)


@lean
def release_row(state: Any, i: int, node: int) -> None:
    """Clear the histograms of a leaf and free their row."""
    row = i64(state.nodes[i, node, ROW])
    histogram = state.histograms[row_of(state, i, row)]
    for k in range(histogram.shape[0]):
        for s in range(state.bins.clock[MET]):
            for c in range(histogram.shape[2]):
                if histogram[k, s, c] != 0:  # empty bins take no memory
                    histogram[k, s, c] = f32(0)
    state.free[state.start[i] + (reserved_rows(state, i) - state.used[i, 1]) * state.stride] = row - 1
    state.used[i, 1] -= 1
    state.nodes[i, node, ROW] = 0


@lean
def forget(state: Any, i: int) -> None:
    """Reset a tree to one leaf, except the arrays of votes; the gains of its splits stay."""
    for node in range(state.used[i, 0]):
        if state.nodes[i, node, ROW] > 0:
            release_row(state, i, node)
    used = state.used[i, 0]
    state.nodes[i, :used] = 0
    state.threshold[i, :used] = f32(0)
    state.since[i, :used] = 0.0
    state.used[i, 0] = 1


@lean
def carry(state: Any, work: BinsWork, slot: int, old_zero: int, first: int, least: float) -> None:
    """Carry the histograms of a slot over to its new bins; the totals of a leaf are in ``since`` from ``first`` on."""
    for i in range(state.used.shape[0]):
        for node in range(state.used[i, 0]):
            if state.nodes[i, node, ROW] > 0:
                row = row_of(state, i, state.nodes[i, node, ROW])
                totals = state.since[i, node, first:]
                histogram = state.histograms[row, :, slot]
                carry_histogram(histogram, work, totals, old_zero, state.bins.zero[slot], least)


@lean
def fade(state: Any, i: int, node: int, row: int, n: float, squares: float, m: int) -> None:
    """Halve the first m sums of a leaf with very many examples: float32 cannot count any further."""
    if n * n > MAX_EXAMPLES * squares:
        histogram = state.histograms[row_of(state, i, row)]
        for k in range(histogram.shape[0]):
            for s in range(state.bins.clock[MET]):
                for c in range(histogram.shape[2]):
                    if histogram[k, s, c] != 0:
                        histogram[k, s, c] /= f32(2)
        for k in range(m):
            state.since[i, node, k] /= 2


@lean
def make_way(state: Any, i: int, node: int, n: float, squares: float, m: int) -> None:
    """Free the histograms of a leaf without a good split if other leaves wait for some, and clear its first m sums."""
    if state.scarce and state.used[i, 1] == state.most_rows and n * n >= 4 * state.grace_period * squares:
        release_row(state, i, node)
        for k in range(m):
            state.since[i, node, k] = 0.0


@hot
def split_leaf(state: Any, i: int, node: int, slot: int, edge: float, missing: int, gain: float) -> int:
    """Replace a leaf by two, and free its histograms; returns the left one."""
    state.gains[i, slot] += gain
    state.nodes[i, node, SLOT], state.nodes[i, node, MISSING] = slot + 1, missing
    state.threshold[i, node] = edge
    release_row(state, i, node)
    left = state.used[i, 0]
    state.used[i, 0] = left + 2
    state.nodes[i, node, CHILD] = left
    state.nodes[i, left, DEPTH] = state.nodes[i, left + 1, DEPTH] = state.nodes[i, node, DEPTH] + 1
    return left  # type: ignore[no-any-return]


@njit
def means_below(state: Any, sums: Floats) -> Floats:
    """The mean vote below each node, [trees, nodes]; ``sums`` has the weights of leaves, and weights times votes."""
    means = np.zeros(sums.shape[:2])
    for i in range(sums.shape[0]):
        for node in range(state.used[i, 0] - 1, -1, -1):  # children come after their parents
            if state.nodes[i, node, SLOT] > 0:
                child = state.nodes[i, node, CHILD]
                for c in range(2):
                    sums[i, node, c] = sums[i, child, c] + sums[i, child + 1, c]
            means[i, node] = sums[i, node, 1] / sums[i, node, 0] if sums[i, node, 0] > 0 else 0.0
    return means


@njit
def move_histograms(old: Any, new: Any) -> None:
    """Copy the histograms of all leaves into new room; leaves beyond the rows of their tree lose theirs.

    Each tree gets its maximum number of rows, or one per leaf with histograms if there is no room for more.
    """
    trees, slots, counts = old.used.shape[0], old.gains.shape[1], old.histograms.shape[3]
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
            a, b = row_of(old, i, old.nodes[i, node, ROW]), row_of(new, i, rows)
            for k in range(old.histograms.shape[1]):
                for slot in range(slots):
                    for c in range(counts):
                        if old.histograms[a, k, slot, c] != 0:
                            new.histograms[b, k, slot, c] = old.histograms[a, k, slot, c]
        new.used[i, 1] = rows
        new.start[i + 1] = new.start[i] + max(rows, reserved) if new.stride == 1 else new.free.size
        for k in range(max(reserved - rows, 0)):
            new.free[new.start[i] + k * new.stride] = reserved - 1 - k


@hot
def is_due(updates: float, squares: float, n: float) -> bool:
    """Whether a leaf has an eighth more examples than at the last try: tries become fewer as a leaf grows old."""
    return bool(FEWER * updates * squares >= n * n)
