"""BatchBoost: gradient boosted trees of the batch kind, trained anew on the last rows at fixed rows of the stream.

A training begins after 64, 90, 127, ... rows, each ``growth`` times the one before, on all rows that the memory has;
the first one as soon as there are as many rows as features (on long sparse rows, trees would earn nothing before). A
32nd of so many rows later its trees take the place of those before. In between, each row that is learned does its share
of the work. So no row waits long, and batches, threads and pauses change nothing.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from onlineboost.compiled.jit import f32, hot, lean
from onlineboost.data.allocation import planning
from onlineboost.data.batch import Batch, Floats, Floats32, Ints
from onlineboost.errors import ParameterError
from onlineboost.learners import batch_trees
from onlineboost.learners.base import Learner, WeakLearner, kernels_of
from onlineboost.learners.batch_trees import (
    ABSOLUTE,
    CLASSES,
    QUANTILE,
    SQUARED,
    Plan,
    Training,
    Trees,
    new_training,
    new_trees,
)
from onlineboost.learners.binned import Binned
from onlineboost.learners.memory import BEGAN, KEPT, LENGTH, NEXT, Memory, follow, moved, new_memory, remember
from onlineboost.learners.number_learner import NumberLearner
from onlineboost.loop.explaining import Found, Pulls
from onlineboost.parameters import check_between, check_bool, check_count, check_one_of
from onlineboost.storage.validity import Limits
from onlineboost.transforms.bins import (
    BEGUN,
    FIRST,
    MET,
    ROWS,
    Bins,
    BinsWork,
    find_bins,
    make_edges,
    meet_value,
    new_bins,
    new_work,
    read_row,
    take_edges,
)

_PACE = 32  # a training takes one part in so many of its rows
_LEAST_RANGE, _MOST_SCORE = -30.0, 30.0


class BatchState(NamedTuple):
    bins: Bins
    memory: Memory
    trees: Trees
    training: Training
    short: Ints  # [1] 1 if there must be more room before the next example
    plan: Plan
    growth: float
    most_rows: int  # of the memory
    votes: int  # number of learners: 1, or one for each class
    first: int  # the class of the first of them

    def limits(self) -> Limits:
        return {"short": (0, 1)}


class BatchWork(NamedTuple):
    row: BinsWork
    scores: Floats


def workspace(state: BatchState, longest: int) -> BatchWork:
    return BatchWork(new_work(state.bins, longest), np.zeros(state.trees.base.size))


@hot
def predict(state: BatchState, work: BatchWork, batch: Batch, r: int, h: Floats32) -> None:
    """The log odds of each class against the rest, with the other sign of the first of several; or a number."""
    read_row(state.bins, work.row, batch, r)
    batch_trees.answer(state.trees, work.row.values, work.scores)
    _say(state, work.scores, h)


@lean
def _say(state: BatchState, scores: Floats, h: Floats32) -> None:
    if scores.size == 1:
        h[0] = f32(scores[0])
        return
    known = state.trees.clock[1]
    for i in range(state.votes):
        k = state.first + i
        if known == 1 and k < 2:  # from when there were two classes
            score = scores[0] if k > 0 else -scores[0]
        elif k < known:
            most = -np.inf
            for j in range(known):
                most = max(most, scores[j]) if j != k else most
            total = 0.0
            for j in range(known):
                total += math.exp(scores[j] - most) if j != k else 0.0
            score = scores[k] - most - math.log(total)
        else:
            score = -math.log(state.memory.clock[KEPT] + 1.0) if known > 0 else 0.0
        score = min(max(score, _LEAST_RANGE), _MOST_SCORE)
        h[i] = f32(score if k > 0 else -score)


@hot
def meet(state: BatchState, work: BatchWork, batch: Batch, r: int) -> None:
    """Take note of the values of a row; make the edges that are due, unless a training goes by those that there are."""
    bins, row = state.bins, work.row
    known = bins.clock[BEGUN]
    bins.clock[ROWS] += 1
    if bins.clock[ROWS] == FIRST:
        state.short[0] = 1
    for k in range(row.found[0]):
        slot = row.slots[k]
        due = meet_value(bins, slot, row.values[slot]) and state.memory.clock[LENGTH] == 0
        if due and make_edges(bins, row, slot):
            known = -1
            follow(state.memory, bins, row, slot, take_edges(bins, row, slot))
    if known != bins.clock[BEGUN]:
        find_bins(bins, row)


@hot
def learn(state: BatchState, work: BatchWork, batch: Batch, r: int, h: Floats32, t: Floats32, p: Floats) -> None:
    if state.memory.targets.shape[0] == 0 or p[0] <= 0:
        return
    remember(state.memory, state.bins, work.row, _target(state, t), p[0])
    _train(state)


@hot
def _target(state: BatchState, t: Floats32) -> float:
    """The number, or the place of the class, that a row's targets say."""
    if state.plan.loss != CLASSES:
        return float(t[0])
    if state.votes == 1:
        return 1.0 if t[0] > 0 else 0.0
    place = 0.0
    for i in range(1, state.votes):
        place = float(i) if t[i] > 0 else place
    return place


