"""Keeping LightGBM up to date with a stream, in the ways that it has, beside partial_fit.

Blocks of 1,000 rows come one after the other. Each is predicted, then its labels come and it is learned. The
first block is learned only. LightGBM has its default parameters, 100 trees at the start, on one thread.

    pip install lightgbm
    python experiments/from_lightgbm.py [--data FOLDER] [--rows 20000]
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from onlineboost import OnlineBoost, datasets

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, add_data, keep, kept, table

FIGURES = FOLDER / "from_lightgbm.json"
SETS = ("adult", "covtype", "letter", "nomao")
BLOCK = 1_000
WINDOW = 5_000  # rows
PARAMETERS = {"objective": "binary", "num_threads": 1, "verbose": -1, "seed": 0}
MORE = 10  # trees per block, with init_model


class PartialFit:
    def __init__(self) -> None:
        self.model = OnlineBoost(random_state=0)

    def learn(self, X: Any, y: Any) -> None:
        self.model.partial_fit(X, y, classes=[0, 1])

    def predict(self, X: Any) -> Any:
        return self.model.predict(X)


class LightGBM:
    """Trained anew on the last rows, or on all of them."""

    def __init__(self, window: int | None = None) -> None:
        self.window, self.X, self.y = window, np.empty((0, 0), np.float32), np.empty(0)
        self.booster: Any = None

    def learn(self, X: Any, y: Any) -> None:
        self.X = np.vstack([self.X, X]) if len(self.y) else X
        self.y = np.concatenate([self.y, y])
        if self.window is not None:
            self.X, self.y = self.X[-self.window :], self.y[-self.window :]
        self.booster = self.train(self.X, self.y, 100)

    def train(self, X: Any, y: Any, trees: int, start: Any = None) -> Any:
        import lightgbm

        return lightgbm.train(PARAMETERS, lightgbm.Dataset(X, y), trees, init_model=start)

    def predict(self, X: Any) -> Any:
        return self.booster.predict(X, num_threads=1) > 0.5


class InitModel(LightGBM):
    """More trees for each block, on top of those before."""

    def learn(self, X: Any, y: Any) -> None:
        self.booster = self.train(X, y, 100 if self.booster is None else MORE, self.booster)


class Refit(LightGBM):
    """The trees of the first block, with leaf values that follow."""

    def learn(self, X: Any, y: Any) -> None:
        self.booster = self.train(X, y, 100) if self.booster is None else self.booster.refit(X, y)


MODELS = {
    "`OnlineBoost().partial_fit`": PartialFit,
    "`refit`": Refit,
    "`init_model`, 10 trees more each": InitModel,
    "anew on the last 5,000 rows": lambda: LightGBM(WINDOW),
    "anew on all rows": LightGBM,
}


def blocks() -> dict[str, str]:
    found = kept(FIGURES)
    names = list(found["streams"])
    rows = []
    for model in MODELS:
        errors = [found["streams"][name][model]["error"] for name in names]
        seconds = sum(found["streams"][name][model]["seconds"] for name in names)
        rows.append([model, *(f"{error:.4f}" for error in errors), f"{seconds:.1f} s"])
    return {
        "from lightgbm": table(["updated by", *names, "CPU time"], rows),
        "rows": f"{found['rows']:,}",
        "version": found["lightgbm"],
    }


def streams(data: Path, rows: int) -> Iterator[tuple[str, Any, Any]]:
    for name in SETS:
        X, y = datasets.load(name, data)
        order = np.random.default_rng(0).permutation(len(y))[:rows]
        X = X[order].toarray() if hasattr(X, "toarray") else X[order]
        yield name, np.ascontiguousarray(X, np.float32), (y[order] > 0).astype(float)
    yield "SEA, changed half-way", *changing(rows)


def changing(rows: int) -> tuple[Any, Any]:
    from river.datasets import synth

    found = []
    for variant in (0, 2):
        found += list(synth.SEA(variant=variant, seed=variant, noise=0.1).take(rows // 2))
    return np.array([[*x.values()] for x, _ in found], np.float32), np.array([float(y) for _, y in found])


def measure(model: Any, X: Any, y: Any) -> dict[str, float]:
    wrong, begun = 0, time.process_time()
    for k in range(0, len(y), BLOCK):
        some = slice(k, k + BLOCK)
        if k:
            wrong += int((model.predict(X[some]) != y[some]).sum())
        model.learn(X[some], y[some])
    return {"error": wrong / (len(y) - BLOCK), "seconds": time.process_time() - begun}


def main() -> None:
    import lightgbm

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_data(parser)
    parser.add_argument("--rows", type=int, default=20_000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found: dict[str, Any] = {"rows": options.rows, "lightgbm": lightgbm.__version__, "streams": {}}
    for name, X, y in streams(options.data, options.rows):
        mine = found["streams"].setdefault(name, {})
        for model, make in MODELS.items():
            measure(make(), X[: 3 * BLOCK], y[: 3 * BLOCK])  # compiles
            mine[model] = measure(make(), X, y)
            print(name, model, mine[model], flush=True)
    keep(FIGURES, found)
    print(blocks()["from lightgbm"])


if __name__ == "__main__":
    main()
