"""Printing: every line for people passes here, and no character in it can steer the terminal.

Names of features, labels and files come from whoever wrote the data. What is not printable (escape sequences, control
characters, marks that reverse the direction of text, undecodable bytes) is spelled as in Python, such as ``\\x1b``.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO


class Interrupted(BaseException):
    """A signal to stop, on its way to ``main``: Typer ends commands without a word at a ``KeyboardInterrupt``."""


def printable(text: object) -> str:
    """The text, with characters that are not printable spelled out.

    >>> print(printable("red\\x1b[31m"), len(printable("\\u202e")))
    red\\x1b[31m 6
    """
    text = str(text)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def say(line: object = "") -> None:
    """Print one line of the result to standard output."""
    with _output():
        _print(line, sys.stdout)


def flush() -> None:
    """Write what is left of the result."""
    with _output():
        sys.stdout.flush()


@contextmanager
def _output() -> Iterator[None]:
    """Errors of standard output say so; if the terminal is gone, the work goes on."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as problem:
        if problem.errno != errno.EIO:
            raise OSError(problem.errno, problem.strerror, "standard output") from None


def say_lines(text: str) -> None:
    """Print a text of several lines to standard output."""
    for line in text.split("\n"):
        say(line)


def tell(line: object) -> None:
    """Print a notice to standard error; if nobody can read it, the work goes on."""
    with suppress(OSError):
        _print(line, sys.stderr)


def _print(line: object, file: TextIO) -> None:
    encoding = getattr(file, "encoding", None) or "utf-8"
    text = printable(line).encode(encoding, "backslashreplace").decode(encoding)
    print(text, file=file, flush=file is sys.stderr)
