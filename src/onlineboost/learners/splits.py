"""Histograms of stumps and trees, and their best split."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.draws import uniform
from onlineboost.compiled.jit import hot, lean, njit
from onlineboost.data.allocation import filled, planning
from onlineboost.data.batch import Floats
from onlineboost.loop.explaining import Found
from onlineboost.transforms.bins import MET, Bins, BinsWork, carry_over

_LN2 = math.log(2)
_MORE, _ROUNDING = 1 + 1e-6, 1e-9  # maximum rounding error of a gain


@lean
def best_split(
    histogram: Any, by_bin: bool, bins: Bins, allowed: NDArray[np.bool_], i: int, a: float, b: float
) -> tuple[float, float, int, float, int, float, float]:
    """The best split of some examples, and the gain of the best one by another slot.

    ``histogram[bin, slot]``, or ``[slot, bin]``, holds weights, a and b those of all examples: the rest is in the bin
    of zero, whose place holds the examples without a value. Learner i may use the slots that it is allowed.

    Returns both gains, slot (-1 if no split has a gain), the largest value of the left side (infinite if only examples
    without a value go right), the side of those (1: right), and the weights of the left side.
    """
    n = a + b
    last = bins.edges.shape[1]
    whole = _entropy(a, b)
    best, second, best_slot, best_edge, best_side, best_a, best_b = 0.0, 0.0, -1, np.inf, 0, 0.0, 0.0
    for slot in range(bins.clock[MET]):
        if not allowed[i, slot]:
            continue
        zero = bins.zero[slot]
        zero_a, zero_b = a, b
        for k in range(last + 1):
            counts = histogram[k, slot] if by_bin else histogram[slot, k]
            zero_a -= counts[0]
            zero_b -= counts[1]
        counts = histogram[zero, slot] if by_bin else histogram[slot, zero]
        missing_a, missing_b = float(counts[0]), float(counts[1])
        sides = 2 if missing_a + missing_b > 0 else 1
        gain, at, to, gain_a, gain_b = 0.0, 0, 0, 0.0, 0.0
        left_a = left_b = 0.0
        for k in range(last + 1):
            if sides == 1 and (k == last or bins.edges[slot, k] == np.inf):
                break  # nothing is to the right; with missing values, all others may be on the left
            counts = histogram[k, slot] if by_bin else histogram[slot, k]
            here_a = float(counts[0]) if k != zero else zero_a
            here_b = float(counts[1]) if k != zero else zero_b
            if here_a == 0 and here_b == 0:
                continue
            left_a += here_a
            left_b += here_b
            for side in range(sides):
                side_a, side_b = left_a, left_b
                if sides == 2 and side == 0:
                    side_a, side_b = left_a + missing_a, left_b + missing_b
                if side_a + side_b > 0 and side_a + side_b < n:
                    if most_gain(side_a, side_b, a, b) <= max(gain, second):
                        continue  # below both best gains: skip the logarithm
                    g = (whole - _entropy(side_a, side_b) - _entropy(a - side_a, b - side_b)) / n
                    if g > gain:
                        gain, at, gain_a, gain_b = g, k, side_a, side_b
                        to = side if sides == 2 else (1 if 2 * (side_a + side_b) < n else 0)
        if gain > best:
            edge = float(bins.edges[slot, at]) if at < last else np.inf
            best, second, best_slot, best_edge, best_side, best_a, best_b = gain, best, slot, edge, to, gain_a, gain_b
        elif gain > second:
            second = gain
    return best, second, best_slot, best_edge, best_side, best_a, best_b


@lean
def carry_histogram(histogram: Any, work: BinsWork, totals: Floats, old_zero: int, zero: int, least: float) -> None:
    """Carry a histogram over to new bins; ``totals`` are the sums of all examples, and ``least`` is that of a bin."""
    for c in range(histogram.shape[1]):
        rest = totals[c]
        for k in range(histogram.shape[0]):
            work.histogram[0, k] = histogram[k, c]
            rest -= histogram[k, c]
        missing, work.histogram[0, old_zero] = work.histogram[0, old_zero], max(rest, least)
        carry_over(work)
        work.histogram[1, zero] = missing
        for k in range(histogram.shape[0]):
            histogram[k, c] = work.histogram[1, k]


@hot
def _entropy(a: float, b: float) -> float:
    """The entropy of two weights, in bits, times their sum."""
    if a <= 0 or b <= 0:
        return 0.0
    return -(a * math.log(a / (a + b)) + b * math.log(b / (a + b))) / _LN2


@hot
def most_gain(left_a: float, left_b: float, a: float, b: float) -> float:
    """A bound on the gain of a split, in bits for each example: a little above it where gains are small.

    The gain is the sum over both sides of w KL(q, p) for their weights w, their shares of positive examples q, and that
    of all, p. The second derivative of KL by q is 1 / (q (1 - q) ln 2), which is largest at an end of any interval, so
    KL <= (q - p)^2 / (2 ln 2 min(q (1 - q), p (1 - p))); and never more than (q - p)^2 / (ln 2 p (1 - p)).
    """
    right_a, right_b, n = a - left_a, b - left_b, a + b
    if left_a < 0 or left_b < 0 or right_a < 0 or right_b < 0:  # by rounding
        return math.inf
    left, right, p = 1 / (left_a + left_b), 1 / (right_a + right_b), b / n
    q_left, q_right, spread = left_b * left, right_b * right, p * (a / n)
    by_left = max(min(left_a * left * q_left, spread), spread / 2)
    by_right = max(min(right_a * right * q_right, spread), spread / 2)
    bound = (q_left - p) ** 2 / (left * by_left) + (q_right - p) ** 2 / (right * by_right)
    return bound * (_MORE / (2 * _LN2)) / n + _ROUNDING


def some_slots(n_learners: int, slots: int, share: float, seed: int = 0, first: int = 0) -> NDArray[np.bool_]:
    """The slots that each learner may split by: a random share by seed, learner and slot only.

    ``first`` is the number of the first of these learners.
    """
    if share == 1 or planning():
        return filled(True, (n_learners, slots), np.bool_)
    return _some(n_learners, slots, float(share), int(seed), int(first))


@njit
def _some(n_learners: int, slots: int, share: float, seed: int, first: int) -> NDArray[np.bool_]:
    chosen = np.empty((n_learners, slots), np.bool_)
    for i in range(n_learners):
        for slot in range(slots):
            chosen[i, slot] = uniform(seed, first + i, slot) < share
    return chosen


@hot
def difference(a: float, b: float) -> float:
    """The vote of some examples: the share of the positive ones minus that of the others."""
    return (b - a) / (a + b) if a + b > 0 else 0.0


@hot
def give_sums(found: Found, bins: Bins, k: int) -> int:
    """Write the sums that are not zero from place k on, and clear them; returns where they end."""
    for slot in range(bins.clock[MET]):
        found.slots[k], found.values[k] = slot, found.sums[slot]
        k += found.sums[slot] != 0
        found.sums[slot] = 0.0
    return k
