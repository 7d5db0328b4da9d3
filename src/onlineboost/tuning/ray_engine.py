"""The Ray engine: the examples are put into the object store once, runs go to free workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np

from onlineboost.data.batch import Batch
from onlineboost.scale import cluster
from onlineboost.tuning.data import Data
from onlineboost.tuning.runs import Failure, Outcome, Run, attempt

_RETRIES = 1  # if a worker dies
_mine: dict[str, Data] = {}  # in a worker: its examples


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
