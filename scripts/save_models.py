"""Write models to tests/saved, with the scores they give: those whose states are new in this format."""

import sys
from pathlib import Path

import numpy as np

import onlineboost as ob
from onlineboost.ensembles.restarting import Restarting
from onlineboost.storage.upgrades import FORMAT

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from conftest import make_stream  # noqa: E402

X, y = make_stream()
NUMBERS = X[:, 0] - 2 * X[:, 1] + np.sign(X[:, 2])
FIVE = np.argmax(X[:, :5], axis=1)
MODELS = {
    "tree": (ob.Tree(3, grace_period=8), y),
    "lag": (ob.OnlineBBM(ob.Tree(2, grace_period=8), 2, random_state=3, lag=2), y),
    "classes": (ob.OnlineBBM(ob.Linear(), 2, random_state=3, class_weight="balanced"), FIVE),
    "plurality": (ob.OnlineMBBM(ob.ClassTree(2, grace_period=8), 2), FIVE),
    "memory": (ob.BatchBoost(n_estimators=3, max_leaves=5, max_rows=200), y),
    "regressor": (ob.OnlineGradientBoost(ob.LeastSquares(), 2, random_state=0), NUMBERS),
    "stump": (ob.OnlineBBM(ob.Stump(grace_period=8, max_features=0.5), 2, random_state=3), y),
    "trees": (
        ob.OnlineGradientBoost(ob.RegressionTree(2, grace_period=8, min_split_gain=2.0, leaf_prediction="mean"), 2),
        NUMBERS,
    ),
    "stacked": (
        ob.StackedEnsemble([ob.Linear(), ob.Tree(2, grace_period=8, tau=0.2)], n_always_active=1, random_state=0),
        y,
    ),
    "restarting": (Restarting(ob.OnlineBBM(ob.Linear(), 2)), y),
    "adaptive": (
        ob.Adaptive(ob.OnlineBBM(ob.Tree(2, leaf_prediction="majority", max_features=0.5), 2, random_state=0)),
        y,
    ),
    "default": (ob.OnlineBoost("low", random_state=0), y),
    "pending": (ob.Linear(), y),
}

for name, (model, target) in MODELS.items():
    path = ROOT / "tests/saved" / f"format{FORMAT}-{name}.safetensors"
    model.fit(X[: len(target)], target)
    if name == "pending":
        model.pending = ob.Pending(max_pending=5, max_age=9.0, on_expire=("label", 1))
        model.ask(X[:3])
    model.save(path)
    np.save(path.with_suffix(".npy"), model.scores(X[:50]))
