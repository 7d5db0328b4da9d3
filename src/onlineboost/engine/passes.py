"""A pass: the learners of a machine, in groups, go through the rows of a batch; then come head, record and experts.

The arguments of the compiled functions are kept from batch to batch, as long as the states are the same.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from onlineboost.compiled.block import Call
from onlineboost.data.arrays import isolated
from onlineboost.data.batch import Batch, Floats, Floats32
from onlineboost.engine import loop, schedule
from onlineboost.engine.adwin import Watch
from onlineboost.engine.link import new_table
from onlineboost.engine.loop import Mode, Place, Space
from onlineboost.engine.record import Record
from onlineboost.engine.schedule import Stage
from onlineboost.engine.token import Prepared

_NUMBERS = 1 << 16  # most votes on the way from the learners to the head: they stay in the cache of a core
_ROWS = 512  # most rows on the way
_TRY_AGAIN = 100  # batches
_invoke = operator.methodcaller("__call__")


def at_once(calls: Iterable[Callable[[], None]]) -> None:
    """Run compiled calls one after the other; no interrupt takes effect in between, as no Python code is run."""
    any(map(_invoke, calls))


def rows_on_the_way(n_learners: int) -> int:
    """Number of rows that pass all learners before the head, a power of two."""
    return 1 << (max(16, min(_ROWS, _NUMBERS // n_learners)).bit_length() - 1)


class Group:
    """Some learners of a committee, on their way through the rows."""

    def __init__(self, first: int, last: int, committee: Any, work: Any, record: Record, alone: bool) -> None:
        place = Place(first, np.zeros(4, np.int64), np.zeros(2, np.int64))
        apart: Callable[[Any], Any] = (lambda value: value) if alone else isolated
        self.committee, self.work, self.place = committee, apart(work), apart(place)
        self.record = record if alone else record._replace(edges=apart(record.edges), weights=apart(record.weights))
        n = last - first
        h, votes, p, t = (apart(memory) for memory in loop.new_space(n))
        self.space = Space(h, votes[:n], p[:n], t)

    def go(self, start: int, stop: int) -> None:
        """Choose the rows for the next call."""
        rows = self.place.rows
        rows[0], rows[1], rows[2], rows[3] = start, stop, start, 0


class Pass(Prepared):
    """The groups of a machine, for rows of up to ``longest`` features; ``rows`` of them are on the way at a time."""

    def __init__(
        self,
        machine: Any,
        batch: Batch,
        mode: Mode,
        rows: int,
        longest: int,
        bounds: Sequence[int],
        in_stages: bool = False,
    ) -> None:
        learner, settings, record, watch = machine.learner, machine.settings, machine.record, machine.watch
        self.rows, self.longest, self.mode, self.record = rows, longest, mode, record
        self.columns = (machine.width,) if machine.width > 1 else ()  # of answers
        self.table = table = new_table(rows, settings.n_learners, settings.leading)
        self.groups = []
        divided = len(bounds) > 2
        for first, last in pairwise(bounds):
            part = learner.part(machine.committee, first, last) if divided else machine.committee
            work = learner.workspace(part, longest)
            self.groups.append(Group(first, last, part, work, record, alone=not in_stages))
        # The rows to be finished: in stages, the last group is beyond them already.
        self.done = done = np.zeros(4, np.int64) if in_stages else self.groups[-1].place.rows
        scores = np.empty((0, *self.columns))
        self.advance: list[Call] = []
        self.finish: list[Call] = []
        if settings.scan or not mode.learning or mode.replaying:
            self.advance += [loop.advance_call(machine, batch, group, mode, table) for group in self.groups]
            if not mode.replaying:
                self.finish.append(loop.finish_call(machine, batch, scores, mode, done, table))
        else:
            (group,) = self.groups
            self.finish.append(loop.Together(machine, batch, scores, group, mode, table))
        self.step = rows
        if isinstance(watch, Watch) and mode.learning and not mode.replaying:
            self.finish.append(Call(loop.look_out, batch, scores, watch, machine.committee, record, done, table))
            self.step = 1  # a learner that is reset must not see the next row before
        self.calls = [call.run for call in (*self.advance, *self.finish)]
        self.prepare([machine])

    def fits(self, machine: Any, longest: int) -> bool:
        """Whether the states are still those of the machine, and rows of this length have room."""
        return self.is_for([machine]) and longest <= self.longest

    def bind(self, batch: Batch, scores: Floats) -> None:
        """Go on with another batch, whose answers are written into ``scores``."""
        for call in self.advance:
            call.on(batch)
        for call in self.finish:
            call.on(batch, scores)

    def run(self, batch: Batch, votes: Floats32 | None = None, scores: Floats | None = None) -> tuple[Floats, int]:
        """Take all groups through the batch; returns its answers, and the number of rows done.

        These are fewer than all if the committee needs more room. ``votes`` are those for the rows when they were
        asked, and ``scores`` the answers, if they are given; else the votes are written there.
        """
        size, done = batch.y.size, 0
        scores = np.empty((size, *self.columns)) if scores is None else np.array(scores)
        self.bind(batch, scores)
        while done < size:
            start, stop = done, min(done + self.step, size)
            places = np.arange(start, stop) % self.rows if votes is not None else None
            if votes is not None and self.mode.votes_given:
                self.table.votes[places] = votes[start:stop]
            for group in self.groups:
                group.go(done, stop)
            at_once(self.calls)
            if votes is not None and not self.mode.votes_given:
                votes[start:stop] = self.table.votes[places]
            done, full = self.groups[-1].place.rows[2:].tolist()
            if full:
                break
        if self.mode.replaying and size:
            self.record.clock[1] = self.groups[-1].place.clock[1]
        return scores, done

    def run_in_stages(self, batch: Batch, piece: int, threads: int) -> tuple[Floats, list[float]]:
        """Take the groups through a batch side by side, in pieces of so many rows.

        Returns the answers, and the seconds that each group has taken; those of the head count for the last.
        """
        size, scores = batch.y.size, np.empty((batch.y.size, *self.columns))
        self.bind(batch, scores)

        def group_stage(group: Group, call: Call) -> Callable[[int], None]:
            def run(k: int) -> None:
                group.go(k * piece, min((k + 1) * piece, size))
                call()

            return run

        def last_stage(k: int) -> None:
            self.done[0], self.done[2] = k * piece, min((k + 1) * piece, size)
            at_once(call.run for call in self.finish)

        pairs = zip(self.groups, self.advance, strict=True)
        stages = [
            Stage(group_stage(group, call), (number - 1,) if number else ())
            for number, (group, call) in enumerate(pairs)
        ]
        stages.append(Stage(last_stage, (len(stages) - 1,)))
        schedule.run(stages, -(-size // piece), threads, ahead=self.rows // piece)
        for group in self.groups:
            mine = slice(group.place.first, group.place.first + group.space.p.size)
            self.record.edges[mine], self.record.weights[mine] = group.record.edges[mine], group.record.weights[mine]
        *seconds, last = (stage.seconds for stage in stages)
        seconds[-1] += last
        return scores, seconds


def longest_of(batch: Batch) -> int:
    """Number of features for which a pass has room, for rows of this batch: a power of two, so that it seldom grows."""
    longest = int(np.diff(batch.indptr).max(initial=0))
    return 1 << (longest - 1).bit_length() if longest else 0


_PIECE_SECONDS = 2e-3  # that a piece of work should take: long against the change of threads, short against a batch


def piece_of(seconds: float) -> int:
    """Number of rows of a piece of work, if one takes a group so many seconds."""
    rows = _PIECE_SECONDS / max(seconds, 1e-9)
    return 1 << (int(min(max(rows, 32), 1024)).bit_length() - 1)


def even_bounds(n_learners: int, groups: int, grain: int) -> list[int]:
    """The first learners of groups of about equal size, at multiples of ``grain``; and the number of all."""
    blocks = -(-n_learners // grain)
    ends = np.linspace(0, blocks, min(groups, blocks) + 1).round().astype(int)
    return [min(int(end) * grain, n_learners) for end in ends]


def balanced(bounds: Sequence[int], seconds: Sequence[float], grain: int) -> list[int]:
    """Bounds of groups that would take equally long, if learners of a group take equally long."""
    n = bounds[-1]
    passed = np.concatenate([[0.0], np.cumsum(seconds)])
    wanted = np.linspace(0, passed[-1], len(bounds))
    found = np.interp(wanted, passed, bounds) / grain
    ends = found.round().astype(int).tolist()
    blocks = -(-n // grain)
    for k in range(1, len(ends)):  # no group without learners
        ends[k] = min(max(ends[k], ends[k - 1] + 1), blocks - (len(ends) - 1 - k))
    return [0, *(end * grain for end in ends[1:-1]), n]


@dataclass
class Trial:
    """Whether groups side by side are faster than one group: where memory is slow, as for long sparse rows, they are
    not. Each way is tried now and then.
    """

    seconds: dict[bool, float] = field(default_factory=dict)  # of a row, divided and not
    batches: int = 0
    divided: bool = False  # the last time

    def divides(self) -> bool:
        """Whether the next batch is to be divided."""
        known, self.batches = self.seconds, self.batches + 1
        if len(known) < 2:
            self.divided = True not in known
        else:
            faster = known[True] <= known[False]
            self.divided = faster != (self.batches % _TRY_AGAIN == 0)
        return self.divided

    def note(self, seconds: float) -> None:
        """Take in what a row has taken, this way."""
        self.seconds[self.divided] = seconds
