"""``onlineboost serve`` as forks of one process that has loaded all code, so that it starts within a moment.

A line of standard input is a JSON list: a file for what the command prints, and its arguments. The number of the
process comes back.
"""

from __future__ import annotations

import contextlib
import faulthandler
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from onlineboost import OnlineBBM, OnlineBoost, OnlineBoostRegressor, Perceptron
from onlineboost.cli.app import main as onlineboost
from onlineboost.parameters import described
from onlineboost.serve import ServiceError

LIMIT = 120.0  # seconds; an answer that takes longer hangs
MODELS = {"one": Perceptron(), "trees": OnlineBBM(n_estimators=5, random_state=1)}


class Forge:
    """Starts services, and ends them with itself."""

    def __init__(self, log: Path) -> None:
        self.log, self.started = log, set[int]()
        command = [sys.executable, __file__]
        self.parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def start(self, *arguments: object) -> int:
        """The number of a process that runs ``onlineboost serve`` with these arguments."""
        assert self.parent.stdin is not None and self.parent.stdout is not None
        print(json.dumps([str(self.log), "serve", *map(str, arguments)]), file=self.parent.stdin, flush=True)
        number = int(self.parent.stdout.readline())
        self.started.add(number)
        return number

    def end(self, number: int, kind: int = signal.SIGKILL) -> None:
        """Send a signal to a process, and wait for its end."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, kind)
        while is_alive(number):
            time.sleep(0.002)
        self.started.discard(number)

    def show(self) -> None:
        """Print the last lines of the log, with the stacks of the processes that are there."""
        for number in self.started:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGUSR1)
        time.sleep(1)
        print("alive:", [number for number in self.started if is_alive(number)], file=sys.stderr)
        print(self.log.read_text()[-8000:], file=sys.stderr)

    def close(self) -> None:
        for number in [*self.started]:
            self.end(number)
        assert self.parent.stdin is not None
        self.parent.stdin.close()
        self.parent.wait()

    def __enter__(self) -> Forge:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def send(method: str, address: str, value: Any = None) -> Any:
    """The answer as JSON, or its bytes; a ``ServiceError`` for others than 2xx."""
    body = None if value is None else json.dumps(value).encode()
    request = urllib.request.Request(address, body, {"content-type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=LIMIT) as answer:
            found = answer.read()
            return json.loads(found) if answer.headers["content-type"] == "application/json" else found
    except urllib.error.HTTPError as problem:
        with problem:
            raise ServiceError(problem.status or 0, problem.read().decode()) from None


def put(address: str, name: str, model: Any) -> None:
    """Make a model."""
    send("PUT", f"{address}/v1/models/{name}", {"model": described(model)})


def is_up(address: str) -> bool:
    try:
        send("GET", address + "/healthz")
    except (OSError, http.client.HTTPException):
        return False
    return True


def free_port() -> int:
    """A port that no connection of a client takes while its service is down."""
    while True:
        port = random.randrange(12_000, 32_000)
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port


def is_alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


def child(log: str, arguments: list[str]) -> None:
    code = 99
    try:
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for end in (1, 2):
            os.dup2(file, end)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        faulthandler.enable()
        faulthandler.register(signal.SIGUSR1)
        onlineboost(arguments)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        os._exit(code)


def main() -> None:
    from onlineboost.serve import app, server, service  # noqa: F401  forks find them loaded
    from onlineboost.serve.state import begin, warm

    for model in (*MODELS.values(), OnlineBoost(), OnlineBoostRegressor()):
        one = begin(model)
        warm(one)
        with tempfile.TemporaryDirectory() as folder:
            one.save(Path(folder) / "model")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    for line in sys.stdin:
        log, *arguments = json.loads(line)
        number = os.fork()
        if not number:
            child(log, arguments)
        print(number, flush=True)


if __name__ == "__main__":
    main()
