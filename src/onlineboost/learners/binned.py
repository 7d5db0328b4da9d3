"""The base of learners over binned features: the bins as their transform, and a state of fixed size."""

from __future__ import annotations

from typing import Any

from onlineboost.transforms.bins import BinsState, check_bins, new_bins


class Binned:
    """Features are numbered by slots, values by bins: a learner's state never grows."""

    bins: int
    max_slots: int

    def grow(self, committee: Any, n_features: int) -> Any:
        return committee

    def n_seen(self, committee: Any) -> int | None:
        return int(committee.met[0])

    def separate(self, n_learners: int, n_features: int) -> bool:
        return True

    def transforms(self, n_features: int) -> tuple[BinsState]:
        return (new_bins(n_features, check_bins(self.bins, self.max_slots, n_features, 1), int(self.bins)),)
