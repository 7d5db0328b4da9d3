"""Endpoints to watch the service: health, status, metrics, events, the page."""

from __future__ import annotations

from typing import Any

from onlineboost import __version__
from onlineboost.serve.app import App
from onlineboost.serve.errors import ServeError
from onlineboost.serve.http import Request, Response, Route


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
        raise ServeError(503, problem, "GET /v1/status says more")
    return Response({"status": "ready"})


def status(app: App, request: Request) -> Response:
    return Response(facts(app))


def facts(app: App) -> dict[str, Any]:
    """The state of the service."""
    service, writer = app.service, app.service.writer
    head = service.journal.committed
    return {
        "version": __version__,
        "role": service.role,
        "leader": service.leader,
        "epoch": head.epoch,
        "seq": head.seq,
        "applied": service.state.seq,
        "snapshot": service.snapshots.last_seq,
        "waiting_for_writer": writer.n_waiting,
        "clock_behind": round(writer.clock.behind(), 3),
        "problems": [
            text
            for text in (writer.failure, writer.trouble, service.saver.problem, service.snapshots.differs)
            if text is not None
        ],
        "follower": service.follower.facts() if service.follower is not None else None,
        "models": sorted(service.state.models),
    }


ROUTES = [
    Route("GET", "/healthz", live, "open", "Whether the process works"),
    Route("GET", "/readyz", ready, "open", "Whether requests are answered and written"),
    Route("GET", "/v1/status", status, "read", "Role, epoch, position, problems"),
]
