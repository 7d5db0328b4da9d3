"""Snapshots: the models after an event, as files; the journal is cut behind them."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import msgspec

from onlineboost import __version__
from onlineboost.serve import admin, events
from onlineboost.serve.errors import StateError
from onlineboost.serve.events import Event
from onlineboost.serve.journal import Head, Journal
from onlineboost.serve.saver import Saver, check_file, copied
from onlineboost.serve.state import Served, State, load_blob
from onlineboost.serve.writer import Command, Writer

log = logging.getLogger("onlineboost.serve")
_KEPT = 2  # snapshots


class Entry(msgspec.Struct):
    """A model of a snapshot."""

    digest: str
    since: int
    changed: int


class Manifest(msgspec.Struct):
    """A snapshot, as its row in the journal has it."""

    version: str
    models: dict[str, Entry]


class Snapshots:
    """Takes snapshots and writes checkpoints; works within the writer's thread, but for the files."""

    def __init__(self, writer: Writer, saver: Saver) -> None:
        self.writer, self.saver = writer, saver
        self.last: dict[str, tuple[int, str]] = {}  # by model: its last change in a snapshot, and the file
        self.last_seq = self.last_time = 0.0
        self.running = False
        self.arriving: set[str] = set()  # digests of files whose events are not written yet
        self.unnoted: list[Callable[[], None]] = []  # what notes checkpoints that the journal could not take
        self.digests: dict[int, dict[str, str]] = {}  # of the last snapshots, by their numbers
        self.expected: dict[int, dict[str, str]] = {}  # of the leader's
        self.differs: str | None = None  # how this follower's bits are not those of its leader

    def handle(self, one: Event, leading: bool) -> None:
        """Do what marks, checkpoints and digests ask for, after the event was applied."""
        if one.kind == "mark":
            self._begin(one, leading)
        elif one.kind == "checkpoint" and one.model in self.writer.state.models:
            self.write_checkpoint(one, copied(self.writer.state.models[one.model].model))
        elif one.kind == "digest" and not leading:
            found = events.decoder(events.Digests)(one.payload or b"{}")
            self.expected[found.of] = found.models
            self._compare(found.of)

    def is_due(self, now: float) -> bool:
        """Whether something was learned since the last snapshot, and long ago or much of it."""
        seq, settings = self.writer.journal.head.seq, self.writer.settings
        if self.running or not self.changed():
            return False
        return seq - self.last_seq >= settings.snapshot_every or now - self.last_time >= settings.snapshot_after

    def changed(self) -> bool:
        """Whether the models are not those of the last snapshot."""
        models = self.writer.state.models
        return set(models) != set(self.last) or any(self.last[name][0] != one.changed for name, one in models.items())

    def begin_last(self) -> None:
        """Begin a snapshot of now, without a mark: followers need not read it, so this leader can come back as one."""
        self._begin(self.writer.journal.head, False)

    def _begin(self, mark: Event | Head, leading: bool) -> None:
        self.running = True
        models = self.writer.state.models
        entries = {name: (served.since, served.changed) for name, served in models.items()}

        def done(digests: dict[str, str]) -> None:
            def noted(future: Future[Any]) -> None:
                self.saver.release(digests)
                if future.exception() is not None:
                    self.running = False  # the next tick begins another

            self.writer.submit(_Done(self, mark, entries, digests, leading)).add_done_callback(noted)

        self.saver.save(admin.copies(self.writer, self.last), done)

    def write_checkpoint(self, one: Event, model: Any) -> None:
        """Write the file of a checkpoint."""
        name = events.decoder(events.Named)(one.payload or b"{}").name

        def write(command: Command, writer: Writer, now: float) -> None:
            text = "update checkpoints set digest = ? where model = ? and name = ? and seq = ?"
            writer.journal.sql(text, (digests[0], one.model, name, one.seq))

        digests: list[str] = []

        def done(found: dict[str, str]) -> None:
            def noted(future: Future[Any]) -> None:
                if future.exception() is not None:
                    self.unnoted.append(functools.partial(done, found))
                else:
                    self.saver.release(found)

            digests[:] = [found[one.model]]
            self.writer.submit(admin.Call(write)).add_done_callback(noted)

        self.saver.save({one.model: model}, done)

    def note(self, mark: Event | Head, entries: dict[str, tuple[int, int]], digests: dict[str, str]) -> None:
        """A snapshot that is on disk."""
        self.last = {name: (changed, digests[name]) for name, (_, changed) in entries.items()}
        self.last_seq, self.last_time, self.running = mark.seq, mark.time, False
        self.digests[mark.seq] = digests
        while len(self.digests) > 8:
            del self.digests[min(self.digests)]
        self._compare(mark.seq)

    def _compare(self, seq: int) -> None:
        mine, theirs = self.digests.get(seq), self.expected.get(seq)
        if mine is not None and theirs is not None:
            self.expected.pop(seq)
            if mine != theirs:
                wrong = ", ".join(sorted(name for name in mine.keys() | theirs if mine.get(name) != theirs.get(name)))
                self.differs = f"after event {seq} the bits of {wrong} are not those of the leader"
                log.error("%s", self.differs)

    def note_again(self) -> None:
        """Try to note checkpoints whose files are there."""
        waiting, self.unnoted = self.unnoted, []
        for one in waiting:
            one()

    def collect(self) -> None:
        """Delete files that no snapshot, checkpoint or event needs."""
        used = used_files(self.writer.journal) | self.arriving | {*self.saver.fresh}
        for path in self.saver.folder.glob("*.model"):
            if path.stem not in used:
                path.unlink(missing_ok=True)


