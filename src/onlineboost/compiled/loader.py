"""Memory of LLVM's library: loading compiled code reads a hundred megabytes of it, which learning does not need.

Its pages are given back to the system after code was loaded. They are those of a file that nothing was written to, so
the system reads them again if they are needed: when more code is loaded, some milliseconds.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from pathlib import Path

_LIBRARY = "libllvmlite"
_LEAST = 1 << 20  # bytes of a range that are worth it
_DONTNEED = 4  # ``MADV_DONTNEED`` of Linux

_used = False


def note_use() -> None:
    """Take note that code is loaded, or compiled."""
    global _used
    _used = True


def give_back() -> None:
    """Give back the pages of the library, if it was used since the last time."""
    global _used
    if _used and sys.platform == "linux":
        _used = False
        madvise = ctypes.CDLL(None).madvise
        for start, stop in clean_ranges(Path("/proc/self/smaps").read_text(), _LIBRARY):
            madvise(ctypes.c_void_p(start), ctypes.c_size_t(stop - start), _DONTNEED)


def clean_ranges(maps: str, library: str) -> Iterator[tuple[int, int]]:
    """The addresses of a library that nothing can be written to, and nothing was: neither relocations nor breakpoints.

    Written pages are anonymous, also those that a forked child shares with its parent, or swapped.

    >>> maps = '''7f10-7ff0f30 r-xp 0 fe:00 1 /lib/libllvmlite.so
    ... Private_Dirty: 0 kB
    ... Anonymous: 0 kB
    ... Swap: 0 kB
    ... 7f30-7ff0f50 r--p 0 fe:00 1 /lib/libllvmlite.so
    ... Private_Dirty: 0 kB
    ... Anonymous: 4 kB
    ... Swap: 0 kB'''
    >>> [(hex(start), hex(stop)) for start, stop in clean_ranges(maps, "libllvmlite")]
    [('0x7f10', '0x7ff0f30')]
    """
    found: tuple[int, int] | None = None
    for line in maps.splitlines():
        name, *words = line.split()
        if not name.endswith(":"):
            start, stop = (int(address, 16) for address in name.split("-"))
            wanted = words[0] in ("r-xp", "r--p") and library in words[-1] and stop - start >= _LEAST
            found = (start, stop) if wanted else None
        elif name in ("Anonymous:", "Swap:") and words[0] != "0":
            found = None
        elif name == "Swap:" and found is not None:
            yield found
