"""Learners on several machines: groups of learners, or the parts of an ensemble, as actors of Ray.

An actor learns every batch in its turn. A group gets the numbers that the group before it has carried, so the result
is that of one process, bit for bit. The head, the record and the stack stay here. ``Team`` looks after the actors.

While learners are away, the states here are old: whoever reads them brings the learners back first.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from onlineboost.data.batch import Batch, cut
from onlineboost.engine.link import CARRIED, new_table
from onlineboost.engine.loop import Mode
from onlineboost.engine.passes import Pass, longest_of
from onlineboost.engine.team import Team

CUT_EVERY = 64  # batches
PIECE = 4096  # rows of a batch
_AHEAD = 2  # batches on the way for each actor


class GroupOfLearners:
    """Runs in an actor: some learners of a committee."""

    def __init__(self, machine: Any, first: int, last: int) -> None:
        self.machine, self.bounds = machine, [first, last]

    def run(self, rows: Batch, carry: Any, n_slots: int) -> tuple[Any, ...]:
        """The votes, opinions and numbers carried of these learners, who learn the rows."""
        machine, (first, last) = self.machine, self.bounds
        machine.grow(n_slots)
        size, done = rows.y.size, 0
        found = new_table(size, machine.settings.n_learners, machine.settings.leading)
        carried = np.zeros((size, CARRIED)) if carry is None else np.array(carry)
        while done < size:
            part = rows._replace(indptr=rows.indptr[done:], y=rows.y[done:], weight=rows.weight[done:])
            machine.committee, part = machine.learner.with_room_for(machine.committee, part)
            n, room = part.y.size, 1 << (part.y.size - 1).bit_length()
            made = Pass(machine, part, Mode(True, False, False), room, longest_of(part), self.bounds)
            made.table.carry[:n] = carried[done : done + n]
            made.advance[0].on(part)
            made.groups[0].go(0, n)
            made.advance[0]()
            found.votes[done : done + n] = made.table.votes[:n]
            if machine.settings.leading:
                found.opinions[done : done + n] = made.table.opinions[:n]
            carried[done : done + n] = made.table.carry[:n]
            machine.record.clock[0] = made.groups[0].place.clock[0]
            done += n
        opinions = found.opinions[:, first:last] if machine.settings.leading else None
        return np.array(found.votes[:, first:last]), opinions, carried


class PartOfEnsemble:
    """Runs in an actor: a whole model."""

    def __init__(self, machine: Any) -> None:
        self.machine = machine

    def run(self, rows: Batch, carry: Any, n_slots: int) -> tuple[Any, ...]:
        """The scores of the rows, which the model learns, and its alarms meanwhile."""
        events: list[Any] = []
        self.machine.listen(events.append)
        grow = getattr(self.machine, "grow", None)
        if grow is not None:
            grow(n_slots)
        run = getattr(self.machine, "run_slotted", self.machine.run)
        return run(rows, True), events


class Away:
    """Where the learners of a machine are while Ray runs them: in actors, or here."""

    def __init__(self, ray: Any, workers: int | None, teams: int = 1) -> None:
        self.ray, self.teams = ray, teams
        self.shares: list[Away] = []  # of parts that are divided themselves
        self.workers = workers or max(int(ray.cluster_resources().get("CPU", 1)), 1)
        self.team: Team | None = None
        self.current = True  # whether the states here are those of the actors

    def learn(self, machine: Any, rows: list[Batch], states: Callable[[], list[Any]], chained: bool) -> Iterator[Any]:
        """Learn batches, the same for all actors or one for each; yields for each piece its rows and all results."""
        if self.team is None:
            works = [self.ray.cloudpickle.dumps(state) for state in states()]
            self.team = Team(self.ray, works, chained, self.workers / self.teams)
        team, self.current = self.team, False
        size, n = rows[0].y.size, len(team.remotes)
        rows = rows if len(rows) == n else rows * n
        waiting: deque[tuple[int, int, int]] = deque()
        for start in range(0, size, PIECE):
            stop, pieces = min(start + PIECE, size), {id(batch): cut(batch, start, start + PIECE) for batch in rows}
            if len(team.batches) >= CUT_EVERY and not waiting:
                team.cut()
            team.send([pieces[id(batch)] for batch in rows], machine.slots_of_parts(n))
            waiting.append((start, stop, len(team.batches) - 1))
            while waiting and (len(waiting) > _AHEAD * n or stop == size or len(team.batches) >= CUT_EVERY):
                first, last, number = waiting.popleft()
                yield first, last, team.results(number)

    def shared(self, n: int) -> list[Away]:
        """As many as there are parts, each with a team of its own; they take turns, and share the cores."""
        self.shares = [Away(self.ray, self.workers, n) for _ in range(n)]
        return self.shares

    def states(self) -> list[Any]:
        """The work of all actors, as it is now."""
        assert self.team is not None
        found = [pickle.loads(state) for state in self.team.cut()]
        self.current = True
        return found

    def close(self) -> None:
        for share in self.shares:
            share.close()
        if self.team is not None:
            self.team.close()
        self.team, self.current = None, True
