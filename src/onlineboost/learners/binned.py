"""The base of learners over binned features, whose room grows with the features and with learning."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from onlineboost.compiled import dispatch
from onlineboost.compiled.jit import hot
from onlineboost.data.allocation import planning
from onlineboost.data.batch import Batch, below, cut
from onlineboost.parameters import check_whole
from onlineboost.transforms.bins import (
    BEGUN,
    FEW_BINS,
    FIRST,
    MANY_BINS,
    MET,
    ROWS,
    Bins,
    check_bins,
    find_bins,
    first_edges,
    grown_bins,
    make_edges,
    meet_value,
    n_bins_for,
    take_edges,
)
from onlineboost.transforms.chain import Transforms

MAX_REPLAY = 1 << 13  # rows that may be kept
_MANY = 64  # slots beyond which room doubles, so that rows seldom wait; below, room is tight, for the cache
_carry = dispatch.carry


class Room(NamedTuple):
    """The sizes of a committee over bins."""

    slots: int
    bins: int  # of a feature; 0 before there are any


@hot
def meet(state: Any, work: Any, batch: Batch, r: int) -> None:
    """Count the values of a row; make the edges that are due, and carry over counts."""
    bins, row = state.bins, work.row
    known = bins.clock[BEGUN]
    bins.clock[ROWS] += 1
    if bins.clock[ROWS] == FIRST:
        state.short[0] = 1
    for k in range(row.found[0]):
        slot = row.slots[k]
        if meet_value(bins, slot, row.values[slot]) and make_edges(bins, row, slot):
            known = -1
            _carry(state, work, slot, take_edges(bins, row, slot))
    if known != bins.clock[BEGUN]:
        find_bins(bins, row)


@hot
def full(state: Any) -> bool:
    return bool(state.short[0] == 1)


class Binned:
    """A learner whose committees have ``bins``, and room for the slots and bins needed so far.

    A committee without bins sets ``short`` when its first bins are due.
    """

    takes_missing: ClassVar[bool] = True
    youth: ClassVar[int] = FIRST
    first_learner = 0  # its number, if these are some of the learners
    bins: int
    replay: int
    max_slots: int

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**{"meet": meet, "full": full} | keywords)  # of Learner

    @abstractmethod
    def with_room(self, n_learners: int, room: Any) -> Any:
        """A new committee with this room."""

    @abstractmethod
    def n_learners(self, committee: Any) -> int:
        """Number of learners."""

    @abstractmethod
    def move(self, old: Any, new: Any) -> None:
        """Copy the learned state of an old committee, except its bins, into a new one with more room."""

    def room(self, committee: Any) -> Any:
        edges = committee.bins.edges
        return Room(len(edges), edges.shape[1] + 1 if edges.shape[1] else 0)

    def grow(self, committee: Any, n_features: int) -> Any:
        """Room is made at the row that needs it, since the memory for leaves may depend on it."""
        return committee

    def with_room_for(self, committee: Any, rows: Batch) -> tuple[Any, Batch]:
        room = self.room(committee)
        row = _first_beyond(rows, room.slots)
        if row == 0:
            needed = int(rows.indices[rows.indptr[0] : rows.indptr[1]].max()) + 1
            more = room.slots // 4 if room.slots < _MANY else room.slots
            slots = min(max(needed, room.slots + more), int(self.max_slots))
            committee = self.moved(committee, room._replace(slots=slots))
            row = _first_beyond(rows, self.room(committee).slots)
        return committee, rows if row < 0 else cut(rows, 0, row)

    def known(self, committee: Any, rows: Batch) -> Batch:
        slots = self.room(committee).slots
        return rows if _first_beyond(rows, slots) < 0 else below(rows, slots)

    def further(self, committee: Any, n_learners: int, n_features: int) -> Any:
        return self.with_room(n_learners, self.room(committee))

    def row_room(self, committee: Any) -> int:
        return int(self.room(committee).slots)

    def in_room(self, committee: Any, room: Any) -> Any:
        least = self.room(committee)
        sizes = [check_whole("room", size, low, np.iinfo(np.int32).max) for size, low in zip(room, least, strict=True)]
        made = type(least)(*sizes)
        possible = {0, int(self.bins)} if self.bins else {0, FEW_BINS, MANY_BINS}
        if made.slots > self.max_slots or made.bins not in possible:
            raise ValueError("the room of the learners is not possible")
        return self.with_room(self.n_learners(committee), made)

    def bins_of(self, committee: Any, transforms: Transforms) -> Bins:
        bins: Bins = committee.bins
        return bins

    def refitted(self, committee: Any) -> Any:
        """The same committee with room for its first bins."""
        room = self.room(committee)
        moved = committee
        if not room.bins:
            bins = n_bins_for(int(self.bins), int(committee.bins.clock[BEGUN]))
            moved = self.moved(committee, room._replace(bins=bins))
            first_edges(moved.bins)
        moved.short[0] = committee.short[0] = 0  # last, so that it is tried again if memory is short
        return moved

    def moved(self, committee: Any, room: Any) -> Any:
        """A copy of the committee in other room."""
        return self.moved_to(self.with_room(self.n_learners(committee), room), committee)

    def moved_to(self, new: Any, committee: Any) -> Any:
        """A new committee with the learned state of the old one."""
        if planning():
            return new
        self.move(committee, new)
        room = self.room(new)
        return new._replace(bins=grown_bins(committee.bins, room.slots, room.bins), short=committee.short)

    def n_terms(self, committee: Any, rows: Batch) -> int:
        return rows.y.size * int(committee.bins.clock[MET])

    def n_seen(self, committee: Any) -> int | None:
        return int(committee.bins.clock[BEGUN])

    def separate(self, n_learners: int, n_features: int) -> bool:
        return True

    def check_bins(self) -> None:
        check_bins(self.bins, self.max_slots)
        check_whole("replay", self.replay, 0, MAX_REPLAY)


def _first_beyond(rows: Batch, slots: int) -> int:
    """The first row with a slot of at least this number, or -1."""
    first, last = rows.indptr[0], rows.indptr[-1]
    used = rows.indices[first:last]
    if not used.size or used.max() < slots:
        return -1
    return int(np.searchsorted(rows.indptr, first + np.argmax(used >= slots), side="right")) - 1
