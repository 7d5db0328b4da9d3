"""Locks in forked processes: only the thread that forks goes on in the child.

A lock that another thread of the parent held would stay locked in the child forever.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Protocol


class Renewed(Protocol):
    """An object that renews itself in a forked child."""

    def renew(self) -> None: ...


_locks: weakref.WeakSet[threading.Lock] = weakref.WeakSet()
_renewed: weakref.WeakSet[Renewed] = weakref.WeakSet()


def new_lock() -> threading.Lock:
    """A lock that is free in a forked child, whichever thread of the parent held it."""
    lock = threading.Lock()
    _locks.add(lock)
    return lock


def renew_in_children(one: Renewed) -> None:
    """Call ``one.renew()`` in every forked child, as long as the object lives."""
    _renewed.add(one)


def call_in_children(call: Callable[[], object]) -> None:
    """Call a function in every forked child."""
    if hasattr(os, "register_at_fork"):  # Windows has no fork
        os.register_at_fork(after_in_child=call)


def _renew() -> None:
    for lock in [*_locks]:
        if lock.locked():
            lock.release()
    for one in [*_renewed]:
        one.renew()


call_in_children(_renew)
