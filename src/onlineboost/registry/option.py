"""Options of the command line, declared beside the parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

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
