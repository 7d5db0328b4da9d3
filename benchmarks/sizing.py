"""Cost of each model, by the number of features: rows a second, microseconds for one row, memory, size of the file.

One core, dense generated rows of numbers; a process for each model, which has learned 10,000 rows before. Processor
time, medians.

    python benchmarks/sizing.py [--repeats 5]
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

import onlineboost
from onlineboost import Linear, OnlineBBM, OnlineBoost, OnlineBoostRegressor, SafeBoost, Tree

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from cost import memory
from figures import FOLDER, keep, kept, table

FIGURES = FOLDER / "sizing.json"
MODELS = {
    "Linear(standardize=True)": Linear(standardize=True),
    "OnlineBBM(Linear(standardize=True), 21)": OnlineBBM(Linear(standardize=True), 21, random_state=0),
    "OnlineBBM(Tree(5), 21)": OnlineBBM(Tree(5), 21, random_state=0),
    "SafeBoost(Tree(8))": SafeBoost(Tree(8), random_state=0),
    'OnlineBoost("low")': OnlineBoost("low", random_state=0),
    "OnlineBoost()": OnlineBoost(random_state=0),
    'OnlineBoost("high")': OnlineBoost("high", random_state=0),
    "OnlineBoostRegressor()": OnlineBoostRegressor(random_state=0),
}
WIDTHS = (10, 100, 1_000)
BEFORE, PART, SINGLE = 10_000, 1_000, 100  # rows
Cost = dict[str, float]


def rows(n: int, width: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Generated rows; the target depends on a few features, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width)).astype(np.float32)
    score = np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) + X[:, 3] / 2
    return X, score + rng.normal(size=n)


def measured(name: str, width: int, repeats: int) -> Cost:
    model = MODELS[name].clone()
    X, scores = rows(BEFORE + repeats * PART, width, 0)
    y = scores if name == "OnlineBoostRegressor()" else np.where(scores > 0, 1, -1)
    small = model.clone().fit(X[:600, :10], y[:600])  # loads the compiled code
    small.predict_one(dict(enumerate(X[0, :10].tolist())))
    before = memory()
    model.fit(X[:BEFORE], y[:BEFORE])
    learn, predict = [], []
    for k in range(BEFORE, len(y), PART):
        part = slice(k, k + PART)
        predict.append(_seconds(lambda part=part: model.predict(X[part])))
        learn.append(_seconds(lambda part=part: model.partial_fit(X[part], y[part])))
    grown = memory() - before
    dicts = [dict(enumerate(row)) for row in X[:SINGLE].tolist()]
    model.predict_one(dicts[0])
    one = statistics.median(_seconds(lambda x=x: model.predict_one(x)) for x in dicts)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(path)
        size = path.stat().st_size
        assert onlineboost.load(path).n_seen_ == len(y)
    return {
        "learn": PART / statistics.median(learn),
        "predict": PART / statistics.median(predict),
        "one": one * 1e6,
        "memory": grown,
        "file": size / 1e6,
    }


def _seconds(call: Any) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def _in_a_process(queue: Any, *arguments: Any) -> None:
    queue.put(measured(*arguments))


def alone(name: str, width: int, repeats: int) -> Cost:
    """In a new process, so that memory is that of one model."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_in_a_process, args=(queue, name, width, repeats))
    process.start()
    found: Cost = queue.get()
    process.join()
    return found


def blocks() -> dict[str, str]:
    found = kept(FIGURES)
    lines = {
        str(width): [
            [f"`{name}`", _three(c["learn"]), _three(c["predict"]), _three(c["one"]), _mb(c["memory"]), _mb(c["file"])]
            for name, c in ((name, found[name][str(width)]) for name in MODELS if name in found)
        ]
        for width in WIDTHS
    }
    head = ["model", "learn, rows/s", "predict, rows/s", "predict one row, us", "memory, MB", "model file, MB"]
    default = found["OnlineBoost()"]["1000"]
    return {f"{width} features": table(head, lines[width]) for width in lines} | {
        "thousand": f"{_mb(default['memory'])} MB",
        "single": f"{_three(found['OnlineBoost()']['10']['one'])} microseconds",
    }


def _three(value: float) -> str:
    """Three digits."""
    digits = 2 - int(np.floor(np.log10(value)))
    return f"{round(value, digits):,.{max(digits, 0)}f}"


def _mb(value: float) -> str:
    return "under 1" if value < 1 else f"{value:,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    found: dict[str, dict[str, Cost]] = {}
    for name in track(MODELS, "measuring", transient=True):
        found[name] = {str(width): alone(name, width, options.repeats) for width in WIDTHS}
    keep(FIGURES, found)


if __name__ == "__main__":
    main()
