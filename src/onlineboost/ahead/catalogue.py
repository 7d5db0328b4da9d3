"""The tasks of ``onlineboost warm``: the usual ones, and all."""

from __future__ import annotations

from onlineboost.ahead.tasks import Task, tasks_of
from onlineboost.boosters.online_bbm import OnlineBBM
from onlineboost.boosters.safe import SafeBoost
from onlineboost.ensembles.online_boost import EFFORTS, OnlineBoost
from onlineboost.learners.linear import Linear
from onlineboost.learners.tree import Tree
from onlineboost.model import OnlineClassifier
from onlineboost.registry import BOOSTERS, FORMATS, LEARNERS


def usual_tasks() -> list[Task]:
    """The default with every effort, the models of the demo and of the first pages, and all formats."""
    models: list[OnlineClassifier] = [OnlineBoost(effort) for effort in EFFORTS]
    for learner in (Linear(standardize=True), Tree()):
        models += [learner, OnlineBBM(learner), SafeBoost(learner)]
    return tasks_of(models, FORMATS.names())


def all_tasks() -> list[Task]:
    """Every booster with every learner, beside the usual ones."""
    models: list[OnlineClassifier] = []
    for learner in LEARNERS:
        models += [learner.make(), *(booster.make(learner.make()) for booster in BOOSTERS)]
    return [*usual_tasks(), *tasks_of(models)]
