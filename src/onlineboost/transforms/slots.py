"""Slots: the numbers 0, 1, 2, ... that a model gives the features it meets, in the order in which it learns them.

Sources give features by id, a number of 31 bits (``data/hashing.py``); committees and transforms have a row per slot.
Once ``bound`` slots are taken, further features share them by a hash. While a model only answers, features that it has
not learnt are left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onlineboost.compiled.jit import hot, i64, njit, u64
from onlineboost.data.allocation import filled
from onlineboost.data.batch import Batch, Floats32, Ints, Ints32
from onlineboost.registry import Option
from onlineboost.storage.validity import require

MAX_BITS = 30
BITS = Option(
    "bits",
    "Number of features with slots of their own, as a power of two; further ones share slots by a hash.",
    int,
    short="-b",
    least=1,
    most=MAX_BITS,
)
_STEP = u64(0x9E3779B97F4A7C15)


class Slots(NamedTuple):
    """A hash table with linear probing, filled in the order of slots: the same features give the same table."""

    table: Ints  # [capacity] ~id * 2**32 + slot, or 0; the capacity depends on the number of slots only
    used: Ints  # [1] number of slots taken
    bound: int  # most slots

    def derived(self) -> tuple[str, ...]:
        """The number of slots taken decides the shapes of a model: it is in the description of the file."""
        return ("used",)

    def check(self) -> None:
        slots = self.table[self.table != 0] & 0xFFFFFFFF
        counted = np.array_equal(np.sort(slots), np.arange(self.used[0]))
        require(counted, "table", "every slot once")
        ids = self.ids()
        again = _filled_table(ids, self.table.size)
        require(ids.min(initial=0) >= 0 and np.array_equal(again, self.table), "table", "features at their places")

    def apply(self, batch: Batch, learning: bool, missing: bool) -> tuple[Batch, Slots]:
        """The rows with slots for ids, and the larger table where this one is full.

        Entries of zero are left out, and missing values unless ``missing``.
        """
        indptr, indices, values, table = _apply(self.table, self.used, self.bound, batch, learning, missing)
        return Batch(indptr, indices, values, batch.y, batch.weight), self._replace(table=table)

    def forget(self, n: int) -> None:
        """Take back all slots but the first ``n``; nothing is allocated."""
        _forget(self.table, n)
        self.used[0] = n

    def grown(self, n: int) -> Slots:
        """Slots of this bound with ``n`` of them taken, whose table is to be filled in."""
        return Slots(filled(0, capacity(n), np.int64), np.array([n]), self.bound)

    def ids(self) -> Ints32:
        """The id of each slot."""
        return _ids(self.table, int(self.used[0]))

    def find(self, ids: Ints32) -> Ints32:
        """The slot of each id, or -1."""
        return _find(self.table, ids)


def new_slots(bound: int) -> Slots:
    return Slots(filled(0, capacity(0), np.int64), np.zeros(1, np.int64), int(bound))


@njit
def capacity(n: int) -> int:
    """Size of the table: at most half full, and emptier while it is small enough for the fastest cache."""
    size = 1
    while size < n:
        size *= 2
    return max(2 * size, min(16 * size, 2048))


@njit
def _apply(
    table: Ints, used: Ints, bound: int, batch: Batch, learning: bool, missing: bool
) -> tuple[Ints, Ints32, Floats32, Ints]:
    rows = batch.y.size
    first, last = batch.indptr[0], batch.indptr[rows]
    indices = np.empty(last - first, np.int32)
    shift = _shift(table)
    left_out = 0
    for r in range(rows):
        for j in range(batch.indptr[r], batch.indptr[r + 1]):
            x = batch.values[u64(j)]
            id = i64(batch.indices[u64(j)])
            entry = table[_place(table, shift, id)]
            slot = entry & 0xFFFFFFFF
            if not abs(x) > 0 and not (missing and x != x):
                slot = -1
            elif entry == 0:
                slot = -1
                if used[0] == bound:
                    slot = shared_slot(id, bound)
                elif learning and batch.weight[r] > 0:
                    slot = used[0]
                    if capacity(slot + 1) > table.size:
                        table = _filled_table(_ids(table, slot), capacity(slot + 1))
                        shift = _shift(table)
                    table[_place(table, shift, id)] = _entry(id, slot)
                    used[0] = slot + 1
            indices[u64(j - first)] = slot
            left_out += slot < 0
    if left_out == 0:
        return batch.indptr - first, indices, batch.values[first:last], table
    indptr = np.empty(rows + 1, np.int64)
    values = np.empty(last - first, np.float32)
    indptr[0] = k = 0
    for r in range(rows):
        for j in range(batch.indptr[r] - first, batch.indptr[r + 1] - first):
            slot = indices[j]
            indices[k], values[k] = slot, batch.values[first + j]
            k += slot >= 0
        indptr[r + 1] = k
    return indptr, indices[:k], values[:k], table


@hot
def shared_slot(id: int, bound: int) -> int:
    """The slot of a feature that came when all were taken."""
    return i64((u64(id) * _STEP) >> u64(33)) % bound


@hot
def _entry(id: int, slot: int) -> int:
    return (~id << 32) | slot


@hot
def _shift(table: Ints) -> int:
    """The shift that leaves a place in the table of the product of an id and ``_STEP``."""
    shift = 64
    size = table.size
    while size > 1:
        size //= 2
        shift -= 1
    return u64(shift)


@hot
def _place(table: Ints, shift: int, id: int) -> int:
    """Where an id is in the table, or belongs. The multiples of ``_STEP`` spread consecutive ids evenly."""
    at = (u64(id) * _STEP) >> shift
    while table[at] >> 32 != ~id and table[at] != 0:
        at = (at + u64(1)) & u64(table.size - 1)
    return at


@njit
def _ids(table: Ints, used: int) -> Ints32:
    ids = np.empty(used, np.int32)
    for k in range(table.size):
        if table[k] != 0:
            ids[table[k] & 0xFFFFFFFF] = ~(table[k] >> 32)
    return ids


@njit
def _filled_table(ids: Ints32, size: int) -> Ints:
    table = np.zeros(size, np.int64)
    shift = _shift(table)
    for slot in range(ids.size):
        id = i64(ids[slot])
        table[_place(table, shift, id)] = _entry(id, slot)
    return table


@njit
def _forget(table: Ints, n: int) -> None:
    for k in range(table.size):  # those that stay came first: none of them was placed after one that goes
        if table[k] != 0 and table[k] & 0xFFFFFFFF >= n:
            table[k] = 0


@njit
def _find(table: Ints, ids: Ints32) -> Ints32:
    found = np.empty(ids.size, np.int32)
    shift = _shift(table)
    for k in range(ids.size):
        entry = table[_place(table, shift, i64(ids[k]))]
        found[k] = entry & 0xFFFFFFFF if entry != 0 else -1
    return found
