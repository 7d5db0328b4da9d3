"""Online boosting: turns weak online learners into a strong one, on streams of any length, in one pass.

>>> from onlineboost import OnlineBBM
>>> from onlineboost.datasets import load_letter
>>> X, y = load_letter()
>>> model = OnlineBBM(votes="real").fit(X[:16000], y[:16000])
>>> round(model.score(X[16000:], y[16000:]), 3)
0.722
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onlineboost.boosters.gradient import OnlineGradientBoost
    from onlineboost.boosters.online_bbm import OnlineBBM
    from onlineboost.boosters.safe import SafeBoost
    from onlineboost.ensembles.adaptive import Adaptive
    from onlineboost.ensembles.adaptive_regressor import AdaptiveRegressor
    from onlineboost.ensembles.ensemble import StackedEnsemble
    from onlineboost.ensembles.online_boost import OnlineBoost, OnlineBoostClassifier
    from onlineboost.ensembles.regressor import OnlineBoostRegressor
    from onlineboost.fitted.tickets import Pending
    from onlineboost.learners.batch_boost import BatchBoost, BatchBoostRegressor
    from onlineboost.learners.copies import Copies
    from onlineboost.learners.ftrl import FTRLProximal
    from onlineboost.learners.least_squares import LeastSquares
    from onlineboost.learners.linear import Linear
    from onlineboost.learners.naive_bayes import NaiveBayes
    from onlineboost.learners.regression_tree import RegressionTree
    from onlineboost.learners.tree import Tree
    from onlineboost.model import load
    from onlineboost.readers import open_stream

__version__ = "0.1.0"


__all__ = [
    "Adaptive",
    "AdaptiveRegressor",
    "BatchBoost",
    "BatchBoostRegressor",
    "Copies",
    "FTRLProximal",
    "LeastSquares",
    "Linear",
    "NaiveBayes",
    "OnlineBBM",
    "OnlineBoost",
    "OnlineBoostClassifier",
    "OnlineBoostRegressor",
    "OnlineGradientBoost",
    "Pending",
    "RegressionTree",
    "SafeBoost",
    "StackedEnsemble",
    "Tree",
    "load",
    "open_stream",
]

# Names and packages are imported when first used: ``onlineboost --version`` needs none of them.
_MODULES = {
    "Adaptive": "ensembles.adaptive",
    "AdaptiveRegressor": "ensembles.adaptive_regressor",
    "BatchBoost": "learners.batch_boost",
    "BatchBoostRegressor": "learners.batch_boost",
    "Copies": "learners.copies",
    "FTRLProximal": "learners.ftrl",
    "LeastSquares": "learners.least_squares",
    "Linear": "learners.linear",
    "load": "model",
    "NaiveBayes": "learners.naive_bayes",
    "OnlineBBM": "boosters.online_bbm",
    "OnlineBoost": "ensembles.online_boost",
    "OnlineBoostClassifier": "ensembles.online_boost",
    "OnlineBoostRegressor": "ensembles.regressor",
    "OnlineGradientBoost": "boosters.gradient",
    "Pending": "fitted.tickets",
    "RegressionTree": "learners.regression_tree",
    "SafeBoost": "boosters.safe",
    "StackedEnsemble": "ensembles.ensemble",
    "Tree": "learners.tree",
}
_HOMES = "boosters", "learners", "errors", "extend", "transforms"  # of names that can be imported from here, too
_PACKAGES = {
    *("boosters", "compiled", "data", "datasets", "diagnostics", "engine", "ensembles", "errors", "evaluate", "extend"),
    *("fitted", "interop", "learners", "loop", "model", "parameters", "readers", "registry", "storage", "theory"),
    *("transforms", "tuning"),
}


def __getattr__(name: str) -> Any:
    """A public name of this package or of another module, or a package."""
    if name in _MODULES:  # all at once: a model file may need any class
        found = {one: getattr(importlib.import_module(f"onlineboost.{at}"), one) for one, at in _MODULES.items()}
        globals().update(found)
        return found[name]
    if name in _PACKAGES:
        return importlib.import_module(f"onlineboost.{name}")
    for home in ("readers",) if name == "open_stream" else () if name.startswith("_") else _HOMES:
        module = importlib.import_module(f"onlineboost.{home}")
        if name in module.__all__:
            return getattr(module, name)
    raise AttributeError(f"module 'onlineboost' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
