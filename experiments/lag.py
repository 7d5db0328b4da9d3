"""The last labels as features, beside repeating the last label, on streams in their own order.

MetroTraffic and bike are those of ``experiments/regression.py``; covtype has two classes, in the order of its file.
R2, or accuracy, over the whole stream, every row answered before it is learned; nothing was chosen for a set.

    python experiments/lag.py [--data FOLDER]
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from regression import load, unchanged
from rich.progress import track

from onlineboost import OnlineBoost, OnlineBoostRegressor, RangeWarning
from onlineboost.evaluate.metrics import Curve
from onlineboost.evaluate.repeated import Repeated
from onlineboost.readers import open_stream
from onlineboost.regressor import r2

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, add_data, keep, kept, table

FIGURES = FOLDER / "lag.json"
LAGS = (0, 1, 3, 10)
NUMBERS, CLASSES = ("MetroTraffic", "bike"), ("covtype",)


def numbers(path: Path) -> dict[str, Any]:
    X, y = load(path)
    found: dict[str, Any] = {"last": unchanged(y), "measure": "R2"}
    for lag in LAGS:
        began = time.process_time()
        answers = OnlineBoostRegressor(random_state=0, lag=lag).progressive_fit(X, y)
        found[str(lag)] = {"value": r2(y, answers), "rows/s": len(y) / (time.process_time() - began)}
    return found


def classes(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {"measure": "accuracy"}
    for lag in LAGS:
        model, curve, repeated = OnlineBoost(random_state=0, lag=lag), Curve(), Repeated()
        began = time.process_time()
        for page in open_stream(str(path)):
            curve.update(page.target.mistakes(model.learn(page), page.batch.y), page.batch.weight)
            repeated.update(page.batch.y, page.batch.weight)
        found[str(lag)] = {"value": 1 - curve.error, "rows/s": curve.examples / (time.process_time() - began)}
        found["last"] = 1 - repeated.error
    return found


def blocks() -> dict[str, str]:
    rows = []
    for name, one in kept(FIGURES).items():
        values = [f"{one[str(lag)]['value']:.4f}" for lag in LAGS]
        rows.append([f"{name} ({one['measure']})", f"{one['last']:.4f}", *values])
    return {"lag": table(["stream", "the last label", *(f"lag={lag}" for lag in LAGS)], rows)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_data(parser)
    options = parser.parse_args()
    warnings.simplefilter("ignore", RangeWarning)  # of these streams, many features move
    rng = np.random.default_rng(0)  # compiles
    OnlineBoostRegressor(lag=1).progressive_fit(rng.normal(size=(300, 3)), rng.normal(size=300))
    OnlineBoost(lag=1).progressive_fit(rng.normal(size=(300, 3)), np.arange(300) % 2)
    found = {}
    for name in track((*NUMBERS, *CLASSES), "lags"):
        file = f"regression/{name}.csv.gz" if name in NUMBERS else f"{name}.libsvm.gz"
        if (options.data / file).exists():
            found[name] = (numbers if name in NUMBERS else classes)(options.data / file)
    keep(FIGURES, found)


if __name__ == "__main__":
    main()
