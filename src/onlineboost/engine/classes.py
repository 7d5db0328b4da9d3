"""Multiclass classification: one committee for each class against the rest, and a softmax of their log odds.

Two classes need one committee, whose score has a sign. When a third class appears, it continues for the positive class,
a copy with its sign turned for the negative one, and a new committee starts for the third class, as for every further
class, at the first row of the class.

Platt scaling turns scores into log odds z, unless they are. The largest is the prediction. Probabilities are softmax(b
z), with a learned b (``temperature.py``), since each committee knows other classes only as "the rest".
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np

from onlineboost.compiled.block import unpack
from onlineboost.compiled.jit import hot, njit
from onlineboost.data.allocation import filled, planning
from onlineboost.data.batch import Batch, Floats, Ints
from onlineboost.data.target import place_for
from onlineboost.engine.committee import Committee
from onlineboost.engine.node import Node
from onlineboost.engine.stage import Stage
from onlineboost.loop.explaining import Explained, as_shares
from onlineboost.loop.heads import INVERSE, VoteHead, new_head, vote_correct
from onlineboost.loop.link import Alone
from onlineboost.loop.record import Record, Settings, new_record
from onlineboost.loop.temperature import check_temperature, largest, learn_temperature, new_temperature, probabilities
from onlineboost.storage.validity import Limits

CLIP = 8.0  # larger log odds do not affect the temperature


class ClassesHead(NamedTuple):
    platt: Floats  # [classes, 2] as in ``VoteHead``, for parts whose score is not log odds
    inverse: Floats  # [classes, 3]
    temperature: Floats  # [2] inverse temperature b, and its information

    def limits(self) -> Limits:
        return {"inverse": INVERSE}

    def check(self) -> None:
        check_temperature(self.temperature)


def new_classes_head(n: int) -> ClassesHead:
    return ClassesHead(filled(0, (n, 2)), filled([1.0, 0.0, 1.0], (n, 3)), new_temperature())


@njit
def finish_classes(block: Any) -> None:
    """``loop.finish`` where each class has one learner."""
    batch, scores, _, head, _, record, mode, rows, votes, table = unpack(block)
    z, p, nothing = votes, np.empty(votes.size), np.empty(0, np.float32)
    for r in range(rows[0], rows[2]):
        h = table.votes[r & (table.carry.shape[0] - 1)]
        for k in range(h.size):
            odds = head.platt[k, 0] * h[k] + head.platt[k, 1]
            z[k] = odds if k > 0 else -odds
        if not (mode.given and scores[r, 0] == scores[r, 0]):
            for k in range(h.size):
                scores[r, k] = z[k]
        if mode.learning and batch.weight[r] > 0:
            y, weight = batch.y[r], batch.weight[r]
            for k in range(h.size):
                vote_correct(VoteHead(head.platt[k], head.inverse[k]), h[k], nothing, place_for(k, y), weight)
            learn_row(head, record, z, p, scores[r], y, weight)


@dataclass
class OneCommittee(Committee):
    """One committee for all classes: learner k separates class k from the rest; shared transforms run once."""

    finish: ClassVar[Any] = staticmethod(finish_classes)

    @property
    def n_classes(self) -> int:
        return self.settings.n_learners

    @property
    def gives_odds(self) -> bool:
        return True

    def probabilities(self, scores: Floats) -> Floats:
        return probabilities(self.head.temperature, scores)  # type: ignore[union-attr]

    def strengths(self, names: Mapping[int, str]) -> list[tuple[str, int, float]]:
        return mean_strengths([one.strengths(names) for one in self._alone()])

    def importances(self) -> dict[int, float]:
        return mean_importances([*self._alone()])

    def explain(self, batches: Mapping[int, Batch], rows: Batch) -> Explained:
        from onlineboost.engine.program import ASKING, run_slotted

        mine, terms = batches[id(self)], []
        for k, one in enumerate(self._alone()):
            slope = float(self.head.platt[k, 0])  # type: ignore[union-attr]
            scaled = one.explain({id(one): mine}, rows).scaled(np.full((rows.y.size, 1), slope if k > 0 else -slope))
            terms += [term._replace(output=k) for term in scaled]
        return Explained(run_slotted(self, self.learner.known(self.committee, mine), ASKING), terms)

    def _alone(self) -> Iterator[Committee]:
        """The learner of each class, as a committee of its own."""
        settings, head, record = Settings(1, False, False, 0, scan=True), new_head("vote", 1), new_record(1)
        for k in range(self.n_classes):
            committee = self.learner.apart(self.committee, k, k + 1)
            yield Committee(settings, self.learner, committee, Alone(1), head, record, self.transforms, self.slots)


def one_committee(node: Committee, n: int) -> OneCommittee:
    """The committee of a single learner for n classes, with a learner for each."""
    learner, old, slots = node.learner, node.settings.n_learners, node.n_slots
    known, head, record = max(old, 2), new_classes_head(n), new_record(n)
    if planning():
        committee = learner.further(node.committee, n, slots)
    else:
        times = known // old  # that of two classes is for both
        further = learner.further(node.committee, n - known, slots)
        committee = learner.joined([node.committee] * times + [further], [old] * times + [n - known])
        head.platt[:known], head.inverse[:known] = node.head.platt, node.head.inverse  # type: ignore[union-attr]
        record.edges[:known], record.weights[:known] = node.record.edges, node.record.weights
    if learner.gives_odds and not planning():  # Platt scaling that changes nothing, and never learns
        head.platt[:], head.inverse[:] = (1, 0), 0
    if isinstance(node.head, ClassesHead):
        head = head._replace(temperature=node.head.temperature)
    same = {one.name: getattr(node, one.name) for one in fields(node)}
    return OneCommittee(
        **same
        | {
            "settings": node.settings._replace(n_learners=n),
            "committee": committee,
            "booster": Alone(n, each=True),
            "head": head,
            "record": record._replace(clock=node.record.clock, totals=node.record.totals),
        }
    )


@dataclass
class ClassesNode(Node):
    """Committees for each class against the rest, in the order of places; that of the first has its sign turned."""

    settings: Settings
    record: Record
    parts: tuple[Any, ...]
    head: ClassesHead

    def __post_init__(self) -> None:
        self.share_slots()

    @property
    def n_classes(self) -> int:
        return len(self.parts)

    @property
    def leaves(self) -> tuple[Committee, ...]:
        return tuple(leaf for part in self.parts for leaf in part.leaves)

    def add(self, stage: Stage, y: Floats, out: Floats) -> None:
        n, capacity, mode = len(self.parts), stage.table.capacity, stage.mode
        stage.outs.append(out)
        scores, labels = stage.array("scores", (n, capacity, 1)), stage.array("labels", (n, capacity))
        if mode.learning:
            stage.call(labels_of, stage.span, y, labels)
        for k, part in enumerate(self.parts):
            stage.part(k, part, labels[k], scores[k])
        odds = np.array([part.gives_odds for part in self.parts])
        work = np.empty(n), np.empty(n), np.empty(0, np.float32)
        states = self.head, self.record, odds, mode.learning, mode.given, work
        stage.call(class_rows, stage.span, scores.reshape(n, capacity), y, stage.table.weight, out, *states)

    def explain(self, batches: Mapping[int, Batch], rows: Batch) -> Explained:
        terms, scores = [], []
        for k, part in enumerate(self.parts):
            mine, slope = part.explain(batches, rows), 1.0 if part.gives_odds else float(self.head.platt[k, 0])
            found = mine.scaled(np.full((rows.y.size, 1), slope if k > 0 else -slope))
            terms += [one._replace(output=k) for one in found]
            odds = mine.scores[:, 0] if part.gives_odds else slope * mine.scores[:, 0] + self.head.platt[k, 1]
            scores.append(odds if k > 0 else -odds)
        return Explained(np.ascontiguousarray(np.transpose(scores)), terms)

    @property
    def learners(self) -> Record:
        return summed(self.record.clock, self.parts)

    @property
    def gives_odds(self) -> bool:
        return True

    def probabilities(self, scores: Floats) -> Floats:
        return probabilities(self.head.temperature, scores)

    def own_states(self) -> dict[str, Any]:
        return {"record": self.record, "head": self.head}

    def strengths(self, names: Mapping[int, str]) -> list[tuple[str, int, float]]:
        return mean_strengths([part.strengths(names) for part in self.parts])

    def importances(self) -> dict[int, float]:
        return mean_importances(self.parts)

    def check_divisible(self) -> None:
        """Classes can always be divided."""


def mean_importances(parts: Sequence[Node]) -> dict[int, float]:
    """The mean share of each feature over several parts."""
    found: dict[int, float] = {}
    for part in parts:
        for id, share in part.importances().items():
            found[id] = found.get(id, 0.0) + share
    return as_shares(found)


def mean_strengths(found: list[list[tuple[str, int, float]]]) -> list[tuple[str, int, float]]:
    """The mean strength of each feature over several parts, the strongest first."""
    total: dict[tuple[str, int], float] = {}
    for mine in found:
        for name, number, strength in mine:
            total[name, number] = total.get((name, number), 0.0) + abs(strength) / len(found)
    return sorted(((*key, strength) for key, strength in total.items()), key=lambda one: -one[2])


def with_classes(node: Any, fresh: list[Any]) -> ClassesNode:
    """The node with further classes, for which new committees start."""
    node = node if isinstance(node, ClassesNode) else _of_two(node)
    for new in fresh:
        node.leaves[0].succeeded_by(new.leaves[0])
    settings, record, head = grown(node, node.n_classes + len(fresh))
    found = ClassesNode(settings, record, (*node.parts, *fresh), head)
    for leaf in found.leaves:
        if hasattr(leaf.learner, "thrifty"):
            leaf.learner = copy.copy(leaf.learner)
            leaf.learner.thrifty = True
    return found


def grown(node: Any, n: int) -> tuple[Settings, Record, ClassesHead]:
    """Settings, record and head of a node with a part for each class, for n classes."""
    old, head, record = node.n_classes, new_classes_head(n), new_record(n)
    if not planning():
        head.platt[:old], head.inverse[:old] = node.head.platt, node.head.inverse
        record.edges[:old], record.weights[:old] = node.record.edges, node.record.weights
    record = record._replace(clock=node.record.clock, totals=node.record.totals)
    return node.settings._replace(n_learners=n), record, head._replace(temperature=node.head.temperature)


def states_of_two(node: Any, own: Any) -> tuple[Settings, Record, ClassesHead]:
    """Settings, record and head for two parts in the place of a node of two classes with this head of its own."""
    head, record = new_classes_head(2), new_record(2)
    record.clock[0] = node.n_learned
    if isinstance(own, VoteHead) and not planning():
        head.platt[:], head.inverse[:] = own.platt, own.inverse
    return Settings(2, False, False, node.settings.seed), record, head


def summed(clock: Ints, parts: Sequence[Any]) -> Record:
    """The record of the weak learners: sums over all classes."""
    records = [part.learners for part in parts]
    sums = (sum(getattr(one, name) for one in records) for name in ("edges", "weights", "totals"))
    return Record(clock, *sums)


def _of_two(node: Any) -> ClassesNode:
    """Two parts in the place of the node of two classes: a copy of it for the negative one."""
    twin = node.snapshot()
    for mine, leaf in zip(twin.leaves, node.leaves, strict=True):
        mine.slots, mine.names = leaf.slots, leaf.names
    if not planning():
        twin.forget_alarms()
    settings, record, head = states_of_two(node, node.leaves[0].head)
    return ClassesNode(settings, record, (twin, node), head)


@njit
def labels_of(block: Any) -> None:
    """The labels of rows for the committee of each class."""
    span, y, labels = unpack(block)
    for k in range(labels.shape[0]):
        for r in range(span[0], span[1]):
            labels[k, r] = place_for(k, y[r])


@njit
def class_rows(block: Any) -> None:
    """Answers from the scores of all classes, [classes, rows]; with ``learning``, each row updates the states."""
    span, scores, y, weight, answers, head, record, as_odds, learning, given, work = unpack(block)
    z, p, nothing = work
    n = scores.shape[0]
    for r in range(span[0], span[1]):
        for k in range(n):
            odds = scores[k, r] if as_odds[k] else head.platt[k, 0] * scores[k, r] + head.platt[k, 1]
            z[k] = odds if k > 0 else -odds
        if not (given and answers[r, 0] == answers[r, 0]):
            for k in range(n):
                answers[r, k] = z[k]
        if learning and weight[r] > 0:
            for k in range(n):
                label = place_for(k, y[r])
                right = (scores[k, r] >= 0) == (label > 0)
                record.weights[k] += weight[r]
                record.edges[k] += weight[r] if right else -weight[r]
                if not as_odds[k]:
                    vote_correct(VoteHead(head.platt[k], head.inverse[k]), scores[k, r], nothing, label, weight[r])
            learn_row(head, record, z, p, answers[r], y[r], weight[r])


@hot
def learn_row(head: ClassesHead, record: Record, z: Floats, p: Floats, answer: Floats, y: float, weight: float) -> None:
    """Count the mistakes, and learn the temperature."""
    place = int(y)
    record.totals[0] += weight
    record.totals[1] += weight if largest(answer) != place else 0.0
    record.clock[0] += 1
    for k in range(z.size):
        z[k] = min(max(z[k], -CLIP), CLIP)
    learn_temperature(head.temperature, z, p, place, weight)
