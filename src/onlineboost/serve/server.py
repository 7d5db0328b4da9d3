"""The HTTP server: uvicorn with httptools, in one process."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import sys
from collections.abc import Callable, Iterator

import uvicorn

from onlineboost.serve.app import App

log = logging.getLogger("onlineboost.serve")
_DRAIN = 20  # seconds for requests that are answered when the service stops


class Server(uvicorn.Server):
    """Stops at SIGTERM and SIGINT, and returns then: the exit code is the caller's."""

    started_at: Callable[[str], None] | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for one in (signal.SIGTERM, signal.SIGINT):
            with contextlib.suppress(NotImplementedError, ValueError, RuntimeError):
                loop.add_signal_handler(one, self._stop)
        yield

    def end(self) -> None:
        """Stop soon; any thread may call it."""
        self.should_exit = True

    def _stop(self) -> None:
        app = self.config.app
        if isinstance(app, App):
            app.stopping.set()  # streams of events end
        self.should_exit = True

    async def startup(self, sockets: object = None) -> None:
        await super().startup(sockets)  # type: ignore[arg-type]
        if self.started and self.started_at is not None:
            for one in self.servers:
                for socket in one.sockets:
                    host, port = socket.getsockname()[:2]
                    self.started_at(f"http://{host}:{port}")


def new_server(app: App, host: str, port: int, started: Callable[[str], None] | None = None) -> Server:
    """A server that is ready to run."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http="httptools",
        loop="auto",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_DRAIN,
        backlog=2048,
        h11_max_incomplete_event_size=1 << 16,
    )
    server = Server(config)
    server.started_at = started
    app.stop = server.end
    return server


def run(app: App, host: str, port: int, started: Callable[[str], None] | None = None) -> None:
    """Answer requests until SIGTERM or SIGINT; then finish what waits and take a snapshot."""
    gc.collect()
    gc.freeze()  # half a million objects of modules, which every collection would look at
    gc.set_threshold(20_000, 20, 50)  # a body of 1,000 rows is some thousand objects, without cycles
    sys.setswitchinterval(0.0005)  # the writer takes turns with the event loop at each statement of SQLite
    server = new_server(app, host, port, started)
    with contextlib.suppress(SystemExit):  # uvicorn's end if the port cannot be used
        server.run()
    if not server.started:
        raise OSError(f"port {port} of {host} cannot be used: another program may have it; take another with --port")
