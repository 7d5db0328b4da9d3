"""The compiled functions of a booster, called one round at a time."""

from __future__ import annotations

import numpy as np

from onlineboost.engine import objects


def voted(booster, state, h) -> float:
    """The score of a committee with these votes."""
    return objects.voted(state, booster.traits["leading"], h, np.empty(h.size))


def rounded(booster, state, h, y, p, number: int | None = None) -> None:
    """A round with these votes and this label: writes the weights of the learners into p."""
    e = np.empty(h.size)
    objects.voted(state, booster.traits["leading"], h, e)
    objects.rounded(state, h, e, y, p, int(state.t[0]) if number is None and hasattr(state, "t") else number or 0)
