"""What rows pass before the committee sees them, by the class of the state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from onlineboost.data.batch import Batch, cut
from onlineboost.transforms import bins, standardize
from onlineboost.transforms import crosses as features
from onlineboost.transforms.bins import BinsState
from onlineboost.transforms.crosses import CrossesState
from onlineboost.transforms.standardize import StandardizeState

Transform: TypeAlias = StandardizeState | BinsState | CrossesState


def seen(view: Transform, batch: Batch, learning: bool) -> Batch:
    """The rows by what those before them taught. With ``learning``, each row of positive weight teaches the next."""
    if isinstance(view, BinsState):
        return bins.binned(view, batch, learning)
    if isinstance(view, CrossesState):
        return features.shown(view, batch, learning)
    return standardize.standardized(view, batch, learning)


def grown(view: Transform, n_features: int) -> Transform:
    """The same with room for more features."""
    if isinstance(view, BinsState):
        return bins.grown(view, n_features)
    if isinstance(view, CrossesState):
        return features.grown(view, n_features)
    return standardize.grown(view, n_features)


def anew(view: Transform, fresh: Transform) -> Transform:
    """A fresh view in the place of one that was told which features belong to which columns."""
    if isinstance(view, CrossesState) and isinstance(fresh, CrossesState):
        fresh.column[:] = view.column
    return fresh


def pieces(batch: Batch, views: tuple[Transform, ...]) -> Iterator[Batch]:
    """The batch in parts small enough for what the views make of them."""
    rows = min((features.piece(view, batch) for view in views if isinstance(view, CrossesState)), default=batch.y.size)
    if rows >= batch.y.size:
        yield batch
        return
    for start in range(0, batch.y.size, rows):
        yield cut(batch, start, start + rows)


def names_of_shown(views: tuple[Transform, ...], names: Mapping[int, str]) -> Mapping[int, str]:
    """What the features stand for that the committee sees, given the names of those of the stream."""
    for view in views:
        if isinstance(view, BinsState):
            names = bins.slot_names(view, names)
        elif isinstance(view, CrossesState):
            names = features.shown_names(view, names)
    return names
