"""Training of 50 batch trees of 127 leaves, and their answers, beside LightGBM's, on one core.

Our time is that of ``partial_fit`` from the row at which a training begins to the row at which it ends, a 32nd of the
rows later, with all other work on these rows. The time of the rows before includes their bins, an answer to each, and
two small trainings. The rows are dense arrays. Processor time, medians; the two take turns.

    pip install lightgbm
    python benchmarks/batch_trees.py [--data FOLDER] [--rows 30000] [--repeats 9]
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from onlineboost import BatchBoost, datasets

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, add_data, keep, kept, table

FIGURES = FOLDER / "batch_trees.json"
SETS = ("covtype", "letter", "poker")
TESTED = 5_000  # rows that are not learned
TREES, LEAVES, RATE = 50, 127, 0.2
PARAMETERS = {"objective": "binary", "num_threads": 1, "verbose": -1, "max_bin": 63, "seed": 0}
PARAMETERS |= {"num_leaves": LEAVES, "learning_rate": RATE, "min_data_in_leaf": 20}


def blocks() -> dict[str, str]:
    head = ["set", "rows", "training, s", "LightGBM's, s", "ratio", "rows before, s", "LightGBM's bins, s"]
    head += ["answer, us", "LightGBM's, us", "error", "LightGBM's"]
    rows = []
    for name, one in kept(FIGURES).items():
        fit, its = one["training"], one["its training"]
        times = [f"{fit:.3f}", f"{its:.3f}", f"{fit / its:.2f}", f"{one['before']:.3f}", f"{one['its bins']:.3f}"]
        answers = [f"{one[key] * 1e6:.1f}" for key in ("answer", "its answer")]
        errors = [f"{one[key]:.4f}" for key in ("error", "its error")]
        rows.append([name, f"{one['rows']:,}", *times, *answers, *errors])
    return {"batch trees": table(head, rows)}


def last_training(rows: int) -> tuple[int, int, float]:
    """The rows, near this number, at which the third training begins and ends; and the growth between trainings."""
    growth = math.sqrt(rows * 32 / 33 / 64)
    begins = math.floor(math.floor(64 * growth + 0.5) * growth + 0.5)
    return begins, begins + begins // 32, growth


def measure(X: Any, y: Any, rows: int, repeats: int) -> dict[str, float]:
    import lightgbm

    start, n, growth = last_training(min(rows, len(y) - TESTED))
    tested = slice(n, n + TESTED)
    times: dict[str, list[float]] = {}

    def timed(key: str, call: Callable[[], Any]) -> Any:
        began = time.process_time()
        made = call()
        times.setdefault(key, []).append(time.process_time() - began)
        return made

    ours = BatchBoost(n_estimators=TREES, max_leaves=LEAVES, learning_rate=RATE, growth=growth)
    for repeat in range(repeats + 1):  # the first one compiles
        model = timed("before", lambda: ours.clone().fit(X[:start], y[:start]))
        timed("training", lambda one=model: one.partial_fit(X[start:n], y[start:n]))
        data = lightgbm.Dataset(X[:n], y[:n], params=PARAMETERS)
        timed("its bins", data.construct)
        its = timed("its training", lambda made=data: lightgbm.train(PARAMETERS, made, TREES))
        score = timed("answer", lambda one=model: one.decision_function(X[tested]))
        its_score = timed("its answer", lambda one=its: one.predict(X[tested], raw_score=True, num_threads=1))
        if repeat == 0:
            times.clear()
    found = {key: statistics.median(each) / (TESTED if "answer" in key else 1) for key, each in times.items()}
    errors = {key: float(((s > 0) != y[tested]).mean()) for key, s in (("error", score), ("its error", its_score))}
    return {"rows": n} | found | errors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_data(parser)
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    warnings.simplefilter("ignore")
    found = {}
    for name in SETS:
        X, y = datasets.load(name, options.data, download=False)
        order = np.random.default_rng(0).permutation(len(y))[: options.rows + TESTED]
        found[name] = measure(X[order].toarray(), y[order] > 0, options.rows, options.repeats)
        print(name, found[name], flush=True)
    keep(FIGURES, found)
    print(blocks()["batch trees"])


if __name__ == "__main__":
    main()
