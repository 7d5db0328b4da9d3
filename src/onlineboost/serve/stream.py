"""Server-sent events: metrics each second, and samples of the last examples."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from onlineboost.serve.app import App
from onlineboost.serve.errors import ServeError

TYPE = "text/event-stream"
_EVERY = 1.0  # seconds
_SAMPLES = 5  # examples of each interval, at most
_MOST = 64  # readers of streams


def message(kind: str, value: Any) -> bytes:
    """One event."""
    return b"event: " + kind.encode() + b"\ndata: " + msgspec.json.encode(value) + b"\n\n"


async def events(app: App, kinds: tuple[str, ...] = ("metrics", "example")) -> AsyncIterator[bytes]:
    """Events of these kinds until the client or the service disconnects."""
    if app.streams >= _MOST:
        raise ServeError(429, f"{_MOST} streams are open", "close one of them", {"retry-after": "5"})
    app.streams += 1
    try:
        seen = max(app.samples.total - _SAMPLES, 0)
        yield b": onlineboost\nretry: 2000\n\n"
        while not app.stopping.is_set():
            if "metrics" in kinds:
                yield message("metrics", await asyncio.to_thread(app.overview))
            fresh = [one for one in [*app.samples.last] if one["number"] > seen]
            for one in fresh[-_SAMPLES:] if "example" in kinds else ():
                yield message("example", one)
            seen = app.samples.total
            await app.pause(_EVERY)
    finally:
        app.streams -= 1


async def metrics_alone(app: App, read: Callable[[], Any]) -> AsyncIterator[bytes]:
    """The values of ``read`` each second, without names of events."""
    while not app.stopping.is_set():
        yield b"data: " + msgspec.json.encode(await asyncio.to_thread(read)) + b"\n\n"
        await app.pause(_EVERY)
