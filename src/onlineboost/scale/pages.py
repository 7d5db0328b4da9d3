"""Pages of a stream on Ray: each goes to a free worker, and results come back in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, TypeVar

import numpy as np

from onlineboost.data.batch import Batch
from onlineboost.data.page import Page
from onlineboost.errors import WorkerError

Answer = TypeVar("Answer")
Work: TypeAlias = Callable[[Batch], Answer]

_AHEAD = 2  # pages in flight per worker
_RETRIES = 1  # tries if a worker dies
_EXPECTED = "expected the same version on all machines of the cluster"
_mine: dict[str, Work[Any]] = {}  # in a worker: its task


def in_order(
    ray: Any, work: Work[Answer], pages: Iterator[Page], jobs: int | None = None
) -> Iterator[tuple[int, Answer]]:
    """Apply ``work`` to the batch of each page in the workers; yields the number of rows of each page, and the result.

    Pages are read here, since a file must be read in order: the header names columns, and quotes decide where lines
    end. After an error of reading, the results for all earlier pages come first.

    Parameters
    ----------
    ray : module
        Ray, connected; see ``cluster``.
    work : callable
        Function that can be pickled, with everything that it needs, such as a model. It is sent once.
    pages : iterator of pages
        Pages of a stream.
    jobs : int or None, default=None
        Maximum number of pages in work at a time; None: the number of cores of the cluster.

    Yields
    ------
    (int, object)
        Number of rows of the page, and the result.
    """
    from onlineboost import __version__

    workers = jobs or max(1, int(ray.cluster_resources().get("CPU", 1)))
    shared = [ray.put(work)]  # in a list, so that each worker decides when to fetch it
    task = ray.remote(num_cpus=1, max_retries=_RETRIES)(_answer)
    on_the_way: deque[tuple[int, Any]] = deque()
    problem: Exception | None = None
    while problem is None:
        try:
            page = next(pages, None)
        except Exception as found:
            problem = found
            break
        if page is None:
            break
        if jobs is not None and len(on_the_way) >= jobs:
            ray.wait([reference for _, reference in on_the_way], num_returns=len(on_the_way) - jobs + 1)
        on_the_way.append((page.n_rows, task.remote(shared, __version__, page.batch)))
        while len(on_the_way) >= _AHEAD * workers or (on_the_way and ray.wait([on_the_way[0][1]], timeout=0)[0]):
            yield _taken(ray, *on_the_way.popleft())
    while on_the_way:
        yield _taken(ray, *on_the_way.popleft())
    if problem is not None:
        raise problem


def _taken(ray: Any, rows: int, reference: Any) -> tuple[int, Any]:
    try:
        return rows, ray.get(reference)
    except ray.exceptions.RayError as problem:
        cause = getattr(problem, "cause", problem)  # of an error that the work raised
        if "failed to import" in str(cause):  # Ray's message if a worker does not find this module
            raise WorkerError(f"onlineboost is not installed on a worker: {_EXPECTED}") from problem
        if isinstance(cause, ray.exceptions.RayError):
            raise WorkerError(f"a worker died: {str(cause).strip().splitlines()[0]}") from problem
        raise cause from problem


def _answer(shared: list[Any], version: str, batch: Batch) -> Any:
    """Runs in a worker. Arrays of the object store are read-only: Numba would compile everything again for those."""
    from onlineboost import __version__

    if __version__ != version:
        raise WorkerError(f"a worker has onlineboost {__version__}, this machine {version}: {_EXPECTED}")
    return _own(shared[0])(Batch._make(np.array(array) for array in batch))


def _own(reference: Any) -> Work[Any]:
    """The task, fetched once by each worker."""
    import ray

    if reference.hex() not in _mine:
        _mine.clear()
        _mine[reference.hex()] = ray.get(reference)
    return _mine[reference.hex()]
