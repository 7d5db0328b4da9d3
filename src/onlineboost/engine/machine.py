"""Machines: the states of a fitted model, with the code that scores and learns batches."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.arrays import Dense, Sparse, copied, writable
from onlineboost.data.batch import Batch, Floats, cut, joined
from onlineboost.data.columns import Columns, Located
from onlineboost.data.target import Binary
from onlineboost.engine import adwin, loop, replay
from onlineboost.engine.adwin import NoWatch, Watch
from onlineboost.engine.heads import Head, probabilities
from onlineboost.engine.record import Record, Settings
from onlineboost.storage.validity import saved_arrays
from onlineboost.transforms.chain import Transforms, output_names, transformed


class Machine(ABC):
    """All states that affect the next update, behind one interface for compiled learners and Python objects.

    ``examples`` are in the machine's own form, made by ``of_table``, ``of_batch`` or ``of_dict``.
    """

    settings: Settings
    record: Record

    @abstractmethod
    def run(self, examples: Any, learning: bool) -> Floats:
        """Score every example before its label is used; with ``learning``, learn from it."""

    @abstractmethod
    def of_table(self, source: Dense | Sparse, y: Floats, weight: Floats, target: Binary) -> Iterator[Any]:
        """The rows of a table as examples, in parts that are run one after the other."""

    @abstractmethod
    def of_batch(self, batch: Batch, n_features: int, target: Binary) -> Iterator[Any]:
        """The rows of a batch as examples, in parts that are run one after the other."""

    @abstractmethod
    def of_dict(
        self, x: Mapping[Any, Any], columns: Columns, target: Binary, y: float, weight: float, learning: bool
    ) -> Any:
        """One dict as an example. With ``learning``, new names get columns, and room is made for them."""

    @abstractmethod
    def grow(self, n_features: int) -> None:
        """Make room for more features."""

    @abstractmethod
    def probabilities(self, scores: Floats) -> Floats:
        """Probabilities of the positive label."""

    @abstractmethod
    def states(self) -> dict[str, Any] | None:
        """All states by name, each a NamedTuple of arrays; None if they are not made of arrays."""

    def arrays(self) -> dict[str, NDArray[Any]] | None:
        """Every array that does not follow from the parameters, by name; None if the states are not made of arrays."""
        states = self.states()
        if states is None:
            return None
        return {
            f"{part}.{name}": array for part, state in states.items() for name, array in saved_arrays(state).items()
        }

    def snapshot(self) -> Self:
        """A copy with arrays of its own."""
        twin = copy.copy(self)
        for name, value in vars(self).items():
            setattr(twin, name, value.snapshot() if isinstance(value, Machine) else copied(value))
        return twin

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Copy read-only arrays, such as those of a memory map: compiled code needs writable ones."""
        self.__dict__.update({name: writable(value) for name, value in state.items()})

    @property
    def needs_names(self) -> bool:
        """Whether the machine needs the names of features."""
        return False

    def name_features(self, names: Mapping[int, str]) -> None:  # noqa: B027  most machines do not need names
        """Take in the names of features."""

    def columns_not_met(self) -> list[str]:
        """Columns that the parameters name and that no feature seen so far belongs to."""
        return []

    @property
    def n_features_seen(self) -> int | None:
        """Number of different features seen so far; None if the learners do not count them."""
        return None

    def strengths(self, names: Mapping[int, str]) -> list[tuple[str, int, float]]:
        """Name, number and strength of each feature that the committee uses, the strongest first; empty if unknown."""
        return []


class BatchMachine(Machine):
    """A machine whose examples are batches."""

    def of_table(self, source: Dense | Sparse, y: Floats, weight: Floats, target: Binary) -> Iterator[Batch]:
        for batch in source.batches(y, weight):
            yield from self.of_batch(batch, source.n_features, target)

    def of_batch(self, batch: Batch, n_features: int, target: Binary) -> Iterator[Batch]:
        yield batch

    def of_dict(
        self, x: Mapping[Any, Any], columns: Columns, target: Binary, y: float, weight: float, learning: bool
    ) -> Batch:
        return located(x, columns, [self], learning).row(y, weight)


