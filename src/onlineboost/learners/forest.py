"""The base of trees: their memory, reserved for all possible nodes and histograms."""

from __future__ import annotations

import numbers
from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from onlineboost.data.allocation import filled, reserved
from onlineboost.data.batch import Batch, Floats
from onlineboost.errors import ParameterError
from onlineboost.learners.base import WeakLearner
from onlineboost.learners.binned import Binned
from onlineboost.learners.forest_kernels import means_below, move_histograms
from onlineboost.parameters import check_count, check_share
from onlineboost.transforms.bins import n_bins_for, new_bins

_MAX_NODES = (1 << 16) - 1
_NARROW = 64  # slots beyond which most may be rare, so that small pages save memory


class TreeRoom(NamedTuple):
    slots: int
    bins: int  # of a feature; 0 before there are any
    rows: int  # of histograms of all trees
    nodes: int  # of a tree


class Forest(Binned, WeakLearner):
    """Trees over bins; subclasses define the arrays of their state, and the counts of leaves.

    The first five arrays of a state have a place for each node: ``nodes``, ``threshold`` and three of the subclass.
    """

    of_nodes: ClassVar[tuple[str, ...]]
    """The names of these arrays."""

    pooled: ClassVar[tuple[str, ...]] = ("free", "histograms")
    crowd = 0  # number of trees that share the memory, if these are only some of them; 0: all
    strength: ClassVar[str] = "share of the gain of all splits"

    max_depth: int
    grace_period: int
    min_split_gain: float
    max_features: float
    max_nodes: int
    max_mb: int

    def __init_subclass__(cls, *, state: type[Any] | None = None, **keywords: Any) -> None:
        if state is not None:
            cls.of_nodes = state._fields[:5]
            cls.axes = dict.fromkeys((*cls.of_nodes, "used", "gains", "allowed"), 0)
        super().__init_subclass__(state=state, **keywords)

    @abstractmethod
    def deepest_counted(self) -> int:
        """The largest depth of leaves that have histograms."""

    @abstractmethod
    def check(self) -> None:
        """Raise an error for wrong parameters."""

    def check_trees(self) -> None:
        """``check`` for the parameters of all trees."""
        self.check_bins()
        for name in ("max_depth", "grace_period", "max_mb"):
            check_count(name, getattr(self, name))
        if self.max_depth > 20:
            raise ParameterError("max_depth", self.max_depth, "at most 20")
        check_share("max_features", self.max_features)
        whole = isinstance(self.max_nodes, numbers.Integral) and not isinstance(self.max_nodes, bool)
        if not whole or self.max_nodes < 0:
            raise ParameterError("max_nodes", self.max_nodes, "a whole number of at least 0")

    def committee(self, n_learners: int, n_features: int) -> Any:
        self.check()
        return self.with_room(n_learners, TreeRoom(min(n_features, self.max_slots), 0, 0, 1))

    def most_nodes(self) -> int:
        """Number of nodes that a tree may have."""
        return min((2 << self.max_depth) - 1, self.max_nodes or _MAX_NODES)

    def n_counts(self, room: Any) -> int:
        """Number of counts in each bin of a histogram."""
        return 2

    def in_common(self, n_learners: int, room: Any) -> dict[str, Any]:
        """The common part of new states of trees."""
        slots, n_bins, rows, nodes = room[:4]
        most_rows, wanted = self.most_rows_of(n_learners, room)
        shape = rows, n_bins, slots, self.n_counts(room)
        return {
            "nodes": self.for_nodes((n_learners, nodes, 5), np.int32),
            "threshold": self.for_nodes((n_learners, nodes), np.float32),
            "used": filled([1, 0], (n_learners, 2), np.int64),
            "start": filled(0, n_learners + 1, np.int64),
            "free": filled(0, rows, np.int32),
            "gains": filled(0, (n_learners, slots)),
            "short": np.zeros(1, np.int64),
            "stride": 1,
            "bins": new_bins(slots, n_bins, self.max_slots),
            # Memory for all possible histograms, taken as they are used.
            "histograms": reserved(shape, np.float32, small_pages=self.thrifty or slots > _NARROW),
            "most_rows": most_rows,
            "most_nodes": self.most_nodes(),
            "scarce": most_rows < wanted,
            "grace_period": int(self.grace_period),
            "min_split_gain": float(self.min_split_gain),
            "max_depth": int(self.max_depth),
        }

    def for_nodes(self, shape: tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Zeros for all possible nodes; with many classes, most trees have few."""
        return reserved(shape, dtype, small_pages=True) if self.thrifty else filled(0, shape, dtype)

    def most_rows_of(self, n_learners: int, room: Any) -> tuple[int, int]:
        """Maximum leaves of a tree with histograms, by memory and by need."""
        size = room.slots * (room.bins * self.n_counts(room) // 2) * 8
        deepest = self.deepest_counted()
        wanted = max(1, min(1 << deepest, (self.most_nodes() + 1) // 2))
        fitting = (int(self.max_mb) << 20) // max((self.crowd or n_learners) * size, 1)
        return max(1, min(fitting, wanted)), wanted

    def n_learners(self, committee: Any) -> int:
        return len(committee.used)

    def room(self, committee: Any) -> TreeRoom:
        slots, bins = super().room(committee)
        return TreeRoom(slots, bins, committee.free.size, committee.nodes.shape[1])

    def part(self, committee: Any, first: int, last: int) -> Any:
        part = super().part(committee, first, last)
        return part._replace(start=committee.start[first : last + 1])

    def apart(self, committee: Any, first: int, last: int) -> Any:
        return self.trimmed(self.part(committee, first, last))

    def joined(self, parts: list[Any], sizes: list[int]) -> Any:
        parts = [self.trimmed(part) for part in parts]
        nodes = max(part.nodes.shape[1] for part in parts)
        wide = [self._with_nodes(part, nodes) for part in parts]
        whole = super().joined(wide, sizes)
        rows = np.cumsum([0, *(part.free.size for part in parts)])
        start = [part.start[:-1] + before for part, before in zip(parts, rows[:-1], strict=True)]
        together: Any = {name: np.concatenate([getattr(part, name) for part in parts]) for name in self.pooled}
        return whole._replace(start=np.concatenate([*start, rows[-1:]]), **together)

    def _with_nodes(self, committee: Any, nodes: int) -> Any:
        more = nodes - committee.nodes.shape[1]
        wide: Any = {
            name: np.pad(getattr(committee, name), [(0, 0), (0, more)] + [(0, 0)] * (getattr(committee, name).ndim - 2))
            for name in self.of_nodes
        }
        return committee._replace(**wide)

    thrifty = False
    """Whether histograms are in small pages: of the committee of one of many classes."""

    def with_room_for(self, committee: Any, rows: Batch) -> tuple[Any, Batch]:
        room, nodes = self.room(committee), self.most_nodes()
        if room.nodes < nodes or room.rows < self._all_rows(room, len(committee.used)):  # it was trimmed
            committee = self.moved(committee, room)
        return super().with_room_for(committee, rows)

    def moved(self, committee: Any, room: TreeRoom) -> Any:
        """Memory is reserved for all possible nodes and rows, and taken as they are used.

        The first rows of all trees come first, then the second ones: the system gives memory in large pages.
        """
        n = len(committee.used)
        room = room._replace(rows=self._all_rows(room, n), nodes=self.most_nodes())
        moved: Any = self.moved_to(self.with_room(n, room)._replace(stride=n), committee)
        return moved

    def in_room(self, committee: Any, room: Any) -> Any:
        made: Any = super().in_room(committee, room)
        if made.free.size and not made.histograms.shape[1]:
            raise ValueError("there are no histograms without bins")
        return made

    def trimmed(self, committee: Any) -> Any:
        room, used = self.room(committee), committee.used
        trimmed = room._replace(rows=int(used[:, 1].sum()), nodes=int(used[:, 0].max(initial=1)))
        moved: Any = super().moved(committee, trimmed)
        return moved

    def _all_rows(self, room: TreeRoom, n_learners: int) -> int:
        return n_learners * self.most_rows_of(n_learners, room)[0] if room.bins else 0

    def unused(self, committee: Any) -> int:
        nodes, rows = committee.used.sum(axis=0).tolist()
        of_nodes = sum(getattr(committee, name).nbytes for name in self.of_nodes)
        free_nodes = 1 - nodes / max(len(committee.used) * committee.nodes.shape[1], 1)
        return int(of_nodes * free_nodes + committee.histograms.nbytes * (1 - rows / max(committee.free.size, 1)))

    def is_full(self, committee: Any, transforms: Any) -> bool:
        return bool(committee.scarce and committee.free.size and committee.used[:, 1].max() >= committee.most_rows)

    def move(self, old: Any, new: Any) -> None:
        nodes = int(old.used[:, 0].max(initial=1))
        for name in self.of_nodes:
            known = getattr(old, name)[:, :nodes]
            getattr(new, name)[tuple(map(slice, known.shape))] = known
        new.used[:], new.gains[:, : old.gains.shape[1]] = old.used, old.gains
        new.allowed[:, : old.allowed.shape[1]] = old.allowed  # these may be only some of the trees
        move_histograms(old, new)

    def separate(self, n_learners: int, n_features: int) -> bool:
        slots = min(n_features or self.max_slots, self.max_slots)
        room = TreeRoom(slots, n_bins_for(int(self.bins), slots), 0, 0)
        rows, wanted = self.most_rows_of(n_learners, room)
        return rows == wanted  # fewer trees would have more histograms each

    def sums(self, committee: Any) -> Floats:
        """Of each leaf the weight of its examples, and that times its vote, [trees, nodes, 2]; in new memory.

        For trees that explain their votes.
        """
        raise NotImplementedError

    def means(self, committee: Any) -> Floats:
        return means_below(committee, self.sums(committee))

    def strengths(self, committee: Any, n_learners: int) -> Floats | None:
        """Each slot's share of the total gain of all splits."""
        gains: Floats = committee.gains.sum(axis=0)
        return gains / max(float(gains.sum()), 1e-300)
