"""Machines of several parts, which are machines themselves and see the same rows: one after another, on threads or
as actors of Ray. A subclass says what becomes of their scores.
"""

from __future__ import annotations

import copy
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.block import Call
from onlineboost.data.batch import Batch, Floats, Ints32, cut
from onlineboost.engine import schedule
from onlineboost.engine.compiled_machine import CompiledMachine
from onlineboost.engine.machine import BatchMachine, Said
from onlineboost.engine.record import Record, Settings
from onlineboost.engine.remote import PartOfEnsemble
from onlineboost.engine.schedule import Stage

_PIECE = 1024  # rows that parts learn before their scores are combined, where they do so side by side


@dataclass
class PartsMachine(BatchMachine):
    """Parts, and what is made of their scores. Parts that number features in the same way share their slots."""

    settings: Settings
    record: Record  # of the parts: their edges, and the answers compared with those of the first part
    parts: tuple[BatchMachine, ...]

    passes: Any = field(default_factory=threading.local, repr=False, compare=False, kw_only=True)  # of each thread
    token: Any = field(default_factory=object, repr=False, compare=False, kw_only=True)
    """Another one whenever a state was replaced."""

    def __post_init__(self) -> None:
        self.share_slots()

    # ---- for subclasses

    @abstractmethod
    def combine(
        self, parts: Sequence[BatchMachine], scores: Floats, rows: Batch, answers: Floats, learning: bool, given: bool
    ) -> Call:
        """The call that answers rows by the scores of parts, and learns from them if asked."""

    def awake(self) -> tuple[BatchMachine, ...]:
        """The parts that see rows at present."""
        return self.parts

    def rows_of(self, k: int, rows: Batch) -> Batch:
        """The rows for part k."""
        return rows

    # ---- learning and answers

    @property
    def n_said(self) -> tuple[int, int]:
        votes, scores = zip(*(part.n_said for part in self.parts), strict=True)
        return sum(votes), 1 + sum(scores)

    def run(self, examples: Batch, learning: bool, said: Said | None = None) -> Floats:
        if self.away is not None and learning and said is None and self.awake() is self.parts:
            return self._learn_away(examples)
        self.bring_back()
        parts, rows = self.awake(), examples
        batches = self._slotted(parts, rows, learning)
        scores, answers = np.empty((len(parts), rows.y.size)), np.empty(rows.y.size)
        side_by_side = learning and self.n_jobs > 1 and said is None
        piece = _PIECE if side_by_side else max(rows.y.size, 1)
        given = learning and said is not None
        if given and said is not None:
            answers[:] = said.scores[:, 0]
        shares = self._shares(said)

        def stage_of(k: int) -> Stage:
            part = parts[k]
            run = part.run_slotted if isinstance(part, CompiledMachine) else part.run

            def go(number: int) -> None:
                span = slice(number * piece, (number + 1) * piece)
                mine = cut(batches[k], span.start, min(span.stop, rows.y.size))
                if shares is None:
                    scores[k, span] = run(mine, learning)
                elif learning:
                    scores[k] = _told(run, mine, shares[k])
                else:
                    scores[k] = shares[k].scores[:, 0] = run(mine, False, shares[k])

            return Stage(go)

        def last(number: int) -> None:
            span = slice(number * piece, min((number + 1) * piece, rows.y.size))
            heard, part = np.ascontiguousarray(scores[:, span]), cut(rows, span.start, span.stop)
            self.combine(parts, heard, part, answers[span], learning, given)()

        stages = [*(stage_of(k) for k in range(len(parts))), Stage(last, tuple(range(len(parts))))]
        if side_by_side:
            schedule.run(stages, -(-rows.y.size // piece), self.n_jobs)
        else:
            for stage in stages:
                stage.run(0)
        return answers

    def _shares(self, said: Said | None) -> list[Said] | None:
        """What was said, or is to be said, by each part."""
        if said is None:
            return None
        found, votes, scores = [], 0, 1
        for part in self.parts:
            n, m = part.n_said
            found.append(Said(said.votes[:, votes : votes + n], said.scores[:, scores : scores + m]))
            votes, scores = votes + n, scores + m
        return found

    # ---- parts on other machines

    def check_divisible(self) -> None:
        """Parts can always be divided."""

    def slots_of_parts(self, n: int) -> list[int]:
        return [part.n_slots for part in self.parts]

    def _learn_away(self, rows: Batch) -> Floats:
        """The answers to rows that actors learn, one for each part."""
        answers, batches = np.empty(rows.y.size), self._slotted(self.parts, rows, True)
        for start, stop, results in self.away.learn(self, batches, self._work_of_parts, chained=False):
            scores, piece = np.array([scores for scores, _ in results]), cut(rows, start, stop)
            self.combine(self.parts, scores, piece, answers[start:stop], True, False)()
            for part, (_, events) in zip(self.parts, results, strict=True):
                for event in events:
                    part.tell_of(event)
        return answers

    def _work_of_parts(self) -> list[PartOfEnsemble]:
        found = []
        for part in self.parts:
            twin = copy.copy(part)
            if isinstance(twin, CompiledMachine):
                twin.slots, twin.names = None, {}
            twin.listen(_silent)
            found.append(PartOfEnsemble(twin))
        return found

    def bring_back(self) -> None:
        if self.away is None or self.away.current:
            return
        pairs = zip(self.parts, self.away.states(), strict=True)
        self.parts, self.token = tuple(work.machine.returned(part) for part, work in pairs), object()

    # ---- slots

    def _groups(self, parts: tuple[BatchMachine, ...]) -> list[tuple[CompiledMachine, ...]]:
        """Parts that share slots: with the same bound, missing values or not, and the same times of rest."""
        groups: dict[Any, tuple[CompiledMachine, ...]] = {}
        for k, part in enumerate(parts):
            if isinstance(part, CompiledMachine) and part.slots is not None:
                key = part.slots.bound, part.learner.takes_missing, self.may_rest(k)
                groups[key] = (*groups.get(key, ()), part)
        return [*groups.values()]

    def may_rest(self, k: int) -> bool:
        """Whether part k does not see all rows."""
        return False

    def share_slots(self) -> None:
        """Make parts that number features in the same way use the same slots."""
        for first, *others in self._groups(self.parts):
            for part in others:
                if part.n_slots != first.n_slots:
                    raise ValueError("parts that share slots have different numbers of them")
                part.slots = first.slots

    def _slotted(self, parts: tuple[BatchMachine, ...], rows: Batch, learning: bool) -> list[Batch]:
        """The rows for each part, with slots for ids; if there is no memory for one part, all are as they were."""
        found = {id(part): rows for part in parts}
        groups = self._groups(parts)
        before = [(one, one.committee, one.transforms, one.slots, one.n_slots) for group in groups for one in group]
        try:
            for first, *others in groups:
                size, slotted = first.n_slots, first.slotted(rows, learning)
                assert first.slots is not None
                for part in others if first.n_slots > size else ():
                    part.take(first.slots, rows)
                found |= {id(part): slotted for part in (first, *others)}
        except BaseException:
            for part, committee, transforms, slots, size in before:
                part.committee, part.transforms, part.slots = committee, transforms, slots
                assert slots is not None
                slots.forget(size)
            raise
        return [self.rows_of(k, found[id(part)]) for k, part in enumerate(parts)]

    @property
    def _widest(self) -> BatchMachine:
        """The part that tells most features apart."""
        return max(self.parts, key=lambda part: part.max_slots)

    @property
    def n_slots(self) -> int:
        return self._widest.n_slots

    @property
    def max_slots(self) -> int:
        return self._widest.max_slots

    # ---- saving

    def trimmed(self) -> Self:
        self.bring_back()
        twin = copy.copy(self)
        twin.parts = tuple(part.trimmed() for part in self.parts)
        return twin

    def snapshot(self) -> Self:
        self.bring_back()
        twin = super().snapshot()
        twin.passes, twin.token = threading.local(), object()
        twin.parts = tuple(part.snapshot() for part in self.parts)
        twin.share_slots()
        return twin

    @property
    def sizes(self) -> list[Any]:
        return [part.sizes for part in self.parts]

    def resize(self, sizes: list[Any]) -> None:
        for part, size in zip(self.parts, sizes, strict=True):
            part.resize(size)
        self.share_slots()

    def check(self) -> None:
        for part in self.parts:
            part.check()

    def states(self) -> dict[str, Any]:
        shared = {id(part) for group in self._groups(self.parts) for part in group[1:]}
        found: dict[str, Any] = {}
        for k, part in enumerate(self.parts):
            mine = part.states() or {}
            found |= {f"part{k}.{name}": mine[name] for name in mine if name != "slots" or id(part) not in shared}
        return found

    # ---- alarms

    def go_to(self, example: int) -> None:
        for part in self.parts:
            part.go_to(example)

    def listen(self, notify: Callable[[Any], None]) -> None:
        for part in self.parts:
            part.listen(notify)

    def tell_of(self, alarm: Any) -> None:
        next(part for part in self.parts if part.may_alarm).tell_of(alarm)

    @property
    def may_alarm(self) -> bool:
        return any(part.may_alarm for part in self.parts)

    def alarms(self, since: int = 0) -> list[Any]:
        """The alarms of all parts, in their order."""
        found = [alarm for part in self.parts for alarm in part.alarms()]
        return sorted(found, key=lambda alarm: alarm.example)

    @property
    def n_alarms(self) -> int:
        return sum(part.n_alarms for part in self.parts)

    # ---- what the parts know

    def name_features(self, names: Mapping[int, str]) -> None:
        for part in self.parts:
            part.name_features(names)

    def columns_not_met(self, names: Iterable[str]) -> list[str]:
        names = [*names]
        return list(dict.fromkeys(column for part in self.parts for column in part.columns_not_met(names)))

    def names_met(self, names: Mapping[int, str]) -> dict[int, str]:
        return self._widest.names_met(names)

    def knows(self, ids: Ints32) -> NDArray[np.bool_]:
        return self._widest.knows(ids)

    @property
    def n_features_seen(self) -> int | None:
        counts = (part.n_features_seen for part in self.parts)
        return max((count for count in counts if count is not None), default=None)

    @property
    def n_strayed(self) -> int:
        return sum(part.n_strayed for part in self.parts)

    def strayed(self, names: Mapping[int, str]) -> list[str]:
        return list(dict.fromkeys(name for part in self.parts for name in part.strayed(names)))


def _silent(event: Any) -> None:
    """The alarms of a part that is elsewhere are told here."""


def _told(run: Callable[..., Floats], rows: Batch, said: Said) -> Floats:
    """Learn rows of which a part has said something, or nothing, if it rested: then as if the label were there at once.

    Returns the scores of the part: those given then, or those of now.
    """
    scores, silent = np.array(said.scores[:, 0]), np.isnan(said.scores[:, 0])
    ends = [0, *(np.flatnonzero(np.diff(silent)) + 1).tolist(), rows.y.size]
    for start, stop in pairwise(ends):
        mine = cut(rows, start, stop)
        if start < stop and silent[start]:
            scores[start:stop] = run(mine, True)
        elif start < stop:
            run(mine, True, said.rows(start, stop))
    return scores
