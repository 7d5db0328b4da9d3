"""Model files of the state's folder, written by a thread of their own."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import queue
import secrets
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from onlineboost.model import OnlineModel
from onlineboost.serve import answers
from onlineboost.serve.errors import ServeError, StateError

_AGAIN = 2.0  # seconds until a file that could not be written is tried again
log = logging.getLogger("onlineboost.serve")


def copied(model: OnlineModel) -> OnlineModel:
    """The model between two events, for a file."""
    found: OnlineModel = model.clone()
    found._fitted = answers.fitted_of(model).copied()
    return found


def file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def write_model(folder: Path, model: OnlineModel, named: Callable[[str], None] = lambda digest: None) -> str:
    """Write a model to a file named by its digest, which is returned; calls ``named`` with it first."""
    temporary = folder / f"{secrets.token_hex(8)}.new"
    try:
        model.save(temporary)
        digest = file_digest(temporary)
        named(digest)
        os.replace(temporary, folder / f"{digest}.model")
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(folder)
    return digest


def sync_folder(folder: Path) -> None:
    if os.name != "nt":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def check_file(path: Path, digest: str) -> None:
    """Raise an error for a file of the state's folder that is missing or was changed."""
    if not path.is_file():
        raise StateError(f"{path}: missing: restore the folder from a copy, or from a follower")
    if file_digest(path) != digest:
        raise StateError(f"{path}: changed since it was written: restore the folder from a copy, or from a follower")


class Saver(threading.Thread):
    """Writes copies of models in the given order."""

    def __init__(self, folder: Path) -> None:
        super().__init__(name="onlineboost-saver", daemon=True)
        self.folder = folder
        self.problem: str | None = None  # cause of the last failure
        self.fresh: list[str] = []  # digests of files that the journal does not name yet
        self._jobs: queue.SimpleQueue[tuple[dict[str, Any], Callable[[dict[str, str]], None]] | None]
        self._jobs = queue.SimpleQueue()
        self._stopping = threading.Event()

    def save(self, models: dict[str, Any], done: Callable[[dict[str, str]], None]) -> None:
        """Write these copies, and call ``done`` with their digests; digests among the models stay as they are.

        The files stay until they are released.
        """
        self.fresh += [one for one in models.values() if isinstance(one, str)]
        self._jobs.put((models, done))

    def release(self, digests: dict[str, str]) -> None:
        """Release these files: the journal names them, or never will."""
        for digest in digests.values():
            self.fresh.remove(digest)

    def stop(self) -> None:
        self._stopping.set()
        self._jobs.put(None)
        self.join()

    def run(self) -> None:
        while (job := self._jobs.get()) is not None:
            models, done = job
            written: dict[str, str] = {}
            for name, one in models.items():
                digest = one if isinstance(one, str) else self._written(one)
                if digest is None:
                    return
                written[name] = digest
            with contextlib.suppress(
                ServeError
            ):  # the writer has stopped: a file that is needed is written at the next start
                done(written)

    def _written(self, model: OnlineModel) -> str | None:
        """The digest of a model's file, written with repeated tries; None if the service stops before."""
        while True:
            try:
                digest = write_model(self.folder, model, self.fresh.append)
            except Exception as problem:
                self.problem = f"{type(problem).__name__}: {problem}"
                log.error("snapshot not written: %s", problem)
                if self._stopping.wait(_AGAIN):
                    return None
            else:
                self.problem = None
                return digest
