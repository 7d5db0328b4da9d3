"""Configuration files of ``train``: options in TOML, under their names without dashes in front."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from onlineboost import __version__
from onlineboost.cli import options as o
from onlineboost.cli.toml_file import in_toml, read
from onlineboost.errors import ConflictError, DataError
from onlineboost.storage.atomic import check_target, write_text

_NOT_IN_FILES = ("config", "save_config", "help_all", "help")


def keys_of(context: typer.Context) -> dict[str, Any]:
    """The parameters of a command that a file may have, by key: ``class-weight`` for ``--class-weight``."""
    found = {}
    for parameter in context.command.params:
        if parameter.name not in _NOT_IN_FILES:
            long = next((flag[2:] for flag in parameter.opts if flag.startswith("--")), parameter.name)
            found[str(long)] = parameter
    return found


def _apply(context: typer.Context, path: Path | None) -> Path | None:
    """Take the values of a file for options that the command line does not have."""
    if path is None or context.resilient_parsing:
        return path
    known, values = keys_of(context), {}
    for key, value in read(path).items():
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            meant = f"did you mean {near[0]!r}?" if near else "expected an option of onlineboost train without dashes"
            raise DataError(f"{path}: unknown key {key!r}: {meant}")
        values[known[key].name] = _checked(context, known[key], value, f"{path}: {key}")
    context.default_map = values
    return path


def _checked(context: typer.Context, parameter: Any, value: Any, place: str) -> Any:
    """The value as the command line would have it; an error for one of the wrong kind."""
    several = bool(getattr(parameter, "multiple", False) or parameter.nargs == -1)
    if getattr(parameter, "is_flag", False):
        if not isinstance(value, bool):
            raise DataError(f"{place}: expected true or false, found {value!r}")
        return value
    values = value if several and isinstance(value, list) else [value]
    if not all(isinstance(one, str | int | float) and not isinstance(one, bool) for one in values):
        expected = "a list of strings" if several else "a string or a number"
        raise DataError(f"{place}: expected {expected}, found {value!r}")
    typed = [str(one) for one in values] if several else str(value)
    try:
        parameter.process_value(context, typed)
    except typer.BadParameter as problem:
        raise DataError(f"{place}: {problem.message}") from None
    return typed


ConfigOption = Annotated[
    Path | None,
    o.training(
        "Read options from a TOML file; the command line takes precedence.",
        "--config",
        metavar="FILE",
        callback=_apply,
        is_eager=True,
    ),
]
SaveConfigOption = Annotated[
    Path | None, o.output("Write the options of this run to a TOML file, for --config.", metavar="FILE")
]


def source_of(context: typer.Context, name: str) -> str:
    """Where the value of a parameter comes from: ``command line``, ``file`` or nowhere, ``""``."""
    source = context.get_parameter_source(name)
    return {"COMMANDLINE": "command line", "DEFAULT_MAP": "file"}.get(source.name if source is not None else "", "")


def save(path: Path, context: typer.Context, files: list[str], inputs: list[str]) -> None:
    """Write the options of this run, with those of its own ``--config``; not over one of its inputs."""
    check_target("--save-config", path, [*inputs, str(context.params["config"] or "")])
    text = "\n".join(_lines(context, files))
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ConflictError("--save-config cannot write names that are not Unicode: rename the file.") from None
    write_text(path.expanduser(), text + "\n")


def _lines(context: typer.Context, files: list[str]) -> Iterator[str]:
    yield f"# onlineboost {__version__}: onlineboost train --config FILE"
    yield f"files = {in_toml(files)}"
    for key, parameter in keys_of(context).items():
        if key != "files" and source_of(context, parameter.name):
            yield f"{key} = {in_toml(context.params[parameter.name])}"
