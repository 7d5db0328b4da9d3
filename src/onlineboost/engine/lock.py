"""One learns, many predict: a lock that readers share and a writer has alone."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any


class SharedLock:
    """Any number of threads may read at the same time, or one may write: ``with lock.reading``, ``with lock.writing``.

    Where nobody writes, reading costs an append and a pop. A writer waits for those that read, and keeps others out
    meanwhile; when it ends, it lets all in that have waited, before the next writer. Whoever writes may read too.
    """

    def __init__(self) -> None:
        self.reading, self.writing = _Reading(self), _Writing(self)
        self.readers: list[None] = []  # appending and popping are atomic
        self.writer: int | None = None  # the thread that writes, or waits until all have read
        self.drained = threading.Event()
        self.turn = threading.Lock()  # of writers
        self.guard = threading.Lock()  # of the two below together with ``writer``
        self.waiting: list[threading.Lock] = []

    def wait(self) -> None:
        """Join the readers as soon as nobody writes."""
        mine = threading.Lock()
        mine.acquire()
        with self.guard:
            if self.writer is None:
                self.readers.append(None)
                return
            self.waiting.append(mine)
        try:
            mine.acquire()  # released by the writer, which makes this thread a reader
        except BaseException:
            with self.guard:
                if mine in self.waiting:
                    self.waiting.remove(mine)
                else:
                    self.leave()
            raise

    def leave(self) -> None:
        self.readers.pop()
        if self.writer is not None and not self.readers:
            self.drained.set()

    def __reduce__(self) -> Any:
        return SharedLock, ()  # a copy of a model has a lock of its own


class _Reading:
    def __init__(self, lock: SharedLock) -> None:
        self.lock = lock

    def __enter__(self) -> None:
        lock = self.lock
        lock.readers.append(None)
        if lock.writer is not None and lock.writer != threading.get_ident():
            lock.leave()
            lock.wait()

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        lock = self.lock
        lock.readers.pop()
        if lock.writer is not None and not lock.readers:
            lock.drained.set()


class _Writing:
    def __init__(self, lock: SharedLock) -> None:
        self.lock = lock

    def __enter__(self) -> None:
        lock = self.lock
        lock.turn.acquire()
        try:
            with lock.guard:
                lock.writer = threading.get_ident()
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
            waiting, lock.waiting = lock.waiting, []
            for reader in waiting:
                lock.readers.append(None)
                reader.release()
        lock.turn.release()
