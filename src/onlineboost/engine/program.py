"""The program of a model: all compiled calls that rows pass, over one table; and the driver, which alone cuts batches.

The same program takes a single row, in a table of one, and batches, in a table of many. A thread keeps its programs as
long as no state of the model is replaced.
"""

from __future__ import annotations

import functools
import operator
import struct
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onlineboost.compiled import loader
from onlineboost.compiled.block import Call
from onlineboost.data.allocation import zeros
from onlineboost.data.batch import Batch, Floats, Ints, Ints32, cut
from onlineboost.engine import schedule
from onlineboost.engine.node import NEVER, Node, PastAnswers, Prepared
from onlineboost.engine.slotting import Finder, give_slots, slots_of, take_back, write
from onlineboost.engine.stage import Divider, Stage, Table
from onlineboost.loop.loop import Mode

CAPACITY = 1024  # rows that pass a node before the next one
_DIVIDED = 1 << 15  # the same with several threads; fewer for long rows or many classes
_MANY_ENTRIES = 1 << 20  # of their rows together
_AWAY = 1 << 16  # the same with actors, which get it in pieces
_PIECE = 512  # rows that a stage takes at a time there
_ENTRIES = 1 << 14  # minimum entries of a table
ASKING = Mode(False, False, False)
LEARNING = Mode(True, False, False)
TOLD = Mode(True, False, True, True)  # with past answers

_invoke = operator.methodcaller("__call__")
_pack = functools.lru_cache(256)(lambda n: struct.Struct(f"{n}f").pack_into)


