"""One learns, many predict: a lock that readers share and a writer has alone."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

from onlineboost.errors import ConflictError


class SharedLock:
    """Any number of threads may read at the same time, or one may write.

    ``with lock.reading:`` costs a store and a pop where nobody writes. ``with lock.turn(), lock.writing:`` waits for
    those that read, and keeps others out meanwhile; at its end it lets all in that have waited, before the next writer.
    Whoever writes may read too. What an interrupt leaves behind is put right at the next call of the same thread.
    """

    def __init__(self) -> None:
        self.reading, self.writing = _Reading(self), _Writing(self)
        self.readers: dict[int, None] = {}  # by thread; a store and a pop are atomic
        self.writer: int | None = None  # the thread that writes, or waits until all have read
        self.drained = threading.Event()
        self.writers = threading.Lock()
        self.guard = threading.Lock()  # of ``waiting`` together with ``writer``
        self.waiting: list[tuple[int, threading.Lock]] = []

    def turn(self) -> threading.Lock:
        """The lock of writers: made in C, it is released whatever interrupts."""
        if self.writer == threading.get_ident() and self.writers.locked():
            raise ConflictError("a callback of a model that is learning may predict, but not learn or fit")
        return self.writers

    def wait(self) -> None:
        """Join the readers as soon as nobody writes."""
        me, mine = threading.get_ident(), threading.Lock()
        mine.acquire()
        with self.guard:
            if self.writer is None:
                self.readers[me] = None
                return
            self.waiting.append((me, mine))
        mine.acquire()  # released by the writer, which makes this thread a reader

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
        lock.readers[me] = None
        if lock.writer is not None and lock.writer != me:
            lock.leave()
            lock.wait()

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
        except BaseException:
            self._end()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        lock = self.lock
        with lock.guard:
            lock.writer = None
            while lock.waiting:
                reader, waits = lock.waiting.pop()
                lock.readers[reader] = None
                waits.release()
