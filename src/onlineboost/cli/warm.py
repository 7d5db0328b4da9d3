"""``onlineboost warm``, and what commands compile side by side before they begin."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onlineboost.cli import options as o
from onlineboost.cli.terminal import say, tell

if TYPE_CHECKING:
    from onlineboost.ahead.tasks import Task
    from onlineboost.model import OnlineClassifier


def warm(
    all: Annotated[
        bool, typer.Option("--all", help="All algorithms with all weak learners, which takes some minutes.")
    ] = False,
    quiet: o.Quiet = False,
) -> None:
    """Compile the default models and all file formats ahead, so that no command waits for the compiler.

    For container images and installers. The code is kept in the folder that `onlineboost --version` prints.

    Examples:

      onlineboost warm

      NUMBA_CACHE_DIR=/opt/onlineboost onlineboost warm --all
    """
    from onlineboost.ahead.catalogue import all_models, usual_models
    from onlineboost.ahead.tasks import missing, tasks_of
    from onlineboost.registry import FORMATS

    tasks = missing(tasks_of(all_models() if all else usual_models(), FORMATS.names()))
    failed = _compile(tasks, quiet) if tasks else []
    if not tasks and not quiet:
        say("nothing to compile: it was done before")
    for task in failed:
        tell(f"onlineboost: could not compile ahead: {task}. It will be compiled when it is used.")
    if failed:
        raise typer.Exit(1)


def prepare(models: Iterable[OnlineClassifier | None], formats: Iterable[str], quiet: bool) -> None:
    """Compile what these models and files need side by side, if it was not before; nothing on a single core."""
    from onlineboost.ahead.side_by_side import n_cores
    from onlineboost.ahead.tasks import missing, tasks_of

    absent = missing(tasks_of([model for model in models if model is not None], formats))
    if len(absent) > 1 and n_cores() > 1:
        _compile(absent, quiet)


def formats_of(files: Iterable[str], reading: dict[str, Any]) -> list[str]:
    """The formats that the options or the files' names tell."""
    from onlineboost.readers.detect import by_name

    if reading.get("format") is not None:
        return [reading["format"]]
    return [known.name for known in map(by_name, files) if known is not None]


def about_code() -> list[str]:
    """The lines of ``onlineboost --version``."""
    import platform

    import numba

    from onlineboost import __version__
    from onlineboost.compiled.cache import cache_directory, processor, shipped_levels

    lines = [f"onlineboost {__version__}", f"Python {platform.python_version()}, Numba {numba.__version__}"]
    if shipped_levels():
        lines.append(f"compiled code of this package: for {shipped_levels()[0]}")
    return [*lines, f"compiled on this machine: for {processor()}, in {cache_directory() or 'memory'}"]


def _compile(tasks: Sequence[Task], quiet: bool) -> list[Task]:
    from onlineboost.ahead.side_by_side import compile_all

    quiet = quiet or bool(os.environ.get("ONLINEBOOST_QUIET"))
    began = time.perf_counter()
    with _Bar(tasks, quiet) as bar:
        failed = compile_all(tasks, bar.show)
    if not quiet:
        tell(f"onlineboost: compiled in {time.perf_counter() - began:.0f} s")
    return failed


class _Bar:
    """What is being compiled, and for how long: a bar on a terminal, else one line."""

    def __init__(self, tasks: Sequence[Task], quiet: bool) -> None:
        self.bar: Any = None
        if quiet:
            return
        what = "compiling for this machine, once"
        if not sys.stderr.isatty():
            tell(f"onlineboost: {what}: {', '.join(map(str, tasks))} ...")
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = TextColumn(what), BarColumn(bar_width=24), TextColumn("{task.description}"), TimeElapsedColumn()
        self.bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self.task = self.bar.add_task("", total=len(tasks))

    def __enter__(self) -> _Bar:
        if self.bar is not None:
            self.bar.start()
        return self

    def __exit__(self, *problem: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def show(self, done: int, running: Sequence[Task]) -> None:
        if self.bar is not None:
            self.bar.update(self.task, completed=done, description=", ".join(map(str, running)))
