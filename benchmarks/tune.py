"""Speed of a race, compared with ``progressive_fit`` of each model, and with two threads.

    python benchmarks/tune.py --data ../shared/data

Times of one core are processor time, which other work on the machine does not affect; times of threads are the minimum
over the rounds. All contenders take turns, five rounds each. Writes the table of docs/tune.md.
"""

from __future__ import annotations

import argparse
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from onlineboost import AdaBoostOL, Linear, OnlineBBM, OnlineClassifier, OSBoost, Tree
from onlineboost.data.batch import Batch, cut, joined
from onlineboost.readers import open_stream
from onlineboost.tuning import grid, runs, tune

PAGE = Path(__file__).parent.parent / "docs" / "tune.md"
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


def by_turns(contenders: list[Callable[[], object]], rounds: int) -> list[list[tuple[float, float]]]:
    """Processor time and wall time of each contender in each round, after one round that compiles."""
    found: list[list[tuple[float, float]]] = [[] for _ in contenders]
    for number in range(rounds + 1):
        for run, times in zip(contenders, found, strict=True):
            cpu, wall = time.process_time(), time.perf_counter()
            run()
            if number:
                times.append((time.process_time() - cpu, time.perf_counter() - wall))
    return found


def unshared(models: list[OnlineClassifier], rows: Batch) -> None:
    """A race without nested boosters."""
    key, runs.nesting_key = runs.nesting_key, lambda *_: None
    try:
        tune(models, [rows], workers=1)
    finally:
        runs.nesting_key = key


def line(name: str, title: str, models: list[OnlineClassifier], rows: Batch, rounds: int) -> str:
    contenders: list[Callable[[], object]] = [
        lambda: [model.clone().progressive_fit(rows) for model in models],
        lambda: unshared(models, rows),
        lambda: tune(models, [rows], workers=1),
        lambda: tune(models, [rows], workers=2),
    ]
    alone, transforms, one, two = by_turns(contenders, rounds)
    cpu = [statistics.median(t[0] for t in times) for times in (alone, transforms, one)]
    wall = [min(t[1] for t in times) for times in (one, two)]
    speed = len(models) * rows.y.size / wall[1] / 1e6
    ratios = f"{cpu[0] / cpu[1]:.2f} | {cpu[0] / cpu[2]:.2f} | {wall[0] / wall[1]:.2f}"
    return f"| {name} | {title} | {cpu[0]:.2f} | {ratios} | {speed:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=15_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    lines = []
    for name in SETS:
        rows = rows_of(given.data / f"{name}.libsvm.gz", given.rows)
        for title, models in RACES.items():
            lines.append(line(name, title, models, rows, given.rounds))
            print(lines[-1], flush=True)
    text = PAGE.read_text()
    table = "\n".join(lines)
    PAGE.write_text(re.sub(r"(<!-- speeds -->\n.*?---: \|\n).*?(\n\n)", rf"\g<1>{table}\g<2>", text, flags=re.S))


if __name__ == "__main__":
    main()
