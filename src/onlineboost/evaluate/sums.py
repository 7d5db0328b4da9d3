"""Sums over rows: numbers are added in order, so that rounding does not depend on batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onlineboost.data.batch import Floats


def running(sums: Sequence[float], rows: Sequence[Any]) -> Floats:
    """Each sum so far, and after each of the rows: [sums, 1 + rows].

    >>> running([1.0, 0.0], [[2.0, 3.0], [0.5, 0.5]]).tolist()
    [[1.0, 3.0, 6.0], [0.0, 0.5, 1.0]]
    """
    so_far = np.array(sums, np.float64)[:, None]
    found: Floats = np.cumsum(np.concatenate([so_far, np.array(rows, np.float64)], axis=1), axis=1)
    return found


def added(sums: Sequence[float], rows: Sequence[Any]) -> list[float]:
    """Each sum with the rows.

    >>> added([1.0, 0.0], [[2.0, 3.0], [0.5, 0.5]])
    [6.0, 1.0]
    """
    return running(sums, rows)[:, -1].tolist()  # type: ignore[no-any-return]


def added_at(sums: Floats, at: Any, rows: Floats) -> Floats:
    """A table of sums; each row is added at a place of it, counted over all its cells.

    >>> added_at(np.array([1.0, 0.0]), [1, 0, 1], np.array([2.0, 3.0, 0.5])).tolist()
    [4.0, 2.5]
    """
    places, values = np.concatenate([np.arange(sums.size), at]), np.concatenate([sums.ravel(), rows])
    found: Floats = np.bincount(places, values, sums.size).reshape(sums.shape).astype(np.float64)
    return found
