"""Options of registered boosters, learners and formats; models made from them."""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Annotated, Any

import typer

from onlineboost.classifier import OnlineClassifier
from onlineboost.cli.layout import BOOSTING, FILE_FORMATS, HELP_ALL, LEARNER
from onlineboost.cli.toml_file import named_in
from onlineboost.errors import ConflictError, ParameterError
from onlineboost.parameters import defaults
from onlineboost.registry import BOOSTERS, FORMATS, LEARNERS, Entry, Option, Registry, merged

AUTO = "auto"  # OnlineBoost, or SafeBoost over a learner with options
NONE = "none"  # the learner alone, not boosted
_SHORT = 20  # characters of choices that are shown in the place of a name
_DEFAULTS = {"algorithm": AUTO, "learner": "linear"}
RACED = {"algorithm": "auto,safe,bbm", "learner": "linear,tree"}  # by ``tune``, the learners by safe
_NAMED: dict[str, Registry[Any]] = {"--algorithm": BOOSTERS, "-a": BOOSTERS, "--learner": LEARNERS}
_NAMED |= {"--format": FORMATS, "-f": FORMATS}


def load_named(arguments: list[str]) -> None:
    """Import other packages that have the algorithms, learners or formats named here, to know their options."""
    named = named_in(arguments) if arguments[:1] == ["train"] else {}
    in_file = [f"--{key}={value}" for key, value in named.items()]
    for place, argument in enumerate(arguments := [*arguments, *in_file]):
        flag, equals, value = argument.partition("=")
        if flag in _NAMED and (equals or place + 1 < len(arguments)):
            registry = _NAMED[flag]
            for name in (value if equals else arguments[place + 1]).split(","):
                if name not in registry.names():
                    registry.load_entry_points(name)


def booster_options() -> dict[str, Option]:
    return merged(entry.options for entry in BOOSTERS)


def learner_options() -> dict[str, Option]:
    return merged(entry.options for entry in LEARNERS)


def format_options() -> dict[str, Option]:
    return merged(entry.options for entry in FORMATS)


def registered_options() -> dict[str, Option]:
    return booster_options() | learner_options()


def with_registered(command: Callable[..., None], *, lists: bool = False) -> Callable[..., None]:
    """The command with the options of all boosters and learners; with ``lists``, some take comma-separated values."""
    parameters = list(inspect.signature(command, eval_str=True).parameters.values())
    at = next(k for k, p in enumerate(parameters) if p.name == "seed")
    algorithms = [AUTO, *BOOSTERS.names(), NONE]
    help = (
        "Boosting algorithm. auto: OnlineBoost, or safe if another option of a booster or learner is given; "
        "none: the weak learner alone."
    )
    parameters[at:at] = [
        _name_parameter("algorithm", help, BOOSTING, algorithms, lists),
        *(_parameter(option, BOOSTING, BOOSTERS, lists) for option in booster_options().values()),
        _name_parameter("learner", "Weak learner.", LEARNER, LEARNERS.names(), lists),
        *(_parameter(option, LEARNER, LEARNERS, lists) for option in learner_options().values()),
    ]
    return _with_parameters(command, parameters)


def with_formats(command: Callable[..., None]) -> Callable[..., None]:
    """The command with ``--format`` and the options of all formats."""
    parameters = list(inspect.signature(command, eval_str=True).parameters.values())
    at = next(k for k, p in enumerate(parameters) if p.name == "label") + 1
    help = f"File format: {', '.join(FORMATS.names())}. (default: detected)"
    option = typer.Option("--format", "-f", help=help, metavar="NAME", rich_help_panel=FILE_FORMATS)
    parameters[at:at] = [
        _declared("format", _choice("format", FORMATS.names()) | None, None, option),
        *(_parameter(option, FILE_FORMATS, FORMATS, False) for option in format_options().values()),
    ]
    return _with_parameters(command, parameters)


