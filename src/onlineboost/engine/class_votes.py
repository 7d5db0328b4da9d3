"""Multiclass committee whose learners each vote for one class (``class_tally.py``): the loop and the node.

Probabilities are softmax(b scores), where b is learned (``temperature.py``).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from onlineboost.compiled import dispatch, draws
from onlineboost.compiled.block import Call, unpack
from onlineboost.compiled.jit import njit
from onlineboost.data.batch import Batch, Floats, Ints
from onlineboost.engine.committee import Committee
from onlineboost.engine.node import Node, PastAnswers
from onlineboost.engine.stage import Stage
from onlineboost.errors import ParameterError
from onlineboost.loop.class_tally import (
    call_hear,
    call_settle,
    call_weigh,
    correct,
    link_classes,
    new_tally,
    note,
    write,
)
from onlineboost.loop.explaining import Explained
from onlineboost.loop.explaining_classes import explained
from onlineboost.loop.loop import REPLAYED, Space, new_space
from onlineboost.loop.temperature import probabilities

_predict, _learn, _meet, _full = dispatch.predict, dispatch.learn, dispatch.meet, dispatch.full
_count = draws.count


@njit
def class_votes(block: Any) -> None:
    """Take all learners through rows of a batch; stops before the last if the committee needs more room.

    ``votes`` has past votes, or gets the present ones; for batches it has no rows.
    """
    batch, answers, votes, committee, to, head, settings, record, work, mode, space, tally, rows = unpack(block)
    h, p, t, n, clock = space.h, space.p, space.t, tally.votes.size, record.clock
    rows[3] = 0
    for r in range(rows[0], rows[1]):
        _predict(committee, work, batch, r, h)
        for i in range(n):
            if mode.votes_given and votes[r, 0] == votes[r, 0]:
                tally.votes[i] = votes[r, i]
            else:
                tally.votes[i] = h[i]
        if votes.shape[0] > 0:
            for i in range(n):
                votes[r, i] = tally.votes[i]
        number = clock[0] + clock[1]
        if not mode.replaying:
            call_hear(to, tally, number)
            if not (mode.given and answers[r, 0] == answers[r, 0]):
                write(tally.scores, answers[r])
        if not mode.learning or batch.weight[r] <= 0:
            continue
        y = int(batch.y[r])
        for i in range(n):
            t[i] = y
        call_weigh(to, y, number, p)
        if not mode.replaying:
            _meet(committee, work, batch, r)
        for i in range(n):
            p[i] *= batch.weight[r]
        if not mode.replaying:
            note(record, tally.votes, p, y, tally.scores.size)
        if settings.sample:
            draw = clock[0] if not mode.replaying else REPLAYED + clock[1]
            for i in range(n):
                p[i] = _count(settings.seed, draw, i, p[i])
        _learn(committee, work, batch, r, h, t, p)
        if mode.replaying:
            clock[1] += 1
        else:
            correct(head, record, tally, answers[r], y, batch.weight[r])
            call_settle(to, y)
        if _full(committee):
            rows[2], rows[3] = r + 1, 1
            return
    rows[2] = rows[1]


class ClassRounds:
    """The calls for rows, in the place of ``Rounds``."""

    def __init__(self, node: Any, stage: Stage, batch: Batch, out: Floats, rows: Ints, longest: int) -> None:
        n, self.mode = node.settings.n_learners, stage.mode
        one = stage.table.capacity == 1
        self.step = stage.table.capacity
        votes = stage.array("votes", (1 if one else 0, n), np.float32)
        memory, tally = new_space(n), new_tally(n, node.n_classes)
        space = Space(memory.h, memory.votes, memory.p[:n], memory.t)
        to = link_classes(node.booster, tally, space.p, space.t)
        states = node.committee, to, node.head, node.settings, node.record
        work = node.learner.workspace(node.committee, longest)
        self.call = Call(class_votes, batch, out, votes, *states, work, stage.mode, space, tally, rows)
        stage.votes.append(votes)

    def add(self, stage: Stage) -> None:
        stage.step(self.call.run)
        stage.alive.append(self.call)

    def begin(self) -> None:
        """The record counts the rows."""

    def end(self) -> None:
        """The record counts the rows."""


@dataclass
class ClassVotesCommittee(Committee):
    """A committee whose learners vote for classes, and its booster."""

    n_known: int = field(default=2, kw_only=True)  # number of classes

    def rounds(self, stage: Stage, batch: Batch, out: Floats, rows: Ints, longest: int) -> Any:
        return ClassRounds(self, stage, batch, out, rows, longest)

    @property
    def n_classes(self) -> int:
        return self.n_known

    def could_answer(self, answers: PastAnswers) -> bool:
        """Votes are places of classes, which the booster counts at these places."""
        votes = answers.votes
        known = (votes >= 0) & (votes < self.n_known) & (votes == np.floor(votes))
        return super().could_answer(answers) and bool(known.all())

    @property
    def leaves(self) -> tuple[Committee, ...]:
        return ()  # a single committee for all classes

    def explain(self, batches: Mapping[int, Batch], rows: Batch) -> Explained:
        kinds = dispatch.explain_classes.kernels  # type: ignore[attr-defined]
        if type(self.committee) not in kinds:
            name = type(self.learner).__name__
            raise ParameterError("estimator", self.learner, f"a learner that explains its votes: {name} does not")
        return explained(self, batches[id(self)])

    def with_classes(self, n: int, booster: Any) -> Self:
        """A committee for more classes, with the booster's state for them."""
        twin = copy.copy(self)
        twin.committee, twin.booster, twin.n_known = self.learner.more_classes(self.committee, n), booster, n
        return twin

    @property
    def gives_odds(self) -> bool:
        return False

    def probabilities(self, scores: Floats) -> Floats:
        head: Any = self.head
        return probabilities(head.temperature, scores)

    def check_divisible(self) -> None:
        Node.check_divisible(self)
