"""Online boosting: turns weak online learners into a strong one, on streams of any length, in one pass.

>>> from onlineboost import OnlineBBM
>>> from onlineboost.datasets import load_letter
>>> X, y = load_letter()
>>> model = OnlineBBM(votes="real").fit(X[:16000], y[:16000])
>>> round(model.score(X[16000:], y[16000:]), 3)
0.722
"""

from onlineboost.boosters.adaboost_ol import AdaBoostOL
from onlineboost.boosters.adaboost_ol_plus import AdaBoostOLPlus
from onlineboost.boosters.adaboost_olm import AdaBoostOLM
from onlineboost.boosters.base import Booster
from onlineboost.boosters.defensive import DefensiveBoost
from onlineboost.boosters.gradient import OnlineGradientBoost
from onlineboost.boosters.online_bbm import OnlineBBM
from onlineboost.boosters.online_mbbm import OnlineMBBM
from onlineboost.boosters.osboost import OSBoost
from onlineboost.boosters.osboost_ocp import OSBoostOCP
from onlineboost.boosters.potential import PotentialBoost
from onlineboost.boosters.safe import SafeBoost
from onlineboost.classifier import OnlineClassifier
from onlineboost.ensembles.adaptive import Adaptive
from onlineboost.ensembles.adaptive_regressor import AdaptiveRegressor
from onlineboost.ensembles.ensemble import StackedEnsemble
from onlineboost.ensembles.online_boost import OnlineBoost
from onlineboost.ensembles.regressor import OnlineBoostRegressor
from onlineboost.ensembles.restarting import Alarm, Restarting
from onlineboost.errors import (
    ConflictError,
    DataError,
    ForkError,
    MemoryWarning,
    MissingPackageError,
    ModelFileError,
    NotFittedError,
    ParameterError,
    RangeWarning,
    TicketError,
)
from onlineboost.fitted.tickets import Pending, Ticket
from onlineboost.learners.base import Learner
from onlineboost.learners.batch_boost import BatchBoost, BatchBoostRegressor
from onlineboost.learners.class_learner import ClassLearner
from onlineboost.learners.class_tree import ClassTree
from onlineboost.learners.copies import Copies
from onlineboost.learners.ftrl import FTRLProximal
from onlineboost.learners.least_squares import LeastSquares
from onlineboost.learners.linear import Linear
from onlineboost.learners.naive_bayes import NaiveBayes
from onlineboost.learners.newton import Newton
from onlineboost.learners.perceptron import Perceptron
from onlineboost.learners.regression_tree import RegressionTree
from onlineboost.learners.stump import Stump
from onlineboost.learners.tree import Tree
from onlineboost.model import load
from onlineboost.regressor import OnlineRegressor
from onlineboost.transforms.binner import Binner

__version__ = "0.1.0"


__all__ = [
    "AdaBoostOL",
    "AdaBoostOLM",
    "AdaBoostOLPlus",
    "Adaptive",
    "AdaptiveRegressor",
    "Alarm",
    "BatchBoost",
    "BatchBoostRegressor",
    "Binner",
    "Booster",
    "ClassLearner",
    "ClassTree",
    "ConflictError",
    "Copies",
    "DataError",
    "DefensiveBoost",
    "FTRLProximal",
    "ForkError",
    "Learner",
    "LeastSquares",
    "Linear",
    "MemoryWarning",
    "MissingPackageError",
    "ModelFileError",
    "NaiveBayes",
    "Newton",
    "NotFittedError",
    "OSBoost",
    "OSBoostOCP",
    "OnlineBBM",
    "OnlineBoost",
    "OnlineBoostRegressor",
    "OnlineClassifier",
    "OnlineGradientBoost",
    "OnlineMBBM",
    "OnlineRegressor",
    "ParameterError",
    "Pending",
    "Perceptron",
    "PotentialBoost",
    "RangeWarning",
    "RegressionTree",
    "Restarting",
    "SafeBoost",
    "StackedEnsemble",
    "Stump",
    "Ticket",
    "TicketError",
    "Tree",
    "load",
]
