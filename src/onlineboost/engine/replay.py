"""Replay: while a stream is young, all rows so far are learnt again, in a random order.

With ``replay = 1024`` that is after 64, 128, ... 1,024 rows: some 2,000 updates more in all.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from onlineboost.compiled.draws import uniforms
from onlineboost.data.batch import Batch, cut, joined, taken
from onlineboost.transforms.bins import FIRST

NOTHING = joined([])


def is_due(seen: int, most: int) -> bool:
    """Whether rows are replayed when so many have been learnt."""
    return FIRST <= seen <= most and seen & (seen - 1) == 0


def parts(rows: Batch, seen: int, most: int) -> Iterator[Batch]:
    """The rows, cut where a replay is due; rows of weight zero do not count."""
    if seen >= most:
        yield rows
        return
    counts = seen + np.cumsum(rows.weight > 0)
    start, due = 0, FIRST
    while due <= most:
        stop = int(np.searchsorted(counts, due)) + 1
        if due > seen and stop < rows.y.size:
            yield cut(rows, start, stop)
            start = stop
        due *= 2
    yield cut(rows, start, rows.y.size)


def reordered(rows: Batch, number: int) -> Batch:
    """The rows of positive weight in a random order, which depends on the number only."""
    learnt = np.flatnonzero(rows.weight > 0)
    return taken(rows, learnt[np.argsort(uniforms(number, learnt.size), kind="stable")])
