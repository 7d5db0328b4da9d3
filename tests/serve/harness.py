"""A service in a thread, or in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

from onlineboost.serve import server
from onlineboost.serve.app import App
from onlineboost.serve.limits import Limits, Settings
from onlineboost.serve.service import Service
from onlineboost.serve.tokens import LOOPBACK

PERCEPTRON = {"model": "Perceptron"}


class Running:
    """A service that answers at ``address``."""

    def __init__(self, folder, *, follow=None, tokens=None, settings=None, limits=None, hosts=None):
        self.service = Service(Path(folder), settings or Settings(), limits or Limits(), follow)
        self.app = App(self.service, tokens, hosts)
        started = threading.Event()

        def note(address):
            self.address = address
            started.set()

        self.server = server.new_server(self.app, "127.0.0.1", 0, note)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        assert started.wait(20)

    def __call__(self, method, path, value=None, **headers):
        return request(self.address, method, path, value, **headers)

    def stop(self, close=True):
        self.app.stopping.set()
        self.server.should_exit = True
        self.thread.join(20)
        if close:
            self.service.close()


@contextlib.contextmanager
def running(folder, **given):
    one = Running(folder, **given)
    try:
        yield one
    finally:
        one.stop()


def request(address, method, path, value=None, **headers):
    """Status and body of an answer; JSON as values."""
    body = value if value is None or isinstance(value, bytes) else json.dumps(value).encode()
    headers = {name.replace("_", "-"): text for name, text in headers.items()}
    headers.setdefault("content-type", "application/json")
    asked = urllib.request.Request(address + path, body, headers, method=method)
    try:
        with urllib.request.urlopen(asked, timeout=120) as answer:
            return answer.status, _read(answer)
    except urllib.error.HTTPError as problem:
        with problem:
            return problem.status, _read(problem)


def _read(answer):
    body = answer.read()
    return json.loads(body) if answer.headers["content-type"] == "application/json" and body else body


@contextlib.contextmanager
def process(folder, *options):
    """``onlineboost serve`` as a process; yields it and its address."""
    command = [sys.executable, "-m", "onlineboost", "serve", "--dir", str(folder), "--port", "0", *options]
    one = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = one.stdout.readline()
        assert ": http" in line, one.stderr.read()
        yield one, line.split()[-1]
    finally:
        if one.poll() is None:
            os.kill(one.pid, signal.SIGKILL)
        one.communicate()


def until(condition, seconds=20.0):
    """Wait for something that comes soon."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def example(k):
    """The features and the label of an example."""
    return {"size": float(k % 7), "colour": "red" if k % 3 else "blue"}, "large" if k % 7 > 3 else "small"


__all__ = ["LOOPBACK", "PERCEPTRON", "Running", "example", "process", "request", "running", "until"]
