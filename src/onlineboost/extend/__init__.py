"""For authors of boosters, learners, metrics and file formats: base classes, registries, random draws, valid states.

Also the classes of models, alarms and tickets, for annotations.

Hooks are names that authors override and the engine calls; ``dir(model)`` does not show them to users.

- Hooks of boosters: ``initial_state``, which every booster must define, and ``boosts``, ``advice``, ``grouped``,
  ``learner_name`` and ``max_learners``; see ``Booster``.
- Hooks of learners: ``committee`` and ``grow``, which every learner must define, and all other names that ``Learner``
  has beyond ``OnlineClassifier``.

>>> from onlineboost.extend import draws
>>> round(float(draws.uniform(0, 1, 2)), 3)
0.879
"""

from onlineboost.boosters.base import Booster
from onlineboost.classifier import OnlineClassifier
from onlineboost.ensembles.restarting import Alarm
from onlineboost.extend import draws, registry, validity
from onlineboost.fitted.tickets import Ticket
from onlineboost.learners.base import Learner
from onlineboost.learners.class_learner import ClassLearner
from onlineboost.regressor import OnlineRegressor

__all__ = [
    "Alarm",
    "Booster",
    "ClassLearner",
    "Learner",
    "OnlineClassifier",
    "OnlineRegressor",
    "Ticket",
    "draws",
    "registry",
    "validity",
]
