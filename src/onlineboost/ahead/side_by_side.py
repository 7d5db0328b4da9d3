"""Tasks of compiling, in processes on all cores."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from onlineboost import __file__ as package
from onlineboost.ahead.tasks import Task
from onlineboost.compiled import cache

# What a process has compiled for one task is there for its next.
_WORKER = """
import pickle, sys
while True:
    pickle.load(sys.stdin.buffer).run()
    print(flush=True)
"""
OnDone = Callable[[int, Sequence[Task]], None]  # number of tasks done, and those that run


def n_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def compile_all(tasks: Sequence[Task], on_done: OnDone = lambda done, running: None) -> list[Task]:
    """Run the tasks in processes. Returns those that failed: their code is compiled when it is used."""
    waiting, running, done = deque(tasks), list[Task](), list[Task]()
    processes = [_start() for _ in range(min(n_cores(), len(tasks)))]

    def feed(process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None and process.stdout is not None
        while waiting:
            task = waiting.popleft()
            running.append(task)
            on_done(len(done), running)
            try:
                pickle.dump(task, process.stdin)
                process.stdin.flush()
                if process.stdout.readline():
                    done.append(task)
                    for name in task.names:
                        cache.note_done(name)
            except OSError:  # the process is gone
                pass
            running.remove(task)
            on_done(len(done), running)
            if process.poll() is not None:
                return

    threads = [threading.Thread(target=feed, args=(process,), daemon=True) for process in processes]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    return [task for task in tasks if task not in done]


def _start() -> subprocess.Popen[bytes]:
    """A process with this package first on its path."""
    path = [str(Path(package).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    own = {"PYTHONPATH": os.pathsep.join(path), "PYTHONSAFEPATH": "1", "ONLINEBOOST_QUIET": "1"}
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    return subprocess.Popen(
        [sys.executable, "-c", _WORKER], env=os.environ | own, stdin=pipe, stdout=pipe, stderr=nothing
    )
