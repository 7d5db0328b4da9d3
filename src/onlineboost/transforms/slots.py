"""Slots: the numbers 0, 1, 2, ... that a model gives the features it meets, in the order in which it learns them.

Sources give features by id, a number of 31 bits (``data/hashing.py``); committees and transforms have a row per slot.
Once ``bound`` slots are taken, further features share them by a hash. While a model only answers, features that it has
not learned are left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onlineboost.compiled.block import unpack
from onlineboost.compiled.jit import hot, i32, i64, lean, njit, u64
from onlineboost.data.allocation import filled, lengthened
from onlineboost.data.batch import Batch, Floats, Floats32, Ints, Ints32, ordered, sort_row
from onlineboost.registry import Option
from onlineboost.storage.validity import Limits, require

MAX_BITS = 30
BITS = Option(
    "bits",
    "Size of the feature table, 2**N; further features share entries by hashing.",
    int,
    short="-b",
    least=1,
    most=MAX_BITS,
)
_BLOCK = 256  # entries that are looked up before new ones among them get slots
_LONG = 4096  # entries that are compared before one that differs counts
_STEP = u64(0x9E3779B97F4A7C15)


class Slots(NamedTuple):
    """Small ids have their slots in an array; others in a hash table with linear probing, filled in the order of slots.

    The same features, met in the same order, give the same arrays: their sizes depend on the number of slots only.
    """

    near: Ints32  # [2 * size] 1 + the slot of a small id, or 0
    table: Ints  # [size] ~id * 2**32 + slot of any other, or 0
    used: Ints  # [1] number of slots taken
    bound: int  # most slots

    def derived(self) -> tuple[str, ...]:
        """The number of slots taken decides the shapes of a model: it is in the description of the file."""
        return ("used",)

    def limits(self) -> Limits:
        return {"near": (0, int(self.used[0])), "table": (-(1 << 63), 0)}

    def check(self) -> None:
        slots = np.concatenate([self.near[self.near != 0] - 1, self.table[self.table != 0] & 0xFFFFFFFF])
        require(np.array_equal(np.sort(slots), np.arange(self.used[0])), "table", "every slot once")
        near, table = _filled(self.ids(), self.table.size)
        require(np.array_equal(near, self.near) and np.array_equal(table, self.table), "table", "ids at their places")

    def apply(self, batch: Batch, learning: bool, missing: bool) -> tuple[Batch, Slots]:
        """The rows with slots for ids, and these slots with larger arrays where they were full.

        Entries of zero are left out, and missing values unless ``missing``. Those of a row are in the order of ids.
        """
        batch = ordered(batch)
        slots, first, last = self, batch.indptr[0], batch.indptr[-1]
        indices = np.empty(last - first, np.int32)
        # Compiled code writes to arrays made here: to return some would take longer than to look up a short row.
        done = _look_up(slots, batch, learning, missing, indices, 0)
        while done < 0:
            slots = _enlarged(slots)
            done = _look_up(slots, batch, learning, missing, indices, ~done)
        if done == indices.size:
            return batch._replace(indptr=batch.indptr - first, indices=indices, values=batch.values[first:last]), slots
        indptr, values = np.zeros_like(batch.indptr), np.empty(done, np.float32)
        _close_gaps(batch, indices, indptr, values)
        return batch._replace(indptr=indptr, indices=indices[:done], values=values), slots

    def forget(self, n: int) -> None:
        """Take back all slots but the first ``n``; nothing is allocated."""
        _forget(self.near, self.table, n)
        self.used[0] = n

    def grown(self, n: int) -> Slots:
        """Slots of this bound with ``n`` of them taken, whose arrays are to be filled in."""
        size = size_for(n)
        return Slots(filled(0, 2 * size, np.int32), filled(0, size, np.int64), np.array([n]), self.bound)

    def ids(self) -> Ints32:
        """The id of each slot."""
        return _ids(self.near, self.table, int(self.used[0]))

    def find(self, ids: Ints32) -> Ints32:
        """The slot of each id, or -1."""
        return _find(self.near, self.table, ids)


def _enlarged(slots: Slots) -> Slots:
    """The same slots in arrays of twice the size."""
    size = 2 * slots.table.size
    near = lengthened(slots.near, 2 * size, small_pages=True)
    table = filled(0, size, np.int64)  # takes memory where it is written to
    _move(slots.table, int(slots.used[0]), near, table)
    return slots._replace(near=near, table=table)


def new_slots(bound: int) -> Slots:
    size = size_for(0)
    return Slots(filled(0, 2 * size, np.int32), filled(0, size, np.int64), np.zeros(1, np.int64), int(bound))


@njit
def size_for(n: int) -> int:
    """Size of the table for so many slots."""
    size = 256
    while slots_within(size) < n:
        size *= 2
    return size


@hot
def slots_within(size: int) -> int:
    """Most slots of a table of this size: at most half full, and emptier while it fits into the fastest cache."""
    return size // 16 if size <= 2048 else size // 2


@njit
def _look_up(slots: Slots, batch: Batch, learning: bool, missing: bool, indices: Ints32, start: int) -> int:
    """Write the slot of each entry from ``start`` on, or -1 if it is left out; returns how many entries are not.

    If the arrays are full, returns ~k: there was no room for entry k.
    """
    first, last = batch.indptr[0], batch.indptr[batch.y.size]
    ids, values = batch.indices[first:last], batch.values[first:last]
    end = _give_slots(slots, ids, values, batch.indptr, batch.weight, learning, missing, indices, start, False)
    if end < ids.size:
        return ~end
    kept = 0
    for k in range(indices.size):
        kept += indices[k] >= 0
    return kept


@hot
def _give_slots(
    slots: Slots,
    ids: Ints32,
    values: Floats32,
    indptr: Ints,
    weight: Floats,
    learning: bool,
    missing: bool,
    indices: Ints32,
    start: int,
    found: bool,
) -> int:
    """Write the slots from ``start`` on; new features get the next ones. Returns where the arrays were full.

    If they were ``found`` before, only those of features that were new then are written.
    """
    near, table, used, bound = slots
    shift = _shift(table)
    row, filling = 0, -1  # the row that takes the last slot: its further features would share none when it is asked
    while start < ids.size:
        stop = min(start + _BLOCK, ids.size)
        known = found or _are_known(
            near, table, shift, ids[start:stop], values[start:stop], missing, indices[start:stop]
        )
        for k in range(start, stop if found or not known else start):
            if indices[k] >= 0 or not _counts(values[k], missing):
                continue
            id = i64(ids[k])
            slot = _slot(near, table, shift, id)
            while slot < 0 and learning and indptr[row + 1] - indptr[0] <= k:
                row += 1
            if slot < 0 and used[0] == bound:
                slot = shared_slot(id, bound) if row != filling else -1
            elif slot < 0 and learning and weight[row] > 0:
                if used[0] == slots_within(table.size):
                    return k
                slot = used[0]
                _put(near, table, shift, id, slot)
                used[0] = slot + 1
                filling = row if used[0] == bound else -1
            indices[k] = slot
        start = stop
    return start


@hot
def _are_known(
    near: Ints32, table: Ints, shift: int, ids: Ints32, values: Floats32, missing: bool, indices: Ints32
) -> bool:
    """Write the slots of entries, or -1 if they are not known or left out; returns whether there is none of these."""
    largest, others = i32(0), i32(0)
    for k in range(ids.size):  # loops without branches and in 32 bits, which the compiler turns into vector code
        largest = max(largest, ids[k])
        others = i32(others + i32(not abs(values[k]) > 0))
    unknown = i32(0)
    if largest < near.size:
        for k in range(ids.size):
            slot = near[u64(ids[k])] - i32(1)
            indices[k] = slot
            unknown |= slot
    else:
        for k in range(ids.size):
            slot = i32(_slot(near, table, shift, i64(ids[k])))
            indices[k] = slot
            unknown |= slot
    if others:
        for k in range(ids.size):
            if not _counts(values[k], missing):
                indices[k] = unknown = i32(-1)
    return bool(unknown >= 0)


@njit
def _close_gaps(batch: Batch, indices: Ints32, indptr: Ints, values: Floats32) -> None:
    """Move the entries that are not left out to the front."""
    first = batch.indptr[0]
    n = 0
    for r in range(batch.y.size):
        for j in range(batch.indptr[r], batch.indptr[r + 1]):
            slot = indices[j - first]
            if slot >= 0:
                indices[n], values[n] = slot, batch.values[j]
                n += 1
        indptr[r + 1] = n


@njit
def find_rows(block: Any) -> bool:
    """Write the slots of rows ``span``, in the order of ids; if rows only ask, those from ``room`` on are left out.

    New features of rows that are to be learned get slots, if these are less than ``free``. Returns whether there are
    more of them, or a row that is to be learned needs room: then nothing else counts, and ``apply`` is due.
    """
    batch, span, slots, found, learning, missing, room, free = unpack(block)
    near, table, used, bound = slots
    start, stop = span[0], span[1]
    first, size = batch.indptr[start], batch.indptr[stop] - batch.indptr[start]
    source, given = batch.indices[first : first + size], batch.values[first : first + size]
    ids, values = found.indices[:size], found.values[:size]
    for k in range(size):
        values[k] = given[k]
    for r in range(start, stop + 1):
        found.indptr[r] = batch.indptr[r] - first
    alike = _are_alike(source, found.indptr[start : stop + 1])
    if not alike and _fall(source, found.indptr[start : stop + 1]):
        for k in range(size):
            ids[k] = source[k]
        for r in range(start, stop):
            sort_row(ids, values, found.indptr[r], found.indptr[r + 1])
        source, in_order = ids, False
    else:
        in_order = True
    shift = _shift(table)
    most = min(free, slots_within(table.size), bound - 1) if learning and in_order else i64(0)
    new, known, looked = 0, True, i64(0)
    if alike and _are_known(near, table, shift, source[:alike], values[:alike], missing, ids[:alike]):
        looked = size if _repeat(ids, values, alike) else i64(0)
    for k in range(looked, size, _BLOCK):
        end = min(k + _BLOCK, size)
        if not _are_known(near, table, shift, source[k:end], values[k:end], missing, ids[k:end]):
            known = False
            new += _count_new(ids[k:end], values[k:end], missing)
            if learning and new and used[0] < bound and used[0] + new > most and start + 1 < stop:
                return True  # ``apply`` leaves features of rows out that are not to be learned
    if new and used[0] + new <= most:
        weight, indptr = batch.weight[start:stop], batch.indptr[start : stop + 1]
        _give_slots(slots, source, values, indptr, weight, True, missing, ids, 0, True)
        left = 0
        for k in range(size):
            left += ids[k] < 0
        known = left == 0
    if known and used[0] <= room:
        return False
    return _find_others(batch, span, slots, found, learning, missing, room, shift)


@hot
def _are_alike(ids: Ints32, indptr: Ints) -> int:
    """The number of features of each row if all rows have the same, in the order of ids; else 0."""
    size = indptr[1]
    if size == 0 or ids.size != size * (indptr.size - 1):
        return 0
    for r in range(1, indptr.size - 1):
        if indptr[r] != r * size:
            return 0
    rest = ids[size:]
    for start in range(0, rest.size, _LONG):
        before, after = ids[start : min(start + _LONG, rest.size)], rest[start : start + _LONG]
        others = i32(0)
        for k in range(after.size):
            others = i32(others + i32(before[k] != after[k]))
        if others:
            return 0
    falls = 0
    for k in range(1, size):
        falls += ids[k - 1] > ids[k]
    return 0 if falls else size


@hot
def _fall(ids: Ints32, indptr: Ints) -> bool:
    """Whether the id falls within a row."""
    falls = i32(0)
    following = ids[1:]
    for k in range(following.size):
        falls = i32(falls + i32(ids[k] > following[k]))
    for r in range(1, indptr.size - 1):
        at = indptr[r]
        if 0 < at < indptr[r + 1]:  # from one row to the next the id may fall
            falls = i32(falls - i32(ids[at - 1] > ids[at]))
    return falls > 0


@hot
def _repeat(slots: Ints32, values: Floats32, size: int) -> bool:
    """Write the slots of the first row to all rows, unless an entry of them is left out; returns whether none is."""
    others = i32(0)
    for k in range(values.size):
        others = i32(others + i32(not abs(values[k]) > 0))
    if others:
        return False
    while size < slots.size:
        given, same = slots[:size], slots[size : 2 * size]
        for k in range(same.size):
            same[k] = given[k]
        size *= 2
    return True


@hot
def _count_new(slots: Ints32, values: Floats32, missing: bool) -> int:
    """How many entries that count have no slot."""
    new = 0
    for k in range(slots.size):
        new += (slots[k] < 0) & _counts(values[k], missing)
    return new


@lean
def _find_others(
    batch: Batch,
    span: Ints,
    slots: Slots,
    found: Batch,
    learning: bool,
    missing: bool,
    room: int,
    shift: int,
) -> bool:
    """The rest of ``find_rows``: entries that have no slot, are left out, or are beyond the room."""
    near, table, used, bound = slots
    ids, values = found.indices, found.values
    n = 0
    for r in range(span[0], span[1]):
        begin, first, size = n, batch.indptr[r], batch.indptr[r + 1] - batch.indptr[r]
        at = found.indptr[r]
        shared = False
        for k in range(at, at + size):
            if ids[k] < 0 and _counts(values[k], missing):
                if used[0] < bound and learning and batch.weight[r] > 0:
                    return True
                shared = shared or used[0] == bound
        if shared:  # the ids are needed once more, in their order
            for k in range(size):
                ids[at + k], values[at + k] = batch.indices[first + k], batch.values[first + k]
            sort_row(ids, values, at, at + size)
            for k in range(at, at + size):
                id = i64(ids[k])
                slot = _slot(near, table, shift, id)
                slot = shared_slot(id, bound) if slot < 0 else slot
                ids[k] = slot if _counts(values[k], missing) else -1
        for k in range(at, at + size):
            if learning and ids[k] >= room:
                return True
            if 0 <= ids[k] < room:
                ids[n], values[n] = ids[k], values[k]
                n += 1
        found.indptr[r] = begin
    found.indptr[span[1]] = n
    return False


@hot
def _counts(x: float, missing: bool) -> bool:
    return (abs(x) > 0) | (missing & (x != x))


@hot
def shared_slot(id: int, bound: int) -> int:
    """The slot of a feature that came when all were taken."""
    return i64((u64(id) * _STEP) >> u64(33)) % bound


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
    """Where an id is in the table, or belongs."""
    at = (u64(id) * _STEP) >> shift
    while table[at] >> 32 != ~id and table[at] != 0:
        at = (at + u64(1)) & u64(table.size - 1)
    return at


@hot
def _slot(near: Ints32, table: Ints, shift: int, id: int) -> int:
    """The slot of an id, or -1."""
    if id < near.size:
        return i64(near[u64(id)]) - 1
    entry = table[_place(table, shift, id)]
    return entry & 0xFFFFFFFF if entry != 0 else -1


@hot
def _put(near: Ints32, table: Ints, shift: int, id: int, slot: int) -> None:
    if id < near.size:
        near[id] = slot + 1
    else:
        table[_place(table, shift, id)] = (~id << 32) | slot


@njit
def _ids(near: Ints32, table: Ints, used: int) -> Ints32:
    ids = np.empty(used, np.int32)
    for id in range(near.size):
        if near[id] != 0:
            ids[near[id] - 1] = id
    for k in range(table.size):
        if table[k] != 0:
            ids[table[k] & 0xFFFFFFFF] = ~(table[k] >> 32)
    return ids


@njit
def _filled(ids: Ints32, size: int) -> tuple[Ints32, Ints]:
    near, table = np.zeros(2 * size, np.int32), np.zeros(size, np.int64)
    shift = _shift(table)
    for slot in range(ids.size):
        _put(near, table, shift, max(i64(ids[slot]), 0), slot)
    return near, table


@njit
def _move(old: Ints, used: int, near: Ints32, table: Ints) -> None:
    """Put the ids of a table into larger arrays, in the order of slots."""
    entries = 0
    for k in range(old.size):
        entries += old[k] != 0
    if not entries:
        return
    ids = np.full(used, -1, np.int32)
    for k in range(old.size):
        if old[k] != 0:
            ids[old[k] & 0xFFFFFFFF] = ~(old[k] >> 32)
    shift = _shift(table)
    for slot in range(used):
        if ids[slot] >= 0:
            _put(near, table, shift, i64(ids[slot]), slot)


@njit
def _forget(near: Ints32, table: Ints, n: int) -> None:
    for id in range(near.size):
        if near[id] > n:
            near[id] = 0
    for k in range(table.size):  # those that stay came first: none of them was placed after one that goes
        if table[k] != 0 and table[k] & 0xFFFFFFFF >= n:
            table[k] = 0


@njit
def _find(near: Ints32, table: Ints, ids: Ints32) -> Ints32:
    found = np.empty(ids.size, np.int32)
    shift = _shift(table)
    for k in range(ids.size):
        found[k] = _slot(near, table, shift, i64(ids[k]))
    return found
