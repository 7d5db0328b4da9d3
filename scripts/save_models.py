"""Write models to tests/saved, with the scores they give: those whose states are new in this format."""

import sys
from pathlib import Path

import numpy as np

import onlineboost as ob
from onlineboost.storage.upgrades import FORMAT

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from conftest import make_stream  # noqa: E402

TREES = ob.OnlineBBM(ob.Tree(3), 5, head="stack")
MODELS = {
    "newton": ob.OnlineBBM(ob.Newton(max_slots=8), 3),
    "restarting": ob.Restarting(ob.OnlineBBM(ob.NaiveBayes(), 3), delta=0.9),
    "adaptive": ob.Adaptive(ob.OnlineBBM(ob.Tree(3), 5, random_state=1), reset="learners"),
    "stacked": ob.StackedEnsemble([ob.Linear(), TREES, ob.Restarting(TREES)], n_always=1, random_state=1),
}

X, y = make_stream()
for name, model in MODELS.items():
    path = ROOT / "tests/saved" / f"format{FORMAT}-{name}.safetensors"
    model.fit(X, y).save(path)
    np.save(path.with_suffix(".npy"), model.decision_function(X[:50]))
