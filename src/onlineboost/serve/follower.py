"""A follower: reads the journal of a leader, and applies it."""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import secrets
import socket
import threading
import time
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from onlineboost import __version__
from onlineboost.errors import ParameterError
from onlineboost.serve import admin, events, snapshots
from onlineboost.serve.errors import ServeError
from onlineboost.serve.events import Event
from onlineboost.serve.journal import Head
from onlineboost.serve.replication import Page, Snapshot, TicketPage
from onlineboost.serve.saver import check_file
from onlineboost.serve.state import Served, load_blob
from onlineboost.serve.writer import Command, Writer

log = logging.getLogger("onlineboost.serve")
_WAIT, _TIMEOUT = 10, 30.0  # seconds of a long poll, and of any answer
_AGAIN = 0.2, 5.0  # seconds between tries: the first, and the longest
_page = msgspec.msgpack.Decoder(Page).decode
_snapshot = msgspec.msgpack.Decoder(Snapshot).decode
_tickets = msgspec.msgpack.Decoder(TicketPage).decode


class Follow(Command):
    """Write and apply events of the leader."""

    alone = True

    def __init__(self, found: list[Event]) -> None:
        super().__init__()
        self.found = found

    def prepare(self, writer: Writer, now: float) -> None:
        for one in self.found:
            head = writer.journal.head
            whole = one.seq == head.seq + 1 and one.epoch >= head.epoch and one.payload is not None
            if not (whole and events.is_whole(one) and events.follows(head.chain, one)):
                raise ServeError(409, f"event {one.seq} of the leader does not follow event {head.seq}", "")
            writer.journal.append(one)
            writer.clock.follow(one.time)
            self.events.append(one)

    def finish(self, writer: Writer) -> Any:
        return None  # an error of an example is the leader's answer to its client


