"""Endpoints to watch the service: health, status, metrics, events, the page."""

from __future__ import annotations

import functools

import msgspec

from onlineboost.serve import openapi, page, prometheus, stream
from onlineboost.serve.app import App
from onlineboost.serve.errors import ServeError
from onlineboost.serve.http import Request, Response, Route, to_thread


def live(app: App, request: Request) -> Response:
    if app.service.writer.failure is not None:
        raise ServeError(503, app.service.writer.failure, "restart the service")
    return Response({"status": "alive"})


def ready(app: App, request: Request) -> Response:
    service = app.service
    problem = service.writer.failure or service.writer.trouble or service.snapshots.differs
    if service.follower is not None and service.role == "follower":
        problem = problem or service.follower.ended
    if service.role == "fenced":
        problem = f"epoch {service.journal.get('fenced')} began elsewhere"
    if app.stopping.is_set():
        problem = "the service stops"
    if problem is not None:
        raise ServeError(503, problem, "GET /v1/status says more", {"retry-after": "5"})
    state = service.state
    starting = [name for name in app.starting if name not in state.models]
    if not state.models:
        starting += state.coming
    if starting:
        raise state.not_ready(starting[0])
    return Response({"status": "ready", "getting_ready": state.waits()} if state.coming else {"status": "ready"})


def status(app: App, request: Request) -> Response:
    return Response(app.status())


def prometheus_text(app: App, request: Request) -> Response:
    return Response(body=prometheus.text(app).encode(), type=prometheus.TYPE)


def events(app: App, request: Request) -> Response:
    return Response(parts=stream.events(app), type=stream.TYPE)


def openapi_document(app: App, request: Request) -> Response:
    return Response(body=_document(), type="application/json")


@functools.cache
def _document() -> bytes:
    from onlineboost.serve.routes import all_routes

    return msgspec.json.encode(openapi.document(all_routes()))


def the_page(app: App, request: Request) -> Response:
    body, headers = page.made()
    return Response(body=body, type=page.TYPE, headers=headers)


async def insight(app: App, request: Request) -> Response:
    served = app.state.served(request.names[0])
    return Response(await to_thread(app.insights.of, served))


ROUTES = [
    Route("GET", "/healthz", live, "open", "Whether the process works"),
    Route("GET", "/readyz", ready, "open", "Whether requests are answered and written"),
    Route("GET", "/", the_page, "open", "The page", type=page.TYPE),
    Route("GET", "/openapi.json", openapi_document, "open", "This document"),
    Route("GET", "/metrics", prometheus_text, "read", "Metrics for Prometheus", type=prometheus.TYPE),
    Route("GET", "/v1/models/{model}/insight", insight, "read", "Members, strongest features, calibration, history"),
    Route("GET", "/v1/events", events, "read", "Metrics and examples as server-sent events", type=stream.TYPE),
    Route("GET", "/v1/status", status, "read", "Role, epoch, position, problems"),
]
