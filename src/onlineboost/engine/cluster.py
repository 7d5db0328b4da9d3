"""A Ray cluster: connected to, or started on this machine."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from onlineboost.errors import MissingPackageError

_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_IGNORE_UNHANDLED_ERRORS": "1",  # actors that die are made again
}


def find_ray(what: str = "engine='ray'") -> Any:
    """The module ``ray``; if it is not installed, the error says that ``what`` needs it."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError:
        raise MissingPackageError(what, "Ray", "'onlineboost[ray]'") from None
    return ray


@contextmanager
def cluster(workers: int | None, address: str | None) -> Iterator[Any]:
    """The module ``ray``, connected; may be shared by several tasks, and by the caller, who keeps it if it was there.

    Without an address, here or in the environment variable RAY_ADDRESS, Ray is started on this machine with this number
    of workers, one per core by default.
    """
    ray = find_ray()
    started = not ray.is_initialized()
    try:
        if started:
            place = address or os.environ.get("RAY_ADDRESS") or "local"
            local = {"num_cpus": workers} if workers and place == "local" else {}
            ray.init(place, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR, **local)
        yield ray
    finally:
        if started:
            ray.shutdown()
