"""Requests and answers of HTTP over plain ASGI."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote

import msgspec

from onlineboost.serve.errors import ServeError, as_serve_error

log = logging.getLogger("onlineboost.serve")
JSON, NDJSON, ARROW = "application/json", "application/x-ndjson", "application/vnd.apache.arrow.stream"
FILE = "application/octet-stream"
SAFE = [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]
_DRAINED = 4 << 20  # bytes beyond the limit that are read, so that a client hears the answer
_encode = msgspec.json.Encoder().encode
_json_headers = [(b"content-type", JSON.encode()), *SAFE]


@dataclass(slots=True)
class Request:
    """A request whose path was found."""

    method: str
    path: str
    headers: dict[bytes, bytes]
    query: str
    names: list[str]  # names in the path
    receive: Any = None
    send: Any = None
    body: bytes = b""

    def header(self, name: str) -> str:
        return self.headers.get(name.encode(), b"").decode("latin-1")

    @property
    def content_type(self) -> str:
        return self.header("content-type").partition(";")[0].strip().lower()

    def option(self, name: str) -> str | None:
        """A value of the query."""
        if not self.query:
            return None
        found = parse_qs(self.query, keep_blank_values=True).get(name)
        return found[-1] if found else None

    def number(self, name: str, default: int) -> int:
        """A whole number of the query."""
        text = self.option(name)
        if text is None:
            return default
        if not re.fullmatch(r"\d{1,18}", text):
            raise ServeError(422, f"{name}={text[:40]!r}: expected a whole number", "correct the address")
        return int(text)

    def flag(self, name: str) -> bool:
        return self.option(name) in ("1", "true", "")

    def read(self, decode: Any) -> Any:
        """The body as JSON of this kind."""
        try:
            return decode(self.body)
        except msgspec.ValidationError as problem:
            raise ServeError(422, f"the body: {problem}", "GET /openapi.json describes it") from None
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            raise ServeError(400, f"the body is not JSON: {problem}", "GET /openapi.json describes it") from None


@dataclass(slots=True)
class Response:
    """An answer: a value for JSON, or bytes of another type, or parts that come one after the other."""

    value: Any = None
    status: int = 200
    type: str = JSON
    body: bytes | None = None
    parts: AsyncIterator[bytes] | None = None
    headers: dict[str, str] = field(default_factory=dict)


class Route(NamedTuple):
    """A method and a path, the function of the endpoint, and its requirements."""

    method: str
    path: str  # parts in braces are names
    answer: Callable[[Any, Request], Awaitable[Response] | Response]
    level: str  # open, read, learn, admin
    summary: str
    takes: Any = None  # the kind of the body
    gives: Any = None
    limit: str = "body_mb"
    type: str = JSON  # of the answer


class Routes:
    """Routes by method and path."""

    def __init__(self, routes: list[Route]) -> None:
        self.all = routes
        self._tree: dict[int, list[tuple[list[str], Route]]] = {}
        for route in routes:
            parts = route.path.split("/")
            self._tree.setdefault(len(parts), []).append((parts, route))
        for some in self._tree.values():
            some.sort(key=lambda one: sum(part.startswith("{") for part in one[0]))

    def find(self, method: str, path: str) -> tuple[Route, list[str]]:
        parts = path.split("/")
        allowed = set()
        for pattern, route in self._tree.get(len(parts), ()):
            names = []
            for wanted, part in zip(pattern, parts, strict=True):
                if wanted.startswith("{"):
                    names.append(unquote(part))
                elif wanted != part:
                    break
            else:
                if route.method == method:
                    return route, names
                allowed.add(route.method)
        if allowed:
            raise ServeError(
                405,
                f"{method[:20]} is not allowed for this path",
                f"use {', '.join(sorted(allowed))}",
                {"allow": ", ".join(sorted(allowed))},
            )
        raise ServeError(404, f"unknown path {path[:200]!r}", "GET /openapi.json lists all")


async def read_body(request: Request, most: int, flag: str) -> None:
    """Read the body; an error if it is too large."""
    size = request.header("content-length")
    too_large = size.isdigit() and int(size) > most
    if too_large and int(size) > most + _DRAINED:
        raise _too_large(most, flag)
    parts: list[bytes] = []
    total = 0
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ConnectionResetError
        part = message.get("body", b"")
        total += len(part)
        too_large = too_large or total > most
        if total > most + _DRAINED:
            break
        if too_large:
            parts.clear()
        elif part:
            parts.append(part)
        if not message.get("more_body"):
            break
    if too_large:
        raise _too_large(most, flag)
    request.body = parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(most: int, flag: str) -> ServeError:
    text = f"the body is larger than {most >> 20:,} MB ({flag})"
    return ServeError(
        413, text, f"send less at once, or start the service with a larger {flag}", {"connection": "close"}
    )


async def send(send: Any, response: Response) -> None:
    """Send an answer."""
    if response.parts is not None:
        await _send_parts(send, response)
        return
    body = response.body if response.body is not None else _encode(response.value)
    headers = [*_json_headers] if response.type == JSON else [(b"content-type", response.type.encode()), *SAFE]
    headers.append((b"content-length", str(len(body)).encode()))
    headers += [(name.encode(), value.encode("latin-1", "replace")) for name, value in response.headers.items()]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _send_parts(send: Any, response: Response) -> None:
    assert response.parts is not None
    headers = [(b"content-type", response.type.encode()), *SAFE]
    headers += [(name.encode(), value.encode("latin-1", "replace")) for name, value in response.headers.items()]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    try:
        async for part in response.parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
    finally:
        await response.parts.aclose()  # type: ignore[attr-defined]
    await send({"type": "http.response.body", "body": b""})


def error_response(problem: Exception) -> Response:
    """The response to an error; an unexpected one is logged, and its response has no internals."""
    known = as_serve_error(problem)
    if known is None and isinstance(problem, RecursionError):
        known = ServeError(422, "the body has too many levels", "send flat features")
    if known is None and isinstance(problem, MemoryError):
        known = ServeError(503, "out of memory", "send less at once", {"retry-after": "5"})
    if known is None:
        log.error("unforeseen error", exc_info=problem)
        known = ServeError(500, "an internal error; the log of the service has details", "tell the operator")
    return Response(known.as_json(), known.status, headers=known.headers)


class Timing:
    """Counts and durations of requests, by route and status."""

    def __init__(self) -> None:
        self.bounds: list[float] = [0.0001 * 2**k for k in range(16)]
        self.counts: dict[tuple[str, int], int] = {}
        self.buckets: dict[str, list[int]] = {}
        self.sums: dict[str, float] = {}

    def add(self, route: str, status: int, seconds: float) -> None:
        self.counts[route, status] = self.counts.get((route, status), 0) + 1
        buckets = self.buckets.get(route)
        if buckets is None:
            buckets = self.buckets[route] = [0] * (len(self.bounds) + 1)
        place = 0 if seconds <= self.bounds[0] else min(int(seconds / self.bounds[0]).bit_length(), len(self.bounds))
        buckets[place] += 1
        self.sums[route] = self.sums.get(route, 0.0) + seconds

    def quantile(self, route: str, share: float) -> float | None:
        """An upper bound of this share of durations."""
        buckets = self.buckets.get(route)
        if not buckets:
            return None
        wanted, so_far = share * sum(buckets), 0
        for place, count in enumerate(buckets):
            so_far += count
            if so_far >= wanted:
                return self.bounds[min(place, len(self.bounds) - 1)]
        return self.bounds[-1]


now = time.perf_counter
to_thread = asyncio.to_thread
