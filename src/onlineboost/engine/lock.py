"""A readers-writer lock: one thread learns, many predict."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class SharedLock:
    """Any number of threads may read at the same time, or one may write; neither starves the other.

    The writing thread may read in the meantime, so that its callbacks can use the model.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()  # writers and readers queue here
        self._free = threading.Lock()  # held by the writer, or by the readers together
        self._count = threading.Lock()
        self._readers = 0
        self._writer: int | None = None

    @contextmanager
    def read(self) -> Iterator[None]:
        if self._writer == threading.get_ident():
            yield
            return
        with self._turn, self._count:
            self._readers += 1
            if self._readers == 1:
                self._free.acquire()
        try:
            yield
        finally:
            with self._count:
                self._readers -= 1
                if self._readers == 0:
                    self._free.release()

    @contextmanager
    def write(self) -> Iterator[None]:
        with self._turn:
            self._free.acquire()
        self._writer = threading.get_ident()
        try:
            yield
        finally:
            self._writer = None
            self._free.release()

    def __reduce__(self) -> Any:
        return SharedLock, ()  # a copy of a model has a lock of its own
