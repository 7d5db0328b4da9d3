"""The command line, in this process and in processes of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from onlineboost.cli.app import main
from onlineboost.compiled import cache

ENVIRONMENT = {**os.environ, "ONLINEBOOST_QUIET": "1"}


def run(capsys, *arguments: object, code: int = 0) -> tuple[str, str]:
    """Run in this process: the exit code is checked, what was written is returned."""
    with pytest.raises(SystemExit) as exit:
        main([*map(str, arguments)])
    out, err = capsys.readouterr()
    assert (exit.value.code or 0) == code, err
    return out, err


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "onlineboost", *map(str, arguments)]


def most_code(folder: Path, *left_out: str) -> None:
    """Put compiled code of this process into a folder for NUMBA_CACHE_DIR, but for ``advance`` and these patterns.

    A command with this folder compiles for seconds, not for a minute.
    """
    known, without = Path(cache.cache_directory()), ("done-*", ".*", "*.loop.advance-*", *left_out)
    shutil.copytree(known, folder / known.name, ignore=shutil.ignore_patterns(*without))


def heeding_hangups() -> None:
    """For a child process: hangups end it, even if the tests run under ``nohup``."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@contextmanager
def training_on_a_pipe(output: Path, rows: bytes, wrap: Sequence[str] = ()) -> Iterator[subprocess.Popen]:
    """A training on standard input that has learned 16,384 of these VW rows, and waits for more after them."""
    process = subprocess.Popen(
        [*wrap, *command("train", "-", "-f", "vw", "-n", 3, "-o", output)],
        env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=heeding_hangups,
    )  # fmt: skip
    with process:
        process.stdin.write(rows)
        process.stdin.flush()
        while b"16,384" not in process.stderr.readline():
            assert process.poll() is None
        yield process


@contextmanager
def standard_input(path: Path, content: bytes) -> Iterator[None]:
    """This process reads these bytes from its standard input."""
    path.write_bytes(content)
    kept = os.dup(0)
    try:
        reader = subprocess.Popen(["cat", path], stdout=subprocess.PIPE)
        with reader:
            os.dup2(reader.stdout.fileno(), 0)
            yield
    finally:
        os.dup2(kept, 0)
        os.close(kept)