class Program:
    """The calls of a model for rows in one mode, of one thread."""

    def __init__(self, root: Node, table: Table, key: Any, slotted: bool) -> None:
        self.root, self.table, self.key, self.has_slots = root, table, key, slotted
        self._prepared = weakref.ref(prepared_for(root))
        capacity, entries = table.capacity, table.entries
        memory = zeros((capacity + 1,), np.int64), zeros((entries,), np.int32), zeros((entries,), np.float32)
        self.rows = Batch(*memory, table.y, table.weight)  # as they come
        self.span: Ints = np.array([0, 1])
        self.loaded, self.done = self.rows, 0  # the rows in the table, and how many of them were learned
        self.out = np.empty((capacity, root.width))
        self.states: Any = None
        if capacity == 1 or not table.mode.learning or slotted or root.n_slots or root.young:
            self.build()  # else states get room first

    def build(self) -> None:
        """Make all calls, with the states that there are."""
        self.finders: dict[tuple[int, int], Finder] = {}
        self.notes: dict[Any, Call] = {}  # of nodes that see rows as they come
        self.as_they_come = self.complete = False
        self.stages = self._stages()
        # Which committees see rows, and with which slots, depends on the nodes above them.
        self.nodes = [(node, node.version) for node in self.root.walk() if node.parts]
        self.complete = True
        self._keep()

    def renew(self) -> None:
        """Make the calls again whose states were replaced; those of batches as soon as they are needed."""
        if self.states is self.prepared.states:
            return
        still = self.states is not None and self.table.mode.learning
        if not still or any(node.version is not version for node, version in self.nodes):
            self.build()
            return
        if self.table.capacity == 1:
            self.stages[0].renew()
        for finder in self.finders.values():
            finder.build(self)
        self._keep()

    def _keep(self) -> None:
        """Note the versions of the states of the calls."""
        if self.table.capacity == 1:
            self._set_due()
            self.stages[0].span[:] = 0, 1
            self.finds = [finder.call.run for finder in self.finders.values()]
            self.found = [finder.found.indptr for finder in self.finders.values()]
            self.memory: Any = memoryview(self.rows.values).cast("B")  # type: ignore[arg-type]
            self.loaded, self.done = self.rows, 1
        loader.give_back()
        self.states = self.prepared.states
        self.prepared.of_thread.__dict__[self.key] = self

    def _set_due(self) -> None:
        """Compute when nodes are asked next."""
        left = self.root.countdown() if self.table.mode.learning else NEVER
        self.due = NEVER if left == NEVER else self.root.n_learned + left

    def look(self) -> None:
        """Let nodes make the decisions that are due."""
        with schedule.uninterrupted():
            self.root.look()
        self._set_due()

    def _stages(self) -> list[Stage]:
        root, y, out = self.root, self.table.y, self.out
        if self.table.capacity > 1 and self.table.mode == LEARNING and root.divides:
            divider: Any = Divider(self)
            root.add(divider, y, out)
            divider.end()
            return divider.stages  # type: ignore[no-any-return]
        return [Stage(self, lambda stage: stage.node(root, y, out))]

    @property
    def in_order(self) -> bool:
        """Whether rows pass one committee after the other, in one thread."""
        return self.root.n_jobs == 1 and self.root.away is None

    @property
    def prepared(self) -> Prepared:
        found = self._prepared()
        assert found is not None
        return found

    def slotted(self, leaf: Any) -> Batch:
        """The rows with slots for ids, as a committee gets them."""
        if self.has_slots:
            return self.rows
        if leaf.slots is None:
            self.as_they_come = True
            return self.rows
        room = NEVER if self.table.mode.learning else leaf.learner.row_room(leaf.committee)
        key = id(leaf.slots.used), room
        if key not in self.finders:
            if self.complete:
                raise RuntimeError("rows are loaded already: which committees see them changes by node.replace only")
            self.finders[key] = Finder(self, leaf, room)
        return self.finders[key].found

    def note(self, path: Any, function: Any, *arguments: Any) -> None:
        """Add a call of a node that sees the unchanged rows."""
        self.notes[path] = Call(function, self.rows, self.span, *arguments)

    # ---- batches

    def load(self, batch: Batch, start: int, stop: int) -> None:
        """Take rows of a batch into the table, with slots for ids."""
        n = stop - start
        self.table.y[:n], self.table.weight[:n] = batch.y[start:stop], batch.weight[start:stop]
        self.loaded = rows = cut(batch, start, stop)
        self.done, self.span[:] = n, (0, n)
        new = self.states is None
        if not new:
            for finder in self.finders.values():
                finder.call.on(rows)
        if new or any(finder.call.run() for finder in self.finders.values()):
            self.give_slots(rows)
        if self.as_they_come:
            write(rows, self.rows)

    def tell(self) -> None:
        """Tell nodes that see rows as they come of those that were loaded."""
        for call in self.notes.values():
            call.on(self.loaded)
            call()

    def give_slots(self, rows: Batch) -> None:
        """Give slots to new features of rows; calls are made again if states have become larger."""
        found = give_slots(self.root, rows, self.table.capacity == 1)
        self.renew()
        for finder in self.finders.values():
            write(found[id(finder.used)], finder.found)

    def run(self, start: int, stop: int) -> None:
        """Take rows of the table through the model."""
        stages = self.stages
        if len(stages) == 1:
            stages[0].choose(start, stop)
            stages[0].go()
            return
        past = self.prepared.past.setdefault(len(stages), [schedule.Past() for _ in stages])
        work = [
            schedule.Stage(_piecewise(stage, start, stop), stage.after, before)
            for stage, before in zip(stages, past, strict=True)
        ]
        schedule.run(work, -(-(stop - start) // _PIECE), self.root.n_jobs)

    # ---- single rows

    def run_row(self, ids: Any, values: Sequence[float], y: float, weight: float) -> Floats:
        """Take one row through the model; returns its scores, in memory that the next row is written to."""
        n, (indptr, indices, _, ys, weights) = len(values), self.rows
        indices[:n] = ids
        _pack(n)(self.memory, 0, *values)
        indptr[1], ys[0], weights[0] = n, y, weight
        if any(map(_invoke, self.finds)):
            self.give_slots(self.rows)
        for note in self.notes.values():
            note.run()
        stage = self.stages[0]
        if not stage.plain:
            stage.begin(0, 1)
        stage.go()
        return self.out[0]  # type: ignore[no-any-return]

    def answers(self) -> PastAnswers:
        """The votes and scores of all nodes for the row that has just passed."""
        stage = self.stages[0]
        votes = [one[:1] for one in stage.votes] or [np.empty((1, 0), np.float32)]
        return PastAnswers(np.concatenate(votes, axis=1), np.concatenate([one[:1] for one in stage.outs], axis=1))

    def fill(self, answers: PastAnswers) -> None:
        """Replace present answers by past ones, if there are any."""
        stage = self.stages[0]
        votes = scores = 0
        for one in stage.outs:
            one[0] = answers.scores[0, scores : scores + one.shape[1]]
            scores += one.shape[1]
        for mine in stage.votes:
            n = mine.shape[1]
            mine[0] = answers.votes[0, votes : votes + n] if answers.votes.shape[1] else np.nan
            votes += n


def _piecewise(stage: Stage, start: int, stop: int) -> Callable[[int], None]:
    def run(k: int) -> None:
        stage.choose(start + k * _PIECE, min(start + (k + 1) * _PIECE, stop))
        stage.go()

    return run


def prepared_for(root: Node) -> Prepared:
    """The programs of a tree; unless somebody owns them, the root does."""
    found = root.prepared()
    if found is None:
        found = Prepared(root)
        vars(root)["own_programs"] = found
    return found


def _program(root: Node, mode: Mode, capacity: int, entries: int, longest: int, slotted: bool = False) -> Program:
    """The program that this thread keeps for rows in a mode, with room for so many rows and entries."""
    prepared = root.prepared() or prepared_for(root)
    programs = prepared.of_thread.__dict__
    key = id(root), mode, capacity == 1, slotted
    found: Program | None = programs.get(key)
    if (
        found is None
        or found.table.capacity < capacity
        or found.table.entries < entries
        or found.table.longest < longest
    ):
        least = max(entries, 8 if capacity == 1 else _ENTRIES)
        programs.pop(key, None)  # its memory is not needed again
        found = None
        table = Table(capacity, 1 << (least - 1).bit_length(), mode)
        table.longest = 1 << max(longest - 1, 0).bit_length()
        found = Program(root, table, key, slotted)
    return found


def run_batch(root: Node, batch: Batch, learning: bool) -> Floats:
    """Score every row before its label is used, [rows, width]; with ``learning``, learn from it."""
    size = batch.y.size
    if root.away is not None and not learning:
        root.bring_back()
    scores, start = np.empty((size, root.width)), 0
    most = CAPACITY
    if learning and root.away is not None:
        most = _AWAY
    elif learning and root.n_jobs > 1:
        fitting = _MANY_ENTRIES * size // max(int(batch.indptr[-1] - batch.indptr[0]), 1) // root.width
        most = min(max(1 << max(fitting, 1).bit_length() - 1, CAPACITY), _DIVIDED)
    longest = int(np.diff(batch.indptr).max(initial=0))
    while start < size:
        if learning and root.away is not None and root.learns_away:
            found = root.learn_away(cut(batch, start, size))
            scores[start : start + len(found)] = found
            start += len(found)
            continue
        stop = min(start + most, size)
        entries = int(batch.indptr[stop] - batch.indptr[start])
        if learning:
            end = _end(batch, start, stop, root.countdown())
            skips = root.divides and root.away is None  # fewer cuts, so that threads wait less for each other
            stop = _end(batch, start, stop, root.countdown(longest)) if skips and end < stop else end
        capacity = most if size - start >= most else 1 << (max(stop - start, 2) - 1).bit_length()
        program = _program(root, LEARNING if learning else ASKING, capacity, entries, longest)
        before = slots_of(root) if learning and end < stop else []
        program.load(batch, start, stop)
        if before and root.lacks_slots:
            take_back(before)
            program.renew()
            stop = end
            program.load(batch, start, stop)
        program.tell()
        program.run(0, stop - start)
        scores[start : start + program.done] = program.out[: program.done]
        if learning:
            root.look()
            program.renew()
        start += program.done
        del program  # if the next rows need a larger one, its memory goes first
    return scores


def _end(batch: Batch, start: int, stop: int, left: int) -> int:
    """The row before which learning ends, if so many rows are left to be learned."""
    if left > stop - start:
        return stop
    counts = np.cumsum(batch.weight[start:stop] > 0)
    return min(stop, start + int(np.searchsorted(counts, left)) + 1)


def run_row(
    root: Node, ids: Any, values: Sequence[float], y: float, weight: float, learning: bool
) -> tuple[Floats, bool]:
    """The scores of one row, which is learned if asked, in memory that the next row is written to; and whether one of
    its features is known.
    """
    _come_back(root, learning)
    program = _program(root, LEARNING if learning else ASKING, 1, len(values), len(values))
    if not learning:
        found = program.run_row(ids, values, y, weight)
        return found, not len(values) or any([ends[1] for ends in program.found])  # noqa: C419  a list is faster
    if program.stages[0].plain:
        found = program.run_row(ids, values, y, weight)
    else:
        with schedule.uninterrupted():
            found = program.run_row(ids, values, y, weight)
    if program.due < NEVER and root.n_learned >= program.due:
        program.look()
    return found, True


def _come_back(root: Node, learning: bool) -> None:
    """Bring learners back: single rows are learned here."""
    if root.away is not None:
        root.bring_back()
        if learning:
            root.away.close()


def ask_row(root: Node, ids: Ints32, values: Sequence[float]) -> PastAnswers:
    """All answers to one row."""
    _come_back(root, False)
    program = _program(root, ASKING, 1, len(values), len(values))
    program.run_row(ids, values, 1.0, 1.0)
    return program.answers()


def tell_row(root: Node, ids: Ints32, values: Sequence[float], y: float, weight: float, answers: PastAnswers) -> Floats:
    """Learn one row that was answered before; returns its scores, in memory that the next row is written to."""
    _come_back(root, True)
    program = _program(root, TOLD, 1, len(values), len(values))
    program.fill(answers)
    scores = program.run_row(ids, values, y, weight)
    if root.n_learned >= program.due:
        program.look()
    return scores


def run_slotted(root: Node, rows: Batch, mode: Mode, most: int = 2) -> Floats:
    """Pass rows with slots through a node, for replays and explanations; up to ``most`` rows may follow."""
    n, entries = rows.y.size, int(rows.indptr[-1] - rows.indptr[0])
    longest = int(np.diff(rows.indptr).max(initial=0))
    program = _program(root, mode, max(n, most), entries * max(most // max(n, 1), 1), longest, slotted=True)
    program.table.y[:n], program.table.weight[:n] = rows.y, rows.weight
    write(rows, program.rows)
    program.run(0, n)
    if n >= most:  # its memory is not needed again
        program.prepared.of_thread.__dict__.pop(program.key, None)
    return program.out[:n].copy()