def located(x: Mapping[Any, Any], columns: Columns, machines: Sequence[Machine], learning: bool) -> Located:
    """The features of a dict by column. With ``learning``, new names get columns, and the machines room for them."""
    found = columns.locate(x, learning=learning)
    if found.new:
        for machine in machines:  # first, in case of an error
            machine.grow(columns.n + len(found.new))
        for machine in machines:
            if machine.needs_names:
                machine.name_features({column: str(name) for name, column in found.new.items()})
        columns.add(found.new)
    return found


@dataclass
class CompiledMachine(BatchMachine):
    """A committee of compiled learners and its booster."""

    settings: Settings
    learner: Any  # the weak learner of the committee
    committee: Any
    booster: Any
    head: Head
    record: Record
    transforms: Transforms = ()
    watch: NoWatch | Watch = adwin.NO_WATCH  # resets learners whose error rises
    kept: Batch = replay.NOTHING  # the first rows, as long as they are to be replayed

    def run(self, examples: Batch, learning: bool) -> Floats:
        scores = []
        for part in transformed(examples, self.transforms, learning):
            scores += self._learn(part) if learning else [self._rounds(part, False)]
        return np.concatenate(scores) if len(scores) != 1 else scores[0]

    def _learn(self, rows: Batch) -> list[Floats]:
        """Learn rows; whenever replay is due, learn all rows so far once more."""
        scores = []
        for part in replay.parts(rows, int(self.record.clock[0]), self.learner.replay):
            seen = int(self.record.clock[0])
            scores.append(self._rounds(part, True))
            if seen < self.learner.replay:
                self.kept = joined([self.kept, part])
                if replay.is_due(int(self.record.clock[0]), self.learner.replay):
                    self._rounds(replay.reordered(self.kept, int(self.record.clock[0])), True, replaying=True)
                if self.record.clock[0] >= self.learner.replay:
                    self.kept = replay.NOTHING
        return scores

    def _rounds(self, rows: Batch, learning: bool, replaying: bool = False) -> Floats:
        """One pass of the loop over the rows, with pauses in which the committee gets more room."""
        scores, done, size = [np.empty(0)], 0, rows.y.size
        while True:
            states = self.committee, self.booster, self.head, self.watch
            part = cut(rows, done, size) if done else rows
            answers, n = loop.run_compiled(*states, self.settings, part, self.record, learning, replaying)
            scores.append(answers[:n])
            done += n
            if learning and self.learner.is_full(self.committee):
                self.committee = self.learner.refitted(self.committee)
            if done == size:
                return np.concatenate(scores) if len(scores) > 2 else scores[1]

    def grow(self, n_features: int) -> None:
        self.committee, self.transforms = self.grown(n_features)

    def grown(self, n_features: int) -> tuple[Any, Transforms]:
        """Committee and transforms with room for more features."""
        transforms = tuple(transform.grown(n_features) for transform in self.transforms)
        return self.learner.grow(self.committee, n_features), transforms

    @property
    def needs_names(self) -> bool:
        return bool(self.learner.needs_names())

    def name_features(self, names: Mapping[int, str]) -> None:
        if self.needs_names:
            self.learner.name_features(self.transforms, names)

    def columns_not_met(self) -> list[str]:
        names: list[str] = self.learner.unmet_columns(self.transforms)
        return names

    @property
    def n_features_seen(self) -> int | None:
        found: int | None = self.learner.n_seen(self.committee)
        return found

    def strengths(self, names: Mapping[int, str]) -> list[tuple[str, int, float]]:
        strengths = self.learner.strengths(self.committee, self.settings.n_learners)
        if strengths is None:
            return []
        known = output_names(self.transforms, names)
        order = np.argsort(-np.abs(strengths), kind="stable").tolist()
        return [(known.get(j, str(j)), j, float(strengths[j])) for j in order if strengths[j] != 0]

    def probabilities(self, scores: Floats) -> Floats:
        return probabilities(self.head, scores)

    def states(self) -> dict[str, Any]:
        parts = {"record": self.record, "committee": self.committee, "booster": self.booster, "head": self.head}
        parts |= {f"transform{number}": transform for number, transform in enumerate(self.transforms)}
        return parts | {"watch": self.watch}
