"""What rows pass before the committee sees them, by the class of the state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from onlineboost import bins, features, standardize
from onlineboost.batch import Batch, cut
from onlineboost.bins import BinsState
from onlineboost.features import FeaturesState
from onlineboost.standardize import StandardizeState

View: TypeAlias = StandardizeState | BinsState | FeaturesState


def seen(view: View, batch: Batch, learning: bool) -> Batch:
    """The rows by what those before them taught. With ``learning``, each row of positive weight teaches the next."""
    if isinstance(view, BinsState):
        return bins.binned(view, batch, learning)
    if isinstance(view, FeaturesState):
        return features.shown(view, batch, learning)
    return standardize.standardized(view, batch, learning)


def grown(view: View, n_features: int) -> View:
    """The same with room for more features."""
    if isinstance(view, BinsState):
        return bins.grown(view, n_features)
    if isinstance(view, FeaturesState):
        return features.grown(view, n_features)
    return standardize.grown(view, n_features)


def anew(view: View, fresh: View) -> View:
    """A fresh view in the place of one that was told which features belong to which columns."""
    if isinstance(view, FeaturesState) and isinstance(fresh, FeaturesState):
        fresh.column[:] = view.column
    return fresh


def pieces(batch: Batch, views: tuple[View, ...]) -> Iterator[Batch]:
    """The batch in parts small enough for what the views make of them."""
    rows = min((features.piece(view, batch) for view in views if isinstance(view, FeaturesState)), default=batch.y.size)
    if rows >= batch.y.size:
        yield batch
        return
    for start in range(0, batch.y.size, rows):
        yield cut(batch, start, start + rows)


def names_of_shown(views: tuple[View, ...], names: Mapping[int, str]) -> Mapping[int, str]:
    """What the features stand for that the committee sees, given the names of those of the stream."""
    for view in views:
        if isinstance(view, BinsState):
            names = bins.slot_names(view, names)
        elif isinstance(view, FeaturesState):
            names = features.shown_names(view, names)
    return names
