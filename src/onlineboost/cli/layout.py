"""Layout of help texts: usage without arguments, the options most used with ``--help``, all with ``--help-all``."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from onlineboost.cli.terminal import say_lines
from onlineboost.cli.version import documentation

LABELS, DATA, FILE_FORMATS, MODEL = "Labels", "Data", "File formats", "Model"
BOOSTING, LEARNER, TRAINING = "Boosting algorithm", "Weak learner", "Training"
RESOURCES, OUTPUT, OPTIONS, HELP = "Resources", "Output", "Options", "Help"
_PANELS = (OPTIONS, LABELS, DATA, FILE_FORMATS, MODEL, BOOSTING, LEARNER, TRAINING, RESOURCES, OUTPUT, HELP)
MODELS, DATA_FILES, SETUP, RESEARCH = "Models", "Data files", "Setup", "Research"
_GROUPS = (MODELS, DATA_FILES, SETUP, RESEARCH)

# The options of ``--help``, by command and in this order; a command without an entry has few, and shows all.
USUAL = {
    "train": (
        *("label", "output", "task", "positive", "drop", "categorical", "effort", "class_weight", "threshold"),
        *("passes", "holdout", "resume", "checkpoint_every", "config"),
    ),
    "tune": (
        *("label", "task", "drop", "categorical", "algorithm", "learner", "n_estimators", "learning_rate"),
        *("max_depth", "halving", "journal", "jobs"),
    ),
    "predict": ("output", "format", "keep", "row_numbers", "probabilities", "explain", "threshold", "on_error"),
    "evaluate": ("label", "format", "threshold", "cost", "on_error", "plot", "json_output"),
    "convert": ("label", "format", "drop", "categorical", "on_error"),
    "serve": (
        *("dir", "host", "port", "token_file", "wait", "missing", "retain", "follow", "follow_token_file"),
        *("alert_url", "alert_error", "alert_silence", "demo"),
    ),
    "reproduce": ("data", "sets", "output", "splits", "quick", "jobs"),
}
WIDTH = 120  # of a line, at most
_COLUMN = 28  # characters of the names of options; longer ones have a line of their own
_EXAMPLES = 3  # of usage without arguments


class Command(TyperCommand):
    """A command whose help has three lengths."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [*(_left(one) for one in self.params if _is_argument(one)), "[OPTIONS]"]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            say_lines(self.usage(ctx))
            ctx.exit(2)
        rest: list[str] = super().parse_args(ctx, args)
        return rest

    def usage(self, ctx: Any) -> str:
        """The usage, some examples, and how to learn more."""
        _, examples = _parts(self.help)
        formatter = ctx.make_formatter()
        self.format_usage(ctx, formatter)
        lines = ["", "Examples:", *(f"  {one}" for one in examples[:_EXAMPLES]), ""]
        return str(formatter.getvalue()) + "\n".join([*lines, f"more: {ctx.command_path} --help"])

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self._write(ctx, formatter, USUAL.get(self.name or ""))

    def full_help(self, ctx: Any) -> str:
        formatter = ctx.make_formatter()
        self._write(ctx, formatter, None)
        text: str = formatter.getvalue()
        return text.rstrip("\n")

    def _write(self, ctx: Any, formatter: Any, usual: tuple[str, ...] | None) -> None:
        text, examples = _parts(self.help)
        self.format_usage(ctx, formatter)
        formatter.write("\n")
        for paragraph in text:
            formatter.write_text(paragraph)
            formatter.write("\n")
        if examples:
            formatter.write("\n".join(["Examples:", *(f"  {one}" for one in examples)]) + "\n")
        known: list[Any] = self.get_params(ctx)
        arguments = [(_left(one), one.help or "") for one in known if _is_argument(one)]
        _section(formatter, "Arguments", arguments)
        options = {one.name: one for one in known if not _is_argument(one) and not one.hidden}
        if usual is not None:
            _section(formatter, OPTIONS, [_record(options[name]) for name in (*usual, "help", "help_all")])
        else:
            for panel in _PANELS:
                mine = [one for one in options.values() if _title(one) == panel]
                shown = [one for one in mine if one.name != "help_all" or self.name in USUAL]
                _section(formatter, panel, [_record(one) for one in shown])
        formatter.write(f"\nDocumentation: {documentation()}\n")


