"""Scores and probabilities: arrays [rows, width], with a column for each of more than two labels, else one.

Public scores of a single column have the shape [rows].
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onlineboost.data.batch import Floats

LEAST = 5e-324  # a score above 0


def squeezed(scores: Floats) -> Floats:
    """Public scores."""
    return scores[:, 0] if scores.shape[1] == 1 else scores


def as_columns(scores: Floats) -> Floats:
    """Internal scores, from public ones."""
    return scores[:, None] if scores.ndim == 1 else scores


def widened(scores: Floats, width: int, probabilities: bool = False) -> Floats:
    """With a column for each label; minus infinity for labels not learned."""
    if scores.shape[1] >= width:
        return scores
    found = np.full((len(scores), width), 0.0 if probabilities else -np.inf)
    known = scores.shape[1]
    if known == 1:  # that of the second label; a score of 0 counts as positive
        found[:, :1] = 1 - scores if probabilities else np.where(scores == 0, -LEAST, -scores)
        found[:, 1:2] = scores
    else:
        found[:, :known] = scores
    return found


def joined_scores(parts: Sequence[Floats], width: int = 1, probabilities: bool = False) -> Floats:
    """The rows of all parts, one after the other, at least as wide as this."""
    if len(parts) == 1:
        return widened(parts[0], width, probabilities)
    width = max([width, *(part.shape[1] for part in parts)])
    return np.concatenate([np.empty((0, width)), *(widened(part, width, probabilities) for part in parts)])