class Follower(threading.Thread):
    """Reads the journal of a leader until it is stopped, or its events differ from the leader's."""

    def __init__(self, service: Any, leader: str, token: str | None) -> None:
        super().__init__(name="onlineboost-follower", daemon=True)
        parts = urlsplit(leader)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ParameterError("--follow", leader, "the address of a leader, such as http://127.0.0.1:8080")
        self.service, self.leader, self.token, self._parts = service, leader.rstrip("/"), token, parts
        self.problem: str | None = None  # cause of a temporary failure
        self.ended: str | None = None  # cause of the final stop
        self.behind = 0
        self.heard: float | None = None  # monotonic time of the last answer
        self._ended = threading.Event()
        self._connection: Any = None

    def facts(self) -> dict[str, Any]:
        """The state of following, as JSON."""
        age = None if self.heard is None else round(time.monotonic() - self.heard, 3)
        problem = self.ended or self.problem
        return {"leader": self.leader, "behind": self.behind, "heard_seconds_ago": age, "problem": problem}

    def stop(self) -> None:
        self._ended.set()
        waiting = getattr(self._connection, "sock", None)
        if waiting is not None:
            with contextlib.suppress(OSError):
                waiting.shutdown(socket.SHUT_RDWR)  # it may wait for events
        if self.is_alive() and threading.current_thread() is not self:
            self.join(_TIMEOUT)

    def run(self) -> None:
        pause = _AGAIN[0]
        while not self._ended.is_set():
            try:
                self._step()
                self.problem, pause = None, _AGAIN[0]
            except ServeError as problem:
                if problem.status == 409:
                    self.ended = problem.message
                    log.error("this follower stops: %s", problem.message)
                    self._drop()
                    return
                self.problem = problem.message
            except (OSError, http.client.HTTPException, msgspec.MsgspecError, ValueError) as problem:
                self.problem = f"{type(problem).__name__}: {problem}"
            if self.problem is not None:
                self._drop()
                self._ended.wait(pause)
                pause = min(2 * pause, _AGAIN[1])
        self._drop()

    def _step(self) -> None:
        head = self.service.journal.committed
        wait = 0 if self.heard is None else _WAIT
        query = f"after={head.seq}&chain={head.chain.hex()}&epoch={head.epoch}&wait={wait}"
        try:
            found = _page(self._get(f"/v1/journal?{query}"))
        except ServeError as problem:
            if problem.status != 410:
                raise
            self._take_snapshot()
            return
        self._check_version(found.version)
        if found.epoch < head.epoch:
            raise ServeError(409, f"the leader is of epoch {found.epoch}, and this follower of {head.epoch}", "")
        puts = [one for one in found.events if one.kind in ("put", "restore")]
        digests = {events.decoder(events.Named)(one.payload or b"{}").name for one in puts}
        for digest in digests:
            self._fetch(digest)
        if found.events and not self._ended.is_set():
            self.service.writer.submit(Follow(found.events)).result()
        self.service.snapshots.arriving -= digests
        self.behind, self.heard = max(found.seq - self.service.journal.committed.seq, 0), time.monotonic()

    def _check_version(self, version: str) -> None:
        if version != __version__:
            text = f"the leader is onlineboost {version}, and this follower {__version__}: use the same"
            raise ServeError(503, text, "")

    def _get(self, path: str) -> bytes:
        """The body of an answer of the leader."""
        if self._connection is None:
            kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
            self._connection = kind(self._parts.hostname or "", self._parts.port, timeout=_TIMEOUT)
        headers = {"authorization": f"Bearer {self.token}"} if self.token else {}
        self._connection.request("GET", path, headers=headers)
        answer = self._connection.getresponse()
        body: bytes = answer.read()
        if answer.status != 200:
            try:
                message = json.loads(body)["error"]["message"]
            except (ValueError, KeyError, TypeError):
                message = f"status {answer.status}"
            raise ServeError(answer.status, f"{self.leader}: {message}", "")
        return body

    def tell(self, epoch: int) -> None:
        """Inform the old leader, if it answers, of the new epoch here."""
        self._drop()
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(self._parts.hostname or "", self._parts.port, timeout=2.0)
        try:
            headers = {"content-type": "application/json"}
            headers |= {"authorization": f"Bearer {self.token}"} if self.token else {}
            connection.request("POST", "/v1/fence", json.dumps({"epoch": epoch}), headers)
            connection.getresponse().read()
        except (OSError, http.client.HTTPException) as problem:
            log.warning("the old leader %s was not told of epoch %d: %s", self.leader, epoch, problem)
        finally:
            connection.close()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _fetch(self, digest: str) -> None:
        """Copy a model file of the leader into the folder."""
        path = self.service.state.blob(digest)
        self.service.snapshots.arriving.add(digest)
        if not path.is_file():
            temporary = path.with_name(f"{secrets.token_hex(8)}.new")
            try:
                temporary.write_bytes(self._get(f"/v1/journal/files/{digest}"))
                check_file(temporary, digest)
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)

    def _take_snapshot(self) -> None:
        """Restart from the last snapshot of the leader, since the next events are no longer kept."""
        journal = self.service.journal
        if journal.get("led"):
            text = "this folder was a leader's, and its journal cannot be compared: the leader has cut its own"
            raise ServeError(409, text, "")
        given = _snapshot(self._get("/v1/journal/snapshot"))
        self._check_version(given.version)
        manifest = snapshots.manifest_of(journal, given.manifest)
        wanted = {entry.digest for entry in manifest.models.values()} | {row[4] for row in given.checkpoints}
        for digest in wanted:
            self._fetch(digest)
        rows, asks = self._tickets(given.seq)

        def during(command: Any, writer: Writer, now: float) -> None:
            for table in ("events", "tickets", "snapshots", "checkpoints", "erasures"):
                journal.sql(f"delete from {table}")
            for values in rows:
                journal.sql("insert into tickets values (?, ?, ?, ?, ?, ?, ?)", values)
            for one in asks:
                values = msgspec.structs.astuple(one)
                journal.sql("insert into events values (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
            for values in given.checkpoints:
                journal.sql("insert into checkpoints values (?, ?, ?, ?, ?)", values)
            values = given.seq, given.chain, given.epoch, given.time, given.manifest
            journal.sql("insert into snapshots values (?, ?, ?, ?, ?)", values)
            journal.head = Head(given.seq, given.chain, given.epoch, given.time)

        def after(command: Any, writer: Writer) -> None:
            state = writer.state
            state.models = {
                name: Served(name, load_blob(state.blob(entry.digest)), entry.since, entry.changed)
                for name, entry in manifest.models.items()
            }
            state.seq = given.seq
            writer.clock.follow(given.time)
            shots = self.service.snapshots
            shots.last = {name: (entry.changed, entry.digest) for name, entry in manifest.models.items()}
            shots.last_seq = given.seq
            shots.digests = {given.seq: {name: entry.digest for name, entry in manifest.models.items()}}
            shots.expected = {}

        self.service.writer.submit(admin.Call(during, after)).result()
        self.service.snapshots.arriving -= wanted
        log.info("began with the snapshot after event %d of %s", given.seq, self.leader)

    def _tickets(self, seq: int) -> tuple[list[Any], list[Event]]:
        rows: list[Any] = []
        asks: list[Event] = []
        model = id = ""
        while True:
            found = _tickets(self._get(f"/v1/journal/tickets?snapshot={seq}&model={quote(model)}&id={quote(id, '')}"))
            if not found.rows:
                return rows, asks
            model, id = found.rows[-1][:2]
            rows += [row for row in found.rows if row[2] >= 0]
            asks += found.asks
