"""Options of the command line, declared where the parameter is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from onlineboost.errors import ParameterError


@dataclass(frozen=True)
class Option:
    """A parameter that the command line offers, under the same name with dashes unless ``flag`` is given.

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
    tried: tuple[Any, ...] = ()  # what ``onlineboost tune`` tries if nothing is said
    parse: Callable[[Any], Any] | None = None  # from what was typed to the parameter's value
    default: Any = None  # of the command line, where it is not the constructor's

    @property
    def flags(self) -> tuple[str, ...]:
        flag = self.flag or f"--{self.parameter.replace('_', '-')}"
        if self.type is bool:
            flag = f"{flag}/--no-{flag[2:]}"
        return (flag, self.short) if self.short else (flag,)


def merged(groups: Iterable[tuple[Option, ...]]) -> dict[str, Option]:
    """The options of all, by parameter; several may share one, but not use its flag for something else."""
    found: dict[str, Option] = {}
    for option in (option for options in groups for option in options):
        known = found.setdefault(option.parameter, option)
        if known != option:
            raise ParameterError("options", option.flags[0], f"one meaning: another class has {known}")
    return found
