"""Speed of the default, OnlineBoost, beside SafeBoost over linear learners: on a table, and on text, where trees rest.

Examples per second of one core, from array to fitted model; the models take turns, medians of five runs.

    python benchmarks/default.py [--data FOLDER] [--rows 200000]
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

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import add_data

MODELS: dict[str, OnlineClassifier] = {
    "SafeBoost(Linear)": SafeBoost(Linear(standardize=True), random_state=0),
    "OnlineBoost()": OnlineBoost(random_state=0),
    'OnlineBoost("low")': OnlineBoost("low", random_state=0),
}
TABLE, TEXT = ("covtype",), ("20news", "rcv1")
RUNS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_data(parser)
    parser.add_argument("--rows", type=int, default=200_000)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    warnings.simplefilter("ignore")
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
        medians = {key: statistics.median(found) for key, found in speeds.items()}
        share = medians["OnlineBoost()"] / medians["SafeBoost(Linear)"]
        print(f"{name}, {len(y):,} rows:", ", ".join(f"{key} {speed:,.0f}/s" for key, speed in medians.items()))
        print(f"  OnlineBoost() has {share:.0%} of the speed of SafeBoost(Linear)", flush=True)


if __name__ == "__main__":
    main()
