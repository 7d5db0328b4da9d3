"""The service without HTTP: its folder, its writer, its snapshots, its role."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from onlineboost import __version__
from onlineboost.errors import ModelFileError
from onlineboost.model import load
from onlineboost.serve import admin, answers, snapshots
from onlineboost.serve.commands import Expire
from onlineboost.serve.errors import ServeError, StateError
from onlineboost.serve.follower import Follower
from onlineboost.serve.journal import Journal
from onlineboost.serve.limits import Limits, Settings, check_name
from onlineboost.serve.saver import Saver, file_digest, sync_folder
from onlineboost.serve.state import begin, default_model, warm
from onlineboost.serve.writer import Writer

try:
    import fcntl
except ImportError:  # not on Windows: there SQLite's own lock is the only one
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger("onlineboost.serve")
_EXPIRE_AT_ONCE = 10_000


class Service:
    """An open folder of state, ready for requests.

    >>> import tempfile
    >>> from onlineboost import Perceptron
    >>> from onlineboost.serve.events import Example
    >>> from onlineboost.serve.commands import Learn
    >>> with tempfile.TemporaryDirectory() as folder, Service(Path(folder)) as service:
    ...     _ = service.writer.submit(admin.Create("m", Perceptron(), keep=True)).result()
    ...     service.writer.submit(Learn("m", "", Example({"size": 1.0}, "large"))).result()["seq"]
    2
    """

    def __init__(
        self,
        folder: Path,
        settings: Settings | None = None,
        limits: Limits | None = None,
        follow: str | None = None,
        follow_token: str | None = None,
    ) -> None:
        self.folder, self.settings, self.limits = folder, settings or Settings(), limits or Limits()
        self.started = time.time()
        self.listeners: list[Callable[[Any], None]] = []
        self.follower: Any = None
        self._lock: Any = None
        (folder / "models").mkdir(parents=True, exist_ok=True)
        self._hold_folder()
        for left in (folder / "models").glob("*.new*"):
            left.unlink()
        try:
            self.journal = Journal(folder / "journal.sqlite", self.settings.busy)
        except BaseException:
            self._release_folder()
            raise
        try:
            state, seq, manifest, unwritten = snapshots.recover(self.journal, folder)
            self._set_role(follow)
        except BaseException:
            self.journal.close()
            self._release_folder()
            raise
        self.state = state
        self.saver = Saver(folder / "models")
        self.writer = Writer(self.journal, state, self.settings, self.limits)
        self.snapshots = snapshots.Snapshots(self.writer, self.saver)
        if manifest is not None:
            self.snapshots.last = {name: (one.changed, one.digest) for name, one in manifest.models.items()}
            self.snapshots.digests[seq] = {name: one.digest for name, one in manifest.models.items()}
            self.snapshots.last_seq = seq
        self.snapshots.last_time = self.journal.head.time or self.writer.clock.now()
        self.snapshots.collect()
        for served in state.models.values():
            answers.predict_one(served.model, {})  # loads compiled code before the first request
        for one, model in unwritten:
            self.snapshots.write_checkpoint(one, model)
        self.writer.on_applied = lambda one: self.snapshots.handle(one, self.leading)
        self.writer.on_tick = self._tick
        self.writer.on_group = self._tell
        if follow is not None:
            self.follower = Follower(self, follow, follow_token)
        self.saver.start()
        self.writer.start()
        if self.follower is not None:
            self.follower.start()

    def _hold_folder(self) -> None:
        """One service has one folder."""
        if fcntl is not None:
            self._lock = open(self.folder / "lock", "w")  # noqa: SIM115
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                self._lock.close()
                text = f"{self.folder}: another onlineboost serve uses this folder: stop it, or name another with --dir"
                raise StateError(text) from None

    def _release_folder(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self, snapshot: bool = True) -> None:
        """Finish what waits, take a snapshot, and close the folder."""
        if self.follower is not None:
            self.follower.stop()
        with contextlib.suppress(ServeError):
            if snapshot and self.leading and self.snapshots.changed():
                self.writer.submit(admin.Call(lambda *_: None, lambda *_: self.snapshots.begin_last())).result()
            self._wait_for_files()
        self.writer.stop()
        self.saver.stop()
        self.journal.close()
        self._release_folder()

    def _wait_for_files(self, seconds: float = 60.0) -> None:
        end = time.monotonic() + seconds
        while self.snapshots.running and self.saver.problem is None and time.monotonic() < end:
            time.sleep(0.005)

    # ---- roles

    def _set_role(self, follow: str | None) -> None:
        role = self.journal.get("role")
        with self.journal.transaction():
            self.journal.set("version", __version__)
            if follow is not None:
                self.journal.set("role", "follower")
                self.journal.set("leader", follow)
            elif role is None:
                self.journal.set("role", "leader")
                self.journal.set("led", 1)
        self.role = str(self.journal.get("role"))
        self.leader = self.journal.get("leader")
        if self.role == "follower" and follow is None:
            raise StateError(
                f"{self.folder}: this is the folder of a follower of {self.leader}: start it with --follow, "
                "or make it the leader with POST /v1/promote"
            )

    @property
    def leading(self) -> bool:
        return self.role == "leader"

    def check_leading(self) -> None:
        """Raise an error if this service must not write."""
        if self.role == "leader":
            return
        where = f"write to the leader: {self.leader}" if self.leader else "write to the leader"
        headers = {"onlineboost-leader": str(self.leader)} if self.leader else {}
        if self.role == "fenced":
            epoch = self.journal.get("fenced")
            text = f"this service was the leader until epoch {epoch} began elsewhere"
            raise ServeError(409, text, f"{where}; restart this one with --follow, or with a new --dir", headers)
        raise ServeError(421, "this service is a follower", where, headers)

    def fence(self, epoch: int, leader: str | None) -> None:
        """Stop writing, because another service leads a later epoch."""

        def during(command: Any, writer: Writer, now: float) -> None:
            if epoch > self.journal.head.epoch and self.role == "leader":
                self.journal.set("role", "fenced")
                self.journal.set("fenced", epoch)
                if leader:
                    self.journal.set("leader", leader)

        def after(command: Any, writer: Writer) -> None:
            self.role, self.leader = str(self.journal.get("role")), self.journal.get("leader")
            log.warning("epoch %d began elsewhere: this service is %s", epoch, self.role)

        self.writer.submit(admin.Call(during, after)).result()

    def promote(self) -> dict[str, Any]:
        """Make this service the leader of a new epoch."""
        if self.role == "leader":
            raise ServeError(409, "this service is the leader", "")
        if self.role == "fenced":
            raise ServeError(409, "this service was a leader, and a later epoch has begun", "restart it with --follow")
        if self.snapshots.differs:
            raise ServeError(409, f"this follower is not its leader: {self.snapshots.differs}", "promote another one")
        if self.follower is not None:
            self.follower.stop()
        found: dict[str, Any] = self.writer.submit(admin.Promote()).result()
        before, self.role, self.leader = self.leader, "leader", None
        if self.follower is not None and before:
            threading.Thread(target=self.follower.tell, args=(found["epoch"],), daemon=True).start()
        return found

    # ---- what the service does on its own, in the writer's thread

    def _tick(self, now: float) -> None:
        self.snapshots.note_again()
        if not self.leading:
            return
        for name in [*self.state.models]:
            ids = self.journal.expired(name, now - self.settings.wait, _EXPIRE_AT_ONCE)
            if ids:
                self.writer.submit(Expire(name, ids))
        if self.snapshots.is_due(now) or (
            not self.snapshots.running and self.journal.sql("select 1 from erasures limit 1")
        ):
            self.snapshots.running = True
            self.writer.submit(admin.Mark()).add_done_callback(self._begun)

    def _begun(self, future: Future[Any]) -> None:
        if future.exception() is not None:
            self.snapshots.running = False  # the journal could not take the mark: the next tick begins another

    def _tell(self, commands: list[Any]) -> None:
        for listener in self.listeners:
            listener(commands)

    # ---- models from files

    def default_for(self, name: str, label: Any) -> admin.Create:
        """The command that makes a model at its first example."""
        check_name(name)
        model = default_model(label)
        warm(begin(model.clone()))
        return admin.Create(name, model, keep=True)

    def accept(self, name: str, temporary: Path) -> admin.Put:
        """Check a model file, which is in the folder already, and make the command that puts it."""
        check_name(name)
        warm(load(temporary))
        digest = file_digest(temporary)
        self.snapshots.arriving.add(digest)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, self.state.blob(digest))
        sync_folder(self.state.blobs)
        return admin.Put(name, digest)

    def add_file(self, name: str, path: Path) -> bool:
        """Put a model file from this machine, unless there is a model of this name; whether it was put."""
        if check_name(name) in self.state.models:
            return False
        temporary = self.state.blobs / f"{name}-{threading.get_ident()}.new"
        with self.state.getting_ready(name):
            self._add_copy(name, path, temporary)
        return True

    def _add_copy(self, name: str, path: Path, temporary: Path) -> None:
        try:
            shutil.copyfile(path, temporary)
            try:
                command = self.accept(name, temporary)
            except ModelFileError as problem:
                problem.args = (str(problem).replace(str(temporary), str(path)),)
                raise
            self.writer.submit(command).result()
            self.snapshots.arriving.discard(command.digest)
        finally:
            temporary.unlink(missing_ok=True)
