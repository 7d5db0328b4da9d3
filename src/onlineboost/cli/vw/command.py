"""``onlineboost vw``: the commands of ours that do what a command of Vowpal Wabbit does."""

from __future__ import annotations

from typing import Annotated

import typer

from onlineboost.cli.terminal import say, tell
from onlineboost.cli.vw.translate import translate


def vw(
    arguments: Annotated[list[str], typer.Argument(metavar="OPTIONS...", help="Options of vw, as they are.")],
) -> None:
    """Translate a command of Vowpal Wabbit: print the commands of ours that do the same. Nothing is run.

    Commands go to standard output, differences to standard error. If an option has no counterpart it is named, no
    command goes to standard output, and the exit code is 2.

    Examples:

      onlineboost vw -d day.vw --boosting 20 --alg BBM -f model

      onlineboost vw -d day.vw -t -i model -p answers.csv

      onlineboost vw -d day.vw --loss_function logistic -b 22 -f model | sh
    """
    found = translate(arguments)
    for option, instead in found.missing.items():
        tell(f"no counterpart: {option}: {instead}")
    for command in found.commands:
        if found.missing:
            tell(f"without it: {command}" if len(found.missing) == 1 else f"without them: {command}")
        else:
            say(command)
    for note in found.notes:
        tell(f"note: {note}")
    if found.missing:
        raise typer.Exit(2)


def verbatim(arguments: list[str]) -> list[str]:
    """The arguments of ``main``, with those of ``vw`` marked as not ours; ``onlineboost vw --help`` is ours.

    >>> verbatim(["vw", "-d", "day.vw"])
    ['vw', '--', '-d', 'day.vw']
    """
    ours = arguments[:1] != ["vw"] or arguments[1:] in ([], ["-h"], ["--help"]) or arguments[1:2] == ["--"]
    return arguments if ours else ["vw", "--", *arguments[1:]]
