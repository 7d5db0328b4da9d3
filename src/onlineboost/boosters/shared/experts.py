"""Shared by boosters that weight experts, the votes of the first i learners, by Hedge."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from onlineboost.data.allocation import filled
from onlineboost.data.batch import Floats, Ints
from onlineboost.parameters import check_one_of

Expert = Literal["vote", "random", "last"]
EXPERTS: tuple[Expert, ...] = ("vote", "random", "last")


class Experts:
    """A booster with weights of learners and mistakes of experts in its state."""

    expert: Expert
    _booster_state: Any  # of ``Booster``

    @property
    def alphas_(self) -> Floats:
        """Weight of each learner in the vote, from -2 to 2; a negative one reverses the learner's vote."""
        alpha: Floats = self._booster_state().alpha
        return alpha.copy()

    @property
    def expert_mistakes_(self) -> Ints:
        """Number of mistakes of each expert (expert i: the vote of the first i learners)."""
        mistakes: Ints = self._booster_state().mistakes
        return mistakes.copy()

    def _experts(self) -> Ints | None:
        return self.expert_mistakes_

    def _new_experts(self, n_learners: int, seed: int) -> dict[str, Any]:
        """The fields of the state before the first example."""
        check_one_of("expert", self.expert, EXPERTS)
        return {
            "alpha": filled(0, n_learners),
            "mistakes": filled(0, n_learners, np.int64),
            "t": np.zeros(1, np.int64),
            "expert": EXPERTS.index(self.expert),
            "seed": seed,
        }
