"""Commands that learn: examples, tickets, labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from onlineboost.errors import DataError
from onlineboost.fitted import late
from onlineboost.fitted.asked import Asked
from onlineboost.serve import answers, events
from onlineboost.serve.errors import ServeError
from onlineboost.serve.events import Example, Labeled
from onlineboost.serve.journal import TicketRow
from onlineboost.serve.state import Served
from onlineboost.serve.writer import Command, Writer

_AGAIN = "send it with another id"


class Learn(Command):
    """Learn one example; with an id, once."""

    def __init__(self, model: str, id: str, example: Example) -> None:
        super().__init__()
        self.model, self.id, self.example = model, id, example
        self.payload = events.encode(example)
        self.found: dict[str, Any] = {}

    def prepare(self, writer: Writer, now: float) -> None:
        served = writer.state.served(self.model)
        if self.id and _is_again(writer.journal.ticket(self.model, self.id), self.id, self.payload):
            self.answer = {"id": self.id, "learned": False, "again": True}
            return
        check_example(served, self.example)
        self.write(writer, "learn", self.model, self.id, self.payload, now)

    def finish(self, writer: Writer) -> Any:
        if not self.events:
            return self.answer
        super().finish(writer)
        served = writer.state.served(self.model)
        _count(served, "learned", 1)
        model, (scores,) = served.model, self.results
        self.found = found = answers.answer(model, answers.fitted_of(model), scores)
        return {"seq": self.events[0].seq, "learned": True, **({"id": self.id} if self.id else {}), **found}

    def sample(self) -> dict[str, Any]:
        given = self.example
        return {
            "model": self.model,
            "features": given.features,
            "label": given.label,
            "id": self.id or None,
            **self.found,
        }


class LearnMany(Command):
    """Learn the examples of one request, all or none; with an id, once."""

    def __init__(self, model: str, id: str, kind: str, payload: bytes, rows: int) -> None:
        super().__init__()
        self.model, self.id, self.kind, self.payload, self.rows = model, id, kind, payload, rows

    def prepare(self, writer: Writer, now: float) -> None:
        writer.state.served(self.model)
        if self.id and _is_again(writer.journal.ticket(self.model, self.id), self.id, self.payload):
            self.answer = {"id": self.id, "learned": 0, "again": True}
            return
        self.write(writer, self.kind, self.model, self.id, self.payload, now)

    def finish(self, writer: Writer) -> Any:
        if not self.events:
            return self.answer
        super().finish(writer)
        _count(writer.state.served(self.model), "learned", self.rows)
        return {"seq": self.events[0].seq, "learned": self.rows, **({"id": self.id} if self.id else {})}


class Ask(Command):
    """Keep tickets, so that labels can come by their ids."""

    def __init__(
        self, served: Served, tickets: list[tuple[str, bytes]], found: list[dict[str, Any]], deferred: set[str]
    ) -> None:
        super().__init__()
        self.served, self.tickets, self.found, self.deferred = served, tickets, found, deferred

    def prepare(self, writer: Writer, now: float) -> None:
        name = self.served.name
        if writer.state.models.get(name) is not self.served:
            raise ServeError(409, f"model {name!r} was replaced meanwhile", "send the request again")
        known = [writer.journal.ticket(name, id) for id, _ in self.tickets]
        if len({id for id, _ in self.tickets}) < len(self.tickets):
            raise ServeError(409, "an id is there twice", "send each example with an id of its own")
        for place, (row, (id, data)) in enumerate(zip(known, self.tickets, strict=True)):
            if row is not None:
                self.found[place] = _asked_again(writer, self.served, id, row, data)
        for row, (id, data) in zip(known, self.tickets, strict=True):
            if row is None:
                self.write(writer, "defer" if id in self.deferred else "ask", name, id, data, now)

    def finish(self, writer: Writer) -> Any:
        _count(self.served, "asked", len(self.events))
        return [{"id": id, **one} for (id, _), one in zip(self.tickets, self.found, strict=True)]


class Activate(Command):
    """Let a deferred ticket wait for its label from now on."""

    def __init__(self, model: str, id: str) -> None:
        super().__init__()
        self.model, self.id = model, id

    def prepare(self, writer: Writer, now: float) -> None:
        writer.state.served(self.model)
        row = writer.journal.ticket(self.model, self.id)
        check_known(row, self.id)
        if row is None or row.outcome != "deferred":
            self.answer = {"id": self.id, "activated": False, "again": True}
            return
        if now - row.time > writer.settings.wait:
            raise _expired(self.id)
        self.write(writer, "activate", self.model, self.id, b"", now)

    def finish(self, writer: Writer) -> Any:
        if not self.events:
            return self.answer
        return {"id": self.id, "activated": True, "seq": self.events[0].seq}


class Label(Command):
    """Learn tickets whose labels have come. Of several, each has a status of its own."""

    def __init__(self, model: str, labels: list[tuple[str, Labeled]], several: bool) -> None:
        super().__init__()
        self.model, self.labels, self.several = model, labels, several
        self.found: list[dict[str, Any]] = []
        self.last: tuple[Served, str, Any, Asked] | None = None

    def prepare(self, writer: Writer, now: float) -> None:
        served = writer.state.served(self.model)
        for id, given in self.labels:
            try:
                self.found.append(self._one(writer, served, id, given, now))
            except ServeError as problem:
                if not self.several:
                    raise
                self.found.append({"id": id, "status": problem.status, **problem.as_json()})

    def _one(self, writer: Writer, served: Served, id: str, given: Labeled, now: float) -> dict[str, Any]:
        payload, row = events.encode(given), writer.journal.ticket(self.model, id)
        check_waits(row, id, payload)
        if row is not None and row.done is not None:
            return {"id": id, "status": 200, "learned": False, "again": True}
        if row is not None and now - row.time > writer.settings.wait:
            raise _expired(id)
        check_label(served, given.label, given.weight)
        ticket = writer.journal.event(row.asked if row is not None else 0)
        try:
            asked = late.read_apart(answers.fitted_of(served.model), ticket.payload or b"")
        except ValueError as problem:
            raise ServeError(410, f"{id!r}: {problem}", "ask again: POST predict with a ticket") from None
        self.last = served, id, given.label, asked
        seq = self.write(writer, "label", self.model, id, payload, now).seq
        return {"id": id, "status": 200, "learned": True, "seq": seq}

    def finish(self, writer: Writer) -> Any:
        super().finish(writer)
        _count(writer.state.served(self.model), "labeled", len(self.events))
        return self.found if self.several else self.found[0]

    def sample(self) -> dict[str, Any] | None:
        if self.last is None:
            return None
        served, id, label, asked = self.last
        fitted = answers.fitted_of(served.model)
        pairs = zip(asked.row.indices.tolist(), asked.row.values.tolist(), strict=True)
        features = {fitted.columns.names.get(k, str(k)): answers.finite(value) for k, value in pairs}
        found = answers.answer(served.model, fitted, asked.answers.scores[0, : fitted.root.width].copy())
        return {"model": self.model, "features": features, "label": label, "id": id, **found}


class Expire(Command):
    """Drop the tickets that have waited too long, or learn them with the label for it."""

    def __init__(self, model: str, ids: list[str]) -> None:
        super().__init__()
        self.model, self.ids = model, ids

    def prepare(self, writer: Writer, now: float) -> None:
        served = writer.state.served(self.model)
        rows = {id: row for id in self.ids if (row := writer.journal.ticket(self.model, id)) and row.done is None}
        deferred = [id for id, row in rows.items() if row.outcome == "deferred"]
        waiting = [id for id, row in rows.items() if row.outcome != "deferred"]
        label = writer.settings.missing
        if label is not None:
            try:
                check_label(served, label[0], 1.0)
            except ServeError:  # the label is none of this model's
                label = None
        for ids, with_label in ((deferred, None), (waiting, label)):
            if ids:
                payload = events.encode(events.Expired(ids, [*with_label] if with_label is not None else None))
                self.write(writer, "expire", self.model, "", payload, now)
                _count(served, "expired", len(ids))


def check_example(served: Served, example: Example) -> None:
    """Raise an error for an example that cannot be learned, before it is written."""
    fitted = answers.fitted_of(served.model)
    row = fitted.columns.row(example.features, False)
    if fitted.max_row_features is not None:
        fitted.check_rows(lambda: len(row.ids))
    check_label(served, example.label, example.weight)


def check_label(served: Served, label: Any, weight: float) -> None:
    """Raise an error for a label or a weight that cannot be learned."""
    if not 0 <= weight <= 1e18:
        raise ServeError(422, f"the weight is {weight!r}", "send a number from 0 to 1e18")
    fitted = answers.fitted_of(served.model)
    try:
        target = fitted.target.with_label(label)
        target.encode_one(label)
        fitted.check_target(target)
    except (DataError, OverflowError) as problem:
        raise ServeError(
            422, f"label {str(label)[:80]!r}: {problem}", "correct the label: nothing was learned"
        ) from None


def check_known(row: TicketRow | None, id: str) -> None:
    """Raise an error for an id without a ticket, or with one that cannot be used any more."""
    if row is None or row.outcome == "forgotten":
        raise ServeError(
            404, f"no ticket {id!r}: it was never given, or is no longer kept", "POST predict with a ticket"
        )
    if row.outcome == "expired":
        raise _expired(id)
    if row.outcome == "replaced":
        raise ServeError(410, f"ticket {id!r} was given by a model that was replaced or removed", "ask again")


def check_waits(row: TicketRow | None, id: str, payload: bytes) -> None:
    """Raise an error for an id whose label cannot be learned; one with the same label as before is no error."""
    check_known(row, id)
    if (
        row is not None
        and row.done is not None
        and (row.outcome != "label" or row.label != events.digest_of(payload).hex())
    ):
        raise ServeError(409, f"{id!r} was labeled before, differently", "nothing was learned: keep the first label")


def _expired(id: str) -> ServeError:
    return ServeError(410, f"ticket {id!r} has expired", "label within the time of --wait")


def _is_again(row: TicketRow | None, id: str, payload: bytes) -> bool:
    """Whether an example was learned before; an error if its id was used for another."""
    if row is None:
        return False
    if row.outcome != "learn" or row.label != events.digest_of(payload).hex():
        raise ServeError(409, f"the id {id!r} was used before, for something else", _AGAIN)
    return True


def _asked_again(writer: Writer, served: Served, id: str, row: TicketRow, data: bytes) -> dict[str, Any]:
    """The answer that was given to the same example under this id."""
    other = ServeError(409, f"the id {id!r} was used before, for something else", _AGAIN)
    if not row.asked or row.outcome in ("forgotten", "replaced"):
        raise other
    fitted = answers.fitted_of(served.model)
    payload = writer.journal.event(row.asked).payload
    if payload is None:
        raise other
    before, now = late.read_apart(fitted, payload), late.read_apart(fitted, data)
    same = np.array_equal(before.row.indices, now.row.indices)
    if not same or not np.array_equal(before.row.values, now.row.values, equal_nan=True):
        raise other
    return answers.answer(served.model, fitted, before.answers.scores[0, : fitted.root.width].copy())


def _count(served: Served, name: str, n: int) -> None:
    served.counts[name] = served.counts.get(name, 0) + n
