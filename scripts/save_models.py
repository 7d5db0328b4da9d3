"""Write one model of every class to tests/saved, with the scores it gives; once for every released format."""

import sys
from pathlib import Path

import numpy as np

import onlineboost as ob
from onlineboost.readers import open_stream
from onlineboost.storage.upgrades import FORMAT

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from conftest import make_stream  # noqa: E402

MODELS = {
    "linear": ob.Linear(),
    "bbm": ob.OnlineBBM(n_estimators=5),
    "potential": ob.PotentialBoost(terminal="logistic", n_estimators=5),
    "adaboost": ob.AdaBoostOL(ob.Linear("logistic"), 5, delivery="sample", random_state=1),
    "osboost": ob.OSBoost(n_estimators=5),
    "ocp": ob.OSBoostOCP(n_estimators=5),
    "tree": ob.OnlineBBM(ob.Tree(3), 5, random_state=1),
    "stump": ob.OnlineBBM(ob.Stump(), 5, random_state=1),
    "bayes": ob.OnlineBBM(ob.NaiveBayes(), 5),
    "binned": ob.OnlineBBM(ob.Linear(bins=8, crosses=[(0, 1)], bits=6), 5),
    "stack": ob.OnlineBBM(n_estimators=5, head="stack"),
    "safe": ob.SafeBoost(n_estimators=9, random_state=1),
    "defensive": ob.DefensiveBoost(),
    "adaptive": ob.Adaptive(ob.OnlineBBM(ob.Tree(3), 5, random_state=1), reset="learners"),
}

STREAMED = {"stream": ob.AdaBoostOL(ob.Linear(standardize=True), 5, random_state=1)}

X, y = make_stream()
for name, model in MODELS.items():
    path = ROOT / "tests/saved" / f"format{FORMAT}-{name}.safetensors"
    model.fit(X, y).save(path)
    np.save(path.with_suffix(".npy"), model.decision_function(X[:50]))
for name, model in STREAMED.items():
    path = ROOT / "tests/saved" / f"format{FORMAT}-{name}.safetensors"
    model.fit(open_stream(X, y=y)).save(path)
    np.save(path.with_suffix(".npy"), model.decision_function(X[:50]))
