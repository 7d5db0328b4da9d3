"""Machines of several parts, which are machines themselves and see the same rows: one after another, on threads or
as actors of Ray. A subclass says what becomes of their scores.
"""

from __future__ import annotations

import copy
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.block import Call
from onlineboost.data.batch import Batch, Floats, Ints32, cut
from onlineboost.engine import schedule
from onlineboost.engine.compiled_machine import CompiledMachine
from onlineboost.engine.explaining import Explained, Terms, as_shares
from onlineboost.engine.machine import BatchMachine, Said, are_scores, told
from onlineboost.engine.record import Record, Settings
from onlineboost.engine.remote import PartOfEnsemble
from onlineboost.engine.schedule import Stage
from onlineboost.engine.token import Token
from onlineboost.transforms.slots import Slots

_PIECE = 1024  # rows that parts learn before their scores are combined, where they do so side by side


@dataclass
class PartsMachine(BatchMachine):
    """Parts, and what is made of their scores. Parts that number features in the same way share their slots."""

    settings: Settings
    record: Record  # of the parts: their edges, and the answers compared with those of the first part
    parts: tuple[BatchMachine, ...]

    passes: Any = field(default_factory=threading.local, repr=False, compare=False, kw_only=True)  # of each thread
    token: Any = field(default_factory=Token, repr=False, compare=False, kw_only=True)
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
        return sum(votes), self.width + sum(scores)

    def could_say(self, said: Said) -> bool:
        pairs = zip(self.parts, self._shares(said) or (), strict=True)
        return are_scores(said.scores[:, : self.width]) and all(
            part.could_say(share) or (self.may_be_silent(k) and share.silent) for k, (part, share) in enumerate(pairs)
        )

    def may_be_silent(self, k: int) -> bool:
        """Whether part k says nothing of some rows: its votes and answers are NaN then."""
        return self.may_rest(k)

    def run(self, examples: Batch, learning: bool, said: Said | None = None) -> Floats:
        if self.away is not None and learning and said is None and self.awake() is self.parts:
            return self._learn_away(examples)
        self.bring_back()
        parts = self.awake()
        return self.run_parts(parts, self._slotted(parts, examples, learning), examples, learning, said)

    def run_parts(
        self, parts: Sequence[BatchMachine], batches: list[Batch], rows: Batch, learning: bool, said: Said | None
    ) -> Floats:
        """Take parts through the rows, each through its own batch of them."""
        answers = np.empty(self.shape_of(rows))
        scores = np.empty((len(parts), *parts[0].shape_of(rows)))
        side_by_side = learning and self.n_jobs > 1 and said is None
        piece = _PIECE if side_by_side else max(rows.y.size, 1)
        given = learning and said is not None
        if given and said is not None:
            answers.reshape(rows.y.size, -1)[:] = said.scores[:, : self.width]
        shares = self._shares(said)

        def stage_of(k: int) -> Stage:
            part = parts[k]
            run = part.run_slotted if part.leaves else part.run

            def go(number: int) -> None:
                span = slice(number * piece, (number + 1) * piece)
                mine = cut(batches[k], span.start, min(span.stop, rows.y.size))
                if shares is None:
                    scores[k, span] = run(mine, learning)
                elif learning:
                    scores[k] = told(run, mine, shares[k], part.width).reshape(scores[k].shape)
                else:
                    scores[k] = run(mine, False, shares[k])
                    shares[k].scores[:, : part.width] = scores[k].reshape(rows.y.size, -1)

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

    def explain(self, examples: Batch) -> Explained:
        self.bring_back()
        parts = self.awake()
        return self.explain_parts(parts, self._slotted(parts, examples, False), examples)

    def explain_parts(self, parts: Sequence[BatchMachine], batches: list[Batch], rows: Batch) -> Explained:
        """The scores of rows, as sums over features; each part sees its own batch of them."""
        pairs = zip(parts, batches, strict=True)
        found = [part.explain_slotted(mine) if part.leaves else part.explain(mine) for part, mine in pairs]
        scores = np.array([one.scores.reshape(part.shape_of(rows)) for one, part in zip(found, parts, strict=True)])
        answers = np.empty(self.shape_of(rows))
        self.combine(parts, scores, rows, answers, False, False)()
        terms = [term for k, one in enumerate(found) for term in self.share_of(k, one)]
        return Explained(answers.reshape(rows.y.size, -1), terms)

    @abstractmethod
    def share_of(self, k: int, part: Explained) -> list[Terms]:
        """The terms of part k, as far as they count in the answers."""

    def _shares(self, said: Said | None) -> list[Said] | None:
        """What was said, or is to be said, by each part."""
        if said is None:
            return None
        found, votes, scores = [], 0, self.width
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
        answers, batches = np.empty(self.shape_of(rows)), self._slotted(self.parts, rows, True)
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
            twin = part.elsewhere()
            twin.listen(_silent)
            found.append(PartOfEnsemble(twin))
        return found

    def elsewhere(self) -> Self:
        twin = copy.copy(self)
        twin.parts = tuple(part.elsewhere() for part in self.parts)
        return twin

    def returned(self, before: Self) -> Self:
        pairs = zip(self.parts, before.parts, strict=True)
        self.parts = tuple(part.returned(one) for part, one in pairs)
        return self

    def bring_back(self) -> None:
        if self.away is None or self.away.current:
            return
        pairs = zip(self.parts, self.away.states(), strict=True)
        self.parts, self.token = tuple(work.machine.returned(part) for part, work in pairs), Token()

    # ---- slots

    def _groups(self, parts: tuple[BatchMachine, ...]) -> list[tuple[CompiledMachine, ...]]:
        """Parts that share slots: with the same bound, missing values or not, and the same times of rest."""
        groups: dict[Any, tuple[CompiledMachine, ...]] = {}
        for k, part in enumerate(parts):
            for leaf in part.leaves:
                if leaf.slots is not None:
                    key = leaf.slots.bound, leaf.learner.takes_missing, self.may_rest(k)
                    groups[key] = (*groups.get(key, ()), leaf)
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
        found: dict[int, Batch] = {}
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
        mine = (found.get(id(part.leaves[0]), rows) if part.leaves else rows for part in parts)
        return [self.rows_of(k, batch) for k, batch in enumerate(mine)]

    @property
    def out_of_slots(self) -> bool:
        return all(part.out_of_slots for part in self.parts)

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
        twin.passes, twin.token = threading.local(), Token()
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
        found: dict[str, Any] = {}
        seen: set[int] = set()
        for k, part in enumerate(self.parts):
            for name, state in (part.states() or {}).items():
                if not isinstance(state, Slots) or id(state) not in seen:  # parts share slots
                    found[f"part{k}.{name}"] = state
                    seen.add(id(state))
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

    def importances(self) -> dict[int, float]:
        found: dict[int, float] = {}
        for part, share in zip(self.parts, self.influence(), strict=True):
            for id, mine in part.importances().items() if share > 0 else ():
                found[id] = found.get(id, 0.0) + share * mine
        return as_shares(found)

    def influence(self) -> list[float]:
        """How much each part counts."""
        return [1.0] * len(self.parts)

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
