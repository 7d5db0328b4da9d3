"""Speed of the default, OnlineBoost, beside SafeBoost over linear learners: on a table, and on text, where trees rest.

Examples per second of processor time, from array to fitted model; the models take turns, medians of five runs.

    python benchmarks/default.py [--data FOLDER] [--rows 20000]
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from onlineboost import Linear, OnlineBoost, OnlineClassifier, SafeBoost, datasets
from onlineboost.ensembles.online_boost import EFFORTS

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, add_data, keep, kept, table

FIGURES = FOLDER / "default.json"
MODELS: dict[str, OnlineClassifier] = {
    "SafeBoost, linear": SafeBoost(Linear(standardize=True), random_state=0),
    **{f"OnlineBoost, {effort}": OnlineBoost(effort, random_state=0) for effort in EFFORTS},
}
TABLE, TEXT = ("covtype",), ("20news", "rcv1")
RUNS = 5


def blocks() -> dict[str, str]:
    found = kept(FIGURES)
    speeds = [one["speeds"] for one in found.values()]
    times = {
        effort: statistics.geometric_mean(s["OnlineBoost, normal"] / s[f"OnlineBoost, {effort}"] for s in speeds)
        for effort in ("low", "high")
    }
    rows = []
    for name, one in found.items():
        rows.append([name, f"{one['rows']:,}", *(f"{speed:,.0f}" for speed in one["speeds"].values())])
    return {
        "speeds": table(["set", "rows", *MODELS], rows),
        **{effort: f"{longer:.1f}" for effort, longer in times.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_data(parser)
    parser.add_argument("--rows", type=int, default=20_000)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    warnings.simplefilter("ignore")
    found = {}
    for name in (*TABLE, *TEXT):
        X, y = datasets.load(name, options.data, download=False)
        order = np.random.default_rng(0).permutation(len(y))[: options.rows]
        X, y = (X[order].toarray() if name in TABLE else X[order]), y[order]
        speeds: dict[str, list[float]] = {key: [] for key in MODELS}
        for model in MODELS.values():
            model.clone().fit(X[:600], y[:600])  # compiles
        for _ in range(RUNS):
            for key, model in MODELS.items():
                began = time.process_time()
                model.clone().fit(X, y)
                speeds[key].append(len(y) / (time.process_time() - began))
        medians = {key: statistics.median(each) for key, each in speeds.items()}
        found[name] = {"rows": len(y), "speeds": medians}
    keep(FIGURES, found)


if __name__ == "__main__":
    main()
