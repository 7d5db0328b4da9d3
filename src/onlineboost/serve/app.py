"""The ASGI application: finds the route of a request, checks access and limits, and sends the answer."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

from onlineboost import __version__
from onlineboost.serve import answers, http
from onlineboost.serve.alerts import Alerts
from onlineboost.serve.http import Request, Response, Routes, Timing
from onlineboost.serve.insight import Insights
from onlineboost.serve.samples import Samples
from onlineboost.serve.service import Service
from onlineboost.serve.state import Served
from onlineboost.serve.tokens import Tokens, check_origin
from onlineboost.serve.writer import Command

log = logging.getLogger("onlineboost.serve")
_EVERY = 1.0  # seconds


class App:
    """Answers requests to a service. ``hosts`` are the names that it has; None: any."""

    def __init__(
        self,
        service: Service,
        tokens: Tokens | None = None,
        hosts: set[str] | None = None,
        alerts: Alerts | None = None,
    ) -> None:
        from onlineboost.serve.routes import all_routes

        self.service, self.tokens, self.hosts = service, tokens, hosts
        self.state, self.limits = service.state, service.limits
        self.routes = Routes(all_routes())
        self.timing = Timing()
        self.stopping = asyncio.Event()
        self.active = 0
        self.one_rebuild = asyncio.Semaphore(1)
        self.stop: Callable[[], None] = self.stopping.set
        self.starting: list[str] = []  # models of files that the service starts with
        self.making: dict[str, asyncio.Task[None]] = {}  # default models that are made ready, by name
        self.streams = 0
        self.samples = Samples()
        self.insights, self.alerts = Insights(), alerts or Alerts()
        service.listeners.append(self.samples.hear)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news: asyncio.Event | None = None
        service.listeners.append(self._hear)

    def _hear(self, commands: list[Command]) -> None:
        """A group was written; called by the writer."""
        loop = self._loop
        if self._news is not None and loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        if self._news is not None:
            self._news.set()
            self._news = None

    async def news(self, seconds: float) -> None:
        """Wait until something is written, the service stops, or so many seconds have passed."""
        self._loop = asyncio.get_running_loop()
        if self._news is None:
            self._news = asyncio.Event()
        waits = [asyncio.ensure_future(one.wait()) for one in (self._news, self.stopping)]
        _, left = await asyncio.wait(waits, timeout=max(seconds, 0.0), return_when=asyncio.FIRST_COMPLETED)
        for one in left:
            one.cancel()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    async def _live(self, receive: Any, send: Any) -> None:
        watching: asyncio.Task[None] | None = None
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                watching = asyncio.create_task(self._watch())
            if message["type"] == "lifespan.shutdown":
                self.stopping.set()
                if watching is not None:
                    await watching
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return

    async def _watch(self) -> None:
        """Look at all models each second."""
        while not self.stopping.is_set():
            try:
                await asyncio.to_thread(self._look)
            except Exception:
                log.exception("the models cannot be watched now")
            await self.pause(_EVERY)

    def _look(self) -> None:
        found = self.overview()["models"]
        for metrics in found:
            served = self.state.models.get(metrics["model"])
            if served is not None:
                self.insights.note(served, metrics)
        self.alerts.look(found, time.monotonic())

    async def pause(self, seconds: float) -> None:
        """Wait until the service stops, or so many seconds have passed."""
        stopping = asyncio.ensure_future(self.stopping.wait())
        await asyncio.wait([stopping], timeout=seconds)
        stopping.cancel()

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        began, name, status = time.perf_counter(), "none", 500
        self.active += 1
        try:
            try:
                request = Request(
                    scope["method"], scope["path"], dict(scope["headers"]), scope["query_string"].decode("latin-1"), []
                )
                request.receive, request.send = receive, send
                path = scope.get("raw_path", b"").decode("latin-1").partition("?")[0] or scope["path"]
                route, request.names = self.routes.find(request.method, path)
                name = route.path
                if route.level != "open":
                    check_origin(request, self.hosts)
                    if self.tokens is not None:
                        self.tokens.check(request, route.level)
                if request.method in ("POST", "PUT"):
                    await http.read_body(request, getattr(self.limits, route.limit) << 20, _FLAGS[route.limit])
                response = route.answer(self, request)
                if not isinstance(response, Response):
                    response = await response
            except (ConnectionResetError, asyncio.CancelledError):
                raise
            except Exception as problem:
                response = http.error_response(problem)
            status = response.status
            await http.send(send, response)
        except ConnectionResetError:
            status = 499
        finally:
            self.active -= 1
            self.timing.add(name, status, time.perf_counter() - began)

    async def write(self, command: Command) -> Any:
        """The answer of the writer to a command, which is on disk then."""
        return await self.service.writer.ask(command, asyncio.get_running_loop())

    # ---- facts

    def model_facts(self, served: Served) -> dict[str, Any]:
        """What a model is."""
        fitted = answers.fitted_of(served.model)
        return {
            "name": served.name,
            "model": repr(served.model),
            "task": "regression" if fitted.of_numbers else "classification",
            "classes": None if fitted.of_numbers else fitted.target.classes.tolist(),
            "learned": served.model.n_seen_,
            "since": served.since,
            "changed": served.changed,
        }

    def status(self) -> dict[str, Any]:
        """The state of the service."""
        service, writer = self.service, self.service.writer
        head, shots = service.journal.committed, service.snapshots
        problems = writer.failure, writer.trouble, service.saver.problem, shots.differs
        return {
            "version": __version__,
            "role": service.role,
            "leader": service.leader,
            "epoch": head.epoch,
            "seq": head.seq,
            "chain": head.chain.hex(),
            "applied": service.state.seq,
            "snapshot": shots.last_seq,
            "waiting_for_writer": writer.n_waiting,
            "clock_behind": round(writer.clock.behind(), 3),
            "problems": [text for text in problems if text is not None],
            "getting_ready": service.state.waits(),
            "follower": service.follower.facts() if service.follower is not None else None,
            "models": sorted(service.state.models),
        }

    def overview(self) -> dict[str, Any]:
        """The state of the service and the metrics of all models."""
        waiting = self.waiting()
        models = [
            {
                "model": name,
                **answers.metrics(served.model),
                "no_change": served.watch.no_change(served.model),
                "waiting": waiting.get(name, 0),
                "requests": {**served.counts},
            }
            for name, served in sorted(self.state.models.items())
        ]
        return {
            "status": self.status(),
            "models": models,
            "latency": self.latency(),
            "alerts": [*self.alerts.recent],
            "time": time.time(),
        }

    def latency(self) -> dict[str, dict[str, float | None]]:
        """Quantiles of seconds of answers, by route."""
        shares = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
        return {
            route: {name: self.timing.quantile(route, share) for name, share in shares.items()}
            for route in [*self.timing.buckets]
        }

    def waiting(self) -> dict[str, int]:
        """Number of waiting tickets by model."""
        with self.service.journal.reader() as db:
            return dict(db.execute("select model, count(*) from tickets where done is null group by model").fetchall())

    def model_metrics(self, served: Served) -> dict[str, Any]:
        """How good a model is, and what waits."""
        with self.service.journal.reader() as db:
            text = "select count(*), min(time) from tickets where model = ? and done is null"
            waiting, oldest = db.execute(text, (served.name,)).fetchone()
        return {
            "model": served.name,
            **answers.metrics(served.model),
            "no_change": served.watch.no_change(served.model),
            "waiting": waiting,
            "oldest_waiting": oldest,
            "requests": dict(served.counts),
        }


_FLAGS = {"body_mb": "--max-body-mb", "model_mb": "--max-model-mb"}
