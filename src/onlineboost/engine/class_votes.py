"""Many classes by one committee, whose learners vote for a class each (``class_tally.py``): the loop and the machine.

Probabilities are softmax(b scores), where b is learnt (``sharpness.py``).
"""

from __future__ import annotations

import copy
import threading
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from onlineboost.compiled import dispatch, draws
from onlineboost.compiled.block import Call, unpack
from onlineboost.compiled.jit import njit
from onlineboost.data.batch import Batch, Floats, Floats32, cut
from onlineboost.engine.class_tally import (
    call_hear,
    call_settle,
    call_weigh,
    correct,
    link_classes,
    new_tally,
    note,
    write,
)
from onlineboost.engine.compiled_machine import CompiledMachine
from onlineboost.engine.explaining import Explained
from onlineboost.engine.explaining_classes import explained
from onlineboost.engine.loop import REPLAYED, Mode, Space, new_space
from onlineboost.engine.machine import Said
from onlineboost.engine.one_row import Steps
from onlineboost.engine.passes import longest_of
from onlineboost.engine.sharpness import probabilities
from onlineboost.engine.token import Prepared
from onlineboost.errors import ParameterError
from onlineboost.storage.validity import require

_predict, _learn, _meet, _full = dispatch.predict, dispatch.learn, dispatch.meet, dispatch.full
_count = draws.count


@njit
def class_votes(block: Any) -> None:
    """Take all learners through rows of a batch; stops before the last if the committee needs more room.

    ``votes`` has those given before, or gets those of now; it has no rows if nobody asks for them.
    """
    batch, answers, votes, committee, to, head, settings, record, work, mode, space, tally, rows = unpack(block)
    h, p, t, n, clock = space.h, space.p, space.t, tally.votes.size, record.clock
    for r in range(rows[0], rows[1]):
        _predict(committee, work, batch, r, h)
        for i in range(n):
            if mode.votes_given:
                tally.votes[i] = votes[r, i]
            else:
                tally.votes[i] = h[i]
                if votes.shape[0] > 0:
                    votes[r, i] = h[i]
        number = clock[0] + clock[1]
        if not mode.replaying:
            call_hear(to, tally, number)
            if not mode.given:
                write(tally.scores, answers[r])
        if not mode.learning or batch.weight[r] <= 0:
            continue
        y = max(int(batch.y[r]), 0)
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
            rows[2] = r + 1
            return
    rows[2] = rows[1]


class Votes(Prepared):
    """The memory of a thread for rows of up to ``longest`` features, and the call that runs over them."""

    def __init__(self, machine: ClassVotesMachine, rows: Batch, mode: Mode, longest: int) -> None:
        n, width = machine.settings.n_learners, machine.width
        self.longest, self.width = longest, width
        self.rows = np.zeros(3, np.int64)
        memory, tally = new_space(n), new_tally(n, machine.n_classes)
        space = Space(memory.h, memory.votes, memory.p[:n], memory.t)
        to = link_classes(machine.booster, tally, space.p, space.t)
        states = machine.committee, to, machine.head, machine.settings, machine.record
        work = machine.learner.workspace(machine.committee, longest)
        answers, votes = np.empty((0, width)), np.empty((0, n), np.float32)
        self.call = Call(class_votes, rows, answers, votes, *states, work, mode, space, tally, self.rows)
        self.prepare([machine])

    def fits(self, machine: ClassVotesMachine, longest: int) -> bool:
        """Whether the states are still those of the machine, and rows of this length have room."""
        return self.is_for([machine]) and longest <= self.longest

    def run(self, batch: Batch, votes: Floats32 | None, answers: Floats | None) -> tuple[Floats, int]:
        """The answers to rows, [rows, width], and how many of the rows are done."""
        size = batch.y.size
        found = np.empty((size, self.width)) if answers is None else np.array(answers)
        said = votes if votes is not None else np.empty((0, 0), np.float32)
        self.call.on(batch, found, said)
        self.rows[:] = 0, size, 0
        self.call()
        return found, int(self.rows[2])


