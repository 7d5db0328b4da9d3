"""The journal on disk: events, tickets, snapshots and checkpoints in one SQLite file.

A transaction is on disk when it is committed (``synchronous=FULL``). Numbers of this class that describe the head of
the journal change after the commit only, so a write that fails leaves no trace.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from onlineboost.serve import events
from onlineboost.serve.errors import StateError
from onlineboost.serve.events import Event

FORMAT = 1
_APPLICATION = 0x6F6E6C62  # "onlb", in the header of the file
_TABLES = """
create table meta (key text primary key, value) without rowid;
create table events (
    seq integer primary key, epoch integer not null, time real not null, kind text not null, model text not null,
    id text not null, payload blob, hash blob not null, chain blob not null);
create table tickets (
    model text not null, id text not null, asked integer not null, time real not null, done integer, outcome text,
    label text, primary key (model, id)) without rowid;
create index waiting on tickets (model, time) where done is null;
create index answered on tickets (done) where done is not null;
create index asked on tickets (asked);
create table snapshots (
    seq integer primary key, chain blob not null, epoch integer not null, time real not null, manifest text not null);
create table checkpoints (
    model text not null, name text not null, seq integer not null, time real not null, digest text,
    primary key (model, name)) without rowid;
create table erasures (
    forgotten integer primary key, model text not null, id text not null, seq integer not null);