class _Done(Command):
    """A snapshot is on disk: note it, and cut the journal."""

    alone = True

    def __init__(
        self,
        owner: Snapshots,
        mark: Event | Head,
        entries: dict[str, tuple[int, int]],
        digests: dict[str, str],
        leading: bool,
    ) -> None:
        super().__init__()
        self.owner, self.mark, self.entries, self.digests, self.leading = owner, mark, entries, digests, leading

    def prepare(self, writer: Writer, now: float) -> None:
        journal, mark = writer.journal, self.mark
        models = {name: Entry(self.digests[name], *self.entries[name]) for name in self.entries}
        add_snapshot(journal, mark, Manifest(__version__, models))
        cut(journal, mark.seq, now - writer.settings.retain, writer.settings.journal_mb << 20)
        if self.leading:
            payload = events.encode(events.Digests(mark.seq, self.digests))
            self.write(writer, "digest", "", "", payload, now)

    def finish(self, writer: Writer) -> Any:
        self.owner.note(self.mark, self.entries, self.digests)
        self.owner.collect()
        return None


def add_snapshot(journal: Journal, mark: Event | Head, manifest: Manifest) -> None:
    """Note a snapshot whose files are on disk."""
    text = events.encode(manifest).decode()
    values = mark.seq, mark.chain, mark.epoch, mark.time, text
    journal.sql("insert or replace into snapshots values (?, ?, ?, ?, ?)", values)
    journal.sql(
        "delete from snapshots where seq not in (select seq from snapshots order by seq desc limit ?)", (_KEPT,)
    )


