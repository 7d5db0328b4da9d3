"""Chains of feature transforms, applied to rows before the committee."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from onlineboost.compiled.block import Call
from onlineboost.data.batch import Batch, Ints, Ints32, cut, longest_row, typed

_MOST = 1 << 22  # entries of the rows that are transformed at a time, if it is not a single one


class Level(NamedTuple):
    """A transform between two batches of a table: rows ``rows[0]`` to ``ends[number - 1]`` pass it.

    It writes its end to ``ends[number]``: the end of the rows, the row after which edges are due, or the row where the
    memory of ``after`` is full. Entries are written from the beginning of that memory.
    """

    before: Batch
    after: Batch
    rows: Ints
    ends: Ints
    number: int


class Transform(Protocol):
    """The state of a transform: a NamedTuple of arrays, with these methods."""

    @property
    def apart(self) -> bool:
        """Whether each model must transform rows by itself; else they may be transformed once for many models."""

    @property
    def pauses(self) -> bool:
        """Whether ``Learner.settle`` may have something to do after a row."""

    def call(self, level: Level, learning: bool) -> Call:
        """The call that transforms rows; with ``learning``, those of positive weight update the state."""

    def most(self, longest: int) -> int:
        """Maximum number of entries of a transformed row, given those of the row."""

    def grown(self, n_features: int) -> Self:
        """The same state with room for more features."""

    def continued(self, old: Any) -> Self:
        """This new state with the feature names of an old one, but not its learned state."""

    def sources(self, first: Ints32, second: Ints32, before: Batch) -> tuple[Ints32, Ints32]:
        """The one or two input features of each output feature of rows, given as its number; the second may be -1.

        ``before`` are the rows before the transform, for one that makes products: its output is that of these rows.
        """

    def output_names(self, names: Mapping[int, str]) -> Mapping[int, str]:
        """The names of the output features, given those of the input features."""

    def origins(self, given: Origins) -> Origins:
        """The features that each output feature is made of, by number, given those of the input features."""


Origins = Mapping[int, tuple[int, ...]]
Transforms = tuple[Transform, ...]


def output_names(transforms: Transforms, names: Mapping[int, str]) -> Mapping[int, str]:
    """The names of the features after all transforms, given those of the stream."""
    for transform in transforms:
        names = transform.output_names(names)
    return names


def transformed(transform: Transform, batch: Batch, learning: bool) -> Batch:
    """The first rows of a batch, at least one, after a transform, in memory of their own."""
    n, most = batch.y.size, transform.most(longest_row(batch))
    room = max(most, min(n * most, _MOST)) + 1
    after = Batch(np.empty(n + 1, np.int64), np.empty(room, np.int32), np.empty(room, np.float32), *batch[3:])
    ends = np.array([n, 0])
    transform.call(Level(typed(batch), after, np.zeros(1, np.int64), ends, 1), learning)()
    rows, size = int(ends[1]), after.indptr[ends[1]]
    entries = after.indptr[: rows + 1].copy(), after.indices[:size].copy(), after.values[:size].copy()
    return Batch(*entries, batch.y[:rows], batch.weight[:rows])


def through(transforms: Transforms, rows: Batch, learning: bool) -> Iterator[Batch]:
    """Rows after all transforms, in parts."""
    done = 0
    while transforms and done < rows.y.size:
        part = transformed(transforms[0], cut(rows, done, rows.y.size), learning)
        yield from through(transforms[1:], part, learning)
        done += part.y.size
    if not transforms:
        yield rows
