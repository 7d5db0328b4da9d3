"""A pass: the learners of a machine, in groups, go through the rows of a batch; then come head, record and experts.

The arguments of the compiled functions are kept from batch to batch, as long as the states are the same.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from onlineboost.compiled.block import Call
from onlineboost.data.batch import Batch, Floats, Floats32
from onlineboost.engine import loop
from onlineboost.engine.adwin import Watch
from onlineboost.engine.loop import Mode, Place

_NUMBERS = 1 << 13  # most votes on the way from the learners to the head: they stay in the fastest cache
_ROWS = 64  # most rows on the way
_invoke = operator.methodcaller("__call__")


def at_once(calls: Iterable[Callable[[], None]]) -> None:
    """Run compiled calls one after the other; no interrupt takes effect in between, as no Python code is run."""
    any(map(_invoke, calls))


def rows_on_the_way(n_learners: int) -> int:
    """Number of rows that pass all learners before the head, a power of two."""
    return 1 << (max(16, min(_ROWS, _NUMBERS // n_learners)).bit_length() - 1)


class Group:
    """Some learners of a committee, on their way through the rows."""

    def __init__(self, first: int, last: int, committee: Any, work: Any) -> None:
        self.committee, self.work = committee, work
        self.place = Place(first, np.zeros(4, np.int64), np.zeros(2, np.int64))
        self.space = loop.new_space(last - first)

    def go(self, start: int, stop: int) -> None:
        """Choose the rows for the next call."""
        rows = self.place.rows
        rows[0], rows[1], rows[2], rows[3] = start, stop, start, 0


class Pass:
    """The groups of a machine, for rows of up to ``longest`` features; ``rows`` of them are on the way at a time."""

    def __init__(self, machine: Any, batch: Batch, mode: Mode, rows: int, longest: int, bounds: list[int]) -> None:
        learner, booster, head = machine.learner, machine.booster, machine.head
        settings, record, watch = machine.settings, machine.record, machine.watch
        self.states = _states(machine)
        self.rows, self.longest, self.mode, self.record = rows, longest, mode, record
        self.table = table = loop.new_table(rows, settings.n_learners, settings.leading)
        self.groups = []
        for first, last in zip(bounds, bounds[1:], strict=False):
            whole = len(bounds) == 2
            part = machine.committee if whole else learner.part(machine.committee, first, last)
            self.groups.append(Group(first, last, part, learner.workspace(part, longest)))
        done, votes, scores = self.groups[-1].place.rows, np.empty(settings.n_learners), np.empty(0)
        self.advance, self.finish = [], []
        if settings.scan or not mode.learning or mode.replaying:
            for group in self.groups:
                states = group.committee, booster, settings, record, group.work
                self.advance.append(Call(loop.advance, batch, *states, mode, group.space, group.place, table))
            if not mode.replaying:
                ends = booster, head, settings, record, mode, done, votes, table
                self.finish.append(Call(loop.finish, batch, scores, *ends))
        else:
            (group,) = self.groups
            states = group.committee, booster, head, settings, record, group.work
            ends = mode, group.space, group.place, votes, table
            self.finish.append(Call(loop.together, batch, scores, *states, *ends))
        self.step = rows
        if isinstance(watch, Watch) and mode.learning and not mode.replaying:
            self.finish.append(Call(loop.look_out, batch, scores, watch, machine.committee, record, done, table))
            self.step = 1  # a learner that is reset must not see the next row before
        self.calls = [call.run for call in (*self.advance, *self.finish)]

    def fits(self, machine: Any, longest: int) -> bool:
        """Whether the states are still those of the machine, and rows of this length have room."""
        return longest <= self.longest and all(map(operator.is_, self.states, _states(machine)))

    def bind(self, batch: Batch, scores: Floats) -> None:
        """Go on with another batch, whose answers are written into ``scores``."""
        for group in self.groups:
            group.place.clock[:] = self.record.clock
        for call in self.advance:
            call.on(batch)
        for call in self.finish:
            call.on(batch, scores)

    def run(self, batch: Batch, given: tuple[Floats32, Floats] | None = None) -> tuple[Floats, int]:
        """Take all groups through the batch; returns its answers, and the number of rows done.

        These are fewer than all if the committee needs more room. ``given`` are the votes and answers for the rows when
        they were asked.
        """
        size, done = batch.y.size, 0
        votes, scores = given if given is not None else (None, np.empty(size))
        self.bind(batch, scores)
        while done < size:
            stop = min(done + self.step, size)
            if votes is not None:
                self.table.votes[np.arange(done, stop) % self.rows] = votes[done:stop]
            for group in self.groups:
                group.go(done, stop)
            at_once(self.calls)
            done, full = self.groups[-1].place.rows[2:].tolist()
            if full:
                break
        if self.mode.replaying and size:
            self.record.clock[1] = self.groups[-1].place.clock[1]
        return scores, done


def _states(machine: Any) -> tuple[Any, ...]:
    return machine.committee, machine.booster, machine.head, machine.record, machine.watch


def longest_of(batch: Batch) -> int:
    """Number of features for which a pass has room, for rows of this batch: a power of two, so that it seldom grows."""
    longest = int(np.diff(batch.indptr).max(initial=0))
    return 1 << (longest - 1).bit_length() if longest else 0
