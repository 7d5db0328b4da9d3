"""Learners on several machines: groups of learners, or the parts of an ensemble, as actors of Ray.

An actor learns every batch in its turn. A group gets the numbers that the group before it has carried, so the result
is that of one process, bit for bit. The head, the record and the stack stay here. Each actor hands over its state at a
cut, every few batches. If one dies, it is made again from its last cut and gets the batches since then once more: since
learning is deterministic, nothing changes.

While learners are away, the states here are old: whoever reads them brings the learners back first.
"""

from __future__ import annotations

import os
import pickle
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onlineboost.data.batch import Batch, cut, without_rest
from onlineboost.engine import loop
from onlineboost.engine.loop import Mode
from onlineboost.engine.passes import Pass, longest_of

CUT_EVERY = 64  # batches
_TRIES = 3  # how often an actor is made again before it is given up
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
        found = loop.new_table(size, machine.settings.n_learners, machine.settings.leading)
        carried = np.zeros((size, loop.CARRIED)) if carry is None else np.array(carry)
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


class Worker:
    """An actor. Arrays of the object store are copied: functions would be compiled again for such as are read-only."""

    def __init__(self, state: bytes) -> None:
        os.environ["ONLINEBOOST_QUIET"] = "1"
        self.load(state)

    def load(self, state: bytes) -> None:
        self.work, self.done = pickle.loads(state), 0

    def run(self, number: int, rows: tuple[Any, ...], before: Any, n_slots: int) -> Any:
        """Learn batch ``number``, which must be the next one."""
        if number != self.done:
            raise RuntimeError(f"batch {number} came when {self.done} was expected")
        found = self.work.run(Batch(*map(np.array, rows)), None if before is None else before[2], n_slots)
        self.done += 1
        return found

    def state(self) -> bytes:
        from ray import cloudpickle  # which takes functions of the user too

        self.done = 0
        found: bytes = cloudpickle.dumps(self.work)
        return found


@dataclass
class _Remote:
    """An actor, seen from here."""

    cut: bytes  # its state, before the batches below
    actor: Any = None
    results: list[Any] = field(default_factory=list)  # references, one for each batch since the cut


class Team:
    """Actors of Ray that take batches one after the other; each may need the result of the one before it."""

    def __init__(self, ray: Any, states: list[bytes], chained: bool, workers: float) -> None:
        self.ray, self.chained = ray, chained
        share = min(1.0, int(1000 * workers / len(states)) / 1000)  # of a core
        self.kind = ray.remote(num_cpus=share, max_restarts=0)(Worker)
        self.remotes = [_Remote(state) for state in states]
        self.batches: list[list[tuple[Any, int]]] = []  # since the cut, for each actor: rows and numbers of slots
        for remote in self.remotes:
            self._make(remote)

    def _make(self, remote: _Remote) -> None:
        remote.actor = self.kind.remote(remote.cut)

    def send(self, rows: list[Batch], n_slots: list[int]) -> None:
        """Give a batch to all actors, the same rows or each its own."""
        known: dict[int, Any] = {}
        for batch in rows:
            if id(batch) not in known:
                known[id(batch)] = self.ray.put(tuple(without_rest(batch)))
        self.batches.append([(known[id(batch)], n) for batch, n in zip(rows, n_slots, strict=True)])
        for k in range(len(self.remotes)):
            self._ask(k, len(self.batches) - 1)

    def _ask(self, k: int, number: int) -> None:
        remote, (rows, n_slots) = self.remotes[k], self.batches[number][k]
        before = self.remotes[k - 1].results[number] if self.chained and k else None
        remote.results[number : number + 1] = [remote.actor.run.remote(number, rows, before, n_slots)]

    def results(self, number: int) -> list[Any]:
        """What all actors have said of a batch since the cut; actors that have died are made again."""
        for _ in range(_TRIES * len(self.remotes)):
            try:
                return [self.ray.get(remote.results[number]) for remote in self.remotes]
            except self.ray.exceptions.RayError as problem:
                error = problem
                self._repair()
        raise error

    def _repair(self) -> None:
        """Make actors again that have died, and give all actors the batches that they have not done."""
        sent = len(self.batches)
        for k, remote in enumerate(self.remotes):
            done = self._done(remote)
            if done is None:
                self._make(remote)
                done = 0
            if done < sent:
                for number in range(done, sent):
                    self._ask(k, number)

    def _done(self, remote: _Remote) -> int | None:
        """Number of batches since the cut that an actor has done; None if it has died."""
        try:
            return int(self.ray.get(remote.actor.__ray_call__.remote(lambda worker: worker.done)))
        except self.ray.exceptions.RayError:
            return None

    def cut(self) -> list[bytes]:
        """The states of all actors, when all batches are done; from here on they can be made again from these."""
        for _ in range(_TRIES * len(self.remotes)):
            if self.batches:
                self.results(len(self.batches) - 1)
            try:
                states = self.ray.get([remote.actor.state.remote() for remote in self.remotes])
            except self.ray.exceptions.RayError as problem:
                error = problem
                self._undo_cut()
                continue
            for remote, state in zip(self.remotes, states, strict=True):
                remote.cut, remote.results = state, []
            self.batches = []
            return states  # type: ignore[no-any-return]
        raise error

    def _undo_cut(self) -> None:
        """An actor died at a cut: those that have begun to count anew start from the cut before, too."""
        for remote in self.remotes:
            self.ray.kill(remote.actor)
        self._repair()

    def close(self) -> None:
        for remote in self.remotes:
            self.ray.kill(remote.actor)


_PIECE = 4096  # rows of a batch


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
        for start in range(0, size, _PIECE):
            stop, pieces = min(start + _PIECE, size), {id(batch): cut(batch, start, start + _PIECE) for batch in rows}
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
