"""Stages on threads: each stage goes through the same pieces of work in order, after the stages that it depends on.

Compiled code holds no lock of Python, so stages run side by side. What a stage computes depends on the stages before it
and on its own earlier pieces only: the result does not depend on the number of threads, nor on who comes first.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

_local = threading.local()


def _clock() -> Callable[[], float]:
    """The processor time of a thread, which busy neighbors hardly change; of coarse clocks, time."""
    fine = hasattr(time, "thread_time") and time.get_clock_info("thread_time").resolution < 1e-4
    return time.thread_time if fine else time.perf_counter


clock = _clock()


@dataclass
class Past:
    """Processor time of a stage in earlier runs, and the number of pieces of work that it was for."""

    seconds: float = 0.0
    pieces: int = 0


@dataclass
class Stage:
    """``run(k)`` does the k-th piece of work, when the stages of numbers ``after`` have done it."""

    run: Callable[[int], None]
    after: tuple[int, ...] = ()
    past: Past = field(default_factory=Past)
    seconds: float = field(default=0.0, init=False)  # processor time of this run


@dataclass
class _Work:
    stages: Sequence[Stage]
    pieces: int
    ahead: int | None  # most pieces that a stage may be ahead of the last stage
    done: list[int] = field(init=False)
    busy: set[int] = field(default_factory=set)
    error: BaseException | None = None
    changed: threading.Condition = field(default_factory=threading.Condition)
    later: list[Callable[[], None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.done = [0] * len(self.stages)

    def help(self) -> None:
        """Do what can be done, until all is."""
        _local.later = self.later
        try:
            while (number := self._next()) is not None:
                stage, piece = self.stages[number], self.done[number]
                start = clock()
                try:
                    stage.run(piece)
                except BaseException as problem:
                    with self.changed:
                        self.error = self.error or problem
                        self.changed.notify_all()
                    return
                with self.changed:
                    stage.seconds += clock() - start
                    self.done[number] += 1
                    self.busy.discard(number)
                    self.changed.notify_all()
        finally:
            _local.later = None

    def _next(self) -> int | None:
        """A stage that can go on, that with most left to do; None if all is done. Waits for one."""
        with self.changed:
            while self.error is None and min(self.done) < self.pieces:
                ready = [number for number in range(len(self.stages)) if self._is_ready(number)]
                if ready:
                    number = max(ready, key=self._left)
                    self.busy.add(number)
                    return number
                self.changed.wait()
            return None

    def _is_ready(self, number: int) -> bool:
        piece = self.done[number]
        if number in self.busy or piece == self.pieces:
            return False
        within = self.ahead is None or piece - self.done[-1] < self.ahead
        return within and all(self.done[before] > piece for before in self.stages[number].after)

    def _left(self, number: int) -> float:
        """Processor time that a stage will still take, by what it took before, in this run and in earlier ones."""
        done, stage = self.done[number], self.stages[number]
        known = stage.past.pieces + done
        return ((stage.past.seconds + stage.seconds) / known if known else 1.0) * (self.pieces - done)


def run(stages: Sequence[Stage], pieces: int, threads: int, ahead: int | None = None) -> None:
    """Take all stages through all pieces; the calling thread is one of the threads.

    An error in a stage ends all of them, and is raised here.
    """
    work = _Work(stages, pieces, ahead)
    helpers = [threading.Thread(target=work.help, daemon=True) for _ in range(min(threads, len(stages)) - 1)]
    for helper in helpers:
        helper.start()
    work.help()
    for helper in helpers:
        helper.join()
    for stage, done in zip(stages, work.done, strict=True):
        stage.past.seconds += stage.seconds
        stage.past.pieces += done
    for call in work.later:
        call()
    if work.error is not None:
        raise work.error


def later(call: Callable[[], None]) -> None:
    """Call a function now; within a stage, after all stages, by the thread that has started them."""
    waiting = getattr(_local, "later", None)
    if waiting is None:
        call()
    else:
        waiting.append(call)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C takes effect at the end, so that it leaves nothing half done."""
    if getattr(_local, "uninterrupted", False):
        yield
        return
    asked: list[Any] = []
    before = signal.getsignal(signal.SIGINT)
    mine = threading.current_thread() is threading.main_thread() and callable(before)
    if mine:
        signal.signal(signal.SIGINT, lambda *received: asked.append(received))
    _local.uninterrupted = True
    try:
        yield
    finally:
        _local.uninterrupted = False
        if mine:
            signal.signal(signal.SIGINT, before)
        if asked and callable(before):
            before(*asked[0])
