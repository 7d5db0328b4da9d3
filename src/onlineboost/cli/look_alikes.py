"""Columns that may be misread: numeric codes, words among numbers or dates.

| column | sign |
| --- | --- |
| codes | whole numbers, many and repeated, in a column named zip, id, sku or the like |
| codes | whole numbers of as many digits, few of those that measurements would have, and no round ones |
| words among numbers or dates | most cells of the first rows are numbers or dates, and others are words |
"""

from __future__ import annotations

import re
import shlex
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.cli.terminal import announce
from onlineboost.data.columns import Columns
from onlineboost.data.feature_names import column_of
from onlineboost.data.hashing import feature_id
from onlineboost.data.page import Page
from onlineboost.errors import listed

_ROWS, _ENOUGH = 2000, 100  # rows looked at; fewer are not enough
_MOST = 5  # columns reported one by one
_MANY = 30  # different values of codes
_EXACT = 1 << 24  # whole numbers up to here are float32
_ROUND, _USUAL = 0.4, 0.2  # shares of numbers: that end in 0 or 5, of one value; codes have fewer
_NUMBER, _DATE, _WORD, _MISSING = range(4)
_CODES = {
    *("code", "ean", "iban", "id", "ids", "isbn", "isin", "plz", "postal", "postalcode", "postcode", "sku", "upc"),
    *("userid", "zip", "zipcode"),
}


class LookAlikes:
    """Columns that look like codes, and columns of numbers or dates with words among them, by the first rows.

    >>> import pandas as pd
    >>> from onlineboost.readers import open_stream
    >>> frame = pd.DataFrame({"zip": [10001 + k * k % 97 for k in range(400)], "label": 0})
    >>> frame["size"], frame["sold"] = frame["zip"] / 7, ["2024-01-01"] * 400
    >>> found = LookAlikes()
    >>> found.meet(next(open_stream(frame)))
    >>> found.codes, found.numbers, found.dates
    (['zip'], ['zip', 'size'], ['sold'])
    """

    def __init__(self) -> None:
        self.codes: list[str] = []
        self.numbers: list[str] = []
        self.dates: list[str] = []
        self._names: list[tuple[int, str]] | None = []  # of features that were met; None: enough rows were looked at

    def meet(self, page: Page) -> None:
        """Look at a page of a new table, if no one before had enough rows; the pages of a decimal comma are short."""
        if self._names is None or page.fields is None:
            return
        self._names += page.names
        if page.n_rows >= _ENOUGH:
            self._look(page, self._names)
            self._names = None

    def _look(self, page: Page, names: list[tuple[int, str]]) -> None:
        fields, n = page.fields or (), min(page.n_rows, _ROWS)
        columns, kinds, rows, values = _entries(page, fields, names, n)
        counts = [_rows_by_column(columns[kinds == kind], rows[kinds == kind], len(fields), n) for kind in range(4)]
        known, dates = n - counts[_MISSING], counts[_DATE]
        numbers = known - counts[_WORD] - dates  # zeros are not written
        for k, name in enumerate(fields):
            if counts[_NUMBER][k] and 2 * numbers[k] > known[k]:
                self.numbers.append(name)
                mine = slice(*np.searchsorted(columns, (k, k + 1)))
                column = np.zeros(n)
                column[rows[mine]] = np.where(kinds[mine] == _NUMBER, values[mine], np.nan)
                if numbers[k] == known[k] >= _ENOUGH and are_codes(name, column[~np.isnan(column)]):
                    self.codes.append(name)
            elif 2 * dates[k] > known[k]:
                self.dates.append(name)

    def say(self, columns: Columns) -> None:
        """Report columns that may be misread, with their words and the option that changes it."""
        if self.codes:
            what = f"columns {listed(self.codes)} have" if len(self.codes) > 1 else f"column {self.codes[0]!r} has"
            flags = " ".join(f"--categorical {shlex.quote(name)}" for name in self.codes)
            announce(f"onlineboost: {what} numbers that look like codes; if they are, read them as names: {flags}")
        mixed = words_of(columns, {*self.numbers, *self.dates})
        for name in [*mixed][:_MOST]:
            words = mixed[name]
            kind = "numbers" if name in self.numbers else "dates"
            count = "another value" if len(words) == 1 else f"{len(words):,} other values"
            flag = f"--categorical {shlex.quote(name)} reads all cells as categories"
            announce(f"onlineboost: column {name!r} has {kind}, and {count}: {listed(words)}; {flag}")
        if len(mixed) > _MOST:
            what = f"{len(mixed) - _MOST:,} more columns have numbers or dates, and other values"
            announce(f"onlineboost: {what}: {listed([*mixed][_MOST:])}")


