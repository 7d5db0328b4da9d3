"""Running statistics of a booster, for diagnostics; and its fixed settings."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onlineboost.data.allocation import filled
from onlineboost.data.batch import Floats, Ints
from onlineboost.storage.validity import COUNT, SUM, Limits, require


class Settings(NamedTuple):
    """Fixed settings of a booster and its committee."""

    n_learners: int
    hard: bool  # votes are rounded to -1 or +1, and 0 counts as +1
    sample: bool  # p is a probability, not a weight
    seed: int
    leading: bool = False  # the booster's vote uses the output of ``lead``, not the learners' votes
    scan: bool = False  # the booster's ``round`` can be run for some learners after the others
    numbers: bool = False  # targets are numbers, not labels


class Record(NamedTuple):
    """Running statistics for diagnostics."""

    clock: Ints  # [2] examples learned so far, and replayed
    edges: Floats  # [n_learners] sum of weight * label * vote: the advantage of each learner over guessing
    weights: Floats  # [n_learners] sum of weights; of numbers, see ``explained`` in ``loop.py``
    totals: Floats  # [5] weights of examples, as below
    # all; margin at most 0; only the first learner wrong; only the answer wrong; squared weights of these two

    def limits(self) -> Limits:
        return {"clock": COUNT, "weights": SUM, "totals": SUM}

    def check(self) -> None:
        require(bool((np.abs(self.edges) <= self.weights * (1 + 1e-6)).all()), "edges", "no more than the weights")
        require(bool((self.totals[1:4] <= self.totals[0] * (1 + 1e-6)).all()), "totals", "no more than the sum of all")


def new_record(n_learners: int) -> Record:
    return Record(np.zeros(2, np.int64), filled(0, n_learners), filled(0, n_learners), np.zeros(5))
