"""What rows pass before the committee sees them, by the class of the state."""

from __future__ import annotations

from typing import TypeAlias

from onlineboost import bins, standardize
from onlineboost.batch import Batch
from onlineboost.bins import BinsState
from onlineboost.standardize import StandardizeState

View: TypeAlias = StandardizeState | BinsState


def seen(view: View, batch: Batch, learning: bool) -> Batch:
    """The rows by what those before them taught. With ``learning``, each row of positive weight teaches the next."""
    if isinstance(view, BinsState):
        return bins.binned(view, batch, learning)
    return standardize.standardized(view, batch, learning)


def grown(view: View, n_features: int) -> View:
    """The same with room for more features."""
    return bins.grown(view, n_features) if isinstance(view, BinsState) else standardize.grown(view, n_features)
