"""Engines that run a race: threads of this process, or Ray on one machine or many."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from typing import Any, Protocol

import numpy as np

from onlineboost.compiled.cores import n_cores
from onlineboost.data.batch import Batch
from onlineboost.errors import ConflictError
from onlineboost.parameters import check_count, check_one_of
from onlineboost.scale import cluster
from onlineboost.tuning.data import Data
from onlineboost.tuning.runs import Failure, Outcome, Run, attempt

_RETRIES = 1  # if a worker dies
_mine: dict[str, Data] = {}  # in a worker: its examples


class Engine(Protocol):
    """Advances runs. A ticket stands for a run in progress; only the engine reads it."""

    def advance(self, tickets: list[Any], stop: int) -> Iterator[tuple[int, list[Outcome] | Failure, Any]]:
        """Advance all runs to example ``stop``. Yields as each is done: position in the list, outcomes, new ticket.

        The list is emptied.
        """

    def close(self) -> None: ...


def open_engine(name: str, data: Data, workers: int | None, address: str | None) -> Engine:
    check_one_of("engine", name, ("threads", "ray"))
    if workers is not None:
        check_count("workers", workers)
    if name == "ray":
        return Ray(data, workers, address)
    if address is not None:
        raise ConflictError("address=... has no effect with engine='threads', which run in this process: engine='ray'")
    return Threads(data, workers)


class Threads:
    """Threads: compiled code releases Python's lock, so that each uses a core. A ticket is the run itself."""

    def __init__(self, data: Data, workers: int | None) -> None:
        self.data, self.workers = data, workers or n_cores()
        self.pool = ThreadPoolExecutor(self.workers, "onlineboost-tune")
        self.stopped = threading.Event()

    def advance(self, tickets: list[Any], stop: int) -> Iterator[tuple[int, list[Outcome] | Failure, Run]]:
        places = len(tickets)
        jobs: dict[Future[list[Outcome] | Failure], tuple[int, Run]] = {}
        while tickets or jobs:
            while tickets and len(jobs) < 2 * self.workers:  # bounded, so that results do not fill the memory
                run = tickets.pop(0)
                job = self.pool.submit(attempt, run, self.data, stop, self.stopped.is_set)
                jobs[job] = places - len(tickets) - 1, run
            for job in wait(jobs, return_when=FIRST_COMPLETED).done:
                place, run = jobs.pop(job)
                yield place, job.result(), run

    def close(self) -> None:
        self.stopped.set()
        self.pool.shutdown(cancel_futures=True)


class Ray:
    """A ticket is a run, or a reference to one in the object store."""

    def __init__(self, data: Data, workers: int | None, address: str | None) -> None:
        self.open = ExitStack()
        self.ray = self.open.enter_context(cluster(workers, address))
        self.workers = workers
        self.data = self.ray.put(data)
        self.task = self.ray.remote(num_cpus=1, max_retries=_RETRIES, num_returns=2)(_advance)

    def advance(self, tickets: list[Any], stop: int) -> Iterator[tuple[int, list[Outcome] | Failure, Any]]:
        places = len(tickets)
        running: dict[Any, tuple[int, Any]] = {}
        while tickets or running:
            while tickets and len(running) < (self.workers or places):
                found, new = self.task.remote([self.data], tickets.pop(0), stop)
                running[found] = places - len(tickets) - 1, new
            ready, _ = self.ray.wait(list(running), num_returns=1)
            place, new = running.pop(ready[0])
            try:
                outcome = self.ray.get(ready[0])
            except self.ray.exceptions.RayError as problem:
                outcome = Failure(f"the worker died: {str(problem).strip().splitlines()[0]}")
            yield place, outcome, new

    def close(self) -> None:
        del self.data
        self.open.close()


def _advance(place: list[Any], ticket: Run | bytes, stop: int) -> tuple[list[Outcome] | Failure, bytes]:
    """Runs in a worker. The run is returned as bytes: arrays would come back read-only."""
    from ray import cloudpickle

    run: Run = cloudpickle.loads(ticket) if isinstance(ticket, bytes) else ticket
    found = attempt(run, _own(place[0]), stop)
    return found, b"" if isinstance(found, Failure) else cloudpickle.dumps(run)


def _own(reference: Any) -> Data:
    """The examples, copied once in each worker: arrays of the object store are read-only, and Numba would compile
    everything again for those."""
    import ray

    if reference.hex() not in _mine:
        _mine.clear()
        data: Data = ray.get(reference)
        data.batch = Batch._make(np.array(array) for array in data.batch)
        _mine[reference.hex()] = data
    return _mine[reference.hex()]
