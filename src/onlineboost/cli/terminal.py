"""Printing: every line for people passes here, without characters that control the terminal.

Names of features, labels and files are untrusted. Unprintable characters (escape sequences, control characters, marks
that reverse the direction of text, undecodable bytes) is spelled as in Python, such as ``\\x1b``.
"""

from __future__ import annotations

import errno
import json
import math
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Self, TextIO

from onlineboost.bars import new_bar
from onlineboost.readers import Stream

if TYPE_CHECKING:
    from onlineboost.tuning.race import Row


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
    """Name standard output in its errors; if the terminal is gone, the work goes on."""
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


def say_facts(facts: Iterable[tuple[str, object]], width: int = 20) -> None:
    """Print names and values to standard output, one pair a line."""
    for name, value in facts:
        say(f"{name + ':':<{width}} {value}")


def announce(line: object) -> None:
    """Print a notice to standard error; if nobody can read it, the work goes on."""
    with suppress(OSError):
        _print(line, sys.stderr)


def _print(line: object, file: TextIO) -> None:
    encoding = getattr(file, "encoding", None) or "utf-8"
    text = printable(line).encode(encoding, "backslashreplace").decode(encoding)
    print(text, file=file, flush=file is sys.stderr)


class Progress:
    """A bar with examples, speed, error and, if the size is known, the time left; on a terminal only."""

    def __init__(self, what: str, size: int | None, quiet: bool) -> None:
        self.began = time.perf_counter()
        self.examples = 0
        self.bar: Any = None
        if quiet or not sys.stderr.isatty():
            return
        self.bar = new_bar(facts=True, left=bool(size))
        self.task = self.bar.add_task(what, total=size, facts="")

    def __enter__(self) -> Self:
        if self.bar is not None:
            self.bar.start()
        return self

    def __exit__(self, *problem: object) -> None:
        if self.bar is not None:
            with suppress(OSError):
                self.bar.stop()

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Hide the bar while another one is shown."""
        if self.bar is None:
            yield
            return
        with suppress(OSError):  # the terminal is gone
            self.bar.stop()
        yield
        with suppress(OSError):
            self.bar.start()

    def update(self, stream: Stream, examples: int, facts: str = "") -> None:
        self.examples += examples
        if self.bar is not None:
            speed = self.examples / max(time.perf_counter() - self.began, 1e-9)
            text = f"{self.examples:,} examples, {speed:,.0f}/s{facts}"
            with suppress(OSError):
                self.bar.update(self.task, completed=stream.position, facts=text)

    def line(self, text: str) -> None:
        """Print a line above the bar."""
        if self.bar is not None:
            with suppress(OSError):  # the terminal is gone
                self.bar.console.print(printable(text), highlight=False, markup=False)
        else:
            announce(text)


class RaceProgress:
    """A bar with the configurations done and the best error so far, after two seconds; on a terminal only."""

    def __init__(self, quiet: bool) -> None:
        self.began = time.perf_counter()
        self.hidden = quiet or not sys.stderr.isatty()
        self.bar: Any = None

    def __call__(self, done: int, total: int, best: Row | None) -> None:
        if self.hidden or time.perf_counter() - self.began < 2:
            return
        if self.bar is None:
            self.bar = new_bar(facts=False)
            self.task = self.bar.add_task("", total=total)
            self.bar.start()
        facts = f", best error {best.error:.4g}" if best is not None else ""
        self.bar.update(self.task, completed=done, description=f"{done:,} of {total:,} configurations{facts}")

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()


def say_skipped(stream: Stream) -> None:
    """Print the first five skipped records, and how many there were."""
    if not stream.skipped:
        return
    for problem in stream.problems[:5]:
        announce(f"onlineboost: skipped: {problem}")
    if stream.skipped > 5:
        announce(f"onlineboost: skipped: {stream.skipped:,} records in total")


def format_labels(labels: list[Any]) -> str:
    """The labels as text, the positive one first.

    >>> format_labels(["N-Z", "A-M"])
    'A-M (positive), N-Z'
    """
    if len(labels) == 2:
        return f"{labels[1]} (positive), {labels[0]}"
    some = ", ".join(map(str, labels[:8])) + (", ..." if len(labels) > 8 else "")
    return f"{len(labels)} classes: {some}" if len(labels) > 2 else some


def peak_memory() -> int:
    """Peak memory of this process, in bytes."""
    try:
        import resource
    except ImportError:  # not on Windows
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def print_json(result: dict[str, Any]) -> None:
    """Print one JSON document; NaN and infinity become null."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [plain(inner) for inner in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    say(json.dumps(plain(result), allow_nan=False))
