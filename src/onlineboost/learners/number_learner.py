"""The base class of regression learners: each is a regressor by itself, and creates committees of N copies."""

from __future__ import annotations

from typing import Any

from onlineboost.engine.committee import Committee, new_committee
from onlineboost.engine.regression import RegressionNode, regression_node
from onlineboost.engine.replay import NO_NUMBERS
from onlineboost.learners.base import WeakLearner
from onlineboost.loop.link import Alone
from onlineboost.loop.record import Settings
from onlineboost.loop.target_scaling import NumberHead
from onlineboost.regressor import OnlineRegressor


class NumberLearner(WeakLearner, OnlineRegressor):
    """A compiled weak learner for regression, written like a ``Learner``: targets ``t`` and votes ``h`` are real."""

    def _new_node(self, n_features: int, seed: int | None = None) -> RegressionNode:
        return regression_node(self._part_node(n_features, seed))

    def _part_node(self, n_features: int, seed: int | None = None) -> Committee:
        """The inner node, which gets scaled targets."""
        return compiled_numbers(self, Alone(1), n_features, Settings(1, False, False, 0, scan=True, numbers=True))


def compiled_numbers(learner: Any, booster: Any, n_features: int, settings: Settings) -> Committee:
    """The node of a committee of regression learners."""
    head = NumberHead(settings.n_learners)
    node: Committee = new_committee(learner, booster, head, n_features, settings, kept=NO_NUMBERS)
    return node