def are_codes(name: str, values: NDArray[Any]) -> bool:
    """Whether numbers look like codes, by the column's name or by the numbers themselves.

    >>> squares = np.arange(400) ** 2 % 9973
    >>> are_codes("zip", squares % 97), are_codes("size", squares % 97), are_codes("size", 10_001 + squares % 97 * 91)
    (True, False, True)
    """
    met, times = np.unique(values, return_counts=True)
    if met[0] < 0 or np.any(met % 1) or not _MANY <= met.size < 0.9 * values.size:
        return False
    if _CODES.intersection(part.lower() for part in re.findall("[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)):
        return True
    if met[0] < 1000 or met[-1] > _EXACT or len(str(int(met[0]))) != len(str(int(met[-1]))):
        return False
    span = met[-1] - met[0] + 1
    expected = span * -np.expm1(-values.size / span)  # expected number of different values for an even spread
    months = np.all((met // 100 >= 1900) & (met // 100 < 2100) & (met % 100 >= 1) & (met % 100 <= 12))
    return bool(
        2 * met.size < expected and np.mean(met % 5 == 0) < _ROUND and times.max() < _USUAL * values.size and not months
    )


def words_of(columns: Columns, names: set[str]) -> dict[str, list[str]]:
    """Words learned from these columns, by column."""
    found: dict[str, list[str]] = {}
    for feature in columns.names.values() if names else ():
        column = column_of(feature, names)
        word = feature[len(column) + 1 :]
        if column in names and feature[len(column) :].startswith("=") and word:
            found.setdefault(column, []).append(word)
    return found


def _entries(page: Page, fields: tuple[str, ...], names: list[tuple[int, str]], n: int) -> tuple[NDArray[Any], ...]:
    """The number of the column, the kind, the row and the value of each entry of the first n rows, by columns."""
    places = {name: k for k, name in enumerate(fields)}
    known = {feature_id(name): 4 * k + _NUMBER for name, k in places.items()}
    for id, name in names:
        column = column_of(name, places)
        rest = name[len(column) :]
        if column in places and rest:
            kind = _MISSING if rest == "=" else _WORD if rest.startswith("=") else _DATE
            known[id] = 4 * places[column] + kind
    ids = np.array(sorted(known), np.int64)
    codes = np.array([known[id] for id in ids.tolist()], np.int64)
    batch = page.batch
    start, stop = int(batch.indptr[0]), int(batch.indptr[n])
    met = batch.indices[start:stop].astype(np.int64)
    at = np.minimum(np.searchsorted(ids, met), ids.size - 1)
    mine = np.flatnonzero(ids[at] == met) if ids.size else np.empty(0, np.int64)
    mine = mine[np.argsort(codes[at[mine]] // 4, kind="stable")]
    rows = np.repeat(np.arange(n), np.diff(batch.indptr[: n + 1]))
    return codes[at[mine]] // 4, codes[at[mine]] % 4, rows[mine], batch.values[start:stop][mine]


def _rows_by_column(columns: NDArray[Any], rows: NDArray[Any], size: int, n: int) -> NDArray[Any]:
    """Number of rows in which each column has an entry."""
    return np.bincount(np.unique(columns * n + rows) // n, minlength=size)
