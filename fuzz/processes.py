"""Commands in forks of this process, and a Ray cluster whose workers can be killed."""

from __future__ import annotations

import faulthandler
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from onlineboost.cli.app import main as onlineboost

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LIMIT = 300.0  # seconds; a command that takes longer hangs


class Process:
    """A fork that runs a command; what it prints goes to a pipe."""

    def __init__(self, arguments: list[object], before: Callable[[], object] = lambda: None) -> None:
        self.code: int | None = None  # negative: killed by this signal
        self.deadline = time.monotonic() + LIMIT
        self.end, writer = os.pipe()
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # in the fork, until the command begins
        self.pid = os.fork()
        if self.pid:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
            os.close(writer)
            return
        try:
            for number in (1, 2):
                os.dup2(writer, number)
            sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))  # noqa: SIM115
            faulthandler.register(signal.SIGUSR1)
            before()
            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # this script may run under nohup
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
            onlineboost([*map(str, arguments)])
        except SystemExit as end:
            sys.stdout.flush()
            os._exit(end.code if isinstance(end.code, int) else 0)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        os._exit(99)

    def ended(self) -> bool:
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        return self.code is not None

    def kill(self, kind: int) -> None:
        if not self.ended():
            os.kill(self.pid, kind)

    def wait(self) -> str:
        """What it printed, after its end; after the limit, an error with the stacks of its threads."""
        text, late = b"", False
        while True:
            left = self.deadline - time.monotonic()
            if left <= 0 and late:
                self.kill(signal.SIGKILL)
            elif left <= 0:
                late, left, self.deadline = True, 5, time.monotonic() + 5
                self.kill(signal.SIGUSR1)
            if select.select([self.end], [], [], max(left, 1))[0]:
                piece = os.read(self.end, 1 << 16)
                if not piece:
                    break
                text += piece
        os.close(self.end)
        if self.code is None:
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        assert not late, f"no end after {LIMIT:.0f} s: {text.decode()}"
        return text.decode()


_HOLDER = """
import json, os, sys
from onlineboost.scale import find_ray
ray = find_ray()
ray.init(
    "local", num_cpus=4, object_store_memory=80 << 20,
    include_dashboard=False, log_to_driver=False, logging_level="error",
)
theirs = {name: value for name, value in os.environ.items() if name.startswith("RAY_")}
print(json.dumps([ray.get_runtime_context().gcs_address, theirs]), flush=True)
sys.stdin.read()
"""


class Cluster:
    """A Ray cluster on this machine, in a process of its own: a driver that ends takes nothing with it."""

    def __init__(self) -> None:
        self.holder = subprocess.Popen([sys.executable, "-c", _HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.holder.stdout is not None
        started = self.holder.stdout.readline()
        if not started:
            raise SystemExit("Ray did not start: try again when the machine is less busy")
        self.address, needed = json.loads(started)
        os.environ.update(needed)  # what it takes to connect

    def close(self) -> None:
        self.holder.communicate()


def actors_of(holder: int) -> dict[int, str]:
    """Processes of our actors on the cluster that a process has started: what each is doing."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            title = (path / "cmdline").read_bytes().split(b"\0")[0].decode()
            if title.startswith("ray::Worker") and _parent(_parent(int(path.name))) == holder:  # the raylet's parent
                found[int(path.name)] = title.removeprefix("ray::Worker").removeprefix(".") or "between two tasks"
        except (OSError, ValueError):  # it has ended meanwhile
            continue
    return found


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
