"""A chain of transforms: what rows pass before the committee sees them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, Self

from onlineboost.data.batch import Batch, cut


class Transform(Protocol):
    """The state of a transform: a NamedTuple of arrays, with these methods."""

    @property
    def expands(self) -> bool:
        """Whether rows become so long that they should not all be kept."""

    def apply(self, batch: Batch, learning: bool) -> Batch:
        """The rows by what those before them taught; with ``learning``, rows of positive weight teach the next."""

    def grown(self, n_features: int) -> Self:
        """The same with room for more features."""

    def continued(self, old: Any) -> Self:
        """A new state in the place of an old one: keeps what that was told about names, nothing that it learnt."""

    def rows_at_once(self, batch: Batch) -> int:
        """How many rows of the batch can be transformed at a time."""

    def output_names(self, names: Mapping[int, str]) -> Mapping[int, str]:
        """The names of the features that come out, given the names of those that go in."""


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
    """What the features stand for that the committee sees, given the names of those of the stream."""
    for transform in transforms:
        names = transform.output_names(names)
    return names
