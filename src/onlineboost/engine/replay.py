"""Replay: while a stream is young, all rows so far are learned again, in a random order.

``replay = 512`` replays after 64, 128, 256 and 512 rows: about 1,000 more updates.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from onlineboost.compiled.draws import uniforms
from onlineboost.data.allocation import filled
from onlineboost.data.batch import LARGEST, Batch, Floats, Floats32, Ints, Ints32, joined, taken
from onlineboost.parameters import check_whole
from onlineboost.storage.validity import COUNT, HUGE, Limits, require
from onlineboost.transforms.bins import FIRST


class Kept(NamedTuple):
    """The first rows of positive weight, as a ``Batch`` has them; missing values are infinite."""

    indptr: Ints
    indices: Ints32
    values: Floats32
    y: Floats
    weight: Floats

    def limits(self) -> Limits:
        return {
            "indptr": COUNT,
            "indices": (0, np.iinfo(np.int32).max),
            "values": (-LARGEST, np.inf),
            "y": (0, HUGE),
            "weight": (0, LARGEST),
        }

    def check(self) -> None:
        ends = self.indptr
        require(bool(ends[0] == 0 and (np.diff(ends) >= 0).all() and ends[-1] == self.indices.size), "indptr", "rows")

    def check_labels(self, n_classes: int) -> None:
        """Raise an error unless labels are places of classes that are known."""
        require(bool(np.isin(self.y, np.arange(n_classes)).all()), "kept.y", "places of known classes")

    @property
    def sizes(self) -> list[int]:
        return [self.y.size, self.indices.size]

    def with_rows(self, rows: Batch) -> Self:
        """These rows and further ones."""
        learned = taken(rows, np.flatnonzero(rows.weight > 0))
        values = np.where(np.isnan(learned.values), np.float32(np.inf), learned.values)
        return type(self)(*joined([Batch(*self), learned._replace(values=values)]))

    def reordered(self, number: int) -> Batch:
        """The rows in a random order, which depends on the number only."""
        return taken(self.batch(), np.argsort(uniforms(number, self.y.size), kind="stable"))

    def batch(self) -> Batch:
        """The rows in their order."""
        return Batch(*self)._replace(values=np.where(np.isinf(self.values), np.float32(np.nan), self.values))


class KeptNumbers(Kept):
    """Rows whose targets are numbers."""

    def limits(self) -> Limits:
        return super().limits() | {"y": (-HUGE, HUGE)}

    def check_labels(self, n_classes: int) -> None:
        """Any number is a label."""


NOTHING = Kept(*joined([]))
NO_NUMBERS = KeptNumbers(*joined([]))


def planned_rows(sizes: Any, most: int, kind: type[Kept] = Kept) -> Kept:
    """Rows of these sizes, to be filled in."""
    n, entries = (check_whole("kept", size, 0, np.iinfo(np.int32).max) for size in sizes)
    check_whole("kept", n, 0, most)
    floats = filled(0, n), filled(0, n)
    return kind(filled(0, n + 1, np.int64), filled(0, entries, np.int32), filled(0, entries, np.float32), *floats)


def last(most: int) -> int:
    """The number of rows at the last replay; 0: no replays."""
    return 1 << (most.bit_length() - 1) if most >= FIRST else 0


def is_due(seen: int, most: int) -> bool:
    """Whether a replay is due after so many rows."""
    return FIRST <= seen <= most and seen & (seen - 1) == 0


def next_due(seen: int) -> int:
    """The number of rows at the next replay, after so many rows."""
    return max(FIRST, 1 << seen.bit_length())
