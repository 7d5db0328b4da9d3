"""Committees of Python objects: learners of River, of scikit-learn, or copies of ours."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from onlineboost.compiled import dispatch, draws
from onlineboost.compiled.jit import njit
from onlineboost.data.arrays import Source, writable
from onlineboost.data.batch import Batch, Floats, Floats32
from onlineboost.data.classes import Classes
from onlineboost.data.columns import Columns
from onlineboost.loop.heads import Head, VoteHead, probabilities
from onlineboost.loop.link import LEAD, ROUND, SETTLE, VOTE, link, new_table
from onlineboost.loop.loop import compare
from onlineboost.loop.record import Record, Settings

_answer, _correct = dispatch.answer, dispatch.correct
_compared = njit(compare.py_func)  # type: ignore[attr-defined]

_ROWS = 64  # rows learned at a time, so that predictions do not wait long


class ObjectRows(NamedTuple):
    """Rows in the form that the objects take, each with the place of its label and its weight."""

    rows: list[tuple[Any, float, float]]
    target: Classes

    @property
    def y(self) -> Floats:
        return np.array([y for _, y, _ in self.rows])

    @property
    def weight(self) -> Floats:
        return np.array([weight for _, _, weight in self.rows])

    def with_weight(self, weight: Floats) -> ObjectRows:
        """The rows with other weights."""
        return self._replace(rows=[(x, y, w) for (x, y, _), w in zip(self.rows, weight.tolist(), strict=True)])

    def cut(self, start: int, stop: int) -> ObjectRows:
        return self._replace(rows=self.rows[start:stop])


@njit
def _asked(head: Any, score: float, h: Floats32) -> float:
    return _answer(head, score, h)  # type: ignore[no-any-return]


@njit
def _corrected(head: Any, score: float, h: Floats32, y: float, weight: float) -> None:
    _correct(head, score, h, y, weight)


class ObjectNode:
    """The base of nodes of Python objects. They have no program; a Python loop passes the rows."""

    compiled = False
    settings: Settings
    record: Record
    parts: tuple[Any, ...]
    n_jobs, away, n_strayed, max_slots = 1, None, 0, 0
    n_features_seen: int | None = None
    sizes: ClassVar[list[Any]] = []

    n_classes = 2

    @property
    def gives_chances(self) -> bool:
        """See ``Node``."""
        return False

    @property
    def n_learned(self) -> int:
        """Number of examples learned."""
        return int(self.record.clock[0])

    @property
    def learners(self) -> Record:
        """The statistics of the weak learners."""
        return self.record

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Copy read-only arrays, such as those of a memory map: compiled code needs writable ones."""
        vars(self).update({name: writable(value) for name, value in state.items()})

    def use_threads(self, n: int) -> None:
        """Objects learn in one thread."""

    def check_classes(self, n: int) -> None:
        """Raise an error for more classes than they can take."""

    def trimmed(self) -> Self:
        return self

    def snapshot(self) -> Self:
        """A copy with objects of its own."""
        return copy.deepcopy(self)

    def importances(self) -> dict[int, float]:
        return {}

    def strengths(self, names: Mapping[int, str]) -> list[tuple[str, int, float]]:
        return []


@dataclass
class ObjectCommittee(ObjectNode):
    """A committee of Python objects and its booster, whose compiled ``vote`` and ``round`` are called from Python."""

    settings: Settings
    committee: Any
    booster: Any
    head: Head
    record: Record

    def run(self, examples: ObjectRows, learning: bool) -> Floats:
        """The loop of ``loop.py``, in Python."""
        settings, record, head, n = self.settings, self.record, self.head, self.settings.n_learners
        votes, p, t, table = np.empty(n), np.empty(n), np.empty(n, np.float32), new_table(1, n, settings.leading)
        booster = link(self.booster, table, votes, p, t)
        scores = []
        for x, place, weight in examples.rows:
            y = 1.0 if place > 0 else -1.0
            votes[:] = self.committee.predict(x, settings.hard, examples.target, learning)
            table.carry[:] = 0.0
            if settings.leading:
                booster.take(LEAD)
            score = booster.take(VOTE)
            h = votes.astype(np.float32)
            scores.append(_asked(head, score, h))
            if learning and weight > 0:
                table.carry[:], t[:] = 0.0, y
                table.carry[0, 0] = record.clock[0]
                booster.take(ROUND, y)
                booster.take(SETTLE, y)
                p *= weight
                _compared(record.totals, score, scores[-1], float(h[0]), y, weight)
                record.edges[:] += p * y * np.clip(votes, -1, 1)
                record.weights[:] += p
                if settings.sample:
                    for i in range(p.size):
                        p[i] = draws.count(settings.seed, int(record.clock[0]), i, p[i])
                _corrected(head, scores[-1], h, y, weight)
                self.committee.learn(x, examples.target.label_at(int(place)), p, examples.target)
                record.clock[0] += 1
        return np.array(scores).reshape(-1, 1)

    def of_table(self, source: Source, y: Floats, weight: Floats, target: Classes) -> Iterator[ObjectRows]:
        if not source.by_name:
            yield from self._parts(self.committee.kind.rows(source), y, weight, target)
            return
        for batch in source.batches(y, weight):
            yield from self.of_batch(batch, target)

    def _parts(self, rows: Iterator[Any], y: Floats, weight: Floats, target: Classes) -> Iterator[ObjectRows]:
        rows = zip(rows, y.tolist(), weight.tolist(), strict=True)
        while part := list(islice(rows, _ROWS)):
            yield ObjectRows(part, target)

    def of_batch(self, batch: Batch, target: Classes) -> Iterator[ObjectRows]:
        return self._parts(self.committee.kind.rows_of_batch(batch), batch.y, batch.weight, target)

    def of_dict(
        self, x: Mapping[Any, Any], columns: Columns, target: Classes, y: float, weight: float, learning: bool
    ) -> ObjectRows:
        return ObjectRows([(self.committee.row(x, columns, learning), y, weight)], target)

    @property
    def n_slots(self) -> int:
        return max((node.n_slots for node in self.committee.nodes), default=0)

    def name_features(self, names: Mapping[int, str]) -> None:
        for node in self.committee.nodes:
            node.name_features(names)

    def columns_not_met(self, names: Iterable[str]) -> list[str]:
        names = [*names]
        return list(dict.fromkeys(name for one in self.committee.nodes for name in one.columns_not_met(names)))

    def names_met(self, names: Mapping[int, str]) -> dict[int, str]:
        return next((node.names_met(names) for node in self.committee.nodes), {})

    @property
    def gives_chances(self) -> bool:
        return not isinstance(self.head, VoteHead)

    def probabilities(self, scores: Floats) -> Floats:
        return probabilities(self.head, scores)
