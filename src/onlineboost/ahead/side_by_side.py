"""Tasks of compiling, in processes on all cores, while this one goes on."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Self

from onlineboost.ahead.tasks import Task
from onlineboost.compiled import cache, cores

# A process keeps compiled code for its next task. It ends with this process: at the end of its input.
_WORKER = """
import os, pickle, queue, sys, threading
sys.path[:] = pickle.load(sys.stdin.buffer)
tasks = queue.SimpleQueue()

def read():
    try:
        while True:
            tasks.put(pickle.load(sys.stdin.buffer))
    except EOFError:
        os._exit(1)

import onlineboost
threading.Thread(target=read, daemon=True).start()
while True:
    task = tasks.get()
    try:
        task.run()
        answer = "onlineboost: done"
    except Exception:
        answer = "onlineboost: failed"
    print(answer, flush=True)
"""
_DONE, _FAILED = b"onlineboost: done", b"onlineboost: failed"
OnChange = Callable[[int, Sequence[Task]], None]  # number of tasks done, and those that run


class SideBySide:
    """Tasks that are compiled from ``with`` on, until they are done or it ends."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.tasks = tasks
        self._waiting, self._running, self._done = deque(tasks), list[Task](), list[Task]()
        self._stopped = threading.Event()
        self._processes: list[subprocess.Popen[bytes]] = []
        workers = range(min(cores.n_cores(), len(tasks)))
        self._threads = [threading.Thread(target=self._feed, daemon=True) for _ in workers]

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory()  # of all temporary files: processes may be killed
        for thread in self._threads:
            thread.start()
        return self

    def wait(self, on_change: OnChange = lambda done, running: None) -> list[Task]:
        """Wait for all. Returns the tasks that failed: their code is compiled when it is used."""
        for thread in self._threads:
            while thread.is_alive():
                on_change(len(self._done), self._running)
                thread.join(0.2)
        return [task for task in self.tasks if task not in self._done]

    def __exit__(self, *problem: object) -> None:
        self._stopped.set()
        for process in self._processes:
            process.kill()
        for thread in self._threads:
            thread.join()
        for process in self._processes:
            with suppress(OSError), process:  # closes its pipes, which may have unread content
                pass
        self._folder.cleanup()

    def _feed(self) -> None:
        """Give tasks to a process, and to another one if it dies."""
        process = None
        while not self._stopped.is_set():
            try:
                task = self._waiting.popleft()
            except IndexError:
                return
            if process is None:
                process = self._start()
                self._processes.append(process)
            self._running.append(task)
            said = _ask(process, task)
            self._running.remove(task)
            if said == _DONE:
                self._done.append(task)
                for name in task.names:
                    cache.note_done(name)
            if not said:
                process = None

    def _start(self) -> subprocess.Popen[bytes]:
        own = {"PYTHONSAFEPATH": "1", "ONLINEBOOST_QUIET": "1", "TMPDIR": self._folder.name}
        if cache.cache_directory():  # that of this process, whatever was named
            own["NUMBA_CACHE_DIR"] = os.path.dirname(cache.cache_directory())
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        process = subprocess.Popen(
            [sys.executable, "-c", _WORKER], env=os.environ | own, stdin=pipe, stdout=pipe, stderr=nothing
        )
        assert process.stdin is not None
        process.stdin.write(pickle.dumps(sys.path))
        return process


def _ask(process: subprocess.Popen[bytes], task: Task) -> bytes:
    """The answer of a process to a task; nothing if it dies."""
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(pickle.dumps(task))
        process.stdin.flush()
        return next((line.strip() for line in process.stdout if line.strip() in (_DONE, _FAILED)), b"")
    except OSError:
        return b""
    except (pickle.PicklingError, AttributeError, TypeError):  # such as a model with a function of a user's
        return _FAILED