create table digests (seq integer primary key, models text not null);
"""
_EVENT = "seq, epoch, time, kind, model, id, payload, hash, chain"
_ROWS = 64  # of one statement


class TicketRow(NamedTuple):
    """What is known of an id: ``done`` is the number of the event that has answered it."""

    asked: int  # number of the event with the ticket; 0: an example that was learned at once
    time: float
    done: int | None
    outcome: str | None  # label, learn, expired, replaced, forgotten; deferred, while it waits to be activated
    label: str | None


class Head(NamedTuple):
    """The end of the journal."""

    seq: int = 0
    chain: bytes = events.START
    epoch: int = 1
    time: float = 0.0


class Journal:
    """The open journal. One thread writes; ``reader`` gives connections to others."""

    def __init__(self, path: Path, busy: float = 1.0, only_read: bool = False) -> None:
        self.path = path
        self._unwritten: list[Event] = []
        self.head = self.committed = Head()  # other threads read ``committed``
        if only_read:
            self._db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=1.0, isolation_level=None)
            self.head = self.committed = self._find_head()
            return
        fresh = not path.exists()
        self._db = sqlite3.connect(path, timeout=busy, isolation_level=None, check_same_thread=False)
        try:
            self._db.execute("pragma synchronous=full")
            self._db.execute("pragma secure_delete=on")
            self._db.execute("pragma wal_autocheckpoint=4000")
            if fresh or not self._db.execute("select count(*) from sqlite_master").fetchone()[0]:
                self._create()
            self._check()
            self._db.execute("pragma journal_mode=wal")
            self.head = self.committed = self._find_head()
        except sqlite3.DatabaseError as problem:
            self._db.close()
            raise self._unreadable(problem) from problem

    def _create(self) -> None:
        self._db.execute(f"pragma application_id={_APPLICATION}")
        self._db.execute(f"pragma user_version={FORMAT}")
        self._db.executescript(f"begin;{_TABLES}commit;")

    def _unreadable(self, problem: Exception) -> StateError:
        if "locked" in str(problem):
            return StateError(f"{self.path}: locked by another process: stop it first, one service has one folder")
        return StateError(f"{self.path}: damaged or not a journal ({problem}): restore the folder from a copy")

    def _check(self) -> None:
        (application,) = self._db.execute("pragma application_id").fetchone()
        (format,) = self._db.execute("pragma user_version").fetchone()
        if application != _APPLICATION:
            raise StateError(f"{self.path}: not a journal of onlineboost serve: name another folder with --dir")
        if format != FORMAT:
            raise StateError(f"{self.path}: format {format}, expected {FORMAT}: use the onlineboost that wrote it")

    def _find_head(self) -> Head:
        last = self._db.execute(
            "select seq, chain, epoch, time from (select seq, chain, epoch, time from events union all "
            "select seq, chain, epoch, time from snapshots) order by seq desc limit 1"
        ).fetchone()
        return Head(*last) if last else Head()

    def reading(self) -> Journal:
        """The same journal for another thread, which only reads."""
        return Journal(self.path, only_read=True)

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):  # one that only reads cannot
            self._db.execute("pragma wal_checkpoint(truncate)")
        self._db.close()

    @contextlib.contextmanager
    def reader(self) -> Iterator[sqlite3.Connection]:
        """A connection that reads, for another thread."""
        found = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=1.0, isolation_level=None)
        try:
            yield found
        finally:
            found.close()

    # ---- writing, by one thread

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything within is written, or nothing."""
        head = self.head
        self._unwritten = []
        self._db.execute("begin immediate")
        try:
            yield
            self._write()
            self._db.execute("commit")
            self.committed = self.head
        except BaseException:
            self.head = head
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("rollback")
            raise

    def append(self, one: Event) -> None:
        """Write the next event, within a transaction."""
        note = _NOTES.get(one.kind)
        if note is not None:
            note(self._db, one)
        self._unwritten.append(one)
        self.head = Head(one.seq, one.chain, one.epoch, one.time)

    def _write(self) -> None:
        """Insert the events of a transaction, many with one statement."""
        for start in range(0, len(self._unwritten), _ROWS):
            part = self._unwritten[start : start + _ROWS]
            places = ",".join(["(?,?,?,?,?,?,?,?,?)"] * len(part))
            values = [value for one in part for value in msgspec.structs.astuple(one)]
            self._db.execute(f"insert into events ({_EVENT}) values {places}", values)

    def draft(self, kind: str, model: str, id: str, payload: bytes, time: float, epoch: int | None = None) -> Event:
        """The next event. ``append`` it before the next draft."""
        head = self.head
        return events.event(head.chain, head.seq + 1, epoch or head.epoch, time, kind, model, id, payload)

    def set(self, key: str, value: Any) -> None:
        self._db.execute("insert or replace into meta values (?, ?)", (key, value))

    def get(self, key: str) -> Any:
        found = self._db.execute("select value from meta where key = ?", (key,)).fetchone()
        return found[0] if found else None

    # ---- tickets

    def ticket(self, model: str, id: str) -> TicketRow | None:
        found = self._db.execute(
            "select asked, time, done, outcome, label from tickets where model = ? and id = ?", (model, id)
        ).fetchone()
        return TicketRow(*found) if found else None

    def expired(self, model: str, before: float, most: int) -> list[str]:
        """Ids that were asked before this time and still wait, the oldest first."""
        found = self._db.execute(
            "select id from tickets where model = ? and done is null and time < ? order by time limit ?",
            (model, before, most),
        )
        return [id for (id,) in found]

    def n_waiting(self, model: str) -> int:
        found = self._db.execute("select count(*) from tickets where model = ? and done is null", (model,)).fetchone()
        return int(found[0])

    def asked(self, model: str, id: str) -> int:
        """The number of the event with the ticket of an id; 0 if there is none."""
        found = self._db.execute("select asked from tickets where model = ? and id = ?", (model, id)).fetchone()
        return int(found[0]) if found else 0

    # ---- reading

    def event(self, seq: int) -> Event:
        found = self._db.execute(f"select {_EVENT} from events where seq = ?", (seq,)).fetchone()
        if found is None:
            raise StateError(f"{self.path}: event {seq} is missing: restore the folder from a copy")
        return self._read(found)

    def after(self, seq: int, to: int | None = None, db: sqlite3.Connection | None = None) -> Iterator[Event]:
        """The events after a number, in order, each checked."""
        most = (1 << 62) if to is None else to
        rows = (db or self._db).execute(
            f"select {_EVENT} from events where seq > ? and seq <= ? order by seq", (seq, most)
        )
        for row in rows:
            yield self._read(row)

    def _read(self, row: tuple[Any, ...]) -> Event:
        try:
            one = msgspec.convert(row, Event)
        except msgspec.ValidationError as problem:
            raise StateError(f"{self.path}: event {row[0]}: {problem}: restore the folder from a copy") from None
        if not events.is_whole(one):
            raise StateError(f"{self.path}: event {one.seq}: damaged payload: restore the folder from a copy")
        return one

    def checked(self, seq: int, chain: bytes, to: int | None = None) -> Iterator[Event]:
        """The events after a number whose chain is known; an error for a gap or a change."""
        for one in self.after(seq, to):
            if one.seq != seq + 1:
                raise StateError(f"{self.path}: event {seq + 1} is missing: restore the folder from a copy")
            if not events.follows(chain, one):
                raise StateError(f"{self.path}: event {one.seq}: does not follow event {seq}: it was changed")
            seq, chain = one.seq, one.chain
            yield one

    def chain_at(self, seq: int, db: sqlite3.Connection) -> bytes | None:
        """The chain after an event; None if it is no longer kept."""
        if seq == 0:
            return events.START
        for table in ("events", "snapshots"):
            found = db.execute(f"select chain from {table} where seq = ?", (seq,)).fetchone()
            if found:
                return bytes(found[0])
        return None

    def sql(self, text: str, values: Iterable[Any] = ()) -> list[Any]:
        """The rows of any other statement, of the thread that writes."""
        return self._db.execute(text, tuple(values)).fetchall()


