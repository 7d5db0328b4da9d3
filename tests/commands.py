"""The command line in processes of its own."""

from __future__ import annotations

import os
import signal
import sys

ENVIRONMENT = {**os.environ, "ONLINEBOOST_QUIET": "1"}


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "onlineboost", *map(str, arguments)]


def heeding_hangups() -> None:
    """For a child process: hangups end it, even if the tests run under ``nohup``."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
