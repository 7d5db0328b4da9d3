"""Chains of feature transforms, applied to rows before the committee."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, Self

from onlineboost.data.batch import Batch, cut


class Transform(Protocol):
    """The state of a transform: a NamedTuple of arrays, with these methods."""

    @property
    def expands(self) -> bool:
        """Whether transformed rows are so long that they should not all be kept in memory."""

    def apply(self, batch: Batch, learning: bool) -> Batch:
        """The transformed rows; with ``learning``, rows of positive weight update the state for the next row."""

    def grown(self, n_features: int) -> Self:
        """The same state with room for more features."""

    def continued(self, old: Any) -> Self:
        """This new state with the feature names of an old one, but nothing that it learnt."""

    def rows_at_once(self, batch: Batch) -> int:
        """How many rows of the batch can be transformed at a time."""

    def output_names(self, names: Mapping[int, str]) -> Mapping[int, str]:
        """The names of the output features, given those of the input features."""


Transforms = tuple[Transform, ...]


def transformed(batch: Batch, transforms: Transforms, learning: bool) -> Iterator[Batch]:
    """The batch after all transforms, in parts small enough for them."""
    rows = min((transform.rows_at_once(batch) for transform in transforms), default=batch.y.size)
    for start in range(0, batch.y.size, rows) if rows < batch.y.size else (0,):
        part = cut(batch, start, start + rows) if rows < batch.y.size else batch
        for transform in transforms:
            part = transform.apply(part, learning)
        yield part


def output_names(transforms: Transforms, names: Mapping[int, str]) -> Mapping[int, str]:
    """The names of the features after all transforms, given those of the stream."""
    for transform in transforms:
        names = transform.output_names(names)
    return names
