"""Shared by stumps and trees: the codes of a row, and the best split of a histogram."""

from __future__ import annotations

import math
import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.draws import uniform
from onlineboost.compiled.jit import hot, i64, lean, njit
from onlineboost.data.allocation import filled, planning
from onlineboost.data.batch import Batch, Floats32, Ints, Ints32
from onlineboost.storage.validity import Limits

_LN2 = math.log(2)


def binned_limits(low: Ints32, bins: int) -> Limits:
    """The limits of ``low`` and ``met``, which all learners over bins have."""
    return {"low": (1 - bins, 0), "met": (0, low.size)}


@hot
def read_codes(batch: Batch, r: int, slots: Ints32, codes: Ints32, found: Ints) -> None:
    """Write the slots of a row, and the codes by slot (0: absent); the codes of the row before are cleared."""
    for k in range(found[0]):
        codes[slots[k]] = 0
    m = 0
    for j in range(batch.indptr[r], batch.indptr[r + 1]):
        slot = batch.indices[j]
        slots[m] = slot
        m += codes[slot] == 0  # if features share a slot, the last one counts
        codes[slot] = i64(batch.values[j])
    found[0] = m


@hot
def remember(slots: Ints32, codes: Ints32, found: Ints, low: Ints32, met: Ints) -> None:
    """Update the lowest code of each slot, and the number of slots seen."""
    for k in range(found[0]):
        slot = slots[k]
        low[slot] = min(low[slot], codes[slot])
        met[0] = max(met[0], i64(slot) + 1)


@lean
def best_split(
    histograms: Any,
    base: int,
    low: Ints32,
    allowed: NDArray[np.bool_],
    i: int,
    met: int,
    a: float,
    b: float,
) -> tuple[float, float, int, int, float, float]:
    """Gain of the best split, and of the best by another slot; slot, highest code of the left side, and its weights.

    ``histograms[base + slot, code modulo bins]`` holds weights of non-zero codes, a and b those of all examples: the
    rest has code zero. Learner i may use the slots that it is allowed. The slot is -1 if no split has a gain.
    """
    n = a + b
    bins = histograms.shape[1]
    whole = _entropy(a, b)
    best, second, best_slot, best_code, best_a, best_b = 0.0, 0.0, -1, 0, 0.0, 0.0
    for slot in range(met):
        if not allowed[i, slot]:
            continue
        zero_a, zero_b = a, b
        for k in range(bins):
            zero_a -= histograms[base + slot, k, 0]
            zero_b -= histograms[base + slot, k, 1]
        gain, code, gain_a, gain_b = 0.0, 0, 0.0, 0.0
        left_a = left_b = 0.0
        for k in range(bins - 1):
            at = low[slot] + k
            here_a = histograms[base + slot, at & (bins - 1), 0] if at != 0 else zero_a
            here_b = histograms[base + slot, at & (bins - 1), 1] if at != 0 else zero_b
            if here_a == 0 and here_b == 0:
                continue
            left_a += here_a
            left_b += here_b
            if left_a + left_b > 0 and left_a + left_b < n:
                g = (whole - _entropy(left_a, left_b) - _entropy(a - left_a, b - left_b)) / n
                if g > gain:
                    gain, code, gain_a, gain_b = g, at, left_a, left_b
        if gain > best:
            best, second, best_slot, best_code, best_a, best_b = gain, best, slot, code, gain_a, gain_b
        elif gain > second:
            second = gain
    return best, second, best_slot, best_code, best_a, best_b


@hot
def _entropy(a: float, b: float) -> float:
    """The entropy of two weights, in bits, times their sum."""
    if a <= 0 or b <= 0:
        return 0.0
    return -(a * math.log(a / (a + b)) + b * math.log(b / (a + b))) / _LN2


def new_histograms(rows: int, slots: int, bins: int) -> Floats32:
    """Zeros for ``rows`` rows of histograms, which take memory only where they are written to.

    NumPy asks for huge pages, which are fast. But if there are many slots, of which perhaps only the first are used,
    each row would take two megabytes: such histograms get small pages.
    """
    shape, size = (rows * slots, bins, 2), rows * slots * bins * 8
    if planning() or slots * bins * 8 <= 1 << 15 or not hasattr(mmap, "MADV_NOHUGEPAGE"):
        return filled(0, shape, np.float32)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # not shared with a fork
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, np.float32).reshape(shape)


def some_slots(n_learners: int, slots: int, share: float) -> NDArray[np.bool_]:
    """The slots each learner may split by: a random share, which depends on the numbers of learner and slot only."""
    if share == 1 or planning():
        return filled(True, (n_learners, slots), np.bool_)
    return _some(n_learners, slots, float(share))


@njit
def _some(n_learners: int, slots: int, share: float) -> NDArray[np.bool_]:
    chosen = np.empty((n_learners, slots), np.bool_)
    for i in range(n_learners):
        for slot in range(slots):
            chosen[i, slot] = uniform(0, i, slot) < share
    return chosen
