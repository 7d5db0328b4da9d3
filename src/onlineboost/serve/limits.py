"""Limits and settings of the service, each with the option that sets it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from onlineboost.errors import ParameterError
from onlineboost.serve.errors import ServeError

NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}"  # of models and checkpoints
_NAME = re.compile(NAME)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


@dataclass(frozen=True)
class Limits:
    """Limits of requests; beyond them, a request is refused with 413 or 422."""

    body_mb: int = 64
    rows: int = 100_000
    features: int = 10_000
    name_length: int = 1024  # of features, ids and labels
    models: int = 32
    checkpoints: int = 16  # of a model
    queue: int = 10_000  # requests that wait for the writer
    model_mb: int = 1024  # of an uploaded model file

    def check(self, name: str, found: int, what: str, status: int = 422) -> None:
        """Raise an error for a number above a limit; it names the option."""
        most = getattr(self, name)
        if found > most:
            flag = f"--max-{name.replace('_', '-')}"
            raise ServeError(status, f"{found:,} {what}: expected at most {most:,} ({flag})", self.advice(flag))

    @staticmethod
    def advice(flag: str) -> str:
        return f"send less at once, or start the service with a larger {flag}"


@dataclass(frozen=True)
class Settings:
    """Settings of the service's own work."""

    wait: float = 7 * 86400.0  # seconds that a ticket waits for its label
    missing: tuple[Any] | None = None  # the label with which expired tickets are learned; None: they are dropped
    retain: float = 86400.0  # seconds that journal and answered ids are kept, behind the last snapshot
    journal_mb: int = 4096  # of the journal; beyond it, it is kept for a shorter time
    gather: float = 0.002  # seconds in which requests are gathered for one write
    snapshot_every: int = 100_000  # events between snapshots
    snapshot_after: float = 300.0  # seconds after which a changed model is in a snapshot
    busy: float = 1.0  # seconds to wait for a journal that another process has locked


def check_name(name: str, what: str = "model") -> str:
    """A name that is safe in paths, pages and logs."""
    if not _NAME.fullmatch(name):
        allowed = "1 to 64 letters, digits, '_', '-' or '.', the first not '-' or '.'"
        raise ServeError(422, f"the name of the {what} is {name[:80]!r}: expected {allowed}", f"rename the {what}")
    return name


def seconds(flag: str, text: str) -> float:
    """The seconds of a duration such as 90s, 15m, 12h or 7d.

    >>> seconds("--wait", "15m"), seconds("--wait", "7d")
    (900.0, 604800.0)
    """
    found = _DURATION.fullmatch(text.strip())
    if not found:
        raise ParameterError(flag, text, "a number with s, m, h or d, such as 90s, 15m, 12h or 7d")
    return float(found[1]) * _UNITS[found[2]]