class Group(TyperGroup):
    """All commands, by purpose."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            say_lines(ctx.get_help())
            ctx.exit(2)
        rest: list[str] = super().parse_args(ctx, args)
        return rest

    def format_help(self, ctx: Any, formatter: Any) -> None:
        text, _ = _parts(self.help)
        formatter.write("Usage: onlineboost COMMAND [OPTIONS]\n")
        formatter.write("\n")
        formatter.write_text(text[0])
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        for title in _GROUPS:
            mine = [(name, one) for name, one in commands if one is not None and _panel_of(one) == title]
            _section(formatter, title, [(f"{name:<10}", _parts(one.help)[0][0]) for name, one in mine])
        known: list[Any] = self.get_params(ctx)
        _section(formatter, OPTIONS, [_record(one) for one in known if not one.hidden])
        for paragraph in text[1:]:
            formatter.write("\n")
            formatter.write_text(paragraph)
        formatter.write(f"\nDocumentation: {documentation()}\n")


def _show_all(context: typer.Context, asked: bool) -> None:
    if asked and isinstance(context.command, Command):
        say_lines(context.command.full_help(context))
        raise typer.Exit


_HELP_ALL = typer.Option("--help-all", help="Show all options.", callback=_show_all, is_eager=True, expose_value=False)
HELP_ALL = inspect.Parameter(
    "help_all", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, _HELP_ALL]
)


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def _panel_of(command: Any) -> str:
    panel = getattr(command, "rich_help_panel", None)
    return panel if isinstance(panel, str) else MODELS


def _title(option: Any) -> str:
    """The title that an option is under."""
    return HELP if option.name in ("help", "help_all") else getattr(option, "rich_help_panel", None) or OPTIONS


def _parts(help: str | None) -> tuple[list[str], list[str]]:
    """The paragraphs of a docstring, and its examples."""
    text, _, examples = inspect.cleandoc(help or "").partition("Examples:\n")
    paragraphs = [" ".join(one.split()) for one in text.split("\n\n") if one.strip()]
    return paragraphs, [one.strip() for one in examples.split("\n") if one.strip()]


def _section(formatter: Any, title: str, records: Iterable[tuple[str, str]]) -> None:
    """Two columns under a title; names of options are never split at hyphens."""
    rows = [*records]
    column = min(max((len(left) for left, _ in rows), default=0), _COLUMN)
    indent = " " * (column + 4)
    formatter.write(f"\n{title}:\n" if rows else "")
    for left, help in rows:
        lines = textwrap.wrap(help, formatter.width - len(indent), break_on_hyphens=False) or [""]
        start = f"  {left:<{column}}  " if len(left) <= column else f"  {left}\n{indent}"
        formatter.write(f"{start}{lines[0]}".rstrip() + "\n")
        formatter.write("".join(f"{indent}{line}\n" for line in lines[1:]))


def _left(parameter: Any) -> str:
    """The names of an option, and of its value; those of an argument."""
    if _is_argument(parameter):
        several = parameter.metavar.endswith("...")  # of ``train``: they may be in a configuration file
        return str(parameter.metavar) if parameter.required or several else f"[{parameter.metavar}]"
    short = next((name for name in parameter.opts if not name.startswith("--")), "")
    names = [name for name in parameter.opts if name.startswith("--")]
    if parameter.secondary_opts and parameter.secondary_opts[0] == f"--no-{names[0][2:]}":
        names[0] = f"--[no-]{names[0][2:]}"
    left = f"{short + ',' if short else '   '} {', '.join(names)}"
    return left if parameter.is_flag or not parameter.metavar else f"{left} {parameter.metavar}"


def _record(parameter: Any) -> tuple[str, str]:
    """An option, and its help with the default."""
    help, default = parameter.help or "", getattr(parameter, "default", None)
    if parameter.name == "help":
        return _left(parameter), "Show this help."
    default = getattr(default, "value", default)
    shown = (
        getattr(parameter, "show_default", False)
        and default is not None
        and default is not False
        and default not in ("", (), [])
    )
    if shown and not callable(default):
        help += f" (default: {'on' if default is True else default})"
    return _left(parameter), help