def with_help_all(command: Callable[..., None]) -> Callable[..., None]:
    """The command with ``--help-all``."""
    parameters = list(inspect.signature(command, eval_str=True).parameters.values())
    return _with_parameters(command, [*parameters, HELP_ALL])


def _with_parameters(command: Callable[..., None], parameters: list[inspect.Parameter]) -> Callable[..., None]:
    """The command with these parameters, for typer; those that it does not name come in its ``**given``."""

    @functools.wraps(command)
    def run(**given: Any) -> None:
        command(**{name: value for name, value in given.items() if name != HELP_ALL.name})

    kind = inspect.Parameter
    named = [p.replace(kind=kind.KEYWORD_ONLY) for p in parameters if p.kind is not kind.VAR_KEYWORD]
    run.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in named}
    return run


def _name_parameter(what: str, help: str, panel: str, names: list[str], several: bool) -> inspect.Parameter:
    kind, default = _choice(what, names), _DEFAULTS[what]
    if several:
        kind, default, help = str, RACED[what], f"{help.partition('.')[0]}s, comma-separated."
    flags = [f"--{what}", *(["-a"] if what == "algorithm" else [])]
    help = f"{help} Names: {', '.join(names)}."
    metavar = "NAMES" if several else "NAME"
    return _declared(what, kind, kind(default), typer.Option(*flags, help=help, metavar=metavar, rich_help_panel=panel))


def _parameter(option: Option, panel: str, registry: Registry[Any], lists: bool) -> inspect.Parameter:
    several = lists and bool(option.tried)
    limits: Any = {"min": option.least, "max": option.most} if not several else {}
    help, metavar = f"{option.help} {_notes(option, registry, several)}".rstrip(), _metavar(option, several)
    if option.choices and "|" not in metavar:
        help = f"{option.help} Values: {', '.join(option.choices)}. {_notes(option, registry, several)}".rstrip()
    declared = typer.Option(
        *option.flags, help=help, metavar=metavar, rich_help_panel=panel, show_default=False, **limits
    )
    kind: Any = str if several else _choice(option.parameter, option.choices) if option.choices else option.type
    return _declared(option.parameter, (list[kind] if option.repeated else kind) | None, None, declared)


def _metavar(option: Option, several: bool) -> str:
    """The value of an option, as help shows it: its choices, if they are short."""
    if several:
        return "LIST"
    choices = "|".join(option.choices)
    given = choices if 0 < len(choices) <= _SHORT else option.metavar
    return given or {int: "N", float: "X"}.get(option.type, "NAME")


def _choice(name: str, choices: Iterable[str]) -> Any:
    make: Any = StrEnum
    return make(name.title(), {choice: choice for choice in choices})


