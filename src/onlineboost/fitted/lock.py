"""A lock shared by threads that predict, and exclusive for a thread that learns."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from onlineboost.errors import ConflictError, ForkError
from onlineboost.forks import renew_in_children

_TORN = -1  # in the place of a writer, which is a thread of the parent process


class SharedLock:
    """Any number of threads may read at the same time, or one may write.

    ``with lock.reading:`` costs a store and a pop where nobody writes. ``with lock.turn():`` is for one thread at a
    time: the state that it reads stays unchanged. ``with lock.writing:``, within a turn, waits for threads that read,
    and blocks others meanwhile; at its end all waiting readers come before the next writer. The writer may read too.
    After an interrupted call, the next call of the same thread repairs the lock.

    In a forked child the lock is free, unless another thread of the parent was writing: then every use raises an error.
    """

    def __init__(self) -> None:
        self.reading, self.writing = _Reading(self), _Writing(self)
        self.readers: dict[int, None] = {}  # by thread; a store and a pop are atomic
        self.writer: int | None = None  # the thread that writes, or waits until all have read
        self.drained = threading.Event()
        self.writers = threading.RLock()
        self.guard = threading.Lock()  # of ``waiting`` together with ``writer``
        self.waiting: list[tuple[int, threading.Lock]] = []
        self.changing = False  # whether the writer has begun
        self.waited = False  # whether a reader ever did
        renew_in_children(self)

    def turn(self) -> AbstractContextManager[Any]:
        """The lock of writers: made in C, it is released whatever interrupts."""
        if self.writer is not None:
            self._check_whole()
        if self.writers._is_owned():  # type: ignore[attr-defined]  # noqa: SLF001  as ``Condition`` asks
            raise ConflictError("a callback of a model that is learning may predict, but not learn or fit")
        return self.writers

    def _check_whole(self) -> None:
        if self.writer == _TORN:
            raise ForkError(
                "this process was forked while a thread of its parent changed the model, so the model is half changed "
                "here: load it from a file, or fork when nothing learns (multiprocessing: the 'spawn' method)"
            )

    def renew(self) -> None:
        """Begin anew in a forked child, where the other threads do not exist."""
        me = threading.get_ident()
        self.readers = {me: None} if me in self.readers else {}
        self.drained, self.guard, self.waiting = threading.Event(), threading.Lock(), []
        mine = self.writers._is_owned()  # type: ignore[attr-defined]  # noqa: SLF001
        if self.writer != me or not mine:  # else this thread has forked in a callback
            torn = self.writer == _TORN or (self.changing and not self.writers.acquire(blocking=False))
            self.writer = _TORN if torn else None
            self.writers, self.changing = threading.RLock(), False

    def wait(self) -> None:
        """Become a reader as soon as nobody writes."""
        self._check_whole()
        me, mine = threading.get_ident(), threading.Lock()
        mine.acquire()
        with self.guard:
            if self.writer is None:
                self.readers[me] = None
                return
            self.waited = True
            self.waiting.append((me, mine))
        mine.acquire()  # released by the writer, which makes this thread a reader

    def cancel(self, me: int) -> None:
        """Neither wait nor read."""
        with self.guard:
            self.waiting = [one for one in self.waiting if one[0] != me]
        self.leave()

    def leave(self) -> None:
        self.readers.pop(threading.get_ident(), None)
        if self.writer is not None and not self.readers:
            self.drained.set()

    def __reduce__(self) -> Any:
        return SharedLock, ()  # a copy of a model has a lock of its own


class _Reading:
    def __init__(self, lock: SharedLock) -> None:
        self.lock = lock

    def __enter__(self) -> None:
        lock, me = self.lock, threading.get_ident()
        try:
            lock.readers[me] = None
            if lock.writer is not None and lock.writer != me:
                lock.leave()
                lock.wait()
        except BaseException:  # an interrupt while it waits: a writer must not wait for this thread
            lock.cancel(me)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.lock.leave()


class _Writing:
    def __init__(self, lock: SharedLock) -> None:
        self.lock = lock

    def __enter__(self) -> None:
        lock, me = self.lock, threading.get_ident()
        with lock.guard:
            lock.writer = me
        lock.readers.pop(me, None)
        try:
            while lock.readers:
                lock.drained.wait()
                lock.drained.clear()
            lock.changing = True
        except BaseException:
            self._end()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        lock = self.lock
        lock.changing = False
        with lock.guard:
            lock.writer = None
            while lock.waiting:
                reader, waits = lock.waiting.pop()
                lock.readers[reader] = None
                waits.release()
