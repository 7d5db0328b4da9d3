"""Every estimator, small: what scikit-learn's and River's own checks are run on."""

from __future__ import annotations

from river import linear_model

import onlineboost
from onlineboost import (
    AdaBoostOL,
    AdaBoostOLM,
    AdaBoostOLPlus,
    Adaptive,
    AdaptiveRegressor,
    BatchBoost,
    BatchBoostRegressor,
    ClassTree,
    DefensiveBoost,
    FTRLProximal,
    LeastSquares,
    Linear,
    NaiveBayes,
    Newton,
    OnlineBBM,
    OnlineBoost,
    OnlineBoostRegressor,
    OnlineGradientBoost,
    OnlineMBBM,
    OSBoost,
    OSBoostOCP,
    Perceptron,
    PotentialBoost,
    RegressionTree,
    SafeBoost,
    StackedEnsemble,
    Stump,
    Tree,
    boosters,
    learners,
)
from onlineboost.ensembles.restarting import Restarting

ESTIMATORS = {
    "AdaBoostOL": AdaBoostOL(n_estimators=3),
    "AdaBoostOLM": AdaBoostOLM(n_estimators=3),
    "AdaBoostOLPlus": AdaBoostOLPlus(n_estimators=3),
    "Adaptive": Adaptive(OnlineBBM(n_estimators=3)),
    "AdaptiveRegressor": AdaptiveRegressor(LeastSquares()),
    "BatchBoost": BatchBoost(n_estimators=3),
    "BatchBoostRegressor": BatchBoostRegressor(),
    "ClassTree": ClassTree(3),
    "DefensiveBoost": DefensiveBoost(n_estimators=3),
    "FTRLProximal": FTRLProximal(),
    "LeastSquares": LeastSquares(),
    "Linear": Linear(),
    "NaiveBayes": NaiveBayes(),
    "Newton": Newton(),
    "OSBoost": OSBoost(n_estimators=3),
    "OSBoostOCP": OSBoostOCP(n_estimators=3),
    "OnlineBBM": OnlineBBM(n_estimators=3),
    "OnlineBBM over Tree": OnlineBBM(Tree(3), 3, random_state=0),
    "OnlineBBM over an object": OnlineBBM(linear_model.LogisticRegression(), 2),
    "OnlineBoostClassifier": OnlineBoost("low", random_state=0),
    "OnlineBoostRegressor": OnlineBoostRegressor(),
    "OnlineGradientBoost": OnlineGradientBoost(n_estimators=3),
    "OnlineMBBM": OnlineMBBM(n_estimators=3),
    "Perceptron": Perceptron(),
    "PotentialBoost": PotentialBoost(n_estimators=3),
    "RegressionTree": RegressionTree(),
    "Restarting": Restarting(OnlineBBM(n_estimators=3)),
    "SafeBoost": SafeBoost(n_estimators=6),
    "StackedEnsemble": StackedEnsemble([Linear(), NaiveBayes()], random_state=0),
    "Stump": Stump(),
    "Tree": Tree(3),
}


def public_estimators() -> set[str]:
    """The names of all classes that can learn by themselves."""
    names = {*onlineboost.__all__, *boosters.__all__, *learners.__all__}
    classes = [value for name in names if isinstance(value := getattr(onlineboost, name), type)]
    models = [
        value for value in classes if issubclass(value, onlineboost.OnlineClassifier | onlineboost.OnlineRegressor)
    ]
    return {model.__name__ for model in models if not getattr(model, "__abstractmethods__", None)}
