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

    Parameters
    ----------
    parameter : str
        Name of the parameter.
    help : str
        Help text: one sentence.
    type : type, default=str
        Type of the value.
    choices : tuple of str, default=()
        Possible values; empty: any.
    flag : str, default=""
        Name of the option, such as "--learners"; empty: by the parameter.
    short : str, default=""
        Short name, such as "-n".
    least : float or None, default=None
        Smallest value.
    most : float or None, default=None
        Largest value.
    repeated : bool, default=False
        Whether the option can be given several times.
    tried : tuple, default=()
        Values that ``onlineboost tune`` tries by default.
    parse : callable or None, default=None
        Function from the text to the value of the parameter.
    default : object, default=None
        Default on the command line, if it is not the default of the constructor.
    metavar : str, default=""
        Name of the value in help texts, such as "FILE"; empty: by the type.

    Examples
    --------
    >>> from onlineboost.extend.registry import Option
    >>> Option("max_depth", "Maximum tree depth.", int, tried=(3, 8)).tried
    (3, 8)
    """

    parameter: str
    help: str
    type: type = str
    choices: tuple[str, ...] = ()
    flag: str = ""
    short: str = ""
    least: float | None = None
    most: float | None = None
    repeated: bool = False
    tried: tuple[Any, ...] = ()
    parse: Callable[[Any], Any] | None = None
    default: Any = None
    metavar: str = ""

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags on the command line, such as ("--learners", "-n")."""
        flag = self.flag or f"--{self.parameter.replace('_', '-')}"
        if self.type is bool:
            flag = f"{flag}/--no-{flag[2:]}"
        return (flag, self.short) if self.short else (flag,)


def merged(groups: Iterable[tuple[Option, ...]]) -> dict[str, Option]:
    """The options of all groups, by parameter; groups may share an option, but not use its flag for another.

    Parameters
    ----------
    groups : iterable of tuples of Option
        Options of several classes.

    Returns
    -------
    dict
        The options by the name of their parameter.

    Examples
    --------
    >>> from onlineboost.extend.registry import Option, merged
    >>> depth = Option("max_depth", "Maximum tree depth.", int)
    >>> len(merged([(depth,), (depth,)]))
    1
    """
    found: dict[str, Option] = {}
    for option in (option for options in groups for option in options):
        known = found.setdefault(option.parameter, option)
        if known != option:
            raise ParameterError("options", option.flags[0], f"the same option as another class has: {known}")
    return found


class Named(Protocol):
    """Protocol of the entries of a registry: they have a name.

    Examples
    --------
    >>> from onlineboost.extend.registry import LEARNERS, Named
    >>> entry: Named = LEARNERS.find("tree")
    >>> len(entry.name)
    4
    """

    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=Named)


@dataclass(frozen=True)
class Entry:
    """A booster, learner or transform under its name on the command line.

    Parameters
    ----------
    name : str
        Name on the command line.
    make : callable
        The class, or the function that makes the initial state.
    title : str
        Name as in papers.
    options : tuple of Option, default=()
        Options on the command line.
    fixed : mapping, optional
        Parameters that the name implies.

    Examples
    --------
    >>> from onlineboost.extend.registry import Entry
    >>> Entry("three-coins", dict, "Three coins", fixed={"coins": 3}).fixed["coins"]
    3
    """

    name: str
    make: Callable[..., Any]
    title: str
    options: tuple[Option, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)


class Registry(Generic[T]):
    """Entries of one kind, by name.

    Entries of this package are in the modules of one subpackage. Other packages declare theirs as entry points of the
    group ``onlineboost.learners`` (or ``boosters``, ...), ``name = "module"``, read only when a name is unknown.

    Parameters
    ----------
    kind : str
        Kind of the entries, such as "learner".
    room : str
        Package whose modules register their entries when they are imported.

    Examples
    --------
    >>> from onlineboost.extend.registry import LEARNERS
    >>> LEARNERS.names()[:2], LEARNERS.find("tree").title
    (['class-tree', 'ftrl'], 'Tree')
    >>> len(LEARNERS.find("stump").options)
    1
    """

    def __init__(self, kind: str, room: str) -> None:
        self.kind, self.room = kind, room
        self._entries: dict[str, T] = {}

    def add(self, entry: T) -> T:
        """Register an entry under a new name; a class that is defined again replaces itself."""
        known = self._entries.get(entry.name, entry)
        if known != entry and _place(known) != _place(entry):
            raise ParameterError("name", entry.name, f"another name: there is already a {self.kind} with this one")
        self._entries[entry.name] = entry
        return entry

    def names(self) -> list[str]:
        """The names of all entries of this package.

        Returns
        -------
        list of str
            The names, sorted.
        """
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
    """The module and name of an entry's class."""
    made = getattr(entry, "make", entry)
    return getattr(made, "__module__", None), getattr(made, "__qualname__", id(entry))


def import_modules(package: str, path: Iterable[str]) -> None:
    """Import every module of a subpackage, so that their contents register themselves.

    Parameters
    ----------
    package : str
        Name of the subpackage.
    path : iterable of str
        Its folders, ``__path__``.

    Examples
    --------
    >>> import sys, onlineboost.learners
    >>> from onlineboost.extend.registry import import_modules
    >>> import_modules("onlineboost.learners", onlineboost.learners.__path__)
    >>> sum(name == "onlineboost.learners.stump" for name in sys.modules)
    1
    """
    for module in pkgutil.iter_modules(path):
        if not module.ispkg:
            importlib.import_module(f"{package}.{module.name}")
