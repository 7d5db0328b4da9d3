"""Turns of processes that compile: one compiles a function, others that need the same code wait.

A turn is a lock on one byte of a file in the folder of compiled code. It ends with the process, however that ends.
"""

from __future__ import annotations

import functools
import os
import time
import zlib
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: every process compiles
    fcntl = None  # type: ignore[assignment]

from onlineboost.compiled import folders

FILE = ".turns"
_PATIENCE = 120.0  # seconds that a process waits for another, which may have been stopped
_mine: list[tuple[int, int]] = []  # file and place of the turn of this process; it compiles one function at a time


def begin(path: Path) -> bool:
    """Begin the turn for the code in a file. Returns whether another process had it in the meantime."""
    end()
    file = _file(path.parent) if fcntl is not None else None
    if file is None:
        return False
    place, waited = zlib.crc32(path.name.encode()), False
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):
            waited = True
            time.sleep(0.02)
        except OSError:  # a file system without locks
            return waited
        else:
            _mine.append((file, place))
            return waited
    return waited


def end() -> None:
    """End the turn, if there is one: its code is there, or could not be compiled."""
    for file, place in _mine:
        with suppress(OSError):
            fcntl.lockf(file, fcntl.LOCK_UN, 1, place)
    _mine.clear()


@functools.cache
def _file(folder: Path) -> int | None:
    """The open file of turns in a folder."""
    options = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    try:
        return os.open(folder / FILE, options, folders.FILE_MODE)
    except OSError:
        return None
