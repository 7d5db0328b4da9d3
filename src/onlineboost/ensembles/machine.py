"""The machine of an ensemble: the machines of its parts, which see the same rows, and the stack on their scores."""

from __future__ import annotations

import copy
import threading
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
from onlineboost.engine.heads import chances
from onlineboost.engine.machine import BatchMachine, Said
from onlineboost.engine.one_row import Steps
from onlineboost.engine.record import Record, Settings
from onlineboost.engine.remote import PartOfEnsemble
from onlineboost.engine.schedule import Stage
from onlineboost.ensembles.newton import Scales, Stack, new_stack_work, stack_rows
from onlineboost.ensembles.restarting import Alarm, RestartingMachine
from onlineboost.ensembles.resting import Rest, note_row
from onlineboost.storage.validity import require

_PIECE = 1024  # rows that parts learn before the stack does, where they do so side by side


@dataclass
class EnsembleMachine(BatchMachine):
    """Parts and the stack on them. Parts that number features in the same way share their slots."""

    settings: Settings
    record: Record  # of the parts: their edges, and the answers compared with those of the first part
    parts: tuple[BatchMachine, ...]
    stack: Stack  # on all parts
    light: Stack  # on the first parts, which never rest
    scales: Scales
    rest: Rest

    passes: Any = field(default_factory=threading.local, repr=False, compare=False)  # of each thread
    token: Any = field(default_factory=object, repr=False, compare=False)  # another one whenever a state was replaced

    def __post_init__(self) -> None:
        self.share_slots()

    @property
    def n_said(self) -> tuple[int, int]:
        votes, scores = zip(*(part.n_said for part in self.parts), strict=True)
        return sum(votes), 1 + sum(scores)

    def run(self, examples: Batch, learning: bool, said: Said | None = None) -> Floats:
        if not learning or self._n_light == len(self.parts):
            return self._answers(examples, learning, said)
        answers, start, counts = [np.empty(0)], 0, np.cumsum(examples.weight > 0)
        while start < examples.y.size:
            due = self.rest.next_stop(self.n_learnt)
            before = int(counts[start - 1]) if start else 0
            stop = int(np.searchsorted(counts, before + due - self.n_learnt)) + 1
            rows = cut(examples, start, min(stop, examples.y.size))
            now = None if said is None else said.rows(start, start + rows.y.size)
            answers.append(self._answers(rows, True, now))
            if self.n_learnt == due:
                self._look()
            start += rows.y.size
        return np.concatenate(answers)

    def _answers(self, rows: Batch, learning: bool, said: Said | None) -> Floats:
        if self.away is not None and learning and said is None and not self.rest.resting:
            answers = self._learn_away(rows, self._slotted(self.parts, rows, learning))
            if self._n_light < len(self.parts):
                self.rest.note(rows)
            return answers
        self.bring_back()
        parts = self.parts[: self._n_light] if self.rest.resting else self.parts
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

        def stack(number: int) -> None:
            span = slice(number * piece, (number + 1) * piece)
            heard = np.ascontiguousarray(scores[:, span])
            self._stack_call(parts, heard, rows.y[span], rows.weight[span], answers[span], learning, given)()

        stages = [*(stage_of(k) for k in range(len(parts))), Stage(stack, tuple(range(len(parts))))]
        if side_by_side:
            schedule.run(stages, -(-rows.y.size // piece), self.n_jobs)
        else:
            for stage in stages:
                stage.run(0)
        if learning and self._n_light < len(self.parts):
            self.rest.note(rows)
        return answers

    # ---- parts on other machines

    def check_divisible(self) -> None:
        """Parts that see every row are divided; those that may rest are too."""

    def slots_of_parts(self, n: int) -> list[int]:
        return [part.n_slots for part in self.parts]

    def _learn_away(self, rows: Batch, batches: list[Batch]) -> Floats:
        """The answers to rows that actors learn, one for each part."""
        answers = np.empty(rows.y.size)
        for start, stop, results in self.away.learn(self, batches, self._work_of_parts, chained=False):
            scores, piece = np.array([scores for scores, _ in results]), cut(rows, start, stop)
            self._stack_call(self.parts, scores, piece.y, piece.weight, answers[start:stop], True, False)()
            for part, (_, events) in zip(self.parts, results, strict=True):
                for event in events:
                    _notify(part, event)
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
        parts = []
        for part, work in zip(self.parts, self.away.states(), strict=True):
            back = work.machine
            if isinstance(part, CompiledMachine):
                back.slots, back.names = part.slots, part.names
            if isinstance(part, RestartingMachine):
                back.notify = part.notify
            parts.append(back)
        self.parts, self.token = tuple(parts), object()

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

    def _stack_call(
        self,
        parts: Sequence[BatchMachine],
        scores: Floats,
        y: Floats,
        weight: Floats,
        answers: Floats,
        learning: bool,
        given: bool,
    ) -> Call:
        """The call that answers rows by the scores of the parts, and learns from them if asked."""
        odds = np.array([part.gives_odds for part in parts])
        stacks = self.stack, self.light, self.scales, self.record
        work = new_stack_work(len(self.parts))
        return Call(stack_rows, scores, y, weight, answers, *stacks, odds, learning, given, work)

    def add_steps(self, steps: Steps, score: Floats) -> bool:
        parts = self.parts[: self._n_light] if self.rest.resting else self.parts
        scores = np.empty((len(parts), 1))
        for k, part in enumerate(parts):
            if not part.add_steps(steps, scores[k]):
                return False
        row = steps.row
        steps.calls.append(self._stack_call(parts, scores, row.y, row.weight, score, steps.learning, False))
        if steps.learning and self._n_light < len(self.parts):
            steps.calls.append(Call(note_row, row, self.rest.rows))
            due = self.rest.next_stop(self.n_learnt)

            def event() -> None:
                if self.n_learnt >= due:
                    self._look()
                    self.token = object()

            steps.events.append(event)
        steps.tokens.append((self, self.token))
        return True

    def _look(self) -> None:
        """Decide whether parts rest, or begin to do so."""
        costly = self.parts[self._n_light :]
        full = all(isinstance(part, CompiledMachine) and part.out_of_slots for part in costly)
        losses = float(self.stack.loss[0]), float(self.light.loss[0])
        began = self.rest.decide(self.n_learnt, *losses, full)
        self.token = object()
        if began and self.away is not None:
            self.bring_back()
            self.away.close()
        if began and not self.rest.resting:
            self.stack.loss[0] = self.light.loss[0] = 0
            for part in costly:
                part.go_to(self.n_learnt)

    # ---- slots

    def _groups(self, parts: tuple[BatchMachine, ...]) -> list[tuple[CompiledMachine, ...]]:
        """Parts that share slots: with the same bound, missing values or not, and the same times of rest."""
        groups: dict[Any, tuple[CompiledMachine, ...]] = {}
        for k, part in enumerate(parts):
            if isinstance(part, CompiledMachine) and part.slots is not None:
                key = part.slots.bound, part.learner.takes_missing, k < self._n_light
                groups[key] = (*groups.get(key, ()), part)
        return [*groups.values()]

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
        return [found[id(part)] for part in parts]

    @property
    def n_resting(self) -> int:
        """Number of parts that rest at present."""
        return len(self.parts) - self._n_light if self.rest.resting else 0

    @property
    def _n_light(self) -> int:
        return self.light.weights.size - 1

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
        require(self.rest.clock[1] <= self.n_learnt, "rest.clock", "no time to come")

    def states(self) -> dict[str, Any]:
        shared = {id(part) for group in self._groups(self.parts) for part in group[1:]}
        names = "record", "stack", "light", "scales", "rest"
        found = {name: getattr(self, name) for name in names}
        for k, part in enumerate(self.parts):
            mine = part.states() or {}
            found |= {f"part{k}.{name}": mine[name] for name in mine if name != "slots" or id(part) not in shared}
        return found

    # ---- alarms

    def go_to(self, example: int) -> None:
        for part in self.parts:
            part.go_to(example)

    def listen(self, notify: Callable[[Alarm], None]) -> None:
        for part in self.parts:
            part.listen(notify)

    def alarms(self) -> list[Alarm]:
        """The alarms of all parts, in their order."""
        kinds = RestartingMachine | EnsembleMachine
        found = [alarm for part in self.parts if isinstance(part, kinds) for alarm in part.alarms()]
        return sorted(found, key=lambda alarm: alarm.example)

    @property
    def n_alarms(self) -> int:
        return sum(part.n_alarms for part in self.parts if isinstance(part, RestartingMachine | EnsembleMachine))

    # ---- what the parts know

    @property
    def answering(self) -> Stack:
        """The stack that answers at present."""
        light, every = float(self.light.loss[0]), float(self.stack.loss[0])
        return self.light if self.rest.resting or 0 < light <= every else self.stack

    @property
    def gives_odds(self) -> bool:
        return True

    def probabilities(self, scores: Floats) -> Floats:
        return chances(scores)

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

    def strengths(self, names: Mapping[int, str]) -> list[tuple[str, int, float]]:
        """The features' shares of the influence on each part, by what the part has earned."""
        total: dict[str, float] = {}
        numbers: dict[str, int] = {}
        for part, earned in zip(self.parts, self.scales.earned[:-1].tolist(), strict=True):
            mine = part.strengths(names)
            scale = max(earned, 0) / max(sum(abs(strength) for _, _, strength in mine), 1e-300)
            for name, number, strength in mine:
                numbers.setdefault(name, number)  # parts that rested have met features in another order
                total[name] = total.get(name, 0) + scale * abs(strength)
        whole = max(sum(total.values()), 1e-300)
        found = [(name, numbers[name], strength / whole) for name, strength in total.items() if strength > 0]
        return sorted(found, key=lambda one: -one[2])


def _notify(part: BatchMachine, event: Any) -> None:
    """Tell of an alarm of a part, or of one of its parts."""
    if isinstance(part, RestartingMachine):
        part.notify(event)
    elif isinstance(part, EnsembleMachine):
        _notify(next(one for one in part.parts if isinstance(one, RestartingMachine | EnsembleMachine)), event)


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
