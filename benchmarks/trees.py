"""Boosted trees beside their single tree, and beside River's and CapyMOA's: progressive error, examples per second.

One core. The peers get the same rows in the same order, fewer of them where they are slow; CapyMOA only where it is
installed (``pip install capymoa``, and Java). docs/trees.md holds the figures.

    python benchmarks/trees.py [--data ../shared/data] [--rows 50000] [--repeats 5] [--peer-rows 3000] [--publish]
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

from onlineboost import OnlineBBM, Stump, Tree
from onlineboost.datasets import load_letter

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


def error(model: Any, X: Any, y: np.ndarray) -> float:
    return float(((model.clone().progressive_fit(X, y) >= 0) != (y > 0)).mean())


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


def capymoa_boosting(X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    from capymoa.classifier import OzaBoost
    from capymoa.evaluation import prequential_evaluation
    from capymoa.stream import NumpyStream

    stream = NumpyStream(X.astype(np.float64), (y > 0).astype(int))
    model = OzaBoost(schema=stream.get_schema(), boosting_iterations=10)
    began = time.perf_counter()
    result = prequential_evaluation(stream=stream, learner=model, max_instances=len(y))
    return 1 - result.cumulative.accuracy() / 100, len(y) / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="real sets, if they are there")
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--peer-rows", type=int, default=3_000)
    parser.add_argument("--publish", action="store_true", help="write docs/trees.md")
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    lines = [
        "# Boosted trees",
        "",
        f"Made by `python benchmarks/trees.py --rows {options.rows} --publish`: progressive error of the learner",
        "alone, of Online BBM with 21 of them (gamma .1, sampling), and what boosting takes away; one shuffle.",
        "",
        "| set | " + " | ".join(f"{name}: alone | BBM | less" for name in LEARNERS) + " |",
        "| --- | " + " | ".join(["---: | ---: | ---:"] * len(LEARNERS)) + " |",
    ]
    gains: dict[str, list[float]] = {name: [] for name in LEARNERS}
    for name in track(SETS, "measuring", transient=True):
        loaded = load(options.data, name, options.rows)
        if loaded is None:
            continue
        cells = []
        for kind, learner in LEARNERS.items():
            alone, boosted = error(learner, *loaded), error(OnlineBBM(learner, 21, random_state=0), *loaded)
            if name != "covtype":
                gains[kind].append(1 - boosted / alone)
            cells.append(f"{alone:.4f} | {boosted:.4f} | {1 - boosted / alone:.0%}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    means = " | ".join(f"| | **{np.mean(gain):.0%}**" for gain in gains.values())
    lines += [f"| **mean of all but covtype** | {means} |", ""]
    loaded = load(options.data, "covtype", options.rows) or load(options.data, "letter", options.rows)
    assert loaded is not None
    X, y = (loaded[0].toarray() if hasattr(loaded[0], "toarray") else loaded[0]), loaded[1]
    few = slice(0, options.peer_rows)
    ours = OnlineBBM(Tree(8), 10, random_state=0)
    table = [("Online BBM, 10 trees of depth 8", error(ours, X[few], y[few]), speed(ours, X, y, options.repeats))]
    peers = {"River AdaBoost(10 Hoeffding trees)": river_boosting, "CapyMOA OzaBoost(10)": capymoa_boosting}
    for name, peer in peers.items():
        try:
            table.append((name, *peer(X[few], y[few])))
        except ImportError as problem:
            Console().print(f"{name}: left out, {problem}")
    lines += [f"| {X.shape[1]} dense features, one core | error, first {options.peer_rows:,} rows | examples/s | |"]
    lines += ["| --- | ---: | ---: | ---: |"]
    for name, wrong, rate in table:
        ratio = "" if rate == table[0][2] else f"{table[0][2] / rate:,.0f}x slower"
        lines.append(f"| {name} | {wrong:.4f} | {rate:,.0f} | {ratio} |")
    text = "\n".join(lines) + "\n"
    print(text)
    if options.publish:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
