"""Engines that run a race: threads of this process, or Ray on one machine or many."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, Protocol

from onlineboost.compiled.cores import n_cores
from onlineboost.errors import ConflictError
from onlineboost.parameters import check_count, check_one_of
from onlineboost.tuning.data import Data
from onlineboost.tuning.runs import Failure, Outcome, Run, attempt


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
        from onlineboost.tuning.ray_engine import Ray

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
