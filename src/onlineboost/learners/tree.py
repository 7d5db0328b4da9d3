"""Tree: a Hoeffding tree over histograms, for N trees side by side."""

from __future__ import annotations

import math
import numbers
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from onlineboost.data.allocation import filled
from onlineboost.data.batch import Batch, Floats
from onlineboost.errors import ParameterError
from onlineboost.learners.base import Learner
from onlineboost.learners.binned import Binned
from onlineboost.learners.splits import some_slots
from onlineboost.learners.tree_kernels import (
    TreeState,
    carry,
    forget,
    learn,
    move_histograms,
    predict,
    workspace,
)
from onlineboost.parameters import check_between, check_count, check_one_of, check_share
from onlineboost.registry import Option
from onlineboost.transforms.bins import BINS, n_bins_for, new_bins

_MAX_NODES = (1 << 16) - 1
_OF_NODES = TreeState._fields[:5]  # arrays with a place for each node


MAX_DEPTH = Option("max_depth", "Maximum tree depth.", int, least=1, most=20, tried=(2, 3, 5))


class TreeRoom(NamedTuple):
    slots: int
    bins: int  # of a feature; 0 before there are any
    rows: int  # of histograms of all trees
    nodes: int  # of a tree


@dataclass(eq=False, repr=False)
class Tree(
    Binned,
    Learner,
    name="tree",
    options=(MAX_DEPTH, BINS),
    state=TreeState,
    workspace=workspace,
    predict=predict,
    learn=learn,
    forget=forget,
    carry=carry,
):
    """Decision tree grown online (a Hoeffding tree over binned features): the learner that gains most from boosting.

    Parameters
    ----------
    max_depth : maximum depth; 1 is a single split. Shallow trees gain most from boosting, deep ones are best on long
        streams
    bins : number of bins of a feature, a power of two; they follow the stream. 0: 32 with up to 8 features, else 16
    replay : number of first rows that are kept, and learnt again after 64, 128, ... rows; below 64: none
    leaves : votes of leaves: by "majority", or "adaptive", by naive Bayes where it has made fewer mistakes
    grace : number of examples of a leaf between two attempts to split it
    evidence : minimum information gain of a split, in bits over all examples of the leaf; 0: ``delta`` and ``tie``
        decide instead
    delta, tie : a leaf is split if the best split beats the second by the Hoeffding bound with probability of error
        ``delta``, or if the bound is below ``tie``. Sample sizes are effective ones, (sum w)^2 / sum w^2: the scale of
        weights does not matter
    max_slots : maximum number of feature slots; further features share slots by a hash
    features : share of the feature slots that each tree may split by; random, but independent of the seed
    max_nodes : maximum number of nodes of a tree; 0: as many as its depth allows, at most 65,535
    max_mb : memory for the histograms of all trees, in megabytes, but one per tree at least; if it is short, some
        leaves wait before they split

    Examples
    --------
    >>> from onlineboost import OnlineBBM, Tree
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_score
    >>> X, y = load_letter()
    >>> round(progressive_score(Tree(3), X, y), 3)
    0.2
    >>> round(progressive_score(OnlineBBM(Tree(3), random_state=0), X, y), 3)
    0.116
    """

    prefers: ClassVar[Literal["weight", "sample"]] = "sample"
    axes: ClassVar[dict[str, int]] = dict.fromkeys((*_OF_NODES, "used", "gains", "allowed"), 0)

    pooled: ClassVar[tuple[str, ...]] = ("free", "histograms")
    crowd = 0  # number of trees that share the memory, if these are some of them; 0: they are all
    strength: ClassVar[str] = "share of the gain of all splits"

    max_depth: int = 5
    _: KW_ONLY
    bins: int = 0
    replay: int = 512
    leaves: Literal["adaptive", "majority"] = "adaptive"
    grace: int = 16
    evidence: float = 5.0
    delta: float = 0.05
    tie: float = 0.1
    max_slots: int = 1024
    features: float = 1.0
    max_nodes: int = 0
    max_mb: int = 2048

    def committee(self, n_learners: int, n_features: int) -> TreeState:
        self._check()
        return self.with_room(n_learners, TreeRoom(min(n_features, self.max_slots), 0, 0, 1))

    def with_room(self, n_learners: int, room: TreeRoom) -> TreeState:
        slots, n_bins, rows, nodes = room
        most_rows, wanted = self._most_rows(n_learners, slots, n_bins)
        return TreeState(
            nodes=filled(0, (n_learners, nodes, 5), np.int32),
            threshold=filled(0, (n_learners, nodes), np.float32),
            weight=filled(0, (n_learners, nodes, 2)),
            wrong=filled(0, (n_learners, nodes, 2)),
            since=filled(0, (n_learners, nodes, 4)),
            used=filled([1, 0], (n_learners, 2), np.int64),
            start=filled(0, n_learners + 1, np.int64),
            free=filled(0, rows, np.int32),
            gains=filled(0, (n_learners, slots)),
            allowed=some_slots(n_learners, slots, self.features),
            short=np.zeros(1, np.int64),
            stride=1,
            bins=new_bins(slots, n_bins, self.max_slots),
            histograms=filled(0, (rows * slots, n_bins, 2), np.float32),
            most_rows=most_rows,
            most_nodes=self._most_nodes(),
            scarce=most_rows < wanted,
            adaptive=self.leaves == "adaptive",
            grace=int(self.grace),
            evidence=float(self.evidence),
            log_delta=math.log(1 / self.delta),
            tie=float(self.tie),
            max_depth=int(self.max_depth),
        )

    def _most_nodes(self) -> int:
        return min((2 << self.max_depth) - 1, self.max_nodes or _MAX_NODES)

    def _most_rows(self, n_learners: int, slots: int, n_bins: int) -> tuple[int, int]:
        """How many leaves of a tree can have histograms within the memory, and how many may want them."""
        deepest = self.max_depth if self.leaves == "adaptive" else self.max_depth - 1
        wanted = max(1, min(1 << deepest, (self._most_nodes() + 1) // 2))
        fitting = (int(self.max_mb) << 20) // max((self.crowd or n_learners) * slots * n_bins * 8, 1)
        return max(1, min(fitting, wanted)), wanted

    def n_learners(self, committee: TreeState) -> int:
        return len(committee.used)

    def room(self, committee: TreeState) -> TreeRoom:
        slots, bins = super().room(committee)
        return TreeRoom(slots, bins, committee.free.size, committee.nodes.shape[1])

    def part(self, committee: TreeState, first: int, last: int) -> TreeState:
        part: TreeState = super().part(committee, first, last)
        return part._replace(start=committee.start[first : last + 1])

    def apart(self, committee: TreeState, first: int, last: int) -> TreeState:
        return self.trimmed(self.part(committee, first, last))

    def joined(self, parts: list[TreeState], sizes: list[int]) -> TreeState:
        parts = [self.trimmed(part) for part in parts]
        nodes = max(part.nodes.shape[1] for part in parts)
        wide = [self._with_nodes(part, nodes) for part in parts]
        whole: TreeState = super().joined(wide, sizes)
        rows = np.cumsum([0, *(part.free.size for part in parts)])
        start = [part.start[:-1] + before for part, before in zip(parts, rows[:-1], strict=True)]
        together: Any = {name: np.concatenate([getattr(part, name) for part in parts]) for name in self.pooled}
        return whole._replace(start=np.concatenate([*start, rows[-1:]]), **together)

    def _with_nodes(self, committee: TreeState, nodes: int) -> TreeState:
        more = nodes - committee.nodes.shape[1]
        wide: Any = {
            name: np.pad(getattr(committee, name), [(0, 0), (0, more)] + [(0, 0)] * (getattr(committee, name).ndim - 2))
            for name in _OF_NODES
        }
        return committee._replace(**wide)

    def with_room_for(self, committee: TreeState, rows: Batch) -> tuple[TreeState, Batch]:
        room, nodes = self.room(committee), self._most_nodes()
        if room.nodes < nodes or room.rows < self._all_rows(room, len(committee.used)):  # it was trimmed
            committee = self.moved(committee, room)
        return super().with_room_for(committee, rows)

    def moved(self, committee: TreeState, room: TreeRoom) -> TreeState:
        """Memory is reserved for all nodes and rows that trees may have; it is taken as they are used.

        The first rows of all trees come first, then the second ones: the system gives memory in large pages.
        """
        n = len(committee.used)
        room = room._replace(rows=self._all_rows(room, n), nodes=self._most_nodes())
        moved: TreeState = self.moved_to(self.with_room(n, room)._replace(stride=n), committee)
        return moved

    def in_room(self, committee: TreeState, room: Any) -> TreeState:
        made: TreeState = super().in_room(committee, room)
        if made.free.size and not made.histograms.shape[1]:
            raise ValueError("there are no histograms without bins")
        return made

    def trimmed(self, committee: TreeState) -> TreeState:
        room, used = self.room(committee), committee.used
        trimmed = room._replace(rows=int(used[:, 1].sum()), nodes=int(used[:, 0].max(initial=1)))
        moved: TreeState = super().moved(committee, trimmed)
        return moved

    def _all_rows(self, room: TreeRoom, n_learners: int) -> int:
        return n_learners * self._most_rows(n_learners, room.slots, room.bins)[0] if room.bins else 0

    def move(self, old: TreeState, new: TreeState) -> None:
        nodes = int(old.used[:, 0].max(initial=1))
        for name in _OF_NODES:
            getattr(new, name)[:, :nodes] = getattr(old, name)[:, :nodes]
        new.used[:], new.gains[:, : old.gains.shape[1]] = old.used, old.gains
        move_histograms(old, new)

    def _check(self) -> None:
        self.check_bins()
        for name in ("max_depth", "grace", "max_mb"):
            check_count(name, getattr(self, name))
        if self.max_depth > 20:
            raise ParameterError("max_depth", self.max_depth, "at most 20")
        check_between("delta", self.delta, 0, 1)
        check_share("features", self.features)
        check_one_of("leaves", self.leaves, ("adaptive", "majority"))
        for name in ("tie", "evidence"):
            value = getattr(self, name)
            if not isinstance(value, numbers.Real) or not float(value) >= 0:
                raise ParameterError(name, value, "a number of at least 0")
        whole = isinstance(self.max_nodes, numbers.Integral) and not isinstance(self.max_nodes, bool)
        if not whole or self.max_nodes < 0:
            raise ParameterError("max_nodes", self.max_nodes, "a whole number of at least 0")

    def separate(self, n_learners: int, n_features: int) -> bool:
        slots = min(n_features or self.max_slots, self.max_slots)
        rows, wanted = self._most_rows(n_learners, slots, n_bins_for(int(self.bins), slots))
        return rows == wanted  # fewer trees would have more histograms each

    def strengths(self, committee: TreeState, n_learners: int) -> Floats | None:
        """Each slot's share of the total gain of all splits."""
        gains: Floats = committee.gains.sum(axis=0)
        return gains / max(float(gains.sum()), 1e-300)
