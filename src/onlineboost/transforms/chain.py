"""Chains of feature transforms, applied to rows before the committee."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, Self

from onlineboost.data.batch import Batch, Ints32


class Transform(Protocol):
    """The state of a transform: a NamedTuple of arrays, with these methods."""

    @property
    def apart(self) -> bool:
        """Whether each model must transform rows by itself; else they may be transformed once for many models."""

    def apply(self, batch: Batch, learning: bool) -> Batch:
        """The first rows, at least one, transformed; with ``learning``, those of positive weight update the state."""

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
