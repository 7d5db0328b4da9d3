"""Base class of batch trees as weak learners: room, classes, files."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from onlineboost.data.allocation import planning
from onlineboost.data.batch import Batch, Floats
from onlineboost.errors import ParameterError
from onlineboost.learners.base import WeakLearner
from onlineboost.learners.batch.kernels import PACE, BatchState
from onlineboost.learners.batch.memory import BEGAN, KEPT, LENGTH, NEXT, moved, new_memory
from onlineboost.learners.batch.plan import CLASSES, Plan
from onlineboost.learners.batch.training import new_training
from onlineboost.learners.batch.trees import Trees, new_trees
from onlineboost.learners.binned import Binned
from onlineboost.parameters import check_between, check_bool, check_count
from onlineboost.transforms.bins import FIRST, new_bins


class BatchRoom(NamedTuple):
    slots: int
    bins: int  # of a feature; 0 before there are any
    rows: int  # of the memory


class BatchLearner(Binned, WeakLearner):
    """The base of the classifier and the regressor."""

    prefers: ClassVar[Literal["weight", "sample"]] = "weight"
    several_classes: ClassVar[bool] = True
    gives_odds: ClassVar[bool] = True
    strength: ClassVar[str] = "share of the gain of all splits"
    replay: ClassVar[int] = FIRST  # type: ignore[misc]  # the first rows are kept until there are bins

    n_estimators: int
    max_leaves: int
    learning_rate: float
    bins: int
    l2: float
    min_rows: int
    growth: float
    max_rows: int
    max_mb: int
    max_slots: int

    @abstractmethod
    def loss_of(self) -> tuple[int, float]:
        """The loss, and its quantile."""

    def committee(self, n_learners: int, n_features: int) -> BatchState:
        self.check()
        if n_learners != 1:
            raise ParameterError("estimator", self, "a weak learner: these trees are boosted already")
        return self.with_room(1, BatchRoom(min(n_features, self.max_slots), 0, 0))

    def check(self) -> None:
        self.check_bins()
        if not self.bins or self.bins > 64:
            raise ParameterError("bins", self.bins, "a power of two from 4 to 64")
        for name in ("n_estimators", "max_leaves", "min_rows", "max_rows", "max_mb"):
            check_count(name, getattr(self, name))
        check_between("learning_rate", self.learning_rate, 0, 1)
        check_between("l2", self.l2, 0, 1e9)
        check_between("growth", self.growth, 1.2, 100)

    def plan_of(self) -> Plan:
        loss, quantile = self.loss_of()
        return Plan(
            loss,
            quantile,
            int(self.n_estimators),
            float(self.learning_rate),
            int(self.max_leaves),
            int(self.min_rows),
            max(int(self.min_rows) // 4, 1),
            float(self.l2),
            check_bool("gentle", getattr(self, "gentle", False)),
        )

    def most_rows(self, votes: int, slots: int) -> int:
        """Rows of the memory, with those that come during a training."""
        size = 3 * slots + 40 + 12 * votes
        rows = min(int(self.max_rows), (int(self.max_mb) << 20) // size)
        return max(rows + rows // PACE + 1, 2 * FIRST)

    def with_room(self, n_learners: int, room: BatchRoom) -> BatchState:
        slots, n_bins, rows = room
        plan = self.plan_of()
        return BatchState(
            new_bins(slots, n_bins, self.max_slots),
            new_memory(rows, slots),
            new_trees(plan.rounds * n_learners, 2 * plan.leaves - 1, n_learners, slots),
            new_training(rows, slots, n_bins, n_learners, plan),
            np.zeros(1, np.int64),
            plan,
            float(self.growth),
            self.most_rows(n_learners, slots),
            n_learners,
            0,
        )

    def n_learners(self, committee: BatchState) -> int:
        return committee.votes

    def room(self, committee: BatchState) -> BatchRoom:
        slots, bins = super().room(committee)
        return BatchRoom(slots, bins, len(committee.memory.targets))

    def moved(self, committee: BatchState, room: BatchRoom) -> BatchState:
        """Memory is reserved for all rows that are to be kept; it is taken as it is used."""
        most = self.most_rows(committee.votes, room.slots) if room.bins else 0
        found: BatchState = super().moved(committee, room._replace(rows=most))
        return found

    def move(self, old: BatchState, new: BatchState) -> None:
        moved(old.memory, new.memory)
        _copy(old.trees, new.trees)
        clock, rows = new.memory.clock, len(new.memory.targets)
        if clock[LENGTH] and clock[BEGAN] - clock[LENGTH] < clock[KEPT] - rows:  # some of its rows are lost
            clock[BEGAN], clock[LENGTH], clock[NEXT] = 0, 0, clock[KEPT]

    def trimmed(self, committee: BatchState) -> BatchState:
        """Without what a training has done so far: it can be done again."""
        memory = new_memory(self.n_kept(committee), len(committee.bins.zero))
        moved(committee.memory, memory)
        training = new_training(0, 0, 0, committee.trees.base.size, self.plan_of())
        return committee._replace(memory=memory, training=training)

    def n_kept(self, committee: BatchState) -> int:
        return min(int(committee.memory.clock[KEPT]), len(committee.memory.targets))

    def without_rows(self, committee: BatchState) -> BatchState:
        """Trees are trained again as soon as there are as many rows as now."""
        memory = new_memory(0, len(committee.bins.zero))
        memory.clock[NEXT] = max(self.n_kept(committee) * PACE // (PACE + 1), FIRST)
        return self.trimmed(committee)._replace(memory=memory)

    def with_room_for(self, committee: BatchState, rows: Batch) -> tuple[BatchState, Batch]:
        room = self.room(committee)
        if room.bins and room.rows < self.most_rows(committee.votes, room.slots):  # it was trimmed
            committee = self.moved(committee, room)
        return super().with_room_for(committee, rows)

    def in_room(self, committee: BatchState, room: Any) -> BatchState:
        made: BatchState = super().in_room(committee, room)
        slots, bins, rows = self.room(made)
        if (rows > 0 and not bins) or rows > self.most_rows(made.votes, slots):
            raise ValueError("the room of the learners is not possible")
        return made

    def further(self, committee: BatchState, n_learners: int, n_features: int) -> BatchState:
        return self._for_classes(committee, n_learners) if planning() else committee

    def joined(self, parts: list[Any], sizes: list[int]) -> Any:
        return self._for_classes(parts[0], sum(sizes))

    def _for_classes(self, committee: BatchState, n: int) -> BatchState:
        """The same for more classes; a training begins with the next row."""
        room = self.room(committee)
        made = self.with_room(n, room._replace(rows=self.most_rows(n, room.slots) if room.bins else 0))
        if planning():
            return made
        self.move(committee, made)
        clock = made.memory.clock
        clock[BEGAN] = clock[LENGTH] = 0
        clock[NEXT] = max(clock[KEPT], FIRST)
        return made._replace(bins=committee.bins, short=committee.short)

    def apart(self, committee: BatchState, first: int, last: int) -> BatchState:
        return self.trimmed(committee)._replace(votes=last - first, first=first)

    def check_states(self, committee: BatchState) -> None:
        classes = max(committee.votes, 2) if committee.plan.loss == CLASSES else None
        committee.memory.check_rows(committee.bins, classes)

    def separate(self, n_learners: int, n_features: int) -> bool:
        return False

    def strengths(self, committee: BatchState, n_learners: int) -> Floats | None:
        gains = committee.trees.gains
        found: Floats = gains / max(float(gains.sum()), 1e-300)
        return found


def _copy(old: Trees, new: Trees) -> None:
    n = int(old.clock[0])
    new.nodes[:n], new.numbers[:n] = old.nodes[:n], old.numbers[:n]
    new.base[: old.base.size], new.gains[: old.gains.size] = old.base, old.gains
    new.clock[:] = old.clock
