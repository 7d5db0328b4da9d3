"""Stages: compiled calls over fixed memory, in the order in which rows pass them.

A call that needs Python returns True: memory is short, a replay is due, the error has risen. Its node is asked, may
replace states, and says where to go on. Python's ``any`` runs the calls and stops at the first True, so no Python code
runs between other calls.
"""

from __future__ import annotations

import functools
import operator
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from onlineboost.compiled.block import Call
from onlineboost.data.allocation import zeros
from onlineboost.data.batch import Batch, Floats, Floats32, Ints
from onlineboost.engine.schedule import uninterrupted
from onlineboost.loop.loop import Mode

if TYPE_CHECKING:
    from onlineboost.engine.program import Program

_invoke = operator.methodcaller("__call__")
Key = tuple[Any, ...]


class Table:
    """Memory for rows on their way through a model: one row, or up to ``capacity``."""

    def __init__(self, capacity: int, entries: int, mode: Mode) -> None:
        self.capacity, self.entries, self.mode = capacity, entries, mode
        self.longest = 0  # most entries of a row
        self.y, self.weight = np.ones(capacity), np.ones(capacity)
        self._memory: dict[Key, NDArray[Any]] = {}

    def holds(self, capacity: int, entries: int, longest: int) -> bool:
        """Whether there is room for so many rows with so many entries, in all and in a row."""
        return capacity <= self.capacity and entries <= self.entries and longest <= self.longest

    def array(self, key: Key, shape: int | tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Zeros at first; the same memory for the same key, as long as the shape is the same."""
        found = self._memory.get(key)
        shape = shape if isinstance(shape, tuple) else (shape,)
        if found is None or found.shape != shape:
            found = self._memory[key] = zeros(shape, dtype)
        return found


class Stage:
    """The calls of a part of a model, which a thread takes rows through; ``after`` are the stages before it."""

    def __init__(
        self,
        program: Program,
        add: Callable[[Stage], Any],
        after: tuple[int, ...] = (),
        span: Ints | None = None,
        path: Key = (),
    ) -> None:
        self.program_of, self.table, self.add, self.after = weakref.ref(program), program.table, add, after
        self.path = path
        self.span: Ints = np.zeros(2, np.int64) if span is None else span  # the rows that pass
        self.build()

    @property
    def mode(self) -> Mode:
        return self.table.mode

    @property
    def program(self) -> Program:
        found = self.program_of()
        assert found is not None
        return found

    def build(self) -> None:
        """Make all calls, with the states that there are."""
        self.calls: list[Callable[[], Any]] = []
        self.askers: dict[int, Callable[[Stage], Key]] = {}
        self.marks: dict[Key, int] = {}
        self.begins: list[Callable[[int, int], None]] = []
        self.within_node: dict[Key, tuple[int, int]] = {}  # which of them belong to a node
        self.outs: list[Floats] = []  # the scores of all nodes, each before those of its parts
        self.votes: list[Floats32] = []  # of all committees
        self.alive: list[Any] = []  # nodes whose memory the calls use
        self.nodes: list[tuple[Any, Any]] = []  # nodes whose states the calls use, and their versions
        self.states = self.program.prepared.states
        self.add(self)
        self.plain = all(map(_is_compiled, self.calls))
        if self.table.capacity == 1:
            self.begin(0, 1)

    def renew(self) -> None:
        """Make the calls again if states that they use were replaced."""
        states = self.program.prepared.states
        if self.states is not states:
            self.states = states
            if any(node.version is not version for node, version in self.nodes):
                self.build()

    # ---- for nodes, while they add their calls

    def node(self, node: Any, y: Floats, out: Floats) -> None:
        """Add the calls of a node."""
        node.add(self, y, out)
        self.nodes.append((node, node.version))

    @contextmanager
    def within(self, part: Any) -> Iterator[None]:
        """The place of a part, for its memory."""
        before, self.path = self.path, (*self.path, part)
        try:
            yield
        finally:
            self.path = before

    @contextmanager
    def repeatable(self) -> Iterator[Ints]:
        """The calls of a node that may go over some of its rows again (``again``); yields the rows that pass it."""
        before, self.span = self.span, self.array("span", 2, np.int64)
        span, first = self.span, len(self.begins)
        self.on_begin(lambda start, stop: span.__setitem__(slice(None), (start, stop)))
        self.mark("begin")
        try:
            yield span
        finally:
            self.within_node[self.path] = first, len(self.begins)
            self.mark("end")
            self.span = before

    def array(self, name: str, shape: int | tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Memory of the node, which it keeps when calls are made again."""
        return self.table.array((*self.path, name), shape, dtype)

    def scratch(self, name: str, shape: tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Memory that a committee needs until its rows have passed: the next one has it, too, if it comes after."""
        if self.table.capacity == 1 or not self.program.in_order:
            return self.array(name, shape, dtype)
        return self.table.array((name, shape, dtype), shape, dtype)

    def mark(self, name: Any) -> None:
        """Give the next call a name, to go on from there."""
        self.marks[*self.path, name] = len(self.calls)

    def call(self, function: Any, *arguments: Any, ask: Callable[[Stage], Key] | None = None) -> Call:
        """Add a compiled call; if it returns True, ``ask`` says where to go on."""
        made = Call(function, *arguments)
        self.step(made.run, ask)
        self.alive.append(made)
        return made

    def step(self, call: Callable[[], Any], ask: Callable[[Stage], Key] | None = None) -> None:
        """Add a call that is ready."""
        if ask is not None:
            self.askers[len(self.calls)] = ask
        self.calls.append(call)

    def on_begin(self, begin: Callable[[int, int], None]) -> None:
        """Tell a node of the rows that come: ``begin(start, stop)``."""
        self.begins.append(begin)

    def slotted(self, leaf: Any, y: Floats) -> Batch:
        """The rows with slots for ids, as a committee gets them."""
        return self.program.slotted(leaf)._replace(y=y)

    def part(self, k: int, part: Any, y: Floats, out: Floats) -> None:
        """Add the calls of part k of a node; of a committee and batches, as a stage whose calls are made by itself."""
        if part.parts or self.table.capacity == 1:
            with self.within(k):
                self.node(part, y, out)
            return
        inner = Stage(self.program, lambda stage: stage.node(part, y, out), (), self.span, (*self.path, k))
        self.step(inner.go)
        self.on_begin(inner.begin)

    def silent(self, part: Any) -> None:
        """Note a part that does not answer."""
        votes, scores = part.n_answers
        self.outs.append(np.full((self.table.capacity, scores), np.nan))
        self.votes.append(np.full((self.table.capacity, votes), np.nan, np.float32))

    # ---- running

    again: tuple[Key, int, int] | None = None
    """A node, by its path, that is to begin again with these rows."""

    def begin(self, start: int, stop: int, first: int = 0, last: int | None = None) -> None:
        """Choose the rows that pass next: for all nodes, or for some."""
        self.renew()
        for one in self.begins[first:last]:
            one(start, stop)

    def choose(self, start: int, stop: int) -> None:
        """Choose the rows that all calls take next."""
        self.span[:] = start, stop
        self.begin(start, stop)

    def go(self) -> None:
        """Take the rows that were chosen through all calls."""
        at = 0
        while True:
            calls = self.calls
            rest = iter(calls[at:] if at else calls)
            if not any(map(_invoke, rest)):
                return
            ask = self.askers.get(len(calls) - operator.length_hint(rest) - 1)
            if ask is None:
                raise RuntimeError("a call of a node returned True, but stage.call(..., ask=) did not say who is asked")
            with uninterrupted():
                key = ask(self)
            self.renew()
            at = self.marks[key]
            if self.again is not None:
                path, start, stop = self.again
                self.again = None
                self.begin(start, stop, *self.within_node[path])


def _is_compiled(call: Any) -> bool:
    """Whether all calls are compiled."""
    return isinstance(call, functools.partial)


class Divider:
    """In the place of a stage: makes a stage of each part of a node, and of the calls between two parts."""

    path: Key = ()

    def __init__(self, program: Program) -> None:
        self.program, self.table, self.mode = program, program.table, program.table.mode
        self.stages: list[Stage] = []
        self.outs: list[Floats] = []
        self._calls: list[Callable[[Stage], Any]] = []  # of the stage that is being made
        self._last = 0  # number of the stage after the last calls
        self.span: Ints = np.zeros(2, np.int64)

    def array(self, name: str, shape: int | tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
        return self.table.array((name,), shape, dtype)

    def call(self, function: Any, *arguments: Any) -> None:
        self._calls.append(lambda stage: stage.call(function, *arguments))

    def silent(self, part: Any) -> None:
        """Only single rows are learned later."""

    def part(self, k: int, part: Any, y: Floats, out: Floats) -> None:
        self.end()
        after = (self._last - 1,) if self._last else ()
        self.stages.append(Stage(self.program, lambda stage: stage.part(k, part, y, out), after))

    def end(self) -> None:
        """Make a stage of the calls so far: it comes after all others, and before all that follow."""
        if self._calls:
            calls, self._calls = self._calls, []
            stage = Stage(
                self.program, lambda stage: [call(stage) for call in calls], (*range(len(self.stages)),), self.span
            )
            self.stages.append(stage)
            self._last, self.span = len(self.stages), np.zeros(2, np.int64)
