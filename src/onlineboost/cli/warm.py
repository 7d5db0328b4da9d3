"""``onlineboost warm``: what commands need, compiled ahead."""

from __future__ import annotations

from typing import Annotated

import typer

from onlineboost.ahead.catalogue import all_models, usual_models
from onlineboost.ahead.tasks import missing, tasks_of
from onlineboost.cli import options as o
from onlineboost.cli.compiling import Compiling
from onlineboost.cli.terminal import say, tell
from onlineboost.compiled import cache
from onlineboost.registry import FORMATS


def warm(
    all: Annotated[
        bool, typer.Option("--all", help="All algorithms with all weak learners, which takes some minutes.")
    ] = False,
    quiet: o.Quiet = False,
) -> None:
    """Compile the default models and all file formats ahead, so that they start at once.

    For container images and installers. The code is kept in the folder that `onlineboost --version` prints.

    Examples:

      onlineboost warm

      NUMBA_CACHE_DIR=/opt/onlineboost onlineboost warm --all
    """
    if not cache.cache_directory():
        raise typer.Exit(1)
    tasks = missing(tasks_of(all_models() if all else usual_models(), FORMATS.names()))
    if not tasks and not quiet:
        say("nothing to compile: it was done before")
    with Compiling(tasks, quiet) as code:
        failed = code.wait()
    for task in failed:
        tell(f"onlineboost: could not compile ahead: {task}. It will be compiled when it is used.")
    if failed:
        raise typer.Exit(1)
