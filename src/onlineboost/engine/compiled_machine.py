"""The machine of compiled learners: a committee and its booster, with slots, transforms and rows to replay."""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.allocation import planning
from onlineboost.data.batch import Batch, Floats, Ints32, cut
from onlineboost.engine import adwin, loop, replay
from onlineboost.engine.adwin import NoWatch, Watch
from onlineboost.engine.explaining import Explained, as_shares, can_explain, explained
from onlineboost.engine.heads import Head, VoteHead, probabilities
from onlineboost.engine.loop import Mode
from onlineboost.engine.machine import BatchMachine, Said, are_scores
from onlineboost.engine.one_row import Steps
from onlineboost.engine.passes import (
    Pass,
    Trial,
    at_once,
    balanced,
    even_bounds,
    longest_of,
    piece_of,
    rows_on_the_way,
)
from onlineboost.engine.record import Record, Settings
from onlineboost.engine.remote import GroupOfLearners
from onlineboost.engine.replay import Kept
from onlineboost.engine.token import Token
from onlineboost.errors import ParameterError
from onlineboost.parameters import check_whole
from onlineboost.storage.validity import require
from onlineboost.transforms.bins import LEFT, MET, STRAYED
from onlineboost.transforms.chain import Origins, Transforms, output_names
from onlineboost.transforms.indicators import IndicatorsState
from onlineboost.transforms.slots import Slots
from onlineboost.transforms.standardize import StandardizeState

_STATES = {"committee", "booster", "head", "record", "watch", "slots", "transforms", "settings"}
_MANY_ROWS = 512  # that are worth several threads
_PIECE = 128  # rows that pass from one group to the next, before it is known how long they take