@lean
def _train(state: BatchState) -> None:
    """Begin a training that is due, or do the share of a row of that which runs."""
    memory, training = state.memory, state.training
    clock = memory.clock
    if clock[LENGTH] > 0:
        window = max(clock[LENGTH] // _PACE, 1)
        share = (clock[KEPT] - clock[BEGAN]) / window
        batch_trees.work_until(training, memory, state.bins, state.plan, share)
        if clock[KEPT] == clock[BEGAN] + window:
            batch_trees.take(training, state.trees)
            batch_trees.begin(training)
            clock[BEGAN] = clock[LENGTH] = 0
    elif clock[KEPT] >= max(clock[NEXT], state.bins.clock[MET]):
        clock[BEGAN] = clock[KEPT]
        clock[LENGTH] = min(clock[KEPT], memory.targets.shape[0] * _PACE // (_PACE + 1))
        clock[NEXT] = math.floor(clock[KEPT] * state.growth + 0.5)
        batch_trees.begin(training)


@hot
def pull(state: BatchState, work: BatchWork, batch: Batch, r: int, h: Floats32, pulls: Pulls) -> None:
    """A vote is a sum of terms."""
    for i in range(pulls.link.shape[1]):
        pulls.link[r, i] = 1.0
    for i in range(pulls.n):
        pulls.up[r, i], pulls.down[r, i] = max(h[i], f32(0)), min(h[i], f32(0))


@hot
def explain(state: BatchState, work: BatchWork, batch: Batch, r: int, found: Found, k: int) -> int:
    read_row(state.bins, work.row, batch, r)
    of_two = state.trees.clock[1] == 1
    for i in range(state.votes):
        score = state.first + i
        batch_trees.give_terms(state.trees, work.row.values, 0 if of_two and score < 2 else score, found.sums)
        sign = 1.0 if score > 0 or of_two else -1.0
        for slot in range(state.bins.clock[MET]):
            found.slots[k] = slot
            found.values[k] = found.sums[slot] * sign * found.plus[r, i]
            k += found.sums[slot] != 0
            found.sums[slot] = 0.0
    return k


class BatchRoom(NamedTuple):
    slots: int
    bins: int  # of a feature; 0 before there are any
    rows: int  # of the memory


class _Batch(Binned, WeakLearner):
    """What the classifier and the regressor share."""

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
        return max(rows + rows // _PACE + 1, 2 * FIRST)

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
        memory.clock[NEXT] = max(self.n_kept(committee) * _PACE // (_PACE + 1), FIRST)
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


@dataclass(eq=False, repr=False)
class BatchBoost(_Batch, Learner, state=BatchState, **kernels_of(__name__)):
    """Gradient boosted trees as in batch learning, trained anew on the last rows, which are kept as bins.

    ``partial_fit`` only keeps rows; existing trees do not change. New trees are trained from scratch on the last
    ``max_rows`` rows after 64, 90, 127, ... rows, but not before there are as many rows as features. They replace the
    old trees when a further 32nd of these rows has been learned, since the work is divided among the rows in between.
    So the same rows give the same trees, bit for bit, whatever the batches; and rows after the last training have no
    effect before the next one.

    A saved model contains the kept rows, as bins.

    Parameters
    ----------
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is refused before anything is learned.
    n_estimators : int, default=40
        Number of trees; with more than two classes, for each class.
    max_leaves : int, default=127
        Maximum number of leaves of a tree, which is grown best leaf first.
    learning_rate : float, default=0.25
        Factor of the values of leaves.
    bins : int, default=64
        Number of bins of a feature, a power of two from 4 to 64.
    l2 : float, default=0.01
        L2 regularization: added to the curvature of a leaf, so that its value shrinks towards 0.
    min_rows : int, default=20
        Minimum number of rows in a leaf; a quarter of it as long as there are fewer than 500 rows.
    growth : float, default=1.41
        Ratio of the numbers of rows at two successive trainings.
    max_rows : int, default=65536
        Maximum number of last rows that are kept.
    max_mb : int, default=64
        Memory for the rows and for a training without its histograms, in megabytes. Fewer rows are kept if they are
        wide.
    max_slots : int, default=1024
        Maximum number of feature slots; further features share slots by a hash.
    gentle : bool, default=False
        Whether trees are smaller and weaker where one of two labels is rare, since rows tell less there.

    Examples
    --------
    >>> from onlineboost import BatchBoost
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_error
    >>> X, y = load_letter()
    >>> round(progressive_error(BatchBoost(), X, y), 3)
    0.052
    """

    _: KW_ONLY
    n_estimators: int = 40
    max_leaves: int = 127
    learning_rate: float = 0.25
    bins: int = 64
    l2: float = 0.01
    min_rows: int = 20
    growth: float = 1.41
    max_rows: int = 1 << 16
    max_mb: int = 64
    max_slots: int = 1024
    gentle: bool = False

    def loss_of(self) -> tuple[int, float]:
        return CLASSES, 0.5


BatchLoss = Literal["squared", "absolute", "quantile"]
BATCH_LOSSES: tuple[BatchLoss, ...] = ("squared", "absolute", "quantile")


@dataclass(eq=False, repr=False)
class BatchBoostRegressor(_Batch, NumberLearner, state=BatchState, **kernels_of(__name__)):
    """``BatchBoost`` for regression: gradient boosted trees trained anew on the last rows, which are kept as bins.

    Parameters
    ----------
    loss : {"squared", "absolute", "quantile"}, default="squared"
        Loss: squared, absolute (predicts medians) or quantile.
    quantile : float, default=0.5
        Probability of a target below the prediction; for ``loss="quantile"`` only.
    n_estimators : int, default=40
        Number of trees.
    max_leaves : int, default=31
        Maximum number of leaves of a tree, which is grown best leaf first.
    learning_rate : float, default=0.15
        Factor of the values of leaves.
    bins : int, default=64
        Number of bins of a feature, a power of two from 4 to 64.
    l2 : float, default=1.0
        L2 regularization: added to the curvature of a leaf, so that its value shrinks towards 0.
    min_rows : int, default=20
        Minimum number of rows in a leaf; a quarter of it as long as there are fewer than 500 rows.
    growth : float, default=1.41
        Ratio of the numbers of rows at two successive trainings.
    max_rows : int, default=65536
        Maximum number of last rows that are kept.
    max_mb : int, default=64
        Memory for the rows and for a training without its histograms, in megabytes. Fewer rows are kept if they are
        wide.
    max_slots : int, default=1024
        Maximum number of feature slots; further features share slots by a hash.

    Examples
    --------
    >>> import numpy as np
    >>> from onlineboost import BatchBoostRegressor
    >>> X = np.random.default_rng(0).random((2000, 3))
    >>> y = np.sin(6 * X[:, 0]) + X[:, 1]
    >>> round(BatchBoostRegressor().fit(X[:1500], y[:1500]).score(X[1500:], y[1500:]), 2)
    1.0
    """

    loss: BatchLoss = "squared"
    _: KW_ONLY
    quantile: float = 0.5
    n_estimators: int = 40
    max_leaves: int = 31
    learning_rate: float = 0.15
    bins: int = 64
    l2: float = 1.0
    min_rows: int = 20
    growth: float = 1.41
    max_rows: int = 1 << 16
    max_mb: int = 64
    max_slots: int = 1024

    def check(self) -> None:
        super().check()
        check_one_of("loss", self.loss, BATCH_LOSSES)
        check_between("quantile", self.quantile, 0, 1)

    def loss_of(self) -> tuple[int, float]:
        level = float(self.quantile) if self.loss == "quantile" else 0.5
        return (SQUARED, ABSOLUTE, QUANTILE)[BATCH_LOSSES.index(self.loss)], level
