"""Weak learners: one file each, registered on import."""

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
from onlineboost.registry import import_modules

import_modules(__name__, __path__)

__all__ = [
    "BatchBoost",
    "BatchBoostRegressor",
    "ClassLearner",
    "ClassTree",
    "Copies",
    "FTRLProximal",
    "Learner",
    "LeastSquares",
    "Linear",
    "NaiveBayes",
    "Newton",
    "Perceptron",
    "RegressionTree",
    "Stump",
    "Tree",
]
