"""Reference of the command line, from the help of the commands themselves."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import click
import typer

from onlineboost.cli.app import build

NAME = "onlineboost"
_MARKUP = re.compile(r"\[/?(?:bold|dim|italic|red|green|yellow|cyan|blue)[^\]]*\]")


def page() -> str:
    root = typer.main.get_command(build([]))
    parts = ["# Command reference", "", _help(root), "", "| command | purpose |", "| --- | --- |"]
    found = list(_commands(root, NAME))
    parts += [f"| [`{path}`](#{_anchor(path)}) | {_help(one).partition(chr(10))[0]} |" for path, one in found]
    return "\n".join([*parts, "", _options(root, NAME), "", *(_entry(path, one) for path, one in found)]) + "\n"


def names() -> list[str]:
    """All commands, as they are typed."""
    return [path for path, _ in _commands(typer.main.get_command(build([])), NAME)]


def _commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, command in sorted(getattr(group, "commands", {}).items()):
        if not command.hidden:
            yield f"{path} {name}", command
            yield from _commands(command, f"{path} {name}")


def _anchor(path: str) -> str:
    return path.replace(" ", "-")


def _entry(path: str, command: Any) -> str:
    return f"## {path} {{ #{_anchor(path)} }}\n\n{_help(command)}\n\n{_options(command, path)}\n"


def _help(command: Any) -> str:
    """The help text; indented lines are commands."""
    text = _MARKUP.sub("", inspect.cleandoc(command.help or "")).replace("\f", "")
    made: list[str] = []
    for block in re.split(r"\n\s*\n", text):
        if block.startswith("  "):
            made.append(f"```console\n$ {' '.join(block.split())}\n```")
        else:
            made.append(_escaped(" ".join(block.split())))
    return "\n\n".join(made).replace("```\n\n```console\n", "")


def _options(command: Any, path: str) -> str:
    context = click.Context(command, info_name=path)
    usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
    panels: dict[str, list[str]] = {}
    for parameter in command.params:
        if getattr(parameter, "hidden", False):
            continue
        is_argument = parameter.param_type_name == "argument"
        panel = getattr(parameter, "rich_help_panel", None) or ("Arguments" if is_argument else "Options")
        panels.setdefault(panel, []).append(_described(parameter, context))
    lists = [f"**{panel}**\n\n" + "\n\n".join(entries) for panel, entries in panels.items()]
    return "\n\n".join([f"```console\n$ {usage}\n```", *lists])


def _described(parameter: Any, context: Any) -> str:
    record = parameter.get_help_record(context)
    name, text = record or (parameter.make_metavar(ctx=context), getattr(parameter, "help", "") or "")
    return f"`{name}`\n:   {_escaped(' '.join(_MARKUP.sub('', text).split()))}"


def _escaped(text: str) -> str:
    return re.sub(r"([*_\[])", r"\\\1", text.replace("<", "&lt;"))
