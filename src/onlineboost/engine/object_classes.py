"""More than two classes for learners that are Python objects.

``ObjectClasses`` has one ``ObjectCommittee`` for each class against the rest, as in ``classes.py``: the node of two
classes goes on for the positive class, a copy of it with its sign turned for the negative one, and each further class
begins at the row where it is first met. Objects take labels, so all nodes call them by those of the first two classes:
for the node of class k, the positive one means "k".

``ClassObjectCommittee`` is one committee of learners that vote for classes, as in ``class_votes.py``.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from onlineboost.compiled import draws
from onlineboost.compiled.block import Call
from onlineboost.compiled.jit import njit
from onlineboost.data.batch import Floats
from onlineboost.data.classes import Classes
from onlineboost.data.columns import Columns
from onlineboost.engine.classes import ClassesHead, class_rows, grown, states_of_two, summed
from onlineboost.engine.node import of_part
from onlineboost.engine.objects import ObjectCommittee, ObjectNode, ObjectRows
from onlineboost.loop.class_tally import correct, link_classes, new_tally, note, write
from onlineboost.loop.heads import VoteHead
from onlineboost.loop.link import ROUND, SETTLE, VOTE
from onlineboost.loop.record import Record, Settings
from onlineboost.loop.temperature import probabilities

_KERNELS: tuple[Any, ...] = write, note, correct
_written, _noted, _corrected = (njit(one.py_func) for one in _KERNELS)


@dataclass
class ObjectClasses(ObjectNode):
    """Nodes for each class against the rest, in the order of places; the sign of the first one is turned."""

    settings: Settings
    record: Record
    parts: tuple[ObjectCommittee, ...]
    head: ClassesHead

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        return len(self.parts)

    def run(self, examples: ObjectRows, learning: bool) -> Floats:
        y, weight, n = examples.y, examples.weight, len(self.parts)
        two = Classes(*examples.target.labels[:2])
        scores, answers = np.empty((n, y.size)), np.empty((y.size, n))
        for k, part in enumerate(self.parts):
            rows = [(x, float((label == k) == (k > 0)), w) for x, label, w in examples.rows]
            scores[k] = part.run(ObjectRows(rows, two), learning)[:, 0]
        odds = np.array([not isinstance(part.head, VoteHead) for part in self.parts])
        work = np.empty(n), np.empty(n), np.empty(0, np.float32)
        states = self.head, self.record, odds, learning, False, work
        Call(class_rows, np.array([0, y.size]), scores, y, weight, answers, *states)()
        return answers

    of_table = of_part("of_table")
    of_batch = of_part("of_batch")
    columns_not_met = of_part("columns_not_met")
    names_met = of_part("names_met")

    def of_dict(
        self, x: Mapping[Any, Any], columns: Columns, target: Classes, y: float, weight: float, learning: bool
    ) -> ObjectRows:
        known = len(columns.names)
        found = self.parts[0].of_dict(x, columns, target, y, weight, learning)
        if len(columns.names) > known:
            self.name_features(columns.names)
        return found

    @property
    def learners(self) -> Record:
        return summed(self.record.clock, self.parts)

    def probabilities(self, scores: Floats) -> Floats:
        return probabilities(self.head.temperature, scores)

    @property
    def n_slots(self) -> int:
        return max(part.n_slots for part in self.parts)

    def name_features(self, names: Mapping[int, str]) -> None:
        for part in self.parts:
            part.name_features(names)


def objects_with_classes(node: Any, fresh: list[ObjectCommittee]) -> ObjectClasses:
    """The node with further classes, for which new nodes start."""
    node = node if isinstance(node, ObjectClasses) else _of_two(node)
    settings, record, head = grown(node, node.n_classes + len(fresh))
    return ObjectClasses(settings, record, (*node.parts, *fresh), head)


def _of_two(node: ObjectCommittee) -> ObjectClasses:
    """Two nodes in the place of the one for two classes: a copy of it for the negative one."""
    settings, record, head = states_of_two(node, node.head)
    return ObjectClasses(settings, record, (node.snapshot(), node), head)


@dataclass
class ClassObjectCommittee(ObjectCommittee):
    """A committee of Python objects that vote for classes, and its booster."""

    n_known: int = field(default=2, kw_only=True)  # number of classes

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        return self.n_known

    def check_classes(self, n: int) -> None:
        self.committee.check_classes(n)

    def with_classes(self, n: int, booster: Any) -> Self:
        """A committee for more classes, with the booster's state for them."""
        twin = copy.copy(self)
        twin.booster, twin.n_known = booster, n
        return twin

    def run(self, examples: ObjectRows, learning: bool) -> Floats:
        """``class_votes``, in Python."""
        settings, record, target = self.settings, self.record, examples.target
        head: Any = self.head
        n, k = settings.n_learners, self.n_known
        answers, p, t = np.empty((len(examples.rows), k if k > 2 else 1)), np.empty(n), np.empty(n, np.float32)
        tally = new_tally(n, k)
        booster = link_classes(self.booster, tally, p, t)
        for r, (x, place, weight) in enumerate(examples.rows):
            places = self.committee.places(x, target, learning)
            tally.votes[:] = np.where(places < k, places, 0)  # classes that are declared but have not occurred
            y, number = int(place), int(record.clock[0])
            booster.take(VOTE, number, y)
            _written(tally.scores, answers[r])
            if not learning or weight <= 0:
                continue
            booster.take(ROUND, number, y)
            p *= weight
            _noted(record, tally.votes, p, y, k)
            if settings.sample:
                for i in range(n):
                    p[i] = draws.count(settings.seed, number, i, p[i])
            self.committee.learn(x, target.labels[y], p, target)
            _corrected(head, record, tally, answers[r], y, weight)
            booster.take(SETTLE, number, y)
        return answers

    @property
    def gives_chances(self) -> bool:
        return False

    def probabilities(self, scores: Floats) -> Floats:
        head: Any = self.head
        return probabilities(head.temperature, scores)