def cut(journal: Journal, snapshot: int, before: float, most: int = 1 << 62) -> None:
    """Erase what was asked to be forgotten, and delete what is behind the snapshot and older than this time.

    If the journal is larger than ``most`` bytes, younger events go, too, down to about half of that. Tickets that wait,
    and those whose labels are not in the snapshot, stay.
    """
    for forgotten, model, id, seq in journal.sql("select * from erasures where forgotten <= ?", (snapshot,)):
        which = ("model = ? and id = ?", (model, id)) if id else ("model = ? and seq = ?", (model, seq))
        journal.sql(f"update events set payload = null where {which[0]} and seq <= ?", (*which[1], snapshot))
        journal.sql("delete from erasures where forgotten = ?", (forgotten,))
    last = _last_before(journal, snapshot, before)
    (pages,), (free,), (size,) = (
        journal.sql(f"pragma {name}")[0] for name in ("page_count", "freelist_count", "page_size")
    )
    used = (pages - free) * size
    if used > most:
        ((first,),) = journal.sql("select coalesce(min(seq), 0) from events where kind not in ('ask', 'defer')")
        last = max(last, snapshot - int((snapshot - first) * most / (2 * used)))
    journal.sql("delete from tickets where done is not null and done <= ?", (last,))
    journal.sql(
        "delete from events where seq <= ? and not (kind in ('ask', 'defer') and seq in (select asked from tickets))",
        (last,),
    )


def _last_before(journal: Journal, most: int, before: float) -> int:
    """The largest number of an event, at most ``most``, that is older than a time; times never go back."""
    ((low,),) = journal.sql("select coalesce(min(seq), 1) - 1 from events")
    high = most
    while low < high:
        middle = (low + high + 1) // 2
        found = journal.sql("select time from events where seq >= ? order by seq limit 1", (middle,))
        if found and found[0][0] < before:
            low = middle
        else:
            high = middle - 1
    return int(min(low, most))


def used_files(journal: Journal) -> set[str]:
    """Digests of the files that are needed."""
    found = {digest for (digest,) in journal.sql("select digest from checkpoints where digest is not null")}
    for (text,) in journal.sql("select manifest from snapshots"):
        found |= {entry.digest for entry in manifest_of(journal, text).models.values()}
    for (payload,) in journal.sql("select payload from events where kind in ('put', 'restore')"):
        found.add(events.decoder(events.Named)(payload).name)
    return found


def manifest_of(journal: Journal, text: str) -> Manifest:
    try:
        found: Manifest = events.decoder(Manifest)(text)
        return found
    except msgspec.DecodeError as problem:
        raise StateError(f"{journal.path}: damaged snapshot ({problem}): restore the folder from a copy") from None


def recover(journal: Journal, folder: Path) -> tuple[State, int, Manifest | None, list[tuple[Event, Any]]]:
    """The state after the last event: the last snapshot, and the events after it, with the same bits.

    Also the snapshot's number and manifest, and checkpoints that were not written yet.
    """
    state, manifest, seq, chain = State(folder), None, 0, events.START
    rows = journal.sql("select seq, chain, manifest from snapshots order by seq desc limit 1")
    if rows:
        seq, chain, text = rows[0]
        manifest = manifest_of(journal, text)
        for name, entry in manifest.models.items():
            check_file(state.blob(entry.digest), entry.digest)
            state.models[name] = Served(name, load_blob(state.blob(entry.digest)), entry.since, entry.changed)
    state.seq = seq
    written = journal.get("version")
    text = "select 1 from events where seq > ? and kind not in ('mark', 'digest', 'promote') limit 1"
    if journal.sql(text, (seq,)) and written is not None and written != __version__:
        raise StateError(
            f"{journal.path}: the events after {seq} were written by onlineboost {written}, and this is {__version__}, "
            f"which may learn other bits from them: start and stop onlineboost {written} once, which takes a snapshot"
        )
    unwritten: list[tuple[Event, Any]] = []
    for one in journal.checked(seq, chain):
        if one.kind in ("put", "restore"):
            digest = events.decoder(events.Named)(one.payload).name
            check_file(state.blob(digest), digest)
        state.apply(one, journal)
        if one.kind == "checkpoint" and one.model in state.models:
            known = journal.sql("select 1 from checkpoints where seq = ? and digest is null", (one.seq,))
            unwritten += [(one, copied(state.models[one.model].model))] if known else []
    if state.seq != journal.head.seq:
        raise StateError(f"{journal.path}: ends at event {state.seq} instead of {journal.head.seq}: restore a copy")
    return state, seq, manifest, unwritten