@dataclass
class CompiledMachine(BatchMachine):
    """A committee of compiled learners and its booster."""

    finish: ClassVar[Any] = staticmethod(loop.finish)

    settings: Settings
    learner: Any  # the weak learner of the committee
    committee: Any
    booster: Any
    head: Head
    record: Record
    transforms: Transforms = ()
    slots: Slots | None = None  # of features; None: batches have slots for ids already
    watch: NoWatch | Watch = adwin.NO_WATCH  # resets learners whose error rises
    kept: Kept = replay.NOTHING  # the first rows, as long as they are to be replayed
    names: dict[int, str] = field(default_factory=dict)  # of features by id, if the learner needs them
    n_grown: int = 0  # number of slots, if batches have them already
    passes: Any = field(default_factory=threading.local, repr=False, compare=False)  # of each thread, by mode
    token: Any = field(default_factory=Token, repr=False, compare=False)  # another one whenever a state was replaced

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _STATES and self.__dict__.get(name) is not value:
            self.__dict__["token"] = Token()
        super().__setattr__(name, value)

    def add_steps(self, steps: Steps, score: Floats) -> bool:
        transforms = [transform for transform in self.transforms if isinstance(transform, StandardizeState)]
        simple = len(transforms) == len(self.transforms)
        young = not self._is_old()
        if (
            self.away is not None
            or self.slots is None
            or not simple
            or (steps.learning and (young or isinstance(self.watch, Watch)))
        ):
            return False
        if steps.learning:  # a committee that was trimmed gets its room back
            self.committee, _ = self.learner.with_room_for(self.committee, cut(steps.row, 0, 0))
        room = self.learner.row_room(self.committee)
        row = steps.slotted(self.slots, self.learner.takes_missing, room)
        for transform in transforms:
            call, row = transform.row_call(row, steps.learning)
            steps.calls.append(call)
        made = Pass(self, row, Mode(steps.learning, False, False), 1, row.indices.size, [0, self.settings.n_learners])
        if not made.advance:  # a booster that goes row by row
            return False
        made.bind(row, score.reshape(self.shape_of(row)))
        made.groups[0].go(0, 1)
        steps.calls += [*made.advance, *made.finish]
        steps.machines.append(self)
        return True

    @property
    def n_said(self) -> tuple[int, int]:
        return self.settings.n_learners, self.width

    def could_say(self, said: Said) -> bool:
        return are_scores(said.scores) and bool(np.isfinite(said.votes).all())

    def run(self, examples: Batch, learning: bool, said: Said | None = None) -> Floats:
        return self.run_slotted(self.slotted(examples, learning), learning, said)

    def run_slotted(self, batch: Batch, learning: bool, said: Said | None = None) -> Floats:
        """``run`` on rows with slots for ids."""
        scores, done = [], 0
        if not learning:
            for part in self._transformed(batch, False):
                scores.append(self._rounds(part, False, said=_rows_of(said, done)))
                done += part.y.size
            return _joined(scores)
        most = replay.last(self.learner.replay)
        for rows in replay.parts(batch, self._seen, most):
            seen = self._seen
            for part in self._transformed(rows, True):
                scores.append(self._rounds(part, True, said=_rows_of(said, done)))
                done += part.y.size
            if seen < most and seen < self._seen:
                self.kept = self.kept.with_rows(rows)
                self._replay(most)
        return _joined(scores)

    def explain(self, examples: Batch) -> Explained:
        return self.explain_slotted(self.slotted(examples, False))

    def explain_slotted(self, rows: Batch) -> Explained:
        """``explain`` for rows with slots for ids."""
        self.bring_back()
        if not can_explain(self):
            name = type(self.learner).__name__
            raise ParameterError("estimator", self.learner, f"a learner that explains its votes: {name} has no explain")
        return explained(self, rows)

    @property
    def _seen(self) -> int:
        return int(self.record.clock[0])

    def _replay(self, most: int) -> None:
        """Learn all rows so far once more if that is due; forget them when it was for the last time."""
        if replay.is_due(self._seen, most):
            for part in self._transformed(self.kept.reordered(self._seen), False):
                self._rounds(part, True, replaying=True)
        if self._seen >= most:
            self.kept = type(self.kept)(*replay.NOTHING)

    def _transformed(self, rows: Batch, learning: bool, number: int = 0) -> Iterator[Batch]:
        """The rows after all transforms from this one on, in parts; what is learnt of a part may change the next."""
        if number == len(self.transforms):
            yield rows
            return
        done = 0
        while True:
            part = self.transforms[number].apply(cut(rows, done, rows.y.size) if done else rows, learning)
            yield from self._transformed(part, learning, number + 1)
            if learning:
                self.learner.settle(self.committee, self.transforms[number])
            done += part.y.size
            if done == rows.y.size:
                return

    def _rounds(self, rows: Batch, learning: bool, replaying: bool = False, said: Said | None = None) -> Floats:
        """One pass of the loop over the rows, with pauses in which the committee gets more room."""
        scores: list[Floats] = []
        done, size = 0, rows.y.size
        while True:
            part = cut(rows, done, size) if done else rows
            if self.away is not None:
                if learning and not replaying and said is None and self._is_old() and size:
                    return _joined([*scores, self._learn_away(part)])
                self.bring_back()
            if learning:
                self.committee, part = self.learner.with_room_for(self.committee, part)
            else:
                part = self.learner.known(self.committee, part)
            divisible = learning and not replaying and said is None and self._is_worth_dividing(part)
            trial = vars(self.passes).setdefault("trial", Trial()) if divisible else None
            began = time.perf_counter()
            if trial is not None and trial.divides():
                answers, n = self._side_by_side(part), part.y.size
            else:
                given = learning and said is not None
                votes = said.votes[done : done + part.y.size] if said is not None and said.votes.shape[1] else None
                answered = None
                if given and said is not None:
                    answered = said.scores[done : done + part.y.size, : self.width].reshape(self.shape_of(part))
                mode = Mode(learning, replaying, given, given and votes is not None)
                answers, n = self._pass(part, mode).run(part, votes, answered)
            if trial is not None:
                trial.note((time.perf_counter() - began) / part.y.size)
            scores.append(answers[:n])
            done += n
            if learning and self.learner.is_full(self.committee):
                self.committee = self.learner.refitted(self.committee)
            if done == size:
                return _joined(scores)

    def _pass(self, rows: Batch, mode: Mode) -> Pass:
        """A pass for these rows, which the thread keeps for the next ones."""
        n, longest = self.settings.n_learners, longest_of(rows)
        passes = vars(self.passes)
        found: Pass | None = passes.get(mode)
        if found is None or not found.fits(self, longest):
            found = passes[mode] = Pass(self, rows, mode, rows_on_the_way(n), longest, [0, n])
        return found

    def _is_worth_dividing(self, rows: Batch) -> bool:
        """Whether several threads can learn these rows, and will do so faster: groups of learners, one after another.

        Young streams have replays and pauses, and learners that are watched may be reset at any row.
        """
        still = isinstance(self.watch, NoWatch)
        divisible = self.settings.scan and bool(self.learner.axes) and self.settings.n_learners > self.learner.grain
        return self.n_jobs > 1 and self._is_old() and still and divisible and rows.y.size >= _MANY_ROWS

    def _is_old(self) -> bool:
        """Whether there are neither replays nor pauses any more."""
        return bool(self._seen >= max(replay.last(self.learner.replay), self.learner.youth))

    def _side_by_side(self, rows: Batch) -> Floats:
        """The answers to rows that groups of learners learn side by side."""
        n, grain, memory = self.settings.n_learners, self.learner.grain, vars(self.passes)
        bounds = memory.get("bounds") or even_bounds(n, self.n_jobs, grain)
        if len(bounds) - 1 != min(self.n_jobs, -(-n // grain)):
            bounds = even_bounds(n, self.n_jobs, grain)
        piece = memory.get("piece", _PIECE)
        on_the_way = 1 << (2 * len(bounds) * piece - 1).bit_length()
        made = Pass(self, rows, Mode(True, False, False), on_the_way, longest_of(rows), bounds, in_stages=True)
        scores, seconds = made.run_in_stages(rows, piece, self.n_jobs)
        for group, (first, last) in zip(made.groups, pairwise(bounds), strict=True):
            self.learner.put(self.committee, group.committee, first, last)
        memory["bounds"] = balanced(bounds, seconds, grain)
        memory["piece"] = piece_of(sum(seconds) / len(seconds) / rows.y.size)
        return scores

    # ---- learners on other machines

    def check_divisible(self) -> None:
        simple = not any(isinstance(transform, IndicatorsState) for transform in self.transforms)
        still = not self.may_alarm and isinstance(self.watch, NoWatch)
        if not (self.settings.scan and self.learner.axes and simple and still and self.settings.n_learners > 1):
            raise ParameterError(
                "engine",
                "ray",
                "'threads': only ensembles, and boosters of several learners that "
                "are neither reset nor over indicators of bins, are divided among machines",
            )

    def slots_of_parts(self, n: int) -> list[int]:
        """Number of slots, for each of n actors."""
        return [self.n_slots] * n

    def _learn_away(self, rows: Batch) -> Floats:
        """The answers to rows that actors learn."""
        scores, n = np.empty(self.shape_of(rows)), self.settings.n_learners
        for start, stop, results in self.away.learn(self, [rows], self._parts, chained=True):
            piece = cut(rows, start, stop)
            room = 1 << (stop - start - 1).bit_length()
            made = Pass(self, piece, Mode(True, False, False), room, 0, [0, n])
            made.bind(piece, answers := np.empty(self.shape_of(piece)))
            made.table.votes[: stop - start] = np.concatenate([votes for votes, _, _ in results], axis=1)
            if self.settings.leading:
                made.table.opinions[: stop - start] = np.concatenate([opinions for _, opinions, _ in results], axis=1)
            made.done[:] = 0, stop - start, stop - start, 0
            at_once(call.run for call in made.finish)
            scores[start:stop] = answers
        return scores

    def _parts(self) -> list[GroupOfLearners]:
        """The work of actors: a part of the committee each."""
        n, workers = self.settings.n_learners, self.away.workers
        grain = self.learner.grain if n >= workers * self.learner.grain else 1
        found = []
        for first, last in pairwise(even_bounds(n, workers, grain)):
            twin = copy.copy(self)
            twin.learner = copy.copy(self.learner)
            twin.learner.crowd, twin.learner.first_learner = n, first
            twin.committee = self.learner.apart(self.committee, first, last)
            twin.slots, twin.transforms, twin.names, twin.kept = None, (), {}, replay.NOTHING
            found.append(GroupOfLearners(twin, first, last))
        return found

    def bring_back(self) -> None:
        if self.away is None or self.away.current:
            return
        groups = self.away.states()
        sizes = [last - first for first, last in (group.bounds for group in groups)]
        self.committee = self.learner.joined([group.machine.committee for group in groups], sizes)
        for group in groups:
            mine = slice(*group.bounds)
            self.record.edges[mine] = group.machine.record.edges[mine]
            self.record.weights[mine] = group.machine.record.weights[mine]
            for name in self.booster.of_learners() if hasattr(self.booster, "of_learners") else ():
                getattr(self.booster, name)[mine] = getattr(group.machine.booster, name)[mine]

    @property
    def leaves(self) -> tuple[CompiledMachine, ...]:
        return (self,)

    def succeeded_by(self, fresh: CompiledMachine) -> None:
        """Let a new machine begin at this row of the stream, with the features known so far."""
        fresh.slots, fresh.names = self.slots, self.names
        fresh.grow(self.n_slots)
        pairs = zip(self.transforms, fresh.transforms, strict=True)
        if not planning():
            fresh.transforms = tuple(new.continued(old) for old, new in pairs)

    def elsewhere(self) -> Self:
        twin = super().elsewhere()
        twin.slots, twin.names = None, {}
        return twin

    def returned(self, before: Self) -> Self:
        self.slots, self.names = before.slots, before.names
        return self

    def trimmed(self) -> Self:
        self.bring_back()
        twin = copy.copy(self)
        twin.committee = self.learner.trimmed(self.committee)
        return twin

    def snapshot(self) -> Self:
        twin = super(CompiledMachine, self.trimmed()).snapshot()
        twin.passes = threading.local()
        return twin

    def slotted(self, batch: Batch, learning: bool) -> Batch:
        """The batch with slots for ids; with ``learning``, new features get slots, and room in all states."""
        if self.slots is None:
            return batch
        before = int(self.slots.used[0])
        found, slots = self.slots.apply(batch, learning, self.learner.takes_missing)
        if slots.used[0] > before:
            try:
                self.take(slots, batch)
            except BaseException:
                self.slots.forget(before)
                raise
        return found

    def take(self, slots: Slots, batch: Batch) -> None:
        """Take slots among which are new ones, for features of the batch; they get room in all states."""
        self.grow(int(slots.used[0]))
        self.slots = slots
        if self.learner.needs_names():
            self._name(np.unique(batch.indices[batch.indptr[0] : batch.indptr[-1]]))

    def grow(self, n_features: int) -> None:
        """Make room for more features."""
        grown = [transform.grown(n_features) for transform in self.transforms]
        self.committee = self.learner.grow(self.committee, n_features)
        pairs: Any = zip(grown, self.transforms, strict=True)
        if any(new is not old for states in pairs for new, old in zip(*states, strict=True)):
            self.transforms = tuple(grown)
        if self.slots is None:
            self.n_grown = n_features

    @property
    def n_slots(self) -> int:
        return int(self.slots.used[0]) if self.slots is not None else self.n_grown

    @property
    def max_slots(self) -> int:
        return self.slots.bound if self.slots is not None else 0

    @property
    def out_of_slots(self) -> bool:
        return self.n_slots == self.max_slots

    @property
    def gives_odds(self) -> bool:
        return not isinstance(self.head, VoteHead)

    @property
    def sizes(self) -> list[Any]:
        return [self.n_slots, self.kept.sizes, [*self.learner.room(self.committee)]]

    def resize(self, sizes: list[Any]) -> None:
        assert self.slots is not None
        slots, kept, room = sizes
        self.slots = self.slots.grown(check_whole("slots", slots, 0, self.slots.bound))
        self.grow(slots)
        self.kept = replay.planned_rows(kept, self.learner.replay, type(self.kept))
        self.committee = self.learner.in_room(self.committee, room)

    def check(self) -> None:
        bins = self.learner.bins_of(self.committee, self.transforms)
        require(bins is None or bins.clock[MET] <= self.n_slots, "bins.clock", "slots in use")
        if hasattr(self.committee, "nodes"):  # of trees: 1 + the slot that a node splits by
            require(self.committee.nodes[..., 0].max(initial=0) <= self.n_slots, "nodes", "splits by slots in use")
        if self.kept.indices.size:
            require(self.kept.indices.max() < self.n_slots, "kept.indices", "slots in use")

    def name_features(self, names: Mapping[int, str]) -> None:
        if self.learner.needs_names():
            self.names.update(names)
            self._name(np.array([*names], np.int32))

    def _name(self, ids: Ints32) -> None:
        """Give the learner the names of features that have slots."""
        assert self.slots is not None
        found = zip(self.slots.find(ids).tolist(), ids.tolist(), strict=True)
        names = {slot: self.names.get(id, str(id)) for slot, id in found if slot >= 0}
        self.learner.name_features(self.transforms, names)

    def columns_not_met(self, names: Iterable[str]) -> list[str]:
        found: list[str] = self.learner.unmet_columns(names)
        return found

    def names_met(self, names: Mapping[int, str]) -> dict[int, str]:
        ids = self.slots.ids().tolist() if self.slots is not None else []
        return {slot: names.get(id, str(id)) for slot, id in enumerate(ids)}

    def knows(self, ids: Ints32) -> NDArray[np.bool_]:
        assert self.slots is not None
        return self.slots.find(ids) >= 0

    @property
    def n_features_seen(self) -> int | None:
        found: int | None = self.learner.n_seen(self.committee)
        return found

    @property
    def n_strayed(self) -> int:
        bins = self.learner.bins_of(self.committee, self.transforms)
        return int(bins.clock[STRAYED]) if bins is not None else 0

    def strayed(self, names: Mapping[int, str]) -> list[str]:
        bins, known = self.learner.bins_of(self.committee, self.transforms), self.names_met(names)
        slots = np.flatnonzero(bins.counts[:, LEFT]).tolist() if bins is not None else []
        return [known.get(slot, str(slot)) for slot in slots]

    def strengths(self, names: Mapping[int, str]) -> list[tuple[str, int, float]]:
        strengths = self.learner.strengths(self.committee, self.settings.n_learners)
        if strengths is None:
            return []
        known = output_names(self.transforms, self.names_met(names))
        order = np.argsort(-np.abs(strengths), kind="stable").tolist()
        return [(known.get(j, str(j)), j, float(strengths[j])) for j in order if strengths[j] != 0]

    def importances(self) -> dict[int, float]:
        strengths = self.learner.strengths(self.committee, self.settings.n_learners)
        if strengths is None or self.slots is None:
            return {}
        ids = self.slots.ids().tolist()
        origins: Origins = {slot: (slot,) for slot in range(len(ids))}
        for transform in self.transforms:
            origins = transform.origins(origins)
        found: dict[int, float] = {}
        for number in np.flatnonzero(strengths).tolist():
            for slot in origins.get(number, ()):
                share = abs(float(strengths[number])) / len(origins[number])
                found[ids[slot]] = found.get(ids[slot], 0.0) + share
        return as_shares(found)

    def probabilities(self, scores: Floats) -> Floats:
        return probabilities(self.head, scores)

    def states(self) -> dict[str, Any]:
        parts = {"record": self.record, "committee": self.committee, "booster": self.booster, "head": self.head}
        parts |= {"kept": self.kept}
        parts |= {"slots": self.slots} if self.slots is not None else {}
        parts |= {f"transform{number}": transform for number, transform in enumerate(self.transforms)}
        parts |= {"watch": self.watch}
        fields = ((part, pair) for part, state in parts.items() for pair in zip(state._fields, state, strict=True))
        return parts | {f"{part}.{name}": inner for part, (name, inner) in fields if hasattr(inner, "_fields")}


def _rows_of(said: Said | None, start: int) -> Said | None:
    return None if said is None else said.rows(start, len(said.votes))


def _joined(scores: list[Floats]) -> Floats:
    return np.concatenate(scores) if len(scores) != 1 else scores[0]
