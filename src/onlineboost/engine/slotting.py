"""Rows with slots for the ids of their features, as committees take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from onlineboost.compiled.block import Call
from onlineboost.data.allocation import zeros
from onlineboost.data.batch import Batch
from onlineboost.engine.node import Node
from onlineboost.transforms.slots import Slots, find_rows

if TYPE_CHECKING:
    from onlineboost.engine.program import Program


def write(rows: Batch, into: Batch) -> None:
    """Copy rows into fixed memory."""
    first, last = int(rows.indptr[0]), int(rows.indptr[-1])
    into.indptr[: rows.indptr.size] = rows.indptr - first
    into.indices[: last - first], into.values[: last - first] = rows.indices[first:last], rows.values[first:last]


class Finder:
    """Slots for the ids of rows, for committees that share them."""

    def __init__(self, program: Program, leaf: Any, room: int) -> None:
        table = program.table
        self.used, self.missing, self.room = leaf.slots.used, leaf.learner.takes_missing, room
        entries = table.entries
        arrays = zeros((table.capacity + 1,), np.int64), zeros((entries,), np.int32), zeros((entries,), np.float32)
        self.found = Batch(*arrays, table.y, table.weight)
        self.build(program)

    def build(self, program: Program) -> None:
        """Make the call, with the slots that there are."""
        learning, room = program.table.mode.learning, self.room
        leaves = [leaf for leaf in program.root.committees if leaf.slots is not None and leaf.slots.used is self.used]
        if learning and program.table.capacity == 1:  # room is made at the row that needs it
            room = min(leaf.learner.row_room(leaf.committee) for leaf in leaves)
        free = min(leaf.capacity for leaf in leaves) if learning else 0
        states = leaves[0].slots, self.found, learning, self.missing, room, free
        self.call = Call(find_rows, program.rows, program.span, *states)


def give_slots(root: Node, rows: Batch, room: bool = False) -> dict[int, Batch]:
    """Rows with slots for ids, by the ``id`` of ``Slots.used``; new features get slots, and room in all states.

    Committees that do not see rows at present meet none of their features, whatever batch these come in. If there is no
    memory for one committee, all are as they were. With ``room``, learners that make room at the row that needs it do
    so.
    """
    before = slots_of(root)
    leaves, found = [leaf for leaf, *_ in before], dict[int, Batch]()
    try:
        for first in leaves:
            key = id(first.slots.used)
            if key in found:
                continue
            used = first.n_slots
            found[key], slots = first.slots.apply(rows, True, first.learner.takes_missing)
            for leaf in leaves:
                if leaf.slots.used is slots.used:
                    if slots.used[0] > used:
                        leaf.take(slots, rows)
                    if room:
                        leaf.replace_if_new(committee=leaf.learner.with_room_for(leaf.committee, found[key])[0])
    except BaseException:
        take_back(before)
        raise
    return found


def slots_of(root: Node) -> list[tuple[Any, ...]]:
    """Committees with slots that see rows, and what may change with new features."""
    leaves = [leaf for leaf in root.committees_awake if leaf.slots is not None]
    return [(leaf, leaf.committee, leaf.transforms, leaf.slots, leaf.n_slots) for leaf in leaves]


def take_back(before: list[tuple[Any, ...]]) -> None:
    """Take slots back that were given since, before a row with them was learned."""
    for leaf, committee, transforms, slots, size in before:
        leaf.replace(committee=committee, transforms=transforms, slots=slots)
        slots.forget(size)


def slotted(root: Node, rows: Batch) -> dict[int, Batch]:
    """Rows with slots for ids, for each committee by its ``id``; nothing is learned."""
    found: dict[Any, Batch] = {}
    batches: dict[int, Batch] = {}
    for leaf in root.committees:
        slots: Slots | None = leaf.slots
        if slots is None:
            batches[id(leaf)] = rows
            continue
        key = id(slots)
        if key not in found:
            found[key], _ = slots.apply(rows, False, leaf.learner.takes_missing)
        batches[id(leaf)] = found[key]
    return batches
