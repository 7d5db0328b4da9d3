"""Errors of the service for its clients: a status, a message and the next step."""

from __future__ import annotations

import errno
import sqlite3

from onlineboost.errors import DataError, ModelFileError, NotFittedError, ParameterError, TicketError


class ServeError(Exception):
    """A failed request: HTTP ``status``, ``message``, and the ``next`` step of the client."""

    def __init__(self, status: int, message: str, next: str = "", headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.next, self.headers = status, message, next, headers or {}

    def as_json(self) -> dict[str, dict[str, str]]:
        return {"error": {"message": self.message, "next": self.next}}


class StateError(Exception):
    """A state on disk that cannot be used. The message names the file or the row, and the next step."""


_DISK = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the disk is read-only",
    errno.EIO: "the disk has an error",
}


def disk_error(problem: Exception) -> ServeError:
    """A write that failed: nothing of it was learned, and the same request can be sent again."""
    said = str(problem)
    cause = _DISK.get(getattr(problem, "errno", None) or 0, said)
    if isinstance(problem, sqlite3.Error):
        full, locked = "full" in said, "locked" in said or "busy" in said
        cause = "the disk is full" if full else "the journal is locked by another process" if locked else said
    return ServeError(
        503,
        f"nothing was written: {cause}",
        "send the same request again, with the same id, when the cause is gone; predictions go on meanwhile",
        {"retry-after": "1"},
    )


def as_serve_error(problem: Exception) -> ServeError | None:
    """The answer to an error of the library that the request has caused; None for other errors."""
    if isinstance(problem, ServeError):
        return problem
    if isinstance(problem, sqlite3.Error | OSError):
        return disk_error(problem)
    if isinstance(problem, StateError):
        return ServeError(503, str(problem), "nothing was learned: tell the operator")
    if isinstance(problem, TicketError):
        return ServeError(410, str(problem), "ask again: POST predict with a ticket")
    if isinstance(problem, ModelFileError):
        return ServeError(422, str(problem), "send a file that model.save or onlineboost train -o has written")
    if isinstance(problem, DataError | ParameterError | NotFittedError):
        return ServeError(422, str(problem), "correct the example and send it again: nothing was learned")
    return None
