"""Memory for states: allocated, or only planned, so that shapes are known before memory is allocated."""

from __future__ import annotations

import math
import mmap
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_LINE = 64  # bytes of a cache line
_FEW = 1 << 16  # bytes; smaller copies are cheap
_MANY = 1 << 20  # bytes from which large pages are requested
_NORESERVE = 0x4000  # ``mmap.MAP_NORESERVE`` of Linux, which Python knows from 3.13 on
_ROOM = 32  # reserved address space, as a multiple of the array
_LEAST_ROOM = 1 << 25  # bytes of address space

_planning: ContextVar[bool] = ContextVar("planning", default=False)


@contextmanager
def planned() -> Iterator[None]:
    """Within this context, states are plans: their arrays have shapes and types, but take no memory.

    >>> with planned():
    ...     plan = filled(0, (1 << 40, 8), np.float32)
    >>> plan.shape
    (1099511627776, 8)
    """
    token = _planning.set(True)
    try:
        yield
    finally:
        _planning.reset(token)


def planning() -> bool:
    """Whether states are only planned."""
    return _planning.get()


def filled(value: Any, shape: int | tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """An array of copies of a number, or of a row of numbers."""
    if planning():
        return np.broadcast_to(np.asarray(value, dtype), shape)
    array = zeros(shape, dtype)
    if np.ndim(value) or value:
        array[...] = value
    return array


def zeros(shape: int | tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Zeros that take memory only where they are written to, and return it when they are freed.

    The heap of the C library does neither: it fills used memory with zeros, and keeps it.

    >>> int(zeros((1000, 1000), np.float32).sum())
    0
    """
    size = math.prod(shape if isinstance(shape, tuple) else (shape,)) * np.dtype(dtype).itemsize
    return np.zeros(shape, dtype) if size < _FEW else np.frombuffer(_mapped(size), dtype).reshape(shape)


def _mapped(size: int) -> mmap.mmap:
    own = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    try:
        return mmap.mmap(-1, size, **own)  # a forked process gets a copy
    except OSError:
        raise MemoryError(f"no room for {size:,} bytes") from None


def reserved(shape: tuple[int, ...], dtype: DTypeLike, small_pages: bool = False) -> NDArray[Any]:
    """Zeros that take memory as they are written to, in pages of megabytes or in small ones.

    Large pages are faster, especially with threads; but if many arrays are mostly unused, the rest of each page is
    lost.

    >>> int(reserved((1000, 1000), np.float32).sum())
    0
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if planning() or size < _FEW:
        return filled(0, shape, dtype)
    memory = _mapped(size)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_NOHUGEPAGE if small_pages or size < _MANY else mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, dtype).reshape(shape)


class _Room(mmap.mmap):
    """Memory allocated on writing; the first ``given`` bytes are in use."""

    given = 0

    def first(self, shape: tuple[int, ...], dtype: DTypeLike, small_pages: bool) -> NDArray[Any]:
        """The array at its beginning, which may be longer than before."""
        before, self.given = self.given, math.prod(shape) * np.dtype(dtype).itemsize
        if before < _MANY <= self.given and not small_pages and hasattr(mmap, "MADV_HUGEPAGE"):
            self.madvise(mmap.MADV_HUGEPAGE)
        return np.frombuffer(self, dtype, math.prod(shape)).reshape(shape)


def roomy(shape: tuple[int, ...], dtype: DTypeLike = np.float32, small_pages: bool = False) -> NDArray[Any]:
    """Zeros that begin at a cache line, for ``lengthened``.

    Large arrays have room for many more rows behind them: address space, which takes no memory before it is used.
    Small pages are for arrays that stay mostly unused.
    """
    if planning():
        return filled(0, shape, dtype)
    size, itemsize = math.prod(shape), np.dtype(dtype).itemsize
    if size * itemsize >= _FEW and sys.platform == "linux":
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE  # private: a forked process gets a copy
        return _Room(-1, max(_ROOM * size * itemsize, _LEAST_ROOM), flags=flags).first(shape, dtype, small_pages)
    memory = np.zeros(size + _LINE // itemsize, dtype)
    start = -memory.ctypes.data % _LINE // itemsize
    return memory[start : start + size].reshape(shape)


def lengthened(array: NDArray[Any], rows: int, small_pages: bool = False) -> NDArray[Any]:
    """The array with zeros appended, up to this number of rows; without a copy if no other array has the room behind.

    >>> short = roomy((1000, 100))
    >>> short[:] = 1
    >>> long, other = lengthened(short, 2000), lengthened(short, 2000)
    >>> float(long.sum()), np.shares_memory(short, long), np.shares_memory(short, other)
    (100000.0, True, False)
    """
    shape = rows, *array.shape[1:]
    if planning():
        return filled(0, shape, array.dtype)
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    room = base.obj if isinstance(base, memoryview) else None
    if isinstance(room, _Room) and room.given == array.nbytes and math.prod(shape) * array.itemsize <= len(room):
        return room.first(shape, array.dtype, small_pages)
    longer = roomy(shape, array.dtype, small_pages)
    longer[: len(array)] = array
    return longer


def with_room(array: NDArray[Any], n: int) -> NDArray[Any]:
    """The array padded with zeros to the next power of two, so that copies are rare and the size depends on n only."""
    return array if n <= len(array) else extended(array, 1 << (n - 1).bit_length())


def extended(array: NDArray[Any], rows: int) -> NDArray[Any]:
    """The array with zeros appended, up to this number of rows."""
    larger = filled(0, (max(rows, len(array)), *array.shape[1:]), array.dtype)
    if not planning():
        larger[: len(array)] = array
    return larger
