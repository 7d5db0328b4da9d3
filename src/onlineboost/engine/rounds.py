"""Rounds of boosting over rows: learners predict and learn; then come vote, head and record."""

from __future__ import annotations

from typing import Any

import numpy as np

from onlineboost.compiled.block import Call
from onlineboost.data.batch import Batch, Floats, Ints
from onlineboost.engine.stage import Stage
from onlineboost.loop import loop
from onlineboost.loop.adwin import Watch
from onlineboost.loop.link import CARRIED, Table
from onlineboost.loop.loop import Place, Space

_NUMBERS = 1 << 16  # maximum votes between learners and head, so that they stay in the cache of a core
_ROWS = 1024  # maximum rows between them


def rows_on_the_way(n_learners: int, capacity: int) -> int:
    """Number of rows that pass all learners before the head, a power of two."""
    most = max(16, min(_ROWS, _NUMBERS // n_learners))
    return 1 << (min(most, capacity).bit_length() - 1)


class Rounds:
    """The calls for all learners as one group; ``rows`` are those of a ``Passage``: first, last, done, full."""

    def __init__(self, node: Any, stage: Stage, batch: Batch, out: Floats, rows: Ints, longest: int) -> None:
        settings, mode, n = node.settings, stage.mode, node.settings.n_learners
        self.node, self.mode = node, mode
        self.step = rows_on_the_way(n, stage.table.capacity)
        votes = stage.scratch("votes", (self.step, n), np.float32)
        opinions = stage.scratch("opinions", (self.step, n if settings.leading else 0))
        table = Table(votes, opinions, stage.scratch("carry", (self.step, CARRIED)))
        h, counted, p, t = loop.new_space(n)
        self.space, self.place = Space(h, counted[:n], p[:n], t), Place(0, rows, stage.array("clock", 2, np.int64))
        self.committee, self.record = node.committee, node.record
        self.work = node.learner.workspace(node.committee, longest)
        scores = out.reshape(-1) if out.shape[1] == 1 else out
        if settings.scan or not mode.learning or mode.replaying:
            self.calls = [loop.advance_call(node, batch, self, mode, table)]
            self.calls += [] if mode.replaying else [loop.finish_call(node, batch, scores, mode, rows, table)]
        else:
            self.calls = [loop.together_call(node, batch, scores, self, mode, table)]
        if isinstance(node.watch, Watch) and mode.learning and not mode.replaying:
            states = node.watch, node.committee, node.record, rows, table
            self.calls.append(Call(loop.look_out, batch, scores, *states))
            self.step = 1  # a learner must be reset before it sees the next row
        stage.votes.append(votes)

    def add(self, stage: Stage) -> None:
        for call in self.calls:
            stage.step(call.run)
        stage.alive += self.calls

    def begin(self) -> None:
        """Rows that come are the next ones."""
        self.place.clock[:] = self.node.record.clock

    def end(self) -> None:
        """Rows have passed."""
        if self.mode.replaying:
            self.node.record.clock[1] = self.place.clock[1]
