"""Tokens: a machine has another one whenever one of its states was replaced, by a larger or a new one."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any


class Token:
    """The identity of the states of a machine."""

    __slots__ = ("__weakref__",)


class Prepared:
    """Calls that a thread keeps from row to row, with the states that they were made for.

    It is emptied when a machine gives up one of these states: the thread may never run it again, and states are large.
    """

    tokens: tuple[weakref.ref[Token], ...] | None = None  # None: it was emptied

    def prepare(self, machines: Sequence[Any]) -> None:
        """Become empty as soon as one of these machines has another token."""
        mine = weakref.ref(self)

        def empty(_: weakref.ref[Token]) -> None:
            found = mine()
            if found is not None:
                vars(found).clear()

        self.tokens = tuple(weakref.ref(machine.token, empty) for machine in machines)

    def is_for(self, machines: Sequence[Any]) -> bool:
        """Whether the machines have the states that this was made for."""
        if self.tokens is None:
            return False
        for machine, token in zip(machines, self.tokens, strict=True):  # noqa: SIM110  a loop takes half the time
            if machine.token is not token():
                return False
        return True
