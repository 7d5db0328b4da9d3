"""The base of learners over binned features: their room grows with the features met, and with what they learn."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

from onlineboost.data.allocation import planning
from onlineboost.transforms.bins import MET, check_bins, first_edges, grown_bins, n_bins_for


class Room(NamedTuple):
    """The sizes of a committee over bins."""

    slots: int
    bins: int  # of a feature; 0 before there are any


class Binned:
    """A learner whose committees have ``bins``, and room for as many slots and bins as were needed so far.

    A committee says that its room is ``short`` when it is to get its first bins.
    """

    bins: int
    max_slots: int

    @abstractmethod
    def with_room(self, n_learners: int, room: Any) -> Any:
        """A new committee with this room."""

    @abstractmethod
    def n_learners(self, committee: Any) -> int:
        """Number of learners."""

    @abstractmethod
    def move(self, old: Any, new: Any) -> None:
        """Copy all that an old committee has learnt, but its bins, into a new one with more room."""

    def room(self, committee: Any) -> Any:
        edges = committee.bins.edges
        return Room(len(edges), edges.shape[1] + 1 if edges.shape[1] else 0)

    def grow(self, committee: Any, n_features: int) -> Any:
        room = self.room(committee)
        if min(n_features, self.max_slots) <= room.slots:
            return committee
        return self.moved(committee, room._replace(slots=min(next_power(n_features), self.max_slots)))

    def is_full(self, committee: Any) -> bool:
        return bool(committee.short[0])

    def refitted(self, committee: Any) -> Any:
        """The same committee with room for its first bins."""
        room = self.room(committee)
        if room.bins:
            return committee
        moved = self.moved(committee, room._replace(bins=n_bins_for(int(self.bins), int(committee.bins.clock[MET]))))
        moved.short[0] = 0
        first_edges(moved.bins)
        return moved

    def moved(self, committee: Any, room: Any) -> Any:
        """The same committee in other room."""
        new = self.with_room(self.n_learners(committee), room)
        if planning():
            return new
        self.move(committee, new)
        return new._replace(bins=grown_bins(committee.bins, room.slots, room.bins), short=committee.short)

    def n_seen(self, committee: Any) -> int | None:
        return int(committee.bins.clock[MET])

    def separate(self, n_learners: int, n_features: int) -> bool:
        return True

    def check_bins(self) -> None:
        check_bins(self.bins, self.max_slots)


def next_power(n: int) -> int:
    return 1 << (n - 1).bit_length()
