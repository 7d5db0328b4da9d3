"""Commands that change whole models, each in its own transaction."""

from __future__ import annotations

from typing import Any

from onlineboost.model import OnlineModel
from onlineboost.serve import events
from onlineboost.serve.errors import ServeError
from onlineboost.serve.limits import check_name
from onlineboost.serve.saver import check_file, copied
from onlineboost.serve.state import described
from onlineboost.serve.writer import Command, Writer


class Admin(Command):
    """A command in its own transaction."""

    alone = True

    def one(self, writer: Writer, kind: str, model: str, payload: bytes, now: float, id: str = "") -> None:
        self.write(writer, kind, model, id, payload, now)

    def finish(self, writer: Writer) -> Any:
        super().finish(writer)
        return {"seq": writer.state.seq}


class Create(Admin):
    """Create an untrained model; an existing one is kept, or is an error."""

    def __init__(self, name: str, model: OnlineModel, keep: bool) -> None:
        super().__init__()
        self.name, self.keep, self.payload = check_name(name), keep, described(model)

    def prepare(self, writer: Writer, now: float) -> None:
        if self.name in writer.state.models:
            if not self.keep:
                raise ServeError(409, f"model {self.name!r} exists", "DELETE it first, or take another name")
            return
        writer.limits.check("models", len(writer.state.models) + 1, "models")
        self.one(writer, "create", self.name, self.payload, now)


class Put(Admin):
    """Replace a model by a model file in the folder."""

    def __init__(self, name: str, digest: str) -> None:
        super().__init__()
        self.name, self.digest = check_name(name), digest

    def prepare(self, writer: Writer, now: float) -> None:
        if self.name not in writer.state.models:
            writer.limits.check("models", len(writer.state.models) + 1, "models")
        check_file(writer.state.blob(self.digest), self.digest)
        self.one(writer, "put", self.name, events.encode(events.Named(self.digest)), now)


class Remove(Admin):
    """Remove a model."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def prepare(self, writer: Writer, now: float) -> None:
        writer.state.served(self.name)
        self.one(writer, "remove", self.name, b"", now)


class Forget(Admin):
    """Forget a ticket or an example by its id, or an event by its number; the next snapshot erases the content."""

    def __init__(self, model: str, id: str, seq: int) -> None:
        super().__init__()
        self.model, self.id, self.seq = model, id, seq

    def prepare(self, writer: Writer, now: float) -> None:
        writer.state.served(self.model)
        if self.id:
            row = writer.journal.ticket(self.model, self.id)
            if row is None or row.outcome == "forgotten":
                raise ServeError(404, f"no id {self.id!r}: it was never given, or is no longer kept", "")
        else:
            found = writer.journal.sql("select model, kind from events where seq = ?", (self.seq,))
            if not found or found[0][0] != self.model or found[0][1] not in ("learn", "rows", "table"):
                text = f"no example of this model in event {self.seq}"
                raise ServeError(404, text, "events with an id are deleted by their id")
        self.one(writer, "forget", self.model, events.encode(events.Named(str(self.seq))), now, self.id)


class Checkpoint(Admin):
    """Keep the state of a model under a name."""

    def __init__(self, model: str, name: str) -> None:
        super().__init__()
        self.model, self.name = model, check_name(name, "checkpoint")

    def prepare(self, writer: Writer, now: float) -> None:
        writer.state.served(self.model)
        rows = writer.journal.sql("select name from checkpoints where model = ?", (self.model,))
        if (self.name,) in rows:
            raise ServeError(409, f"checkpoint {self.name!r} exists", "DELETE it first, or take another name")
        writer.limits.check("checkpoints", len(rows) + 1, "checkpoints of this model")
        self.one(writer, "checkpoint", self.model, events.encode(events.Named(self.name)), now)


class Uncheckpoint(Admin):
    """Delete a checkpoint."""

    def __init__(self, model: str, name: str) -> None:
        super().__init__()
        self.model, self.name = model, name

    def prepare(self, writer: Writer, now: float) -> None:
        checkpoint_digest(writer, self.model, self.name)
        self.one(writer, "uncheckpoint", self.model, events.encode(events.Named(self.name)), now)


class Restore(Admin):
    """Restore a model from a checkpoint. Tickets stay, and are learned by the restored model."""

    def __init__(self, model: str, name: str) -> None:
        super().__init__()
        self.model, self.name = model, name

    def prepare(self, writer: Writer, now: float) -> None:
        writer.state.served(self.model)
        digest = checkpoint_digest(writer, self.model, self.name)
        if digest is None:
            text = f"checkpoint {self.name!r} is being written"
            raise ServeError(503, text, "send the same request again after a second", {"retry-after": "1"})
        check_file(writer.state.blob(digest), digest)
        self.one(writer, "restore", self.model, events.encode(events.Named(digest)), now)


def checkpoint_digest(writer: Writer, model: str, name: str) -> str | None:
    """The file of a checkpoint; None while it is being written."""
    rows = writer.journal.sql("select digest from checkpoints where model = ? and name = ?", (model, name))
    if not rows:
        raise ServeError(404, f"no checkpoint {name[:80]!r}", f"GET /v1/models/{model}/checkpoints lists them")
    return rows[0][0]  # type: ignore[no-any-return]


class Mark(Admin):
    """Begin a snapshot of all models, if one of them has changed since the last."""

    def __init__(self, forced: bool = False) -> None:
        super().__init__()
        self.forced = forced

    def prepare(self, writer: Writer, now: float) -> None:
        self.one(writer, "mark", "", b"", now)


class Promote(Admin):
    """Begin a new epoch, as its leader."""

    def prepare(self, writer: Writer, now: float) -> None:
        journal = writer.journal
        one = journal.draft("promote", "", "", b"", now, journal.head.epoch + 1)
        journal.append(one)
        journal.set("role", "leader")
        journal.set("led", 1)
        self.events.append(one)

    def finish(self, writer: Writer) -> Any:
        return {"seq": self.events[0].seq, "epoch": self.events[0].epoch}


class Call(Command):
    """A function of the writer and the time, within a transaction, and one after it."""

    alone = True

    def __init__(self, during: Any, after: Any = None) -> None:
        super().__init__()
        self.during, self.after, self.found = during, after, None

    def prepare(self, writer: Writer, now: float) -> None:
        self.found = self.during(self, writer, now)

    def finish(self, writer: Writer) -> Any:
        return self.after(self, writer) if self.after is not None else self.found


def copies(writer: Writer, last: dict[str, tuple[int, str]]) -> dict[str, Any]:
    """The content of a snapshot: copies of models, or digests of unchanged ones."""
    found: dict[str, Any] = {}
    for name, served in writer.state.models.items():
        before = last.get(name)
        found[name] = before[1] if before is not None and before[0] == served.changed else copied(served.model)
    return found
