"""Pages: a batch with the names, labels and schema that became known with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from onlineboost.data.batch import Batch, cut
from onlineboost.data.schema import Schema
from onlineboost.data.target import Binary


class Page(NamedTuple):
    """What a stream yields and a model learns: ``for page in stream: model.learn(page)``."""

    batch: Batch
    names: list[tuple[int, str]]  # of features met for the first time
    target: Binary  # the labels met so far
    schema: Schema
    position: int = 0  # bytes read of all files so far
    skipped: int = 0  # records since the last page
    problems: tuple[str, ...] = ()  # of the first of them

    @property
    def n_rows(self) -> int:
        return self.batch.y.size

    def rows(self, start: int, stop: int) -> Page:
        """Some of the rows; nothing is copied, and all names come with them."""
        return self if (start, stop) == (0, self.n_rows) else self._replace(batch=cut(self.batch, start, stop))


class Pages(Iterator[Page]):
    """A source of pages."""
