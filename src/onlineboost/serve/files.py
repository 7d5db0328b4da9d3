"""Model files that the service starts with. They are loaded while it already answers that it is not ready."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from onlineboost.serve.app import App

log = logging.getLogger("onlineboost.serve")


class Files:
    """Loads model files in a thread; the code of a model may have to be compiled, which takes a minute."""

    def __init__(self, app: App, paths: Sequence[Path]) -> None:
        self.app, self.paths = app, [*paths]
        self.problem: Exception | None = None
        self._thread: threading.Thread | None = None
        app.starting = [path.stem for path in self.paths]

    def load(self, done: Callable[[], None]) -> None:
        """Load all, then call ``done``; a file that cannot be served stops the service."""
        if not self.paths:
            done()
            return
        self._thread = threading.Thread(target=self._load, args=(done,), name="onlineboost-files")
        self._thread.start()

    def _load(self, done: Callable[[], None]) -> None:
        service = self.app.service
        try:
            for path in self.paths:
                if not service.add_file(path.stem, path):
                    log.warning(
                        "model %s: goes on from %s, not from %s; PUT replaces it", path.stem, service.folder, path
                    )
            self.app.starting = []
            if not self.app.stopping.is_set():
                done()
        except Exception as problem:
            self.problem = problem
            self.app.stop()

    def finish(self) -> None:
        """Wait for the thread, and raise its error."""
        if self._thread is not None:
            self._thread.join()
        if self.problem is not None:
            raise self.problem
