"""R2 and coverage of regressors on the second half of a stream, whose targets are not learned, after the first half.

The streams of ``regression.py``, in their order, and house prices that rise by 6 % a year.

    python experiments/unlabeled.py [--data FOLDER]
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
from rich.progress import track

from onlineboost import OnlineBoostRegressor, OnlineGradientBoost, RangeWarning, RegressionTree

sys.path.extend(str(Path(__file__).parents[1] / folder) for folder in ("scripts", "tests", "experiments"))
from figures import FOLDER, add_data, keep, kept, table
from regression import SETS, load

from conftest import houses

FIGURES = FOLDER / "unlabeled.json"


def run(X: object, y: np.ndarray) -> dict[str, float]:
    half = len(y) // 2
    model = OnlineBoostRegressor(random_state=0).fit(X[:half], y[:half])
    trees = OnlineGradientBoost(RegressionTree()).fit(X[:half], y[:half])
    low, high = model.predict_interval(X[half:])
    covers = np.mean((low <= y[half:]) & (y[half:] <= high))
    return {"r2": model.score(X[half:], y[half:]), "covers": covers, "trees": trees.score(X[half:], y[half:])}


def blocks() -> dict[str, str]:
    rows = [
        [name, f"{one['r2']:.3f}", f"{100 * one['covers']:.0f} %", f"{one['trees']:.3f}"]
        for name, one in kept(FIGURES).items()
    ]
    head = [
        "stream",
        "R2, `OnlineBoostRegressor()`",
        "90 % intervals cover",
        "R2, `OnlineGradientBoost(RegressionTree())`",
    ]
    return {"unlabeled": table(head, rows)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_data(parser)
    options = parser.parse_args()
    warnings.simplefilter("ignore", RangeWarning)
    found = {"house prices": run(*houses(25_000, 80, 0))}
    for name in track(SETS, "unlabeled"):
        path = options.data / "regression" / f"{name}.csv.gz"
        if path.exists():
            found[name] = run(*load(path))
    keep(FIGURES, found)


if __name__ == "__main__":
    main()
