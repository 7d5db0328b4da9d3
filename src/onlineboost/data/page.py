"""Pages: a batch with the names, labels and schema known once it was read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from onlineboost.data.batch import Batch, cut
from onlineboost.data.schema import Schema


class Page(NamedTuple):
    """The unit that a stream yields and a model learns: ``for page in stream: model.learn(page)``."""

    batch: Batch
    names: list[tuple[int, str]]  # names of new features
    target: Any  # a ``Target``: the labels seen so far
    schema: Schema
    position: int = 0  # bytes read of all files so far
    skipped: int = 0  # records skipped since the last page
    problems: tuple[str, ...] = ()  # error messages of the first of them
    source: int = 0  # number of the file it is from
    fields: tuple[str, ...] | None = None  # columns of a table that are features; None: rows name their own
    kept: dict[str, list[Any]] | None = None  # cells of the columns that ``keep`` names, for each row
    gaps: tuple[int, ...] = ()  # number of the row after each skipped record
    sighted: tuple[tuple[int, str, int], ...] = ()  # row, column and id of each new cell of at least four words

    @property
    def n_rows(self) -> int:
        return self.batch.y.size

    def rows(self, start: int, stop: int) -> Page:
        """Some of the rows; nothing is copied, and all names come with them."""
        if (start, stop) == (0, self.n_rows):
            return self
        sighted = tuple((row - start, name, id) for row, name, id in self.sighted if start <= row < stop)
        return self._replace(batch=cut(self.batch, start, stop), sighted=sighted)


class Pages(Iterator[Page]):
    """A source of pages."""
