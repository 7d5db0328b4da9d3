"""The writer: the one thread that learns and writes the journal.

It gathers the commands that wait, writes their events in one transaction, and only then applies the events and lets the
answers go. A write that fails changes nothing.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
import time
from collections import deque
from concurrent.futures import Future
from typing import Any

from onlineboost.serve.clock import Clock
from onlineboost.serve.errors import ServeError, as_serve_error, disk_error
from onlineboost.serve.events import Event
from onlineboost.serve.journal import Journal
from onlineboost.serve.limits import Limits, Settings
from onlineboost.serve.state import State

log = logging.getLogger("onlineboost.serve")
_GROUP = 512  # commands of one transaction, at most
_TICK = 0.5  # seconds


class Command:
    """A request to the writer. ``prepare`` checks it and writes events; ``finish`` makes its answer of the results."""

    alone = False  # whether the state must be that after all events before

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.results: list[Any] = []
        self.problem: Exception | None = None
        self.answer: Any = None
        self.future: asyncio.Future[Any] | Future[Any] | None = None

    def prepare(self, writer: Writer, now: float) -> None:
        """Within a transaction."""
        raise NotImplementedError

    def finish(self, writer: Writer) -> Any:
        """After the events were applied; ``results`` are theirs."""
        for result in self.results:
            if isinstance(result, Exception):
                raise result
        return None

    def sample(self) -> dict[str, Any] | None:
        """An example that was learned, for those who watch; None: this command has none."""
        return None

    def write(self, writer: Writer, kind: str, model: str, id: str, payload: bytes, now: float) -> Event:
        one = writer.journal.draft(kind, model, id, payload, now)
        writer.journal.append(one)
        self.events.append(one)
        return one


class Writer(threading.Thread):
    """Learns and writes, until it is stopped."""

    def __init__(self, journal: Journal, state: State, settings: Settings, limits: Limits) -> None:
        super().__init__(name="onlineboost-writer", daemon=True)
        self.journal, self.state, self.settings, self.limits = journal, state, settings, limits
        self.clock = Clock(journal.head.time)
        self.failure: str | None = None  # why it has stopped for good
        self.trouble: str | None = None  # why the last write failed
        self.on_tick: Any = lambda now: None
        self.on_applied: Any = lambda one: None
        self.on_group: Any = lambda commands: None
        self.groups = self.written = 0
        self.fsync_seconds = 0.0
        self._waiting: deque[Command] = deque()
        self._ready = threading.Condition()
        self._stopping = False
        self._last_group = 1

    # ---- other threads

    def submit(self, command: Command) -> Future[Any]:
        """Give a command; the answer comes as a future."""
        found: Future[Any] = Future()
        command.future = found
        self._put(command)
        return found

    def ask(self, command: Command, loop: asyncio.AbstractEventLoop) -> asyncio.Future[Any]:
        """Give a command from an event loop; an error with 429 if too many wait."""
        if len(self._waiting) >= self.limits.queue:
            text = f"{self.limits.queue:,} requests wait for the writer (--max-queue)"
            raise ServeError(429, text, "send the same request again after a second", {"retry-after": "1"})
        found = loop.create_future()
        command.future = found
        self._put(command)
        return found

    def _put(self, command: Command) -> None:
        with self._ready:
            if self._stopping or self.failure is not None:
                cause = self.failure or "the service stops"
                raise ServeError(503, f"nothing is written: {cause}", "try again later", {"retry-after": "5"})
            self._waiting.append(command)
            if len(self._waiting) == 1 or len(self._waiting) >= self._last_group:
                self._ready.notify()

    @property
    def n_waiting(self) -> int:
        return len(self._waiting)

    def stop(self) -> None:
        """Finish what waits, and end."""
        with self._ready:
            self._stopping = True
            self._ready.notify()
        self.join()

    # ---- its own thread

    def run(self) -> None:
        tick = time.monotonic()
        try:
            while True:
                group = self._gather()
                if group is None:
                    return
                if group:
                    self._do(group)
                if time.monotonic() - tick >= _TICK and not self._stopping:
                    tick = time.monotonic()
                    self._tick()
        except Exception as problem:
            log.exception("the writer has stopped")
            self._fail(f"{type(problem).__name__}: {problem}")

    def _tick(self) -> None:
        try:
            self.on_tick(self.clock.now())
        except (sqlite3.Error, OSError) as problem:
            self.trouble = disk_error(problem).message

    def _fail(self, cause: str) -> None:
        with self._ready:
            self.failure = f"the writer has failed ({cause}): restart the service, which replays the journal"
            left = [*self._waiting]
            self._waiting.clear()
        for command in left:
            command.problem = ServeError(503, self.failure, "send the same request again after the restart")
        _settle(left)

    def _gather(self) -> list[Command] | None:
        """The next group of commands: those that wait, and those that come within a moment; None at the end."""
        with self._ready:
            if not self._waiting:
                if self._stopping:
                    return None
                self._ready.wait(_TICK)
                if not self._waiting:
                    return None if self._stopping else []
            if len(self._waiting) < self._last_group and not self._waiting[0].alone:
                until = time.monotonic() + self.settings.gather
                while len(self._waiting) < self._last_group and (left := until - time.monotonic()) > 0:
                    self._ready.wait(left)
            group = [self._waiting.popleft()]
            while not group[0].alone and self._waiting and len(group) < _GROUP and not self._waiting[0].alone:
                group.append(self._waiting.popleft())
            self._last_group = len(group)
            return group

    def _do(self, group: list[Command]) -> None:
        """Write the events of a group, apply them, and answer."""
        try:
            with self.journal.transaction():
                now = self.clock.now()
                for command in group:
                    try:
                        command.prepare(self, now)
                    except (sqlite3.Error, OSError):
                        raise
                    except Exception as problem:
                        if command.events or as_serve_error(problem) is None:
                            raise
                        command.problem = problem
                began = time.perf_counter()
            self.fsync_seconds += time.perf_counter() - began
            self.trouble = None
        except (sqlite3.Error, OSError) as problem:
            failed = disk_error(problem)
            self.trouble = failed.message
            log.error("%s", failed.message)
            for command in group:
                command.events, command.problem = [], failed
            _settle(group)
            return
        self.groups += 1
        for command in group:
            self.written += len(command.events)
            for one in command.events:
                command.results.append(self.state.apply(one, self.journal))
                self.on_applied(one)
            if command.problem is None:
                try:
                    command.answer = command.finish(self)
                except Exception as problem:
                    if as_serve_error(problem) is None:
                        raise
                    command.problem = problem
        self.on_group(group)
        _settle(group)


def _settle(commands: list[Command]) -> None:
    """Let answers go: those of an event loop together."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Command]] = {}
    for command in commands:
        future = command.future
        if isinstance(future, asyncio.Future):
            by_loop.setdefault(future.get_loop(), []).append(command)
        elif future is not None:
            _resolve(command)
    for loop, some in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_resolve_all, some)


def _resolve_all(commands: list[Command]) -> None:
    for command in commands:
        _resolve(command)


def _resolve(command: Command) -> None:
    future = command.future
    if future is None or future.done():
        return
    if command.problem is not None:
        future.set_exception(command.problem)
    else:
        future.set_result(command.answer)
