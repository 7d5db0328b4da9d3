"""Memory for states: taken, or only planned, to know the shapes of a state before any memory is taken."""

from __future__ import annotations

import math
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

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
    if np.ndim(value) == 0 and not value:
        return np.zeros(shape, dtype)  # takes memory only where it is written to
    array = np.empty(shape, dtype)
    array[...] = value
    return array


def reserved(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Zeros in small pages: where little of a large array is used, only that takes memory.

    NumPy asks for pages of megabytes, which are faster, but whose rest is lost in each of many arrays.

    >>> int(reserved((3, 2), np.float32).sum())
    0
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if planning() or not size:
        return filled(0, shape, dtype)
    own = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    memory = mmap.mmap(-1, size, **own)  # a forked process gets a copy
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype).reshape(shape)


def with_room(array: NDArray[Any], n: int) -> NDArray[Any]:
    """The array padded with zeros to the next power of two: seldom copied, and its size depends on n only."""
    return array if n <= len(array) else extended(array, 1 << (n - 1).bit_length())


def extended(array: NDArray[Any], rows: int) -> NDArray[Any]:
    """The array with zeros appended, up to this number of rows."""
    larger = filled(0, (max(rows, len(array)), *array.shape[1:]), array.dtype)
    if not planning():
        larger[: len(array)] = array
    return larger
