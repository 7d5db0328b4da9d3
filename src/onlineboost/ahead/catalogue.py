"""The models that ``onlineboost warm`` compiles: the usual ones, and all."""

from __future__ import annotations

from onlineboost.boosters.online_bbm import OnlineBBM
from onlineboost.boosters.safe import SafeBoost
from onlineboost.ensembles.online_boost import EFFORTS, OnlineBoost
from onlineboost.ensembles.regressor import OnlineBoostRegressor
from onlineboost.learners.linear import Linear
from onlineboost.learners.tree import Tree
from onlineboost.model import OnlineModel
from onlineboost.registry import BOOSTERS, LEARNERS


def usual_models() -> list[OnlineModel]:
    """The defaults for classes, with every effort, and for numbers; the models of the demo and of the first pages."""
    models: list[OnlineModel] = [*(OnlineBoost(effort) for effort in EFFORTS), OnlineBoostRegressor()]
    for learner in (Linear(standardize=True), Tree()):
        models += [learner, OnlineBBM(learner), SafeBoost(learner)]
    return models


def all_models() -> list[OnlineModel]:
    """The usual models, and every booster with every learner that it boosts."""
    models = usual_models()
    for learner in LEARNERS:
        boosters = (entry.make for entry in BOOSTERS if entry.make.boosts(learner.make))  # type: ignore[attr-defined]
        models += [learner.make(), *(booster(learner.make()) for booster in boosters)]
    return models
