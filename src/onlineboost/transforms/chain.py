"""Chains of feature transforms, applied to rows before the committee."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, Self

from onlineboost.compiled.block import Call
from onlineboost.data.batch import Batch, Ints, Ints32


class Level(NamedTuple):
    """A transform between two batches of a table: rows ``rows[0]`` to ``ends[number - 1]`` pass it.

    It writes to ``ends[number]`` how far it came: to the end, to the row after which edges are due, or until the memory
    of ``after`` is full. Entries are written from the beginning of that memory.
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

    def apply(self, batch: Batch, learning: bool) -> Batch:
        """The first rows, at least one, transformed; with ``learning``, those of positive weight update the state."""

    def call(self, level: Level, learning: bool) -> Call:
        """``apply`` in memory that stays where it is."""

    def most(self, longest: int) -> int:
        """Most entries of a transformed row, given those of the row."""

    def grown(self, n_features: int) -> Self:
        """The same state with room for more features."""

    def continued(self, old: Any) -> Self:
        """This new state with the feature names of an old one, but nothing that it learnt."""

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
