"""Boosted trees compared with a single tree, and with River's and CapyMOA's: progressive error, examples per second.

One core. The other libraries get the same rows in the same order, fewer where they are slow; CapyMOA only if it is
installed (``pip install '.[bench]'``, and Java). Writes docs/trees.md.

    python benchmarks/trees.py [--data ../shared/data] [--rows 50000] [--repeats 5] [--publish]
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

from onlineboost import OnlineBBM, Stump, Tree
from onlineboost.datasets import load_letter
from onlineboost.evaluate import progressive_score

PAGE = Path("docs/trees.md")
SETS = ("letter", "activity", "nomao", "poker", "adult", "covtype")
LEARNERS = {"Stump()": Stump(), "Tree(3)": Tree(3), "Tree(5)": Tree(5), "Tree(8)": Tree(8)}


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
        began = time.perf_counter()
        model.clone().progressive_fit(X, y)
        times.append(time.perf_counter() - began)
    return len(y) / statistics.median(times)


def river_boosting(X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    from river.ensemble import AdaBoostClassifier
    from river.tree import HoeffdingTreeClassifier

    model = AdaBoostClassifier(HoeffdingTreeClassifier(), n_models=10, seed=0)
    rows = [dict(enumerate(row)) for row in X.tolist()]
    wrong = 0
    began = time.perf_counter()
    for row, label in zip(rows, y.tolist(), strict=True):
        wrong += model.predict_one(row) != label
        model.learn_one(row, label)
    return wrong / len(y), len(y) / (time.perf_counter() - began)


def capymoa(kind: str, X: np.ndarray, y: np.ndarray, **options: Any) -> tuple[float, float]:
    from capymoa import classifier
    from capymoa.evaluation import prequential_evaluation
    from capymoa.stream import NumpyStream

    stream = NumpyStream(X.astype(np.float64), (y > 0).astype(int))
    model = getattr(classifier, kind)(schema=stream.get_schema(), **options)
    began = time.perf_counter()
    result = prequential_evaluation(stream=stream, learner=model, max_instances=len(y))
    return 1 - result.cumulative.accuracy() / 100, len(y) / (time.perf_counter() - began)


PEERS: dict[str, tuple[int, Callable[..., tuple[float, float]]]] = {  # with the number of rows
    "River AdaBoost(10 Hoeffding trees)": (3_000, river_boosting),
    "CapyMOA OzaBoost(10)": (20_000, lambda X, y: capymoa("OzaBoost", X, y, boosting_iterations=10)),
    "CapyMOA AdaptiveRandomForest(10)": (
        20_000,
        lambda X, y: capymoa("AdaptiveRandomForestClassifier", X, y, ensemble_size=10),
    ),
}


def gains(data: Path, rows: int) -> list[str]:
    """Reduction of the error by boosting, by set and learner."""
    lines = [
        "| set | " + " | ".join(f"{name}: alone | BBM | less" for name in LEARNERS) + " |",
        "| --- | " + " | ".join(["---: | ---: | ---:"] * len(LEARNERS)) + " |",
    ]
    found: dict[str, list[float]] = {name: [] for name in LEARNERS}
    for name in track(SETS, "measuring", transient=True):
        loaded = load(data, name, rows)
        if loaded is None:
            continue
        cells = []
        for kind, learner in LEARNERS.items():
            booster = OnlineBBM(learner, 21, random_state=0)
            alone, boosted = progressive_score(learner, *loaded), progressive_score(booster, *loaded)
            if name != "covtype":
                found[kind].append(1 - boosted / alone)
            cells.append(f"{alone:.4f} | {boosted:.4f} | {1 - boosted / alone:.0%}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    means = " | ".join(f"| | **{np.mean(gain):.0%}**" for gain in found.values())
    return [*lines, f"| **mean of all but covtype** | {means} |", ""]


def accuracies(X: Any, y: np.ndarray) -> list[str]:
    """Error by kind of votes, and with parts of the tree switched off."""
    few = slice(0, 20_000)
    lines = [f"| 21 learners | error, first 20,000 rows | error, {len(y):,} rows |", "| --- | ---: | ---: |"]
    for learner in (Tree(5), Tree(8), Tree(8, leaves="majority"), Tree(8, evidence=0, grace=32), Tree(8, features=0.7)):
        for votes in ("hard", "real"):
            model = OnlineBBM(learner, 21, votes=votes, random_state=0)
            figures = f"{progressive_score(model, X[few], y[few]):.4f} | {progressive_score(model, X, y):.4f}"
            lines.append(f"| `{learner}`, {votes} votes | {figures} |")
    return [*lines, ""]


def peers(X: np.ndarray, y: np.ndarray, repeats: int) -> list[str]:
    """The same rows in the same order, one core; ours is timed on all rows, before and after each of the others."""
    ours = OnlineBBM(Tree(8), 10, random_state=0)
    lines = [f"| {X.shape[1]} dense features, one core | rows | error | ours | examples/s | ours | |"]
    lines += ["| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for name, (rows, peer) in PEERS.items():
        few = slice(0, rows)
        before = speed(ours, X, y, repeats)
        try:
            wrong, rate = peer(X[few], y[few])
        except ImportError as problem:
            Console().print(f"{name}: left out, {problem}")
            continue
        fast = statistics.mean([before, speed(ours, X, y, repeats)])
        our_error = progressive_score(ours, X[few], y[few])
        figures = f"{rows:,} | {wrong:.4f} | {our_error:.4f} | {rate:,.0f} | {fast:,.0f}"
        lines.append(f"| {name} | {figures} | {fast / rate:,.0f}x |")
    text = "Ours is Online BBM with 10 trees of depth 8 and hard votes: its speed over all rows, its error over the"
    return [*lines, "", text, "rows of the other library."]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of real sets, optional")
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--publish", action="store_true", help="write docs/trees.md")
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    loaded = load(options.data, "covtype", options.rows) or load(options.data, "letter", options.rows)
    assert loaded is not None
    X, y = (loaded[0].toarray() if hasattr(loaded[0], "toarray") else loaded[0]), loaded[1]
    lines = [
        "# Boosted trees",
        "",
        f"Made by `python benchmarks/trees.py --rows {options.rows} --publish`: progressive error of the learner",
        "alone and of Online BBM with 21 of them (gamma .1, sampling, hard votes), and the reduction; one shuffle.",
        "",
        *gains(options.data, options.rows),
        *accuracies(X, y),
        *peers(X, y, options.repeats),
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    if options.publish:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