@dataclass
class ClassVotesMachine(CompiledMachine):
    """A committee whose learners vote for classes, and its booster."""

    n_known: int = field(default=2, kw_only=True)  # number of classes

    @property
    def n_classes(self) -> int:
        return self.n_known

    @property
    def n_said(self) -> tuple[int, int]:
        return self.settings.n_learners, self.width

    def could_say(self, said: Said) -> bool:
        """Votes are places of classes, which the booster counts at these places."""
        votes = said.votes
        known = (votes >= 0) & (votes < self.n_known) & (votes == np.floor(votes))
        return super().could_say(said) and bool(known.all())

    @property
    def leaves(self) -> tuple[CompiledMachine, ...]:
        return ()  # it is not one of several machines for classes

    def check(self) -> None:
        super().check()
        require(bool((self.kept.y < self.n_known).all()), "kept.y", "codes of known classes")

    def explain_slotted(self, rows: Batch) -> Explained:
        kinds = dispatch.explain_classes.kernels  # type: ignore[attr-defined]
        if type(self.committee) not in kinds:
            name = type(self.learner).__name__
            raise ParameterError("estimator", self.learner, f"a learner that explains its votes: {name} does not")
        return explained(self, rows)

    def with_classes(self, n: int, booster: Any) -> Self:
        """A machine for more classes, with the booster's state for them."""
        twin = copy.copy(self)
        twin.committee, twin.booster, twin.n_known = self.learner.more_classes(self.committee, n), booster, n
        twin.passes = threading.local()
        return twin

    def _rounds(self, rows: Batch, learning: bool, replaying: bool = False, said: Said | None = None) -> Floats:
        scores, done, size = [], 0, rows.y.size
        given = learning and said is not None
        while True:
            part = cut(rows, done, size) if done else rows
            if learning:
                self.committee, part = self.learner.with_room_for(self.committee, part)
            else:
                part = self.learner.known(self.committee, part)
            span = slice(done, done + part.y.size)
            votes = said.votes[span] if said is not None and said.votes.shape[1] else None
            heard = np.ascontiguousarray(votes) if votes is not None else None
            answers = said.scores[span, : self.width] if given and said is not None else None
            mode = Mode(learning, replaying, given, given and votes is not None)
            found, n = self._votes(part, mode).run(part, heard, answers)
            if votes is not None and heard is not None and not given:
                votes[:] = heard
            scores.append(found[:n])
            done += n
            if learning and self.learner.is_full(self.committee):
                self.committee = self.learner.refitted(self.committee)
            if done == size:
                return np.concatenate(scores).reshape(self.shape_of(rows))

    def _votes(self, rows: Batch, mode: Mode) -> Votes:
        """The memory that the thread keeps for the next rows."""
        longest, kept = longest_of(rows), vars(self.passes)
        found: Votes | None = kept.get(mode)
        if found is None or not found.fits(self, longest):
            found = kept[mode] = Votes(self, rows, mode, longest)
        return found

    def add_steps(self, steps: Steps, score: Floats) -> bool:
        if self.slots is None or self.transforms or (steps.learning and not self._is_old()):
            return False
        if steps.learning:
            self.committee, _ = self.learner.with_room_for(self.committee, cut(steps.row, 0, 0))
        row = steps.slotted(self.slots, self.learner.takes_missing, self.learner.row_room(self.committee))
        made = Votes(self, row, Mode(steps.learning, False, False), row.indices.size)
        made.call.on(row, score.reshape(1, -1), np.empty((0, 0), np.float32))
        made.rows[:] = 0, 1, 0
        steps.calls.append(made.call)
        steps.machines.append(self)
        return True

    @property
    def gives_odds(self) -> bool:
        return False

    def probabilities(self, scores: Floats) -> Floats:
        head: Any = self.head
        return probabilities(head.sharpness, scores)