def _declared(name: str, kind: Any, default: Any, option: Any) -> inspect.Parameter:
    annotation = Annotated[kind, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _notes(option: Option, registry: Registry[Any], several: bool) -> str:
    """The algorithms or learners that have the option, and its default, in parentheses."""
    users = [entry for entry in registry if option in entry.options]
    others = [entry.name for entry in registry if option not in entry.options]
    facts = [f"all but {', '.join(others)}" if len(others) < len(users) else ", ".join(entry.name for entry in users)]
    facts = facts if others else []
    if option.repeated:
        facts.append("repeatable")
    if several:
        facts.append(f"default: {','.join(map(str, option.tried))}")
    elif option.default is not None:
        facts.append(f"default: {_text(option.default)}")
    else:
        made = [entry for entry in users if isinstance(entry, Entry)]
        known = {entry.name: {**defaults(entry.make), **entry.fixed} for entry in made}
        by_name = {name: _text(values.get(option.parameter)) for name, values in known.items()}
        ranked = Counter(value for value in by_name.values() if value).most_common()
        usual = ranked[0][0] if ranked else ""
        others = [f"{name}: {value}" for name, value in by_name.items() if value and value != usual]
        facts += [f"default: {'; '.join([usual, *others])}"] if usual else []
    return f"({'; '.join(facts)})" if facts else ""


def _text(value: Any) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else "" if value is None else str(value)


def learner_for(algorithm: str, given: dict[str, Any], chosen: set[str]) -> str:
    """The name of the learner: as chosen, or the one that the algorithm takes."""
    name = str(given["learner"])
    if "learner" in chosen or algorithm in (AUTO, NONE):
        return name
    return BOOSTERS.find(algorithm).make.learner_name  # type: ignore[attr-defined, no-any-return]


def make_learner(name: str, given: dict[str, Any]) -> OnlineClassifier:
    """The learner of this name with the options given."""
    entry = LEARNERS.find(name)
    chosen = _applying(entry, learner_options(), given, f"--learner {name}", "Learners")
    learner: OnlineClassifier = entry.make.from_options(**chosen)  # type: ignore[attr-defined]
    return learner


def make_model(name: str, learner: OnlineClassifier, given: dict[str, Any], seed: int) -> OnlineClassifier:
    """The booster of this name over the learner, with the options given; for "none" the learner alone."""
    if name == NONE:
        for option in booster_options().values():
            if given.get(option.parameter) is not None:
                raise ConflictError(f"{_flag(option)} does not apply to --algorithm none, which does not boost.")
        learner._new_node(1)  # settings are checked before files are opened
        return learner
    entry = BOOSTERS.find(name)
    chosen = _applying(entry, booster_options(), given, name, "Algorithms")
    for parameter, value in entry.fixed.items():
        if chosen.get(parameter, value) not in (value, "auto"):
            raise ConflictError(f"--{parameter} {chosen[parameter]} does not apply to {name}, which is {value}.")
    model: OnlineClassifier = entry.make(learner, **{**chosen, **entry.fixed}, random_state=seed)
    model._new_node(1)
    return model


def _applying(entry: Entry, known: dict[str, Option], given: dict[str, Any], name: str, kind: str) -> dict[str, Any]:
    """The options given, by parameter; an error for one that does not apply."""
    chosen = {}
    for parameter, option in known.items():
        value = given.get(parameter)
        if value is None or (option.repeated and not value):
            continue
        if option not in entry.options:
            registry = BOOSTERS if kind == "Algorithms" else LEARNERS
            users = ", ".join(other.name for other in registry if option in other.options)
            raise ConflictError(f"{_flag(option)} does not apply to {name}. {kind} with {_flag(option)}: {users}.")
        chosen[parameter] = parsed(option, value)
    return chosen


def parsed(option: Option, value: Any) -> Any:
    """The value of the parameter, from the text of the option."""
    values = value if option.repeated else [value]
    found = [option.parse(one) if option.parse is not None else one for one in values]
    found = [one.value if isinstance(one, StrEnum) else one for one in found]
    return found if option.repeated else found[0]


def _flag(option: Option) -> str:
    return option.flags[0].partition("/")[0]


def flag_of(parameter: str) -> str:
    """The option of a parameter: those of models are registered, others have the same name."""
    option = registered_options().get(parameter)
    return _flag(option) if option is not None else f"--{parameter.replace('_', '-')}"


def values_of(option: Option, text: str | None) -> list[Any]:
    """Comma-separated values, without duplicates; by default those that ``tune`` tries."""
    if text is None:
        return list(option.tried)
    try:
        return list(dict.fromkeys(option.type(part.strip()) for part in text.split(",")))
    except ValueError:
        what = {int: "whole numbers", float: "numbers"}.get(option.type, "values")
        raise ParameterError(_flag(option), text, f"comma-separated {what}") from None


def names_of(text: str, known: Iterable[str], flag: str = "--algorithm") -> list[str]:
    """Comma-separated names, without duplicates."""
    names = list(dict.fromkeys(part.strip() for part in text.split(",")))
    for name in names:
        if name not in known:
            raise ParameterError(flag, name, f"names from {', '.join(known)}")
    return names
