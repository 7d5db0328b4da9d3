"""Edges from sorted values: how many bins, how even they are, and where a value belongs."""

from __future__ import annotations

import numpy as np

from onlineboost.compiled.jit import f32, hot, lean
from onlineboost.data.batch import Floats32


@hot
def code(edges: Floats32, slot: int, x: float) -> int:
    """The bin of a value, by a binary search without branches."""
    low = 0
    step = (edges.shape[1] + 1) // 2
    while step > 0:
        low += step if edges[slot, low + step - 1] < x else 0
        step //= 2
    return low


@hot
def n_bins_of(edges: Floats32) -> int:
    """Number of bins."""
    n = 1
    while n <= edges.size and edges[n - 1] < np.inf:
        n += 1
    return n


@hot
def place(edges: Floats32, x: float) -> int:
    b = 0
    while b < edges.size and edges[b] < x:
        b += 1
    return b


@lean
def sort_with_zero(values: Floats32, m: int, zero: bool) -> int:
    """Sort the values in place, with one zero among them if asked; returns their number."""
    if zero:
        values[m] = 0
        m += 1
    gap = 121
    while gap > 0:  # Shell's sort
        for k in range(gap, m):
            x, j = values[k], k
            while j >= gap and values[j - gap] > x:
                values[j] = values[j - gap]
                j -= gap
            values[j] = x
        gap //= 3
    return m


@hot
def _weight(x: float, zeros: float) -> float:
    return zeros if x == 0 else 1.0


@lean
def spread(values: Floats32, m: int, zeros: float, n_bins: int, edges: Floats32) -> None:
    """Edges halfway between different neighbors: all of them, or such that bins have about equal weights."""
    left, distinct = 0.0, 1
    for k in range(m):
        left += _weight(values[k], zeros)
        distinct += k > 0 and values[k] != values[k - 1]
    edges[:] = np.inf
    n, weight, k = 0, 0.0, 0
    while k < m and n < n_bins - 1:
        x, ahead = values[k], 0.0
        while k < m and values[k] == x:
            weight += _weight(x, zeros)
            k += 1
        if k == m:
            break
        j = k
        while j < m and values[j] == values[k]:
            ahead += _weight(values[k], zeros)
            j += 1
        if distinct <= n_bins or weight + ahead / 2 >= left / (n_bins - n):
            edge = f32((x + values[k]) / f32(2))
            edges[n] = edge if edge < values[k] else x
            n, left, weight = n + 1, left - weight, 0.0


@lean
def unevenness(edges: Floats32, values: Floats32, m: int, zeros: float) -> float:
    """The sum of the squared weights of the bins."""
    total, weight, b = 0.0, 0.0, 0
    for k in range(m):
        while b < edges.size and edges[b] < values[k]:
            total += weight * weight
            weight = 0.0
            b += 1
        weight += _weight(values[k], zeros)
    return total + weight * weight
