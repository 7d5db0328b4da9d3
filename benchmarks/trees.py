"""Boosted trees compared with a single tree, and with River's and CapyMOA's: progressive error, examples per second.

One core, processor time. The other libraries get the same rows in the same order, fewer where they are slow; CapyMOA
only if it is installed (``pip install --group bench``, and Java).

    python benchmarks/trees.py [--data FOLDER] [--rows 50000] [--repeats 5]
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from onlineboost import OnlineBBM, Stump, Tree
from onlineboost.datasets import load_letter
from onlineboost.evaluate import progressive_error

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, add_data, keep, kept, table

FIGURES = FOLDER / "trees.json"
SETS = ("letter", "activity", "nomao", "poker", "adult", "covtype")
LEARNERS = {"Stump()": Stump(), "Tree(3)": Tree(3), "Tree(5)": Tree(5), "Tree(8)": Tree(8)}
FEW = 20_000
NAMED = {  # errors that docs/choosing-a-model.md quotes
    "hard votes": "`Tree(max_depth=8)`, hard votes",
    "real votes": "`Tree(max_depth=8)`, real votes",
    "majority leaves": "`Tree(max_depth=8, leaf_prediction='majority')`, hard votes",
    "the Hoeffding bound": "`Tree(max_depth=8, grace_period=32, min_split_gain=0)`, hard votes",
    "random features": "`Tree(max_depth=8, max_features=0.7)`, hard votes",
}


def load(data: Path, name: str, rows: int) -> tuple[Any, np.ndarray] | None:
    path = data / f"{name}.libsvm.gz"
    if path.exists():
        from sklearn.datasets import load_svmlight_file

        X, y = load_svmlight_file(str(path), dtype=np.float32)
    elif name == "letter":
        X, y = load_letter()
    else:
        return None
    order = np.random.default_rng(0).permutation(len(y))[:rows]
    return X[order], y[order]


def speed(model: Any, X: Any, y: np.ndarray, repeats: int) -> float:
    model.clone().fit(X[:300], y[:300])
    times = []
    for _ in range(repeats):
        began = time.process_time()
        model.clone().progressive_fit(X, y)
        times.append(time.process_time() - began)
    return len(y) / statistics.median(times)


def river_boosting(X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    from river.ensemble import AdaBoostClassifier
    from river.tree import HoeffdingTreeClassifier

    model = AdaBoostClassifier(HoeffdingTreeClassifier(), n_models=10, seed=0)
    rows = [dict(enumerate(row)) for row in X.tolist()]
    wrong = 0
    began = time.process_time()
    for row, label in zip(rows, y.tolist(), strict=True):
        wrong += model.predict_one(row) != label
        model.learn_one(row, label)
    return wrong / len(y), len(y) / (time.process_time() - began)


def capymoa(kind: str, X: np.ndarray, y: np.ndarray, **options: Any) -> tuple[float, float]:
    from capymoa import classifier
    from capymoa.evaluation import prequential_evaluation
    from capymoa.stream import NumpyStream

    stream = NumpyStream(X.astype(np.float64), (y > 0).astype(int))
    model = getattr(classifier, kind)(schema=stream.get_schema(), **options)
    began = time.process_time()
    result = prequential_evaluation(stream=stream, learner=model, max_instances=len(y))
    return 1 - result.cumulative.accuracy() / 100, len(y) / (time.process_time() - began)


PEERS: dict[str, tuple[int, Callable[..., tuple[float, float]]]] = {  # with the number of rows
    "River AdaBoost(10 Hoeffding trees)": (3_000, river_boosting),
    "CapyMOA OzaBoost(10)": (20_000, lambda X, y: capymoa("OzaBoost", X, y, boosting_iterations=10)),
    "CapyMOA AdaptiveRandomForest(10)": (
        20_000,
        lambda X, y: capymoa("AdaptiveRandomForestClassifier", X, y, ensemble_size=10),
    ),
}


def gains(data: Path, rows: int) -> dict[str, dict[str, list[float]]]:
    """Errors alone and boosted, by set and learner."""
    found = {}
    for name in track(SETS, "measuring", transient=True):
        loaded = load(data, name, rows)
        if loaded is not None:
            pairs = {kind: (learner, OnlineBBM(learner, 21, random_state=0)) for kind, learner in LEARNERS.items()}
            found[name] = {kind: [progressive_error(model, *loaded) for model in pair] for kind, pair in pairs.items()}
    return found


def accuracies(X: Any, y: np.ndarray) -> dict[str, list[float]]:
    """Errors on the first rows and on all, by kind of votes, and with parts of the tree switched off."""
    found = {}
    for learner in (
        Tree(5),
        Tree(8),
        Tree(8, leaf_prediction="majority"),
        Tree(8, min_split_gain=0, grace_period=32),
        Tree(8, max_features=0.7),
    ):
        for votes in ("hard", "real"):
            model = OnlineBBM(learner, 21, votes=votes, random_state=0)
            errors = [progressive_error(model, X[:FEW], y[:FEW]), progressive_error(model, X, y)]
            found[f"`{learner}`, {votes} votes"] = errors
    return found


def stumps(X: Any, y: np.ndarray) -> dict[str, Any]:
    """Learners with hardly an edge: the edges of boosted stumps, and errors with a lower gamma and with real votes."""
    model = OnlineBBM(Stump(), 21, random_state=0).fit(X, y)
    lower = progressive_error(OnlineBBM(Stump(), 21, gamma=0.02, random_state=0), X, y)
    real = progressive_error(OnlineBBM(Stump(), 21, votes="real", random_state=0), X, y)
    return {"edges": model.edges_.tolist(), "lower gamma": lower, "real votes": real}


def peers(X: np.ndarray, y: np.ndarray, repeats: int) -> list[dict[str, Any]]:
    """The same rows in the same order, one core; ours is timed on all rows, before and after each of the others."""
    ours = OnlineBBM(Tree(8), 10, random_state=0)
    found = []
    for name, (rows, peer) in PEERS.items():
        few = slice(0, rows)
        before = speed(ours, X, y, repeats)
        try:
            wrong, rate = peer(X[few], y[few])
        except ImportError as problem:
            print(f"{name}: left out, {problem}")
            continue
        fast = statistics.mean([before, speed(ours, X, y, repeats)])
        errors = {"error": wrong, "our error": progressive_error(ours, X[few], y[few])}
        found.append({"name": name, "rows": rows, **errors, "speed": rate, "our speed": fast})
    return found


def blocks() -> dict[str, str]:
    found = kept(FIGURES)
    less: dict[str, list[float]] = {kind: [] for kind in LEARNERS}
    rows = []
    for name, pairs in found["gains"].items():
        cells = []
        for kind, (alone, boosted) in pairs.items():
            cells += [f"{alone:.4f}", f"{boosted:.4f}", f"{1 - boosted / alone:.0%}"]
            if name != "covtype":
                less[kind].append(1 - boosted / alone)
        rows.append([name, *cells])
    means = {kind: f"{np.mean(each):.0%}" for kind, each in less.items()}
    rows.append(["**mean of all but covtype**", *(cell for mean in means.values() for cell in ("", "", f"**{mean}**"))])
    votes = {name: errors[1] for name, errors in found["votes"].items()}
    poker = {"lower gamma": found["stumps"]["lower gamma"], "real votes": found["stumps"]["real votes"]}
    for name, kind in {"stump": "Stump()", "tree": "Tree(5)"}.items():
        poker[name], poker[f"boosted {name}s"] = found["gains"]["poker"][kind]
    edges = found["stumps"]["edges"]
    beside = []
    for one in found["peers"]:
        errors = [f"{one['rows']:,}", f"{one['error']:.4f}", f"{one['our error']:.4f}"]
        speeds = [f"{one['speed']:,.0f}", f"{one['our speed']:,.0f}", f"{one['our speed'] / one['speed']:,.0f}x"]
        beside.append([one["name"], *errors, *speeds])
    return {
        "gains": table(["set", *(cell for kind in LEARNERS for cell in (f"{kind}: alone", "BBM", "less"))], rows),
        "less by stumps": means["Stump()"],
        "less by trees": f"{min(list(means.values())[1:])} to {max(list(means.values())[1:])}",
        "less by small trees": means["Tree(3)"],
        "votes": table(
            ["21 learners", f"error, first {FEW:,} rows", f"error, {found['rows']:,} rows"],
            ([name, f"{few:.4f}", f"{all:.4f}"] for name, (few, all) in found["votes"].items()),
        ),
        **{f"error of {name}": f"{votes[key]:.4f}" for name, key in NAMED.items()},
        **{f"poker, {kind}": f"{error:.4f}" for kind, error in poker.items()},
        "first edge": f"{edges[0]:.3f}",
        "other edges": f"{min(edges[1:]):.3f} to {max(edges[1:]):.3f}",
        "peers": table(["54 dense features, one core", "rows", "error", "ours", "examples/s", "ours", ""], beside),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_data(parser)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    loaded = load(options.data, "covtype", options.rows) or load(options.data, "letter", options.rows)
    assert loaded is not None
    X, y = (loaded[0].toarray() if hasattr(loaded[0], "toarray") else loaded[0]), loaded[1]
    found = {"rows": len(y), "gains": gains(options.data, options.rows), "votes": accuracies(X, y)}
    poker = load(options.data, "poker", options.rows)
    assert poker is not None
    found["stumps"] = stumps(*poker)
    keep(FIGURES, found | {"peers": peers(X, y, options.repeats)})


if __name__ == "__main__":
    main()
