"""Digests of scores on fixed streams, to show that a change of the structure does not change a bit.

``python tests/digests.py`` writes those of the code at hand to ``digests.json``; ``test_digests.py`` compares.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pairs

import onlineboost as ob
from conftest import make_stream
from onlineboost.readers import open_stream

FILE = Path(__file__).with_name("digests.json")

BOOSTERS = {
    "none": lambda learner, n, **k: learner,
    "bbm-real": lambda *a, **k: ob.OnlineBBM(*a, votes="real", **k),
    **pairs.BOOSTERS,
}
LEARNERS, OBJECTS = pairs.COMPILED, pairs.OBJECTS
PAIRS = sorted(
    {(b, m) for b in BOOSTERS for m in ("linear", "tree")}
    | {(b, m) for b in ("none", "bbm", "safe") for m in LEARNERS}
    | {("bbm", m) for m in OBJECTS}
)


def _model(booster: str, learner: str, delivery: str):
    return BOOSTERS[booster]((LEARNERS | OBJECTS)[learner](), 5, delivery=delivery, random_state=3)


def _digest(*arrays) -> str:
    sha = hashlib.sha256()
    for array in arrays:
        sha.update(np.ascontiguousarray(array, np.float64).tobytes())
    return sha.hexdigest()[:16]


def _csv(X, y) -> str:
    lines = [",".join([*(f"f{j}" for j in range(X.shape[1])), "colour", "label"])]
    for x, label in zip(X.tolist(), y, strict=True):
        lines.append(",".join([*map(repr, x), "red" if x[0] > 0 else "blue", str(int(label > 0))]))
    return "\n".join([*lines, ""])


def of_pair(booster: str, learner: str, folder: Path) -> dict[str, str]:
    """Digests of one booster over one learner: arrays, dicts and, of compiled learners, files."""
    X, y = make_stream()
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.5], size=len(y))
    found = {}
    deliveries = ("auto",) if learner in OBJECTS else ("weight", "sample")
    for delivery in deliveries:
        model = _model(booster, learner, delivery)
        scores = model.progressive_fit(X, y, sample_weight=weight)
        found[f"arrays, {delivery}"] = _digest(scores, model.decision_function(X), model.predict_proba(X), model.edges_)
    if learner not in OBJECTS:
        model = _model(booster, learner, "auto")
        if learner != "binned":
            for x, label in zip(X[:200], y[:200], strict=True):
                model.learn_one({f"f{j}": v for j, v in enumerate(x.tolist()) if v}, int(label))
            found["dicts"] = _digest([model.decision_one({f"f{j}": v for j, v in enumerate(x.tolist())}) for x in X])
            model = _model(booster, learner, "auto")
            path = folder / "stream.csv"
            path.write_text(_csv(X, y))
            scores = model.progressive_fit(open_stream(path, bits=10, batch_size=64))
            found["file"] = _digest(scores, model.decision_function(open_stream(path, like=model)))
    return found


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        found = {f"{b} {m}": of_pair(b, m, Path(place)) for b, m in PAIRS}
    FILE.write_text(json.dumps(found, indent=1) + "\n")
