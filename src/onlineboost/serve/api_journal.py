"""Endpoints for followers, and digests."""

from __future__ import annotations

import re
import time
from typing import Any

import msgspec

from onlineboost.serve import admin, replication
from onlineboost.serve.app import App
from onlineboost.serve.errors import ServeError
from onlineboost.serve.http import FILE, Request, Response, Route, to_thread

MSGPACK = "application/msgpack"
_MOST_WAIT = 30  # seconds of a long poll
_digest = re.compile(r"[0-9a-f]{32}")
_pack = msgspec.msgpack.Encoder().encode


async def journal(app: App, request: Request) -> Response:
    """The events after one; waits for new ones."""
    service = app.service
    after, epoch = request.number("after", 0), request.number("epoch", 0)
    chain = _bytes(request.option("chain") or "00" * 16)
    if epoch > service.journal.committed.epoch and service.role == "leader":
        await to_thread(service.fence, epoch, None)
    if service.role != "leader":
        service.check_leading()
    until = time.monotonic() + min(request.number("wait", 0), _MOST_WAIT)
    while service.journal.committed.seq == after and not app.stopping.is_set() and time.monotonic() < until:
        await app.news(until - time.monotonic())
    found = await to_thread(replication.page, service.journal, after, chain, service.writer.clock.now())
    return Response(body=_pack(found), type=MSGPACK)


def _bytes(text: str) -> bytes:
    if not _digest.fullmatch(text):
        raise ServeError(422, f"chain={text[:40]!r}: expected 32 digits of base 16", "")
    return bytes.fromhex(text)


async def snapshot(app: App, request: Request) -> Response:
    return Response(body=_pack(await to_thread(replication.newest_snapshot, app.service.journal)), type=MSGPACK)


async def tickets(app: App, request: Request) -> Response:
    given = request.number("snapshot", 0), request.option("model") or "", request.option("id") or ""
    return Response(body=_pack(await to_thread(replication.tickets, app.service.journal, *given)), type=MSGPACK)


async def file(app: App, request: Request) -> Response:
    name = request.names[0]
    path = app.state.blob(name)
    if not _digest.fullmatch(name) or not path.is_file():
        raise ServeError(404, "no such file", "")
    return Response(body=await to_thread(path.read_bytes), type="application/octet-stream")


async def digest(app: App, request: Request) -> Response:
    """The digests of all models after an event, by default the last; waits for a later one."""
    service = app.service
    until = time.monotonic() + min(request.number("wait", 0), _MOST_WAIT)
    at = request.number("at", -1)
    while at > service.state.seq and time.monotonic() < until and not app.stopping.is_set():
        await app.news(min(until - time.monotonic(), 0.1))
    if at > service.state.seq:
        raise ServeError(
            404, f"event {at} does not exist yet: the last is {service.state.seq}", "ask again, or add wait=10"
        )
    if at in service.snapshots.digests:
        return Response({"seq": at, "models": service.snapshots.digests[at]})
    if at in (-1, service.state.seq):
        state = await app.write(admin.Call(lambda *_: replication.frozen(service.state)))
        if at in (-1, state.seq):
            return Response({"seq": state.seq, "models": await to_thread(replication.digests, state)})
    async with app.one_rebuild:
        found: dict[str, Any] = await to_thread(lambda: replication.digests(replication.rebuilt(service.journal, at)))
    return Response({"seq": at, "models": found})


ROUTES = [
    Route("GET", "/v1/journal", journal, "admin", "Events after an event number, for followers", type=MSGPACK),
    Route("GET", "/v1/journal/snapshot", snapshot, "admin", "The last snapshot, for followers", type=MSGPACK),
    Route("GET", "/v1/journal/tickets", tickets, "admin", "Tickets of a snapshot, for followers", type=MSGPACK),
    Route("GET", "/v1/journal/files/{digest}", file, "admin", "A model file of a snapshot, for followers", type=FILE),
    Route("GET", "/v1/digest", digest, "read", "Digests of all models after an event"),
]
