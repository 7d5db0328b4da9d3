"""The command ``onlineboost``: its subcommands, error messages and exit codes."""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from onlineboost.cli import options as o
from onlineboost.cli.completion import completion
from onlineboost.cli.convert import convert
from onlineboost.cli.datasets import datasets
from onlineboost.cli.evaluate import evaluate
from onlineboost.cli.inspect import inspect
from onlineboost.cli.layout import DATA_FILES, MODELS, RESEARCH, SETUP, WIDTH, Command, Group
from onlineboost.cli.predict import predict
from onlineboost.cli.registered import (
    flag_of,
    format_options,
    load_named,
    registered_options,
    with_formats,
    with_help_all,
    with_registered,
)
from onlineboost.cli.reproduce import reproduce
from onlineboost.cli.serve import serve
from onlineboost.cli.terminal import Interrupted, announce, flush, say
from onlineboost.cli.train import train
from onlineboost.cli.tune import tune
from onlineboost.cli.version import about, say_version
from onlineboost.cli.vw.translate import verbatim, vw
from onlineboost.cli.warm import warm
from onlineboost.errors import (
    ConflictError,
    DataError,
    MemoryWarning,
    MissingPackageError,
    ModelFileError,
    NotFittedError,
    ParameterError,
    RangeWarning,
    ReadWarning,
    WorkerError,
)

# Exit codes, which scripts can rely on.
WRONG_DATA, WRONG_USAGE, INTERRUPTED = 1, 2, 130


def _version(asked: bool) -> None:
    if asked:
        say_version()
        raise typer.Exit


def root(
    version: Annotated[
        bool,
        o.plain(
            "Show the versions of onlineboost, Python and Numba.", "--version", "-V", callback=_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Online boosting for data streams: classification and regression in one pass, with concept drift.

    Help: onlineboost COMMAND --help. Exit codes: 0 success, 1 an error in the data or a file, 2 an error on the command
    line, 130 interrupted.
    """


def demo(
    export: Annotated[
        Path | None, o.plain("Write the bundled data to a CSV file, and do nothing else.", metavar="FILE")
    ] = None,
) -> None:
    """Compare boosters and base learners on a bundled data set.

    Examples:

      onlineboost demo

      onlineboost demo --export letter.csv
    """
    if export is not None:
        from onlineboost.datasets.letter import export_letter

        export_letter(export)
        announce(f"20,000 examples: {export}")
        return
    from onlineboost.cli.demo import run

    run()


_WITHOUT_ARGUMENTS = (warm, about, demo, reproduce, datasets)


def build(arguments: list[str]) -> typer.Typer:
    """All commands. Other packages are imported only for the algorithms, learners and formats that arguments name."""
    load_named(arguments)
    app = typer.Typer(
        name="onlineboost",
        cls=Group,
        no_args_is_help=True,
        add_completion=False,  # a command of its own: scripts that need no start of ours
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["--help", "-h"], "max_content_width": WIDTH},
    )
    app.callback()(root)
    read_files: tuple[Callable[..., None], ...]
    read_files = with_registered(train), with_registered(tune, lists=True), predict, evaluate
    commands: dict[str, tuple[Callable[..., None], ...]] = {
        MODELS: (*map(with_formats, read_files), inspect, serve),
        DATA_FILES: (with_formats(convert), vw),
        SETUP: (completion, warm, about, demo),
        RESEARCH: (reproduce, datasets),
    }
    for panel, some in commands.items():
        for command in some:
            whole = with_help_all(command) if command is not vw else command
            alone = command in _WITHOUT_ARGUMENTS
            app.command(cls=Command, no_args_is_help=not alone, rich_help_panel=panel)(whole)
    return app


def main(arguments: list[str] | None = None) -> None:
    """Run a command. A user's error becomes one line on standard error and an exit code, never a traceback."""
    arguments = verbatim(sys.argv[1:] if arguments is None else arguments)
    if sys.stdout is None:  # closed by the parent process
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    try:
        code = _run(arguments)
        flush()
    except (ParameterError, ConflictError, MissingPackageError) as problem:
        code = _report(problem, arguments, WRONG_USAGE)
    except BrokenPipeError:
        # The reader of our output has closed it, as ``head`` does: write nothing more, not even at exit.
        _discard_output()
        code = WRONG_DATA
    except (DataError, ModelFileError, NotFittedError, WorkerError, OSError) as problem:
        code = _report(problem, arguments, WRONG_DATA)
    except MemoryError:
        code = _report("out of memory: use --effort low, fewer --bits or fewer learners (-n)", arguments, WRONG_USAGE)
    except (KeyboardInterrupt, Interrupted):
        code = _report("interrupted", arguments, INTERRUPTED)
    try:
        sys.stdout.flush()
    except OSError:  # a full disk, or a terminal that is gone
        _discard_output()
    if code == INTERRUPTED:  # a reading thread may be blocked on a pipe: do not wait for it
        os._exit(code)
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    """The exit code of a command."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: announce(f"onlineboost: {_with_flags(message)}")
            warnings.simplefilter("always", RangeWarning)
            warnings.simplefilter("always", MemoryWarning)
            warnings.simplefilter("default", ReadWarning)
            build(arguments)(arguments, prog_name="onlineboost", standalone_mode=True)
        return 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
        if code == WRONG_USAGE and _asks_json(arguments):
            say('{"error": "wrong command line: see standard error"}')
        return code


def _asks_json(arguments: list[str]) -> bool:
    return "--json" in arguments and arguments[0] != "vw"  # which has an option of this name


def _discard_output() -> None:
    """Discard the buffered output, which would fail again at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # a stream without a file, as in tests
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115


_KEYWORD = re.compile(r"(?<![\w-])(\w+)=\.\.\.")  # how messages name parameters, which are options here


def _with_flags(problem: object) -> str:
    """The message with options as they are typed: ``label=...`` is ``--label``, ``gamma=0.7`` is ``--gamma=0.7``."""
    message = _KEYWORD.sub(lambda found: flag_of(found[1]), str(problem))
    name = problem.name if isinstance(problem, ParameterError) else "-"
    known = name in {*registered_options(), *format_options(), *_READING}
    return message.replace(f"{name}=", f"{flag_of(name)}=", 1) if known and message.startswith(f"{name}=") else message


# Other parameters of reading than those of formats.
_READING = ("label", "weight", "drop", "categorical", "text", "day_first", "month_first", "positive", "format")


def _report(problem: object, arguments: list[str], code: int) -> int:
    message = _with_flags(problem)
    if isinstance(problem, OSError) and problem.strerror:
        message = f"{problem.filename}: {problem.strerror}" if problem.filename is not None else problem.strerror
    if isinstance(problem, OSError) and not message:
        message = type(problem).__name__
    announce(f"onlineboost: {message}")
    if _asks_json(arguments):
        facts = {name: getattr(problem, name) for name in ("path", "line", "column") if hasattr(problem, name)}
        with suppress(OSError):  # of standard output, which may be the problem
            say(json.dumps({"error": message, **facts}, default=str))
    return code
