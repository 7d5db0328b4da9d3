"""Registries: what there is of a kind, by the name that the command line knows it by."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, Generic, Protocol, TypeVar

from onlineboost.errors import ParameterError
from onlineboost.registry.option import Option


class Named(Protocol):
    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=Named)


@dataclass(frozen=True)
class Entry:
    """A booster, a learner or a transform under its name on the command line."""

    name: str
    make: Callable[..., Any]  # the class, or what makes its state
    title: str  # as papers write it
    options: tuple[Option, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)  # parameters that the name implies


class Registry(Generic[T]):
    """Entries of one kind, by name.

    Those of this package are in the modules of one room. Other packages announce theirs as entry points of the group
    ``onlineboost.learners`` (or ``boosters``, ...), ``name = "module"``; these are read only when a name is unknown.

    >>> from onlineboost.registry import LEARNERS
    >>> LEARNERS.names()[:2], LEARNERS.find("tree").title
    (['linear', 'naive-bayes'], 'Tree')
    """

    def __init__(self, kind: str, room: str) -> None:
        self.kind, self.room = kind, room
        self._entries: dict[str, T] = {}

    def add(self, entry: T) -> T:
        """Register an entry; a name can be taken once."""
        if self._entries.setdefault(entry.name, entry) != entry:
            raise ParameterError("name", entry.name, f"another: there is a {self.kind} of this name already")
        return entry

    def names(self) -> list[str]:
        return [entry.name for entry in self]

    def __iter__(self) -> Iterator[T]:
        importlib.import_module(self.room)
        return iter(sorted(self._entries.values(), key=lambda entry: entry.name))

    def find(self, name: str) -> T:
        """The entry of this name, from this package or from an entry point."""
        known = self.names()
        if name not in self._entries:
            self.load_entry_points(name)
        if name not in self._entries:
            near = difflib.get_close_matches(name, known, 1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise ParameterError(self.kind, name, f"one of {', '.join(known)}{meant}")
        return self._entries[name]

    def load_entry_points(self, *names: str) -> None:
        """Import what other packages announce under these names, or under any."""
        for point in entry_points(group=f"onlineboost.{self.kind}s"):
            if not names or point.name in names:
                point.load()


def import_modules(package: str, path: Iterable[str]) -> None:
    """Import every module of a room, so that what is in it registers itself."""
    for module in pkgutil.iter_modules(path):
        if not module.ispkg:
            importlib.import_module(f"{package}.{module.name}")
