"""Columns that look like ids: a different value in every row, which tells nothing of the next one."""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np

from onlineboost.cli.terminal import tell
from onlineboost.data.page import Page
from onlineboost.errors import listed

_ROWS, _ENOUGH = 1000, 100  # rows looked at; fewer are not enough
_EXACT = 1 << 24  # whole numbers up to here are float32


def warn_of_id_columns(page: Page) -> None:
    """Say which columns of the first page look like ids, and how to leave them out."""
    n = min(page.n_rows, _ROWS)
    if n < _ENOUGH:
        return
    words, counting = id_columns(page, n)
    for names, what in ((words, "a different value in every row"), (counting, "numbers that count up")):
        if names:
            drop = " ".join(f"--drop {shlex.quote(name)}" for name in names)
            if len(names) == 1:
                news = f"column {names[0]!r} has {what}, as an id has; if it is one, leave it out"
            else:
                news = f"columns {listed(names)} have {what}, as ids have; if they are ids, leave them out"
            tell(f"onlineboost: {news}: {drop}")


def id_columns(page: Page, n: int) -> tuple[list[str], list[str]]:
    """The columns of words that are all different in the first n rows, and those of whole numbers that count up.

    >>> from onlineboost.readers import open_stream
    >>> rows = [{"user": f"u{k}", "row": k, "size": k % 7, "label": k % 2} for k in range(50)]
    >>> id_columns(next(open_stream(rows)), 50)
    (['user'], ['row'])
    """
    batch = page.batch
    start, stop = int(batch.indptr[0]), int(batch.indptr[n])
    ids, values = batch.indices[start:stop], batch.values[start:stop]
    rows = np.repeat(np.arange(n), np.diff(batch.indptr[: n + 1]))
    met, times = np.unique(ids, return_counts=True)
    frequent = set(met[times >= n - 1].tolist())  # 0 is not written
    found: dict[str, list[int]] = {}  # ids of the words of each column
    counting = []
    for id, name in page.names:
        column, equals, word = name.partition("=")
        if equals and word:
            found.setdefault(column, []).append(id)
        elif not equals and id in frequent and _counts_up(values[ids == id], rows[ids == id], n):
            counting.append(name)
    words = [name for name, mine in found.items() if len(mine) >= n and _all_differ(ids, rows, mine, n)]
    return words, counting


def _all_differ(ids: Any, rows: Any, mine: list[int], n: int) -> bool:
    here = np.isin(ids, mine)
    return bool(here.sum() == n and np.unique(rows[here]).size == n and np.unique(ids[here]).size == n)


def _counts_up(values: Any, rows: Any, n: int) -> bool:
    """Whether there is a whole number in every row, each above the one before; large ones are rounded."""
    if values.size < n - 1 or np.unique(rows).size != values.size:
        return False
    column = np.zeros(n)
    column[rows] = values
    steps = np.diff(column)
    whole = bool(np.all(column == np.floor(column)))  # NaN is not
    return whole and bool(np.all(steps > 0) or (abs(column).max() > _EXACT and np.all(steps >= 0) and steps.any()))
