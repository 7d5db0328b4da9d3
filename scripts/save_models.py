"""Write models to tests/saved, with the scores they give: those whose states are new in this format."""

import sys
from pathlib import Path

import numpy as np

import onlineboost as ob
from onlineboost.storage.upgrades import FORMAT

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from conftest import make_stream  # noqa: E402

X, y = make_stream()
NUMBERS = X[:, 0] - 2 * X[:, 1] + np.sign(X[:, 2])
FIVE = np.argmax(X[:, :5], axis=1)
MODELS = {
    "bbm": (ob.OnlineBBM(n_estimators=3), y),
    "tree": (ob.SafeBoost(ob.Tree(3, grace=8), 9), y),
    "stacked": (ob.StackedEnsemble([ob.Linear(), ob.OnlineBBM(ob.Linear(standardize=True), 3)], random_state=1), y),
    "default": (ob.OnlineBoost("low", lag=2, random_state=0), y),
    "classes": (
        ob.StackedEnsemble([ob.Newton(), ob.OnlineBBM(ob.Tree(2), 3)], class_weight="balanced", random_state=0),
        FIVE,
    ),
    "plurality": (ob.OnlineMBBM(ob.ClassTree(3, grace=8), 4), FIVE),
    "adaptive": (ob.Adaptive(ob.AdaBoostOL(n_estimators=3)), y),
    "regressor": (ob.OnlineBoostRegressor(random_state=0), NUMBERS[:100]),
}

for name, (model, target) in MODELS.items():
    path = ROOT / "tests/saved" / f"format{FORMAT}-{name}.safetensors"
    model.fit(X[: len(target)], target).save(path)
    np.save(path.with_suffix(".npy"), model.scores(X[:50]))
