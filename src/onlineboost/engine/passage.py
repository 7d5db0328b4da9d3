"""The way of rows through a committee: transforms, then rounds of the booster; and its pauses."""

from __future__ import annotations

from typing import Any

import numpy as np

from onlineboost.compiled.block import unpack
from onlineboost.compiled.jit import njit
from onlineboost.data.batch import Batch, Floats, Ints, cut
from onlineboost.engine import replay
from onlineboost.engine.stage import Key, Stage
from onlineboost.transforms.chain import Level


class Passage:
    """The calls of a committee, and the action at each pause.

    | it pauses | then |
    | --- | --- |
    | after rows of a young stream | they are kept; at 64, 128, ... all rows so far are learned again |
    | after the row at which edges of bins are due | the learners follow the new edges (``Learner.settle``) |
    | after the row at which a larger table of tokens is due | it is made (``Learner.enlarged``) |
    | when the memory of a transform is full | the rows in it are learned first |
    | before a row with features beyond the room of the learners, and when they are full | they get more room |
    """

    def __init__(self, node: Any, stage: Stage, rows: Batch, out: Floats) -> None:
        table, mode = stage.table, stage.mode
        self.node, self.path, self.slotted, self.mode = node, stage.path, rows, mode
        self.rows: Ints = stage.array("rows", 4, np.int64)  # first, last, done, full: of the rounds
        self.ends: Ints = stage.array("ends", len(node.transforms) + 1, np.int64)  # how far rows have come
        self.limits: Ints = stage.array("limits", 3, np.int64)  # first row not kept; after the last; learned before
        self.levels, self.learns, one = len(node.transforms), mode.learning and not mode.replaying, table.capacity == 1
        longest = table.longest
        for number, transform in enumerate(node.transforms, 1):
            longest = transform.most(longest)
            room = 1 << max(longest, 0 if one else table.entries).bit_length()
            memory = (
                stage.scratch(f"indptr{number}", (table.capacity + 1,), np.int64),
                stage.scratch(f"indices{number}", (room,), np.int32),
                stage.scratch(f"values{number}", (room,), np.float32),
            )
            after = Batch(*memory, rows.y, rows.weight)
            stage.mark(number)
            call = transform.call(Level(rows, after, self.rows, self.ends, number), self.learns)
            stage.step(call.run)
            stage.alive.append(call)
            rows = after
        stage.mark(self.levels + 1)
        self.last = rows
        stage.outs.append(out)
        self.rounds = node.rounds(stage, rows, out, self.rows, longest)
        self.settles = self.learns and any(transform.pauses for transform in node.transforms)
        if not one:
            stage.step(self.choose, self.on_stop)
        self.rounds.add(stage)
        if not one or (mode.learning and not node.is_old):
            stage.step(self.ends_here, self.on_stop)
        for transform in node.transforms if one and node.is_old and self.settles else ():
            if transform.pauses:  # compiled: a single row that does not pause runs no Python
                stage.call(is_due, transform.due, ask=self.on_stop)
        stage.mark("end")
        stage.on_begin(self.begin)

    def begin(self, start: int, stop: int) -> None:
        """Choose the rows that pass next."""
        self.limits[:] = start, stop, self.node.n_learned
        self.rows[:] = start, stop, start, 0
        self.ends[:] = stop
        self.ends[0] = self._next_replay(start)
        self.rounds.begin()

    def _next_replay(self, start: int) -> int:
        """The row after which rows are replayed, or that after the last."""
        seen, stop = self.node.n_learned, int(self.limits[1])
        if not self.learns or seen >= replay.last(self.node.learner.replay) or self.slotted.y.size == 1:
            return stop
        counts = np.cumsum(self.slotted.weight[start:stop] > 0)
        return min(start + int(np.searchsorted(counts, replay.next_due(seen) - seen)) + 1, stop)

    def choose(self) -> bool:
        """Choose the rows of the next rounds; whether there is no room for the features of the first one."""
        first = int(self.rows[0])
        last = min(first + self.rounds.step, int(self.ends[-1]))
        if self.mode.learning:
            room, indptr = self.node.learner.row_room(self.node.committee), self.last.indptr
            if self.node.slots is None or self.node.n_slots > room:
                used = self.last.indices[indptr[first] : indptr[last]]
                if used.size and used.max() >= room:
                    at = indptr[first] + int(np.argmax(used >= room))
                    last = first + int(np.searchsorted(indptr[first : last + 1], at, side="right")) - 1
        self.rows[1] = last
        return bool(first == last)

    def ends_here(self) -> bool:
        """Whether an action is due before the next rows."""
        self.rounds.end()
        done, full = self.rows[2:].tolist()
        return bool(done < self.limits[1] or full or self.settles or self.was_young)

    @property
    def was_young(self) -> bool:
        """Whether replays or pauses were possible before these rows."""
        return self.learns and bool(self.limits[2] < self.node.youth)

    def on_stop(self, stage: Stage) -> Key:
        """Do what is due, and say where rows go on."""
        node, rows, ends = self.node, self.rows, self.ends
        first, last, done, full = rows.tolist()
        if first == last:  # there is no room for the next row
            batch = cut(self.last, first, first + 1)
            node.replace_if_new(committee=node.learner.with_room_for(node.committee, batch)[0])
            return (*self.path, self.levels + 1)
        rows[0], rows[3] = done, 0
        if full:
            node.replace_if_new(committee=node.learner.refitted(node.committee))
        for number in range(self.levels, 0, -1) if self.learns else ():
            if ends[number] == done:
                node.learner.settle(node.committee, node.transforms[number - 1])
        if self.settles:
            node.enlarge()
        if done < ends[-1]:
            return (*self.path, self.levels + 1)
        for number in range(self.levels, 0, -1):
            if done < ends[number - 1]:
                return (*self.path, number)
        start, stop, _ = self.limits.tolist()
        if self.was_young and start < done:
            node.keep_rows(cut(self.slotted, start, done))
            self.rounds.begin()
            if node.is_old and (self.slotted.y.size == 1 or node.n_jobs > 1 or node.away is not None):
                node.replace()  # from here on without pauses, so calls may be divided
        self.limits[0], self.limits[2] = done, node.n_learned
        if done == stop:
            if self.slotted.y.size == 1:  # the next row begins here, too
                self.rows[0], self.limits[0] = 0, 0
            return (*self.path, "end")
        ends[0] = self._next_replay(done)
        return (*self.path, 1)


@njit
def is_due(block: Any) -> bool:
    """Whether a transform has something to do after the row."""
    (due,) = unpack(block)
    return bool(due[0] == 1)
