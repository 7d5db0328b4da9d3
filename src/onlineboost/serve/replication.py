"""What a follower needs of its leader: pages of the journal, snapshots, digests. All of it only reads."""

from __future__ import annotations

import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from onlineboost import __version__
from onlineboost.serve import events, snapshots
from onlineboost.serve.errors import ServeError
from onlineboost.serve.events import Event
from onlineboost.serve.journal import Journal
from onlineboost.serve.saver import check_file, copied, write_model
from onlineboost.serve.state import Served, State, load_blob

PAGE, PAGE_BYTES = 2000, 8 << 20  # events, and bytes of them, of one answer
_TICKETS = 20_000
_EVENT = "seq, epoch, time, kind, model, id, payload, hash, chain"


class Page(msgspec.Struct):
    """A page of the journal, as followers get it."""

    version: str
    epoch: int
    seq: int  # of the last event of the leader
    time: float  # of the leader, now
    events: list[Event]


class Snapshot(msgspec.Struct):
    """A snapshot, without tickets and files."""

    version: str
    seq: int
    chain: bytes
    epoch: int
    time: float
    manifest: str
    checkpoints: list[tuple[str, str, int, float, str]]


class TicketPage(msgspec.Struct):
    """Tickets of a snapshot, as they were at its event, and the events that gave them; ordered by model and id."""

    rows: list[tuple[str, str, int, float, int | None, str | None, str | None]]
    asks: list[Event]


def page(journal: Journal, after: int, chain: bytes, now: float) -> Page:
    """The events after one that the follower has; an error if it has other events, or they are no longer kept."""
    head = journal.committed
    with journal.reader() as db:
        mine = journal.chain_at(after, db) if after <= head.seq else None
        first = db.execute("select min(seq) from events where seq > ?", (after,)).fetchone()[0]
        if after > head.seq or (mine is not None and mine != chain):
            text = (
                f"the journals differ at event {min(after, head.seq)}: the follower has events that the leader has not"
            )
            raise ServeError(409, text, "start the follower with a new --dir; its old folder has what it learned alone")
        if mine is None or (first is None and after < head.seq) or (first is not None and first != after + 1):
            raise ServeError(410, f"the events after {after} are no longer kept", "GET /v1/journal/snapshot")
        found: list[Event] = []
        size = 0
        for row in db.execute(f"select {_EVENT} from events where seq > ? order by seq limit ?", (after, PAGE)):
            one = msgspec.convert(row, Event)
            if one.payload is None:
                if found:
                    break
                raise ServeError(410, f"event {one.seq} was erased", "GET /v1/journal/snapshot")
            found.append(one)
            size += len(one.payload)
            if size > PAGE_BYTES:
                break
    return Page(__version__, head.epoch, head.seq, now, found)


def newest_snapshot(journal: Journal) -> Snapshot:
    """The last snapshot."""
    with journal.reader() as db:
        text = "select seq, chain, epoch, time, manifest from snapshots order by seq desc limit 1"
        row = db.execute(text).fetchone()
        if row is None:
            raise ServeError(404, "there is no snapshot yet", "POST /v1/snapshot takes one")
        text = "select model, name, seq, time, digest from checkpoints where seq <= ? and digest is not null"
        seq, chain, epoch, time, manifest = row
        checkpoints = db.execute(text, (seq,)).fetchall()
        return Snapshot(__version__, seq, chain, epoch, time, manifest, checkpoints)


def tickets(journal: Journal, seq: int, model: str, id: str) -> TicketPage:
    """Tickets as they were after an event, the next ones after a model and an id."""
    with journal.reader() as db:
        rows = db.execute(
            "select model, id, asked, time, done, outcome, label from tickets where (model, id) > (?, ?) "
            "order by model, id limit ?",
            (model, id, _TICKETS),
        ).fetchall()
        found: list[Any] = []
        asks: list[Event] = []
        for row in rows:
            name, one, asked, time, done, outcome, label = row
            if asked > seq or (not asked and done > seq):
                found.append((name, one, -1, time, None, None, None))  # it came later: a place in the order only
                continue
            row = db.execute(f"select {_EVENT} from events where seq = ?", (asked,)).fetchone() if asked else None
            given = msgspec.convert(row, Event) if row else None
            asks += [given] if given else []
            if done is not None and done > seq:  # it was waiting
                deferred = given is not None and given.kind == "defer" and time == given.time
                done, outcome, label = None, "deferred" if deferred else None, None
            found.append((name, one, asked, time, done, outcome, label))
    return TicketPage(found, asks)


def digests(state: State) -> dict[str, str]:
    """The digest of the file of each model."""
    with tempfile.TemporaryDirectory() as folder:
        return {name: write_model(Path(folder), served.model) for name, served in sorted(state.models.items())}


def frozen(state: State) -> State:
    """A copy of the state."""
    found = State(state.blobs.parent)
    found.seq = state.seq
    for name, served in state.models.items():
        found.models[name] = Served(name, copied(served.model), served.since, served.changed)
    return found


def rebuilt(journal: Journal, at: int) -> State:
    """The state after an event of the past: a snapshot before it, and the events up to it."""
    past = journal.reading()
    try:
        row = past.sql("select seq, chain, manifest from snapshots where seq <= ? order by seq desc limit 1", (at,))
        state = State(journal.path.parent)
        seq, chain = 0, events.START
        if row:
            seq, chain, text = row[0]
            for name, entry in snapshots.manifest_of(past, text).models.items():
                check_file(state.blob(entry.digest), entry.digest)
                state.models[name] = Served(name, load_blob(state.blob(entry.digest)), entry.since, entry.changed)
        state.seq = seq
        following = past.sql("select min(seq) from events where seq > ?", (seq,))[0][0]
        if at > seq and following != seq + 1:
            raise ServeError(410, f"the events before {at} are no longer kept", "leave out at=, for the last event")
        for one in past.checked(seq, chain, at):
            if one.payload is None:
                raise ServeError(410, f"event {one.seq} was erased", "leave out at=, for the last event")
            state.apply(one, past)
        return state
    except sqlite3.Error as problem:
        raise ServeError(503, f"the journal cannot be read: {problem}", "send the same request again") from None
    finally:
        past.close()
