"""Many classes: one machine for each class against the rest, on the same rows, and a softmax of their log odds.

Two classes need one machine, whose score has a sign. When a third class comes, that machine goes on for the positive
class, a copy of it for the negative one, with its sign turned, and a new one begins for the third class; so does one
for every further class, at the row where it is first met.

The machines' scores become log odds z by Platt scaling, where they are none. The largest is the answer. Probabilities
are softmax(b z), where b is learnt (``sharpness.py``): each machine has seen the others' examples only as "the rest".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np

from onlineboost.compiled.block import Call, unpack
from onlineboost.compiled.jit import hot, njit
from onlineboost.data.allocation import filled, planning
from onlineboost.data.batch import Batch, Floats, Ints
from onlineboost.data.classes import Classes
from onlineboost.data.target import sign_for
from onlineboost.engine.compiled_machine import CompiledMachine
from onlineboost.engine.explaining import Explained, Terms, as_shares
from onlineboost.engine.heads import INVERSE, VoteHead, new_head, vote_correct
from onlineboost.engine.link import Alone
from onlineboost.engine.machine import BatchMachine, Said
from onlineboost.engine.one_row import Steps
from onlineboost.engine.parts import PartsMachine
from onlineboost.engine.record import Record, Settings, new_record
from onlineboost.engine.replay import KeptClasses
from onlineboost.engine.sharpness import check_sharpness, largest, new_sharpness, probabilities, sharpen
from onlineboost.storage.validity import Limits

CLIP = 8.0  # log odds beyond it teach nothing about the sharpness


class ClassesHead(NamedTuple):
    platt: Floats  # [classes, 2] as in ``VoteHead``, for machines whose score is not log odds
    inverse: Floats  # [classes, 3]
    sharpness: Floats  # [2] b, and the information on it

    def limits(self) -> Limits:
        return {"inverse": INVERSE}

    def check(self) -> None:
        check_sharpness(self.sharpness)


def new_classes_head(n: int) -> ClassesHead:
    return ClassesHead(filled(0, (n, 2)), filled([1.0, 0.0, 1.0], (n, 3)), new_sharpness())


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
        if not mode.given:
            for k in range(h.size):
                scores[r, k] = z[k]
        if mode.learning and batch.weight[r] > 0:
            y, weight = batch.y[r], batch.weight[r]
            for k in range(h.size):
                vote_correct(VoteHead(head.platt[k], head.inverse[k]), h[k], nothing, sign_for(k, y), weight)
            learn_row(head, record, z, p, scores[r], y, weight)


@dataclass
class OneCommitteeMachine(CompiledMachine):
    """One committee for all classes: learner k tells class k from the rest, and what learners share is read once."""

    finish: ClassVar[Any] = staticmethod(finish_classes)

    @property
    def n_classes(self) -> int:
        return self.settings.n_learners

    @property
    def gives_odds(self) -> bool:
        return True

    def probabilities(self, scores: Floats) -> Floats:
        return probabilities(self.head.sharpness, scores)  # type: ignore[union-attr]

    def strengths(self, names: Any) -> list[tuple[str, int, float]]:
        """The mean strength of each feature over all classes."""
        return _mean_strengths([one.strengths(names) for one in self._alone()])

    def importances(self) -> dict[int, float]:
        found: dict[int, float] = {}
        for one in self._alone():
            for id, share in one.importances().items():
                found[id] = found.get(id, 0.0) + share
        return as_shares(found)

    def explain_slotted(self, rows: Batch) -> Explained:
        terms = []
        for k, one in enumerate(self._alone()):
            slope = float(self.head.platt[k, 0])  # type: ignore[union-attr]
            mine = one.explain_slotted(rows)
            scaled = mine.scaled(np.full((rows.y.size, 1), slope if k > 0 else -slope))
            terms += [term._replace(output=k) for term in scaled]
        return Explained(self.run_slotted(rows, False), terms)

    def _alone(self) -> Iterator[CompiledMachine]:
        """The learner of each class, as a machine of its own."""
        settings, head, record = Settings(1, False, False, 0, scan=True), new_head("vote", 1), new_record(1)
        for k in range(self.n_classes):
            committee = self.learner.apart(self.committee, k, k + 1)
            states = committee, Alone(1), head, record, self.transforms, self.slots
            yield CompiledMachine(settings, self.learner, *states)


def one_committee(machine: CompiledMachine, n: int) -> OneCommitteeMachine:
    """The machine of a learner alone, for n classes: further learners join the committee."""
    learner, old, slots = machine.learner, machine.settings.n_learners, machine.n_slots
    known, head, record = max(old, 2), new_classes_head(n), new_record(n)
    if planning():
        committee = learner.further(machine.committee, n, slots)
    else:
        times = known // old  # that of two classes is for both
        further = learner.further(machine.committee, n - known, slots)
        committee = learner.joined([machine.committee] * times + [further], [old] * times + [n - known])
        head.platt[:known], head.inverse[:known] = machine.head.platt, machine.head.inverse  # type: ignore[union-attr]
        record.edges[:known], record.weights[:known] = machine.record.edges, machine.record.weights
    if isinstance(machine.head, ClassesHead):
        head = head._replace(sharpness=machine.head.sharpness)
    same = {one.name: getattr(machine, one.name) for one in fields(machine) if one.name not in ("passes", "token")}
    return OneCommitteeMachine(
        **same
        | {
            "settings": machine.settings._replace(n_learners=n),
            "committee": committee,
            "booster": Alone(n, each=True),
            "head": head,
            "record": record._replace(clock=machine.record.clock, totals=machine.record.totals),
            "kept": KeptClasses(*machine.kept),
        }
    )


@dataclass
class ClassesMachine(PartsMachine):
    """Machines for each class against the rest, in the order of codes; that of the first has its sign turned."""

    head: ClassesHead

    @property
    def n_classes(self) -> int:
        return len(self.parts)

    @property
    def leaves(self) -> tuple[CompiledMachine, ...]:
        return self.parts  # type: ignore[return-value]

    def rows_of(self, k: int, rows: Batch) -> Batch:
        mine = Classes.places(rows.y) == k
        return rows._replace(y=np.where(mine == (k > 0), 1.0, -1.0))

    def run_slotted(self, rows: Batch, learning: bool, said: Said | None = None) -> Floats:
        """``run`` on rows with slots for ids."""
        batches = [self.rows_of(k, rows) for k in range(len(self.parts))]
        return self.run_parts(self.parts, batches, rows, learning, said)

    def combine(
        self, parts: Sequence[BatchMachine], scores: Floats, rows: Batch, answers: Floats, learning: bool, given: bool
    ) -> Call:
        odds = np.array([part.gives_odds for part in parts])
        work = np.empty(len(parts)), np.empty(len(parts)), np.empty(0, np.float32)
        states = self.head, self.record, odds, learning, given, work
        return Call(class_rows, scores, rows.y, rows.weight, answers, *states)

    def add_steps(self, steps: Steps, score: Floats) -> bool:
        n = len(self.parts)
        scores, signs = np.empty((n, 1)), np.empty((n, 1))
        if steps.learning:
            steps.calls.append(Call(signs_of, steps.row.y, signs))
        for k, part in enumerate(self.parts):
            if not part.add_steps(steps.with_labels(signs[k]), scores[k]):
                return False
        answers = score.reshape(1, n)
        steps.calls.append(self.combine(self.parts, scores, steps.row, answers, steps.learning, False))
        steps.machines.append(self)
        return True

    def explain_slotted(self, rows: Batch) -> Explained:
        return self.explain_parts(self.parts, [rows] * len(self.parts), rows)

    def share_of(self, k: int, part: Explained) -> list[Terms]:
        slope = 1.0 if self.parts[k].gives_odds else float(self.head.platt[k, 0])
        found = part.scaled(np.full((len(part.scores), 1), slope if k > 0 else -slope))
        return [one._replace(output=k) for one in found]

    def grow(self, n_features: int) -> None:
        for part in self.leaves:
            part.grow(n_features)

    @property
    def learners(self) -> Record:
        return summed(self.record.clock, self.parts)

    @property
    def gives_odds(self) -> bool:
        return True

    def probabilities(self, scores: Floats) -> Floats:
        return probabilities(self.head.sharpness, scores)

    def states(self) -> dict[str, Any]:
        return {"record": self.record, "head": self.head} | super().states()

    def strengths(self, names: Any) -> list[tuple[str, int, float]]:
        """The mean strength of each feature over all classes."""
        return _mean_strengths([part.strengths(names) for part in self.parts])


def _mean_strengths(found: list[list[tuple[str, int, float]]]) -> list[tuple[str, int, float]]:
    total: dict[tuple[str, int], float] = {}
    for mine in found:
        for name, number, strength in mine:
            total[name, number] = total.get((name, number), 0.0) + abs(strength) / len(found)
    return sorted(((*key, strength) for key, strength in total.items()), key=lambda one: -one[2])


def with_classes(machine: CompiledMachine | ClassesMachine, fresh: list[CompiledMachine]) -> ClassesMachine:
    """A machine that knows further classes, for which new ones begin."""
    machine = machine if isinstance(machine, ClassesMachine) else _of_two(machine)
    for new in fresh:
        machine.leaves[0].succeeded_by(new)
    settings, record, head = grown(machine, machine.n_classes + len(fresh))
    return ClassesMachine(settings, record, (*machine.parts, *fresh), head)


def grown(machine: Any, n: int) -> tuple[Settings, Record, ClassesHead]:
    """Settings, record and head of a machine of several ones, for n classes."""
    old, head, record = machine.n_classes, new_classes_head(n), new_record(n)
    if not planning():
        head.platt[:old], head.inverse[:old] = machine.head.platt, machine.head.inverse
        record.edges[:old], record.weights[:old] = machine.record.edges, machine.record.weights
    record = record._replace(clock=machine.record.clock, totals=machine.record.totals)
    return machine.settings._replace(n_learners=n), record, head._replace(sharpness=machine.head.sharpness)


def states_of_two(machine: Any) -> tuple[Settings, Record, ClassesHead]:
    """Settings, record and head for two machines in the place of the one for two classes."""
    head, record = new_classes_head(2), new_record(2)
    record.clock[0] = machine.n_learnt
    if isinstance(machine.head, VoteHead) and not planning():
        head.platt[:], head.inverse[:] = machine.head.platt, machine.head.inverse
    return Settings(2, False, False, machine.settings.seed), record, head


def summed(clock: Ints, parts: Sequence[Any]) -> Record:
    """The record of the weak learners: sums over all classes."""
    records = [part.learners for part in parts]
    sums = (sum(getattr(one, name) for one in records) for name in ("edges", "weights", "totals"))
    return Record(clock, *sums)


def _of_two(machine: CompiledMachine) -> ClassesMachine:
    """Two machines in the place of the one for two classes: a copy of it for the negative one."""
    twin = machine.snapshot()
    twin.slots, twin.names = machine.slots, machine.names
    if not planning():
        twin.forget_alarms()
    settings, record, head = states_of_two(machine)
    return ClassesMachine(settings, record, (twin, machine), head)


@njit
def signs_of(block: Any) -> None:
    """The labels of one row for the machine of each class."""
    y, signs = unpack(block)
    for k in range(signs.shape[0]):
        signs[k, 0] = sign_for(k, y[0])


@njit
def class_rows(block: Any) -> None:
    """Answers from the scores of all classes, [classes, rows]; with ``learning``, each row updates the states."""
    scores, y, weight, answers, head, record, as_odds, learning, given, work = unpack(block)
    z, p, nothing = work
    n = scores.shape[0]
    for r in range(y.size):
        for k in range(n):
            odds = scores[k, r] if as_odds[k] else head.platt[k, 0] * scores[k, r] + head.platt[k, 1]
            z[k] = odds if k > 0 else -odds
        if not given:
            for k in range(n):
                answers[r, k] = z[k]
        if learning and weight[r] > 0:
            for k in range(n):
                label = sign_for(k, y[r])
                right = (scores[k, r] >= 0) == (label > 0)
                record.weights[k] += weight[r]
                record.edges[k] += weight[r] if right else -weight[r]
                if not as_odds[k]:
                    vote_correct(VoteHead(head.platt[k], head.inverse[k]), scores[k, r], nothing, label, weight[r])
            learn_row(head, record, z, p, answers[r], y[r], weight[r])


@hot
def learn_row(head: ClassesHead, record: Record, z: Floats, p: Floats, answer: Floats, y: float, weight: float) -> None:
    """Count the mistakes, and learn the sharpness."""
    place = max(int(y), 0)
    record.totals[0] += weight
    record.totals[1] += weight if largest(answer) != place else 0.0
    record.clock[0] += 1
    for k in range(z.size):
        z[k] = min(max(z[k], -CLIP), CLIP)
    sharpen(head.sharpness, z, p, place, weight)
