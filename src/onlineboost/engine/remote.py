"""Learners on several machines: groups of learners, or the parts of an ensemble, as actors of Ray.

An actor learns every batch in its turn. A group gets the numbers that the group before it has carried, so the result
is that of one process, bit for bit. The head, the record and the stack stay here. ``Team`` looks after the actors.

While learners are away, the states here are old: bring the learners back before reading them.
"""

from __future__ import annotations

import copy
import pickle
from collections import deque
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from onlineboost.data.batch import Batch, Floats, Ints, cut
from onlineboost.engine import replay
from onlineboost.engine.groups import Group, even_bounds
from onlineboost.engine.rounds import Rounds
from onlineboost.engine.stage import Stage
from onlineboost.engine.team import Team
from onlineboost.loop.link import new_table
from onlineboost.loop.loop import Mode, finish_call

CUT_EVERY = 64  # batches
PIECE = 4096  # rows of a batch
_AHEAD = 2  # batches on the way for each actor
_LEARNING = Mode(True, False, False)


class GroupOfLearners:
    """Runs in an actor: some learners of a committee."""

    def __init__(self, node: Any, first: int, last: int) -> None:
        self.node, self.bounds = node, [first, last]

    def run(self, rows: Batch, carry: Any, n_slots: int) -> tuple[Any, ...]:
        """The votes, opinions and numbers carried of these learners, who learn the rows."""
        node, (first, last) = self.node, self.bounds
        node.grow(n_slots)
        size, done, settings = rows.y.size, 0, node.settings
        longest = int(np.diff(rows.indptr).max(initial=0))
        table = new_table(1 << max(size - 1, 0).bit_length(), settings.n_learners, settings.leading)
        if carry is not None:
            table.carry[:size] = carry
        while done < size:
            node.committee, part = node.learner.with_room_for(node.committee, cut(rows, done, size))
            group = Group(node, rows, first, last, table, longest, whole=node.committee)
            group.go(done, done + part.y.size)
            node.record.edges[first:last] = group.record.edges[first:last]
            node.record.weights[first:last] = group.record.weights[first:last]
            node.record.clock[0] = group.place.clock[0]
            done += part.y.size
        opinions = np.array(table.opinions[:size, first:last]) if settings.leading else None
        return np.array(table.votes[:size, first:last]), opinions, np.array(table.carry[:size])


class PartOfEnsemble:
    """Runs in an actor: a whole model."""

    def __init__(self, node: Any) -> None:
        self.node = node

    def __getstate__(self) -> dict[str, Any]:
        """The state without unused room, which comes back with the next learned row."""
        return {"node": self.node.trimmed()}

    def run(self, rows: Batch, carry: Any, n_slots: int) -> tuple[Any, ...]:
        """The scores of the rows, which the model learns, and its alarms meanwhile."""
        from onlineboost.engine.program import run_batch

        events: list[Any] = []
        self.node.listen(events.append)
        self.node.grow(n_slots)
        return run_batch(self.node, rows, True), events


class RoundsAway(Rounds):
    """``Rounds`` of learners that are actors."""

    def __init__(self, node: Any, stage: Stage, batch: Batch, out: Floats, rows: Ints, longest: int) -> None:
        super().__init__(node, stage, batch, out, rows, longest)
        self.batch, self.rows, self.scores = batch, rows, out.reshape(-1) if out.shape[1] == 1 else out
        self.step = stage.table.capacity

    def add(self, stage: Stage) -> None:
        stage.step(self.run)
        stage.alive.append(self)

    def run(self) -> None:
        """Let actors learn the chosen rows; vote, head and record are here."""
        node, n, (first, last, *_) = self.node, self.node.settings.n_learners, self.rows.tolist()
        rows = cut(self.batch, first, last)
        for start, stop, results in node.away.learn(rows, [node.n_slots] * n, lambda: divided(node), chained=True):
            table = new_table(1 << (stop - start - 1).bit_length(), n, node.settings.leading)
            table.votes[: stop - start] = np.concatenate([votes for votes, _, _ in results], axis=1)
            if node.settings.leading:
                table.opinions[: stop - start] = np.concatenate([opinions for _, opinions, _ in results], axis=1)
            piece, done = cut(rows, start, stop), np.array([0, stop - start, stop - start, 0])
            finish_call(node, piece, self.scores[first + start : first + stop], _LEARNING, done, table)()
        self.rows[2:] = last, 0


def divided(node: Any) -> list[GroupOfLearners]:
    """The work of actors: a part of the committee each."""
    n, workers = node.settings.n_learners, node.away.workers
    grain = node.learner.grain if n >= workers * node.learner.grain else 1
    found = []
    for first, last in pairwise(even_bounds(n, workers, grain)):
        twin = copy.copy(node)
        twin.learner = copy.copy(node.learner)
        twin.learner.crowd, twin.learner.first_learner = n, first
        twin.committee = node.learner.apart(node.committee, first, last)
        twin.slots, twin.transforms, twin.names, twin.kept = None, (), {}, replay.NOTHING
        found.append(GroupOfLearners(twin, first, last))
    return found


class Away:
    """The location of a model's learners while Ray runs them: in actors, or here."""

    def __init__(self, ray: Any, workers: int | None, teams: int = 1) -> None:
        self.ray, self.teams = ray, teams
        self.shares: list[Away] = []  # of parts that are divided themselves
        self.workers = workers or max(int(ray.cluster_resources().get("CPU", 1)), 1)
        self.team: Team | None = None
        self.current = True  # whether the states here are those of the actors

    def learn(
        self, rows: Batch | list[Batch], n_slots: list[int], states: Callable[[], list[Any]], chained: bool
    ) -> Iterator[Any]:
        """Learn rows, the same for all actors or some for each; yields for each piece its rows and all results."""
        if self.team is None:
            works = [self.ray.cloudpickle.dumps(state) for state in states()]
            self.team = Team(self.ray, works, chained, self.workers / self.teams)
        team, self.current = self.team, False
        n = len(team.remotes)
        of_actors = [rows] * n if isinstance(rows, Batch) else rows
        size = of_actors[0].y.size
        waiting: deque[tuple[int, int, int]] = deque()
        for start in range(0, size, PIECE):
            stop = min(start + PIECE, size)
            pieces = {id(batch): cut(batch, start, stop) for batch in of_actors}
            if len(team.batches) >= CUT_EVERY and not waiting:
                team.cut()
            team.send([pieces[id(batch)] for batch in of_actors], n_slots[:n])
            waiting.append((start, stop, len(team.batches) - 1))
            while waiting and (len(waiting) > _AHEAD * n or stop == size or len(team.batches) >= CUT_EVERY):
                first, last, number = waiting.popleft()
                yield first, last, team.results(number)

    def shared(self, n: int) -> list[Away]:
        """One per part, each with its own team; teams take turns and share the cores."""
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
