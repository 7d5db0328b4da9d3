"""Running statistics of a booster, for diagnostics; and its fixed settings."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onlineboost.data.batch import Floats, Ints


class Settings(NamedTuple):
    """How a booster meets its committee."""

    n_learners: int
    hard: bool  # votes are rounded to -1 or +1, and 0 counts as +1
    sample: bool  # p is a probability, not a weight
    seed: int


class Record(NamedTuple):
    """What a run leaves behind beside what was learnt."""

    clock: Ints  # [1] examples learnt so far
    edges: Floats  # [n_learners] sum of weight, label and vote: how much better than guessing each learner was
    weights: Floats  # [n_learners] sum of weights
    totals: (
        Floats  # [5] weights of examples: all; margin at or below zero; right, the first learner wrong; the reverse;
    )
    # and the squares of those of the last two


def new_record(n_learners: int) -> Record:
    return Record(np.zeros(1, np.int64), np.zeros(n_learners), np.zeros(n_learners), np.zeros(5))
