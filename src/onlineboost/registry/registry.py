"""Registries: all entries of a kind, by their name on the command line; and options, declared beside the parameter."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, Generic, Protocol, TypeVar

from onlineboost.errors import ParameterError


@dataclass(frozen=True)
class Option:
    """A parameter as an option of the command line, under its own name with dashes unless ``flag`` is given.

    >>> Option("max_depth", "Maximum tree depth.", int).flags
    ('--max-depth',)
    """

    parameter: str
    help: str  # begins with a noun
    type: type = str
    choices: tuple[str, ...] = ()
    flag: str = ""
    short: str = ""
    least: float | None = None
    most: float | None = None
    repeated: bool = False  # can be given several times
    tried: tuple[Any, ...] = ()  # values that ``onlineboost tune`` tries by default
    parse: Callable[[Any], Any] | None = None  # from text to the parameter's value
    default: Any = None  # on the command line, if not that of the constructor
    metavar: str = ""  # the value, as help shows it

    @property
    def flags(self) -> tuple[str, ...]:
        flag = self.flag or f"--{self.parameter.replace('_', '-')}"
        if self.type is bool:
            flag = f"{flag}/--no-{flag[2:]}"
        return (flag, self.short) if self.short else (flag,)


def merged(groups: Iterable[tuple[Option, ...]]) -> dict[str, Option]:
    """The options of all groups, by parameter; groups may share an option, but not use its flag for another."""
    found: dict[str, Option] = {}
    for option in (option for options in groups for option in options):
        known = found.setdefault(option.parameter, option)
        if known != option:
            raise ParameterError("options", option.flags[0], f"the same option as another class has: {known}")
    return found


class Named(Protocol):
    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=Named)


@dataclass(frozen=True)
class Entry:
    """A booster, a learner or a transform under its name on the command line."""

    name: str
    make: Callable[..., Any]  # the class, or the function that makes the initial state
    title: str  # as papers write it
    options: tuple[Option, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)  # parameters that the name implies


class Registry(Generic[T]):
    """Entries of one kind, by name.

    Entries of this package are in the modules of one subpackage. Other packages declare theirs as entry points of the
    group ``onlineboost.learners`` (or ``boosters``, ...), ``name = "module"``, read only when a name is unknown.

    >>> from onlineboost.registry import LEARNERS
    >>> LEARNERS.names()[:2], LEARNERS.find("tree").title
    (['class-tree', 'ftrl'], 'Tree')
    """

    def __init__(self, kind: str, room: str) -> None:
        self.kind, self.room = kind, room
        self._entries: dict[str, T] = {}

    def add(self, entry: T) -> T:
        """Register an entry under a name that is not taken; a class that is defined again replaces itself."""
        known = self._entries.get(entry.name, entry)
        if known != entry and _place(known) != _place(entry):
            raise ParameterError("name", entry.name, f"another name: there is already a {self.kind} with this one")
        self._entries[entry.name] = entry
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
        """Import the entry points of other packages with these names, or all of them."""
        for point in entry_points(group=f"onlineboost.{self.kind}s"):
            if not names or point.name in names:
                try:
                    point.load()
                except Exception as problem:
                    expected = f"a plug-in that can be imported, but {point.value} cannot ({problem!r})"
                    raise ParameterError(self.kind, point.name, expected) from problem


def _place(entry: Any) -> Any:
    """Where the class of an entry is defined."""
    made = getattr(entry, "make", entry)
    return getattr(made, "__module__", None), getattr(made, "__qualname__", id(entry))


def import_modules(package: str, path: Iterable[str]) -> None:
    """Import every module of a subpackage, so that their contents register themselves."""
    for module in pkgutil.iter_modules(path):
        if not module.ispkg:
            importlib.import_module(f"{package}.{module.name}")