# ---- the tables of ids and checkpoints, as functions of events


def _note_ask(db: sqlite3.Connection, one: Event) -> None:
    db.execute("insert into tickets values (?, ?, ?, ?, null, null, null)", (one.model, one.id, one.seq, one.time))


def _note_defer(db: sqlite3.Connection, one: Event) -> None:
    values = one.model, one.id, one.seq, one.time
    db.execute("insert into tickets values (?, ?, ?, ?, null, 'deferred', null)", values)


def _note_activate(db: sqlite3.Connection, one: Event) -> None:
    db.execute(
        "update tickets set time = ?, outcome = null where model = ? and id = ? and outcome = 'deferred'",
        (one.time, one.model, one.id),
    )


def _note_label(db: sqlite3.Connection, one: Event) -> None:
    db.execute(
        "update tickets set done = ?, outcome = 'label', label = ? where model = ? and id = ?",
        (one.seq, label_mark(one), one.model, one.id),
    )


def _note_learn(db: sqlite3.Connection, one: Event) -> None:
    if one.id:
        values = one.model, one.id, one.time, one.seq, label_mark(one)
        db.execute("insert into tickets values (?, ?, 0, ?, ?, 'learn', ?)", values)


def _note_expire(db: sqlite3.Connection, one: Event) -> None:
    ids = events.decoder(events.Expired)(one.payload or b'{"ids":[]}').ids
    db.executemany(
        "update tickets set done = ?, outcome = 'expired' where model = ? and id = ?",
        [(one.seq, one.model, id) for id in ids],
    )


def _note_replaced(db: sqlite3.Connection, one: Event) -> None:
    db.execute(
        "update tickets set done = ?, outcome = 'replaced' where model = ? and done is null", (one.seq, one.model)
    )
    if one.kind == "remove":
        db.execute("delete from checkpoints where model = ?", (one.model,))


def _note_forget(db: sqlite3.Connection, one: Event) -> None:
    db.execute(
        "update tickets set done = ?, outcome = 'forgotten', label = null where model = ? and id = ?",
        (one.seq, one.model, one.id),
    )
    seq = int(events.decoder(events.Named)(one.payload or b'{"name":"0"}').name)
    db.execute("insert into erasures values (?, ?, ?, ?)", (one.seq, one.model, one.id, seq))


def _note_checkpoint(db: sqlite3.Connection, one: Event) -> None:
    name = events.decoder(events.Named)(one.payload or b'{"name":""}').name
    if one.kind == "uncheckpoint":
        db.execute("delete from checkpoints where model = ? and name = ?", (one.model, name))
    else:
        db.execute("insert or replace into checkpoints values (?, ?, ?, ?, null)", (one.model, name, one.seq, one.time))


_NOTES = {
    "ask": _note_ask,
    "defer": _note_defer,
    "activate": _note_activate,
    "label": _note_label,
    "learn": _note_learn,
    "rows": _note_learn,
    "table": _note_learn,
    "expire": _note_expire,
    "put": _note_replaced,
    "remove": _note_replaced,
    "forget": _note_forget,
    "checkpoint": _note_checkpoint,
    "uncheckpoint": _note_checkpoint,
}


def label_mark(one: Event) -> str:
    """What tells two labels of the same id apart."""
    return one.hash.hex()
