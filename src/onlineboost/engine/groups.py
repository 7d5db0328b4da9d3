"""Learners in groups on several threads: each group goes through the rows after the one before it.

The weight of a learner depends on the learners before it only, so the result is that of one thread, bit for bit.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from onlineboost.data.arrays import isolated
from onlineboost.data.batch import Batch, Floats, Ints
from onlineboost.engine import schedule
from onlineboost.engine.rounds import Rounds
from onlineboost.engine.schedule import Stage as Work
from onlineboost.engine.stage import Stage
from onlineboost.loop import loop
from onlineboost.loop.link import Table, new_table
from onlineboost.loop.loop import Mode, Place, Space

_MANY_ROWS = 512  # that are worth several threads
_PIECE_SECONDS = 1e-3  # that a piece of work should take: long against the change of threads, short against a batch
_COMPARISONS = 3
_ALONE = 256  # rows of a comparison that go as one group; those that go as several take so many seconds
_COMPARED_SECONDS = 1e-2
_LEAST_SECONDS = 3e-3  # of work that is worth the start of threads
_LEAST_CORES = 1.15  # that groups side by side must have had, on average; fewer: other processes are busy
_PAUSE_SECONDS = 0.03, 0.5  # that rows go as one group then, at first and at most
_TRIAL_SECONDS = 5e-3  # of work that tells whether they are still busy
_DECIDED = 1 << 18  # rows until the next three
_WORTH = 0.9  # of the time of one group, which several threads may take


class Group:
    """Some learners of a committee, on their way through the rows."""

    def __init__(
        self, node: Any, batch: Batch, first: int, last: int, table: Table, longest: int, whole: Any = None
    ) -> None:
        n, record = last - first, node.record
        self.committee = node.learner.part(node.committee, first, last) if whole is None else whole
        self.record = record._replace(edges=isolated(record.edges), weights=isolated(record.weights))
        self.place = isolated(Place(first, np.zeros(4, np.int64), record.clock.copy()))
        h, votes, p, t = (isolated(memory) for memory in loop.new_space(n))
        self.space = Space(h, votes[:n], p[:n], t)
        self.work = isolated(node.learner.workspace(self.committee, longest))
        self.call = loop.advance_call(node, batch, self, Mode(True, False, False), table)
        self.learners = slice(first, last)

    def go(self, start: int, stop: int) -> None:
        self.place.rows[:] = start, stop, start, 0
        self.call()


class Groups(Rounds):
    """``Rounds`` that divides learners among threads, where that is faster."""

    def __init__(self, node: Any, stage: Stage, batch: Batch, out: Floats, rows: Ints, longest: int) -> None:
        super().__init__(node, stage, batch, out, rows, longest)
        self.batch, self.scores, self.rows, self.longest = batch, out, rows, longest
        self.sub_step, self.step = self.step, stage.table.capacity
        self.memory = vars(stage.program.prepared).setdefault("groups", {}).setdefault(stage.path, {})
        self.choice = self.memory.setdefault("choice", Choice())

    def add(self, stage: Stage) -> None:
        stage.step(self.run)
        stage.alive.append(self)

    def run(self) -> None:
        """Take the chosen rows through all learners."""
        start, stop, _, _ = self.rows.tolist()
        if not self.node.is_old or stop - start < _MANY_ROWS:
            self._one_by_one(start, stop)
            return
        choice, done = self.choice, start
        while done < stop and not self.rows[3]:
            if choice.rows_left == choice.waits == 0:
                done = self._compare(done, stop)
                continue
            alone: float = self.memory["alone"]
            end = choice.end(done, stop, alone)
            divides = choice.divides_now and (end - done) * alone >= _LEAST_SECONDS
            choice.take(end - done)
            (self._side_by_side if divides else self._one_by_one)(done, end)
            done = end
        self.rows[0], self.rows[1] = start, stop

    def _compare(self, start: int, stop: int) -> int:
        """Take some rows through all learners as one group, and some as several; returns the row after them."""
        middle = min(start + _ALONE, stop)
        alone = self.memory["alone"] = timed(self._one_by_one, start, middle) / (middle - start)
        self.memory.setdefault("piece", piece_of(alone / self.node.n_jobs))
        end = min(middle + max(int(_COMPARED_SECONDS / alone), _MANY_ROWS), stop)
        if self.rows[3] == 0 and end - middle >= _MANY_ROWS and (end - middle) * alone >= _LEAST_SECONDS:
            cpu = self._side_by_side(middle, end)
            self.choice.note(cpu / self.node.n_jobs / (end - middle) / alone)
        elif self.rows[3] == 0:
            self._one_by_one(middle, end)
        return end

    def _one_by_one(self, start: int, stop: int) -> None:
        done, full = start, 0
        while done < stop and not full:
            self.rows[:] = done, min(done + self.sub_step, stop), done, 0
            for call in self.calls:
                call.run()
            done, full = self.rows[2:].tolist()
        self.rows[0], self.rows[1] = start, stop

    def _side_by_side(self, start: int, stop: int) -> float:
        """Returns the processor time of all groups."""
        node, memory = self.node, self.memory
        n, grain = node.settings.n_learners, node.learner.grain
        bounds = memory.get("bounds") or even_bounds(n, node.n_jobs, grain)
        if len(bounds) - 1 != min(node.n_jobs, -(-n // grain)):
            bounds = even_bounds(n, node.n_jobs, grain)
        piece = memory["piece"]
        ahead = 1 << (2 * len(bounds) * piece - 1).bit_length()
        table = memory.get("table")
        if table is None or table.votes.shape != (ahead, n):
            table = memory["table"] = new_table(ahead, n, node.settings.leading)
        groups = [Group(node, self.batch, a, b, table, self.longest) for a, b in pairwise(bounds)]
        done = np.zeros(4, np.int64)
        scores = self.scores.reshape(-1) if self.scores.shape[1] == 1 else self.scores
        finish = loop.finish_call(node, self.batch, scores, self.mode, done, table)

        def stage_of(group: Group) -> Callable[[int], None]:
            return lambda k: group.go(start + k * piece, min(start + (k + 1) * piece, stop))

        def last(k: int) -> None:
            done[0], done[2] = start + k * piece, min(start + (k + 1) * piece, stop)
            finish()

        stages = [Work(stage_of(group), (k - 1,) if k else ()) for k, group in enumerate(groups)]
        stages.append(Work(last, (len(groups) - 1,)))
        began = time.perf_counter()
        schedule.run(stages, -(-(stop - start) // piece), node.n_jobs, ahead=ahead // piece)
        seconds_passed = time.perf_counter() - began
        for group in groups:
            mine = group.learners
            node.record.edges[mine], node.record.weights[mine] = group.record.edges[mine], group.record.weights[mine]
            node.learner.put(node.committee, group.committee, mine.start, mine.stop)
        *seconds, of_last = (stage.seconds for stage in stages)
        seconds[-1] += of_last
        self.rows[2:] = stop, 0
        self.begin()  # if all learners as one group go on, they number rows from here
        memory["bounds"] = balanced(bounds, seconds, grain)
        memory["piece"] = piece_of(sum(seconds) / len(seconds) / (stop - start))
        cpu = sum(seconds)
        self.choice.see(cpu / seconds_passed, memory["alone"])
        return cpu


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


def timed(run: Callable[[int, int], None], start: int, stop: int) -> float:
    """The processor time that a call has taken: busy neighbors count little."""
    began = schedule.clock()
    run(start, stop)
    return max(schedule.clock() - began, 1e-9)


@dataclass
class Choice:
    """Whether groups go side by side.

    They do, unless the median of three comparisons says that they are hardly faster than one group, as for long sparse
    rows. Comparisons are of processor time, which busy neighbors hardly change. But while these leave little more than
    one core, the rows go as one group: threads would wait for each other.
    """

    divides: bool = True
    rows_left: int = 0  # that go this way, until the next comparison
    times: list[float] = field(default_factory=list)  # of a group side by side with others, over that of all as one

    waits: int = 0  # rows that go as one group because others are busy
    pause: float = _PAUSE_SECONDS[0]  # how long, the next time

    @property
    def divides_now(self) -> bool:
        return self.divides and not self.waits

    def end(self, start: int, stop: int, alone: float) -> int:
        """The row until which rows go the same way, if one takes so many seconds as one group."""
        most = self.waits or self.rows_left
        if not self.waits and self.pause > _PAUSE_SECONDS[0]:
            most = min(most, max(int(_TRIAL_SECONDS / alone), _MANY_ROWS))
        return min(start + most, stop)

    def take(self, n: int) -> None:
        """So many rows pass."""
        self.rows_left = max(self.rows_left - n, 0)
        self.waits = max(self.waits - n, 0)

    def note(self, time: float) -> None:
        """Take in a comparison."""
        self.times.append(time)
        if len(self.times) == _COMPARISONS:
            self.divides = statistics.median(self.times) <= _WORTH
            self.rows_left, self.times = _DECIDED, []

    def see(self, cores: float, alone: float) -> None:
        """Take in on how many cores groups were side by side."""
        first, most = _PAUSE_SECONDS
        if cores < _LEAST_CORES:
            self.waits, self.pause = int(self.pause / alone), min(2 * self.pause, most)
        else:
            self.waits, self.pause = 0, first
