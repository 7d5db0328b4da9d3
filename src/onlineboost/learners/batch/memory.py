"""Memory: the last rows of a stream, as bins, in a ring.

A value is kept as its bin relative to that of zero, so a feature that is absent, or not met yet, is 0. If a feature
gets new edges, its column is converted: each old bin becomes the new bin of most of its sampled values.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import f32, hot, i64, lean
from onlineboost.data.allocation import reserved
from onlineboost.data.batch import Floats32, Ints
from onlineboost.storage.validity import COUNT, MAX_FLOAT32, Limits, require
from onlineboost.transforms.bins import FIRST, MET, Bins, BinsWork

MISSING = -128  # code of missing values
KEPT, BEGAN, LENGTH, NEXT = range(4)  # fields of ``clock``


class Memory(NamedTuple):
    codes: NDArray[np.int8]  # [slots, rows] bins relative to that of zero
    targets: Floats32  # [rows] places of classes, or numbers
    weights: Floats32  # [rows]
    clock: Ints  # [4] rows so far; those before the training that runs, and how many it has (0: none runs); the next

    def limits(self) -> Limits:
        return {"codes": (MISSING, -MISSING - 1), "weights": (0, MAX_FLOAT32), "clock": COUNT}

    def check(self) -> None:
        kept, began, length, _ = self.clock.tolist()
        runs = length > 0 and began - length >= max(kept - len(self.targets), 0) and began <= kept
        require(runs or began == length == 0, "clock", "a training of rows that are kept")

    def check_rows(self, bins: Bins, n_classes: int | None) -> None:
        """Raise an error unless rows have valid bins and known classes."""
        if n_classes is not None:
            known = np.isin(self.targets, np.arange(n_classes))
            require(bool(known.all()), "committee.memory.targets", "places of known classes")
        most, met = bins.edges.shape[1], int(bins.clock[MET])
        require(not self.codes[met:].any(), "committee.memory.codes", "no values of features that were not met")
        if self.codes.size and met:
            codes = self.codes[:met]
            low, high = np.where(codes == MISSING, 0, codes).min(axis=1), codes.max(axis=1)
            zero = bins.zero[:met]
            there = bool((zero + low >= 0).all() and (zero + high <= most).all())
            require(there, "committee.memory.codes", "bins that there are")


def new_memory(rows: int, slots: int) -> Memory:
    codes: Any = reserved((slots, rows), np.int8, small_pages=True)
    clock = np.array([0, 0, 0, FIRST])
    return Memory(codes, reserved((rows,), np.float32), reserved((rows,), np.float32), clock)


def moved(old: Memory, new: Memory) -> None:
    """Copy the last rows into new room."""
    kept, rows = int(old.clock[KEPT]), min(len(old.targets), len(new.targets))
    numbers = np.arange(max(kept - rows, 0), kept)
    a, b = numbers % max(len(old.targets), 1), numbers % max(len(new.targets), 1)
    new.codes[: len(old.codes), b] = old.codes[:, a]
    new.targets[b], new.weights[b] = old.targets[a], old.weights[a]
    new.clock[:] = old.clock


@lean
def remember(memory: Memory, bins: Bins, row: BinsWork, target: float, weight: float) -> None:
    """Keep a row, in the place of the oldest one if there is no more room."""
    at = memory.clock[KEPT] % memory.targets.shape[0]
    codes = memory.codes
    if memory.clock[KEPT] > at:
        for slot in range(bins.clock[MET]):
            codes[slot, at] = 0
    for k in range(row.found[0]):
        slot = row.slots[k]
        x = row.values[slot]
        codes[slot, at] = row.codes[slot] - bins.zero[slot] if x == x else MISSING
    memory.targets[at], memory.weights[at] = f32(target), f32(weight)
    memory.clock[KEPT] += 1


@lean
def follow(memory: Memory, bins: Bins, row: BinsWork, slot: int, old_zero: int) -> None:
    """Follow the new edges of a slot, with the shares that ``take_edges`` left in ``row``."""
    n, zero = bins.edges.shape[1] + 1, i64(bins.zero[slot])
    for old in range(n):
        best, goes = -1.0, zero
        for b in range(n):
            if row.carry[old, b] > best:
                best, goes = row.carry[old, b], b
        row.band[old, 0] = (goes if old != old_zero else zero) - zero
    for r in range(min(memory.clock[KEPT], memory.targets.shape[0])):
        code = i64(memory.codes[slot, r])
        if code not in (0, MISSING):
            memory.codes[slot, r] = row.band[code + old_zero, 0]


@hot
def first_of_training(memory: Memory) -> int:
    """The place of the first row of the training that runs; the others follow, around the end."""
    return (memory.clock[BEGAN] - memory.clock[LENGTH]) % memory.targets.shape[0]  # type: ignore[no-any-return]
