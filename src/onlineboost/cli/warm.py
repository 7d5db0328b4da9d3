"""``onlineboost warm``, and compiling in parallel while a command begins to read."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Annotated, Self

import typer

from onlineboost.ahead.side_by_side import SideBySide
from onlineboost.ahead.tasks import Task, all_models, missing, tasks_of, usual_models
from onlineboost.bars import new_bar
from onlineboost.cli import options as o
from onlineboost.cli.terminal import Interrupted, announce, say
from onlineboost.compiled import cache, cores
from onlineboost.compiled.jit import without_notice
from onlineboost.model import OnlineModel
from onlineboost.registry import FORMATS


def compiling(models: Iterable[OnlineModel | None], quiet: bool) -> Compiling:
    """Compile missing code of these models in parallel; nothing on a single core."""
    tasks = missing(tasks_of(model for model in models if model is not None))
    return Compiling(tasks if cores.n_cores() > 1 and tasks and cache.cache_directory() else [], quiet)


def compile_first(models: Iterable[OnlineModel | None], quiet: bool) -> None:
    """Compile in parallel, and wait."""
    with compiling(models, quiet) as code:
        code.wait()


class Compiling:
    """Tasks compiled from ``with`` on; ``wait`` shows progress."""

    def __init__(self, tasks: Sequence[Task], quiet: bool) -> None:
        self.work, self.open = SideBySide(tasks), ExitStack()
        self.pending = bool(tasks)  # until ``wait``
        self.quiet = not tasks or quiet or bool(os.environ.get("ONLINEBOOST_QUIET")) or sys.stderr is None

    def __enter__(self) -> Self:
        self.began = time.perf_counter()
        self.open.enter_context(self.work)
        if self.work.tasks:
            self.open.enter_context(without_notice())
        if not self.quiet:
            announce(f"onlineboost: compiling for this machine, once: {', '.join(map(str, self.work.tasks))} ...")
        return self

    def __exit__(self, *problem: object) -> None:
        self.open.close()

    def wait(self) -> list[Task]:
        """Wait for all. Returns the tasks that failed."""
        self.pending = False
        try:
            failed = self.work.wait() if self.quiet or not sys.stderr.isatty() else self._wait_with_bar()
        except KeyboardInterrupt:
            raise Interrupted from None
        if not self.quiet:
            announce(f"onlineboost: compiled in {time.perf_counter() - self.began:.0f} s")
        return failed

    def _wait_with_bar(self) -> list[Task]:
        with new_bar(facts=False, left=False) as bar:
            shown = bar.add_task("", total=len(self.work.tasks))

            def show(done: int, running: Sequence[Task]) -> None:
                bar.update(shown, completed=done, description=", ".join(map(str, running)))

            return self.work.wait(show)


def warm(
    all: Annotated[
        bool, o.plain("Compile all algorithms with all weak learners; takes some minutes.", "--all")
    ] = False,
    quiet: o.Quiet = False,
) -> None:
    """Compile code ahead, for container images and installers.

    The code of the default models and all file formats is kept in a folder that `onlineboost about` prints.

    Examples:

      onlineboost warm

      NUMBA_CACHE_DIR=/opt/onlineboost onlineboost warm --all
    """
    if not cache.cache_directory():
        raise typer.Exit(1)
    tasks = missing(tasks_of(all_models() if all else usual_models(), FORMATS.names()))
    if not tasks and not quiet:
        say("nothing to compile: all code is there")
    with Compiling(tasks, quiet) as code:
        failed = code.wait()
    for task in failed:
        announce(f"onlineboost: could not compile ahead: {task}. It will be compiled when it is used.")
    if failed:
        raise typer.Exit(1)
