"""Many classes for learners that are Python objects: one ``ObjectCommittee`` for each class against the rest.

As in ``classes.py``: the node of two classes goes on for the positive class, a copy of it with its sign turned for
the negative one, and each further class begins at the row where it is first met. Objects take labels, so all nodes
call them by those of the first two classes: for the node of class k, the positive one means "k".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from onlineboost.compiled.block import Call
from onlineboost.data.arrays import Source
from onlineboost.data.batch import Batch, Floats
from onlineboost.data.classes import Classes
from onlineboost.data.columns import Columns
from onlineboost.engine.classes import ClassesHead, class_rows, grown, states_of_two, summed
from onlineboost.engine.objects import ObjectCommittee, ObjectNode, ObjectRows
from onlineboost.loop.heads import VoteHead
from onlineboost.loop.record import Record, Settings
from onlineboost.loop.temperature import probabilities


@dataclass
class ObjectClasses(ObjectNode):
    """Machines for each class against the rest, in the order of places; that of the first has its sign turned."""

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
        Call(
            class_rows,
            np.array([0, y.size]),
            scores,
            y,
            weight,
            answers,
            self.head,
            self.record,
            odds,
            learning,
            False,
            work,
        )()
        return answers

    def of_table(self, source: Source, y: Floats, weight: Floats, target: Classes) -> Iterator[ObjectRows]:
        return self.parts[0].of_table(source, y, weight, target)

    def of_batch(self, batch: Batch, target: Classes) -> Iterator[ObjectRows]:
        return self.parts[0].of_batch(batch, target)

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

    def columns_not_met(self, names: Iterable[str]) -> list[str]:
        return self.parts[0].columns_not_met(names)

    def names_met(self, names: Mapping[int, str]) -> dict[int, str]:
        return self.parts[0].names_met(names)


def objects_with_classes(node: Any, fresh: list[ObjectCommittee]) -> ObjectClasses:
    """A node that knows further classes, for which new ones begin."""
    node = node if isinstance(node, ObjectClasses) else _of_two(node)
    settings, record, head = grown(node, node.n_classes + len(fresh))
    return ObjectClasses(settings, record, (*node.parts, *fresh), head)


def _of_two(node: ObjectCommittee) -> ObjectClasses:
    """Two nodes in the place of the one for two classes: a copy of it for the negative one."""
    settings, record, head = states_of_two(node, node.head)
    return ObjectClasses(settings, record, (node.snapshot(), node), head)
