"""Speed of a race on one core, compared with ``progressive_fit`` of each model.

    python benchmarks/tune.py [--data FOLDER] [--rows 15000] [--rounds 5]

Processor time, which other work on the machine hardly affects; all contenders take turns, medians of five rounds.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.progress import track

from onlineboost import AdaBoostOL, Linear, OnlineBBM, OnlineClassifier, OSBoost, Tree
from onlineboost.data.batch import Batch, cut, joined
from onlineboost.readers import open_stream
from onlineboost.tuning import grid, runs, tune

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, add_data, keep, kept, table

FIGURES = FOLDER / "tune.json"
SETS = ("letter", "covtype", "20news", "a9a")
LEARNERS = [5, 11, 21, 51]
RACES: dict[str, list[OnlineClassifier]] = {
    "Linear alone, 36 learning rates": grid(Linear(standardize=True), learning_rate=np.geomspace(0.01, 4, 36).tolist()),
    "Online BBM of Linear, 4 N x 9": grid(
        OnlineBBM(Linear(standardize=True)),
        n_estimators=LEARNERS,
        gamma=[0.05, 0.1, 0.2],
        estimator__learning_rate=[0.1, 0.5, 2.0],
    ),
    "AdaBoost.OL of Tree(3), 4 N": grid(AdaBoostOL(Tree(3), random_state=0), n_estimators=LEARNERS),
    "OSBoost of Tree(3), 4 N x 3": grid(OSBoost(Tree(3)), n_estimators=LEARNERS, gamma=[0.05, 0.1, 0.2]),
}


def rows_of(path: Path, most: int) -> Batch:
    batches, rows = [], 0
    with open_stream(path) as stream:
        for page in stream:
            batches.append(page.batch)
            rows += page.batch.y.size
            if rows >= most:
                break
    return cut(joined(batches), 0, most)


def by_turns(contenders: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median of the processor time of each contender, after one round that compiles."""
    found: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds + 1):
        for name, run in contenders.items():
            began = time.process_time()
            run()
            found[name].append(time.process_time() - began)
    return {name: statistics.median(times[1:]) for name, times in found.items()}


def unshared(models: list[OnlineClassifier], rows: Batch) -> None:
    """A race without nested boosters."""
    key, runs.nesting_key = runs.nesting_key, lambda *_: None
    try:
        tune(models, [rows], workers=1)
    finally:
        runs.nesting_key = key


def measured(models: list[OnlineClassifier], rows: Batch, rounds: int) -> dict[str, float]:
    contenders: dict[str, Callable[[], object]] = {
        "alone": lambda: [model.clone().progressive_fit(rows) for model in models],
        "shared": lambda: unshared(models, rows),
        "nested": lambda: tune(models, [rows], workers=1),
    }
    return {"examples": len(models) * rows.y.size, **by_turns(contenders, rounds)}


def blocks() -> dict[str, str]:
    rows = []
    for name, races in kept(FIGURES)["sets"].items():
        for title, one in races.items():
            ratios = [f"{one['alone'] / one[kind]:.2f}" for kind in ("shared", "nested")]
            speed = f"{one['examples'] / one['nested'] / 1e6:.2f}"
            rows.append([name, title, f"{one['alone']:.2f}", *ratios, speed])
    return {"speeds": table(["set", "models", "alone, s", "shared transforms", "and nested", "M/s"], rows, words=2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add_data(parser)
    parser.add_argument("--rows", type=int, default=15_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    sets = {name: rows_of(given.data / f"{name}.libsvm.gz", given.rows) for name in SETS}
    found = {}
    for name, rows in track(sets.items(), "measuring", transient=True):
        found[name] = {title: measured(models, rows, given.rounds) for title, models in RACES.items()}
    keep(FIGURES, {"sets": found})


if __name__ == "__main__":
    main()
