"""Checks of columns on the first page: whether they look like ids, and whether a model knows them.

An id has a different value in every row, so it says nothing about later rows.
"""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.cli.terminal import announce
from onlineboost.data.batch import Batch
from onlineboost.data.columns import is_lag
from onlineboost.data.page import Page
from onlineboost.errors import DataError, listed
from onlineboost.model import OnlineModel

_ROWS, _ENOUGH = 1000, 100  # rows looked at; fewer are not enough
_EXACT = 1 << 24  # whole numbers up to here are float32
_COLUMNS = 64  # numeric columns of a table; more are words of a text


def warn_of_id_columns(page: Page) -> None:
    """Report columns of the first page that look like ids, and the option that leaves them out."""
    n = min(page.n_rows, _ROWS)
    if n < _ENOUGH:
        return
    words, counting = id_columns(page, n)
    for names, what in ((words, "a different value in every row"), (counting, "numbers that count up")):
        if names:
            drop = " ".join(f"--drop {shlex.quote(name)}" for name in names)
            if len(names) == 1:
                news = f"column {names[0]!r} has {what}, like an id; if it is one, leave it out"
            else:
                news = f"columns {listed(names)} have {what}, like ids; if they are ids, leave them out"
            announce(f"onlineboost: {news}: {drop}")


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
    words = []
    for name, mine in found.items():
        here = np.isin(ids, mine) if len(mine) >= n else np.zeros(0, bool)
        if here.sum() == n and np.unique(rows[here]).size == n and np.unique(ids[here]).size == n:
            words.append(name)
    return words, counting


def _counts_up(values: Any, rows: Any, n: int) -> bool:
    """Whether there is a whole number in every row, each above the one before; large ones are rounded."""
    if values.size < n - 1 or np.unique(rows).size != values.size:
        return False
    column = np.zeros(n)
    column[rows] = values
    steps = np.diff(column)
    whole = bool(np.all(column == np.floor(column)))  # NaN is not
    return whole and bool(np.all(steps > 0) or (abs(column).max() > _EXACT and np.all(steps >= 0) and steps.any()))


def features_of(batch: Batch) -> NDArray[Any]:
    """The features of a batch."""
    return np.unique(batch.indices[batch.indptr[0] : batch.indptr[-1]])


def check_features(model: OnlineModel, met: NDArray[Any], rows: int) -> None:
    """Raise an error if the model knows none of the features; warn if it knows few, or columns are absent."""
    if model._fitted is None or not met.size or not any(model._fitted.root.sizes):
        return
    share = float(np.mean(model._fitted.root.knows(met)))
    if share == 0:
        raise DataError("the model knows none of the features: expected data with the columns of the training data")
    if share < 0.5:
        announce(f"onlineboost: the model knows only {share:.0%} of the features of the first rows")
    # For tables, whose columns have few names; not for words or "color=red".
    numbers = {id: name for id, name in model._fitted.columns.names.items() if "=" not in name and not is_lag(name)}
    absent = [repr(name) for id, name in numbers.items() if id not in met]
    if absent and len(numbers) <= _COLUMNS:
        announce(
            f"onlineboost: no value of {', '.join(absent)} in the first {rows:,} rows: "
            "does the file have all columns of the training data?"
        )
