"""Progressive error of boosted trees on sets and generators: bins that follow the stream, and replay.

The sets in their own order and shuffled, River's generators, and streams whose values change their range.

    python experiments/bins.py [--data FOLDER] [--rows 200000]
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from river.datasets import synth

from onlineboost import DataError, SafeBoost, Tree, datasets

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, add_data, keep, kept, table

FIGURES = FOLDER / "bins.json"
SETS = ("20news", "a9a", "activity", "adult", "bio", "census", "covtype", "letter", "nomao", "poker", "rcv1")
BLOCK = 5_000
Rows = tuple[Any, np.ndarray]


def taken(stream: Any, n: int = 4 * BLOCK, positive: Callable[[float], bool] = bool) -> Rows:
    """The first rows of a generator; words are numbered as they come."""
    codes: dict[Any, int] = {}
    rows, labels = [], []
    for x, y in stream.take(n):
        rows.append([codes.setdefault(v, len(codes)) if isinstance(v, str) else float(v) for v in x.values()])
        labels.append(1 if positive(y) else -1)
    return np.array(rows), np.array(labels)


def changing(make: Callable[[int, int], Any], variants: list[int]) -> Rows:
    blocks = [taken(make(variant, 1 + k), BLOCK) for k, variant in enumerate(variants)]
    return np.concatenate([X for X, _ in blocks]), np.concatenate([y for _, y in blocks])


GENERATORS: dict[str, Callable[[], Rows]] = {
    "SEA": lambda: taken(synth.SEA(0, noise=0.1, seed=1)),
    "SEA, changing": lambda: changing(lambda v, s: synth.SEA(v, noise=0.1, seed=s), [0, 1, 2, 3]),
    "Agrawal 0": lambda: taken(synth.Agrawal(0, seed=1)),
    "Agrawal 4": lambda: taken(synth.Agrawal(4, seed=1)),
    "Agrawal, changing": lambda: changing(lambda v, s: synth.Agrawal(v, seed=s), [0, 4, 2, 6]),
    "RandomRBF": lambda: taken(synth.RandomRBF(1, 1, n_features=10, n_centroids=50)),
    "RandomRBF, drifting": lambda: taken(
        synth.RandomRBFDrift(1, 1, n_features=10, n_centroids=50, change_speed=0.001, n_drift_centroids=50)
    ),
    "Hyperplane": lambda: taken(synth.Hyperplane(seed=1, n_features=10, mag_change=0.001)),
    "Sine": lambda: taken(synth.Sine(0, seed=1)),
    "Sine, changing": lambda: changing(lambda v, s: synth.Sine(v, seed=s), [0, 1, 2, 3]),
    "Mixed": lambda: taken(synth.Mixed(0, seed=1)),
    "Mixed, changing": lambda: changing(lambda v, s: synth.Mixed(v, seed=s), [0, 1, 0, 1]),
    "STAGGER": lambda: taken(synth.STAGGER(0, seed=1)),
    "STAGGER, changing": lambda: changing(lambda v, s: synth.STAGGER(v, seed=s), [0, 1, 2, 0]),
    "LED, 5 and above": lambda: taken(synth.LED(seed=1, noise_percentage=0.1), positive=lambda y: y >= 5),
    "RandomTree": lambda: taken(synth.RandomTree(seed_tree=1, seed_sample=1)),
}


def normal(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(2 * BLOCK, 6))


def late() -> Rows:
    X = normal(1)
    y = np.sign(X[:, 5])
    y[:1000] = np.sign(normal(5)[:1000, 0])
    X[:1000, 5] = 0
    return X, y


def scaled(first: slice, factor: float, shift: float) -> Rows:
    X = normal(2)
    y = np.sign(X[:, 0] + X[:, 1])
    X[first] = factor * X[first] + shift
    return X, y


BROKEN: dict[str, Callable[[], Rows]] = {
    "a feature that decides comes at row 1,000": late,
    "the first 128 rows are 100 times smaller": lambda: scaled(slice(128), 0.01, 0),
    "x becomes 100 x + 500 at row 2,000": lambda: scaled(slice(2000, None), 100, 500),
}


def streams(data: Path, rows: int) -> Iterator[tuple[str, Rows]]:
    for name in (*SETS, "elec"):
        try:
            X, y = datasets.load(name, data, download=False)
        except (FileNotFoundError, DataError):
            continue
        yield f"{name}, in order", (X[:rows], y[:rows])
        if name != "elec":
            order = np.random.default_rng(0).permutation(len(y))[:rows]
            yield f"{name}, shuffled", (X[order], y[order])
    for name, make in (GENERATORS | BROKEN).items():
        yield name, make()


def measured(X: Any, y: np.ndarray) -> dict[str, float]:
    with warnings.catch_warnings(action="ignore"):
        scores = SafeBoost(Tree(8), random_state=0).progressive_fit(X, y)
    wrong = (scores >= 0) != (y == y.max())
    first, last = wrong[:1000].mean(), wrong[-1000:].mean()
    found = {"rows": len(y), "error": round(wrong.mean(), 5), "first": round(first, 4), "last": round(last, 4)}
    return found | {"no change": unchanged(y)}


def unchanged(y: np.ndarray) -> float:
    """The error of repeating the last label."""
    return round(float(np.mean(y[1:] != y[:-1])), 5)


def blocks() -> dict[str, str]:
    found = kept(FIGURES)
    rows = [
        [name, f"{one['rows']:,}", f"{one['error']:.4f}", f"{one['first']:.3f}", f"{one['no change']:.4f}"]
        for name, one in found.items()
        if name not in BROKEN
    ]
    broken = [[name, f"{found[name]['last']:.3f}"] for name in BROKEN]
    return {
        "errors": table(["stream", "rows", "error", "first 1,000 rows", "no change"], rows),
        "broken": table(["stream", "error"], broken),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_data(parser)
    parser.add_argument("--rows", type=int, default=200_000)
    options = parser.parse_args()
    keep(FIGURES, {name: measured(*rows) for name, rows in track(streams(options.data, options.rows), total=41)})


if __name__ == "__main__":
    main()
