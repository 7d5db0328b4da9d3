"""Write models to tests/saved, with the scores they give: those whose states are new in this format."""

import sys
from pathlib import Path

import numpy as np

import onlineboost as ob
from onlineboost.storage.upgrades import FORMAT

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from conftest import make_stream  # noqa: E402

MODELS = {
    "bbm": ob.OnlineBBM(n_estimators=3),
    "binned": ob.OnlineBBM(ob.Linear(bins=8), 9),
    "stacked": ob.StackedEnsemble([ob.Linear(), ob.OnlineBBM(ob.Linear(standardize=True), 3)], random_state=1),
}

X, y = make_stream()
for name, model in MODELS.items():
    path = ROOT / "tests/saved" / f"format{FORMAT}-{name}.safetensors"
    model.fit(X, y).save(path)
    np.save(path.with_suffix(".npy"), model.decision_function(X[:50]))
