"""What do labels that come late cost? With the votes given then (tickets), and with those of now, as River learns.

Online BBM over trees and over linear learners; each row is asked in its turn, and told after so many further rows.

    python experiments/late.py [--data FOLDER] [--rows 20000] [--more FILE.npz ...]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress

from onlineboost import Linear, OnlineBBM, OnlineClassifier, Tree, datasets
from onlineboost.evaluate.progressive import Delayed
from onlineboost.readers import open_stream

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, add_data, keep, kept, table

FIGURES = FOLDER / "late.json"
SETS = ("covtype", "adult", "letter", "nomao")
DELAYS = (0, 10, 100, 1_000, 10_000)


def models() -> dict[str, OnlineClassifier]:
    return {"trees": OnlineBBM(Tree(5), 21, random_state=0), "linear": OnlineBBM(Linear(standardize=True), 21)}


def blocks() -> dict[str, str]:
    found = kept(FIGURES)
    last = found.pop("no change")
    rows, ratios = [], []
    for name, by_model in found.items():
        for model, errors in by_model.items():
            pairs = [(errors["then"][str(delay)], errors["now"][str(delay)]) for delay in DELAYS]
            ratios += [then / now for then, now in pairs[1:]]
            rows.append([name, model, *(f"{then:.4f} / {now:.4f}" for then, now in pairs)])
        if name in last:
            rows.append([name, "no change", *(f"{last[name][str(delay)]:.4f}" for delay in DELAYS)])
    head = ["set", "learners", *(f"{delay:,}" for delay in DELAYS)]
    return {"late": table(head, rows, words=2), "ratio": f"{statistics.geometric_mean(ratios):.3f}"}


def error(model: OnlineClassifier, X: Any, y: Any, delay: int, votes: Any) -> float:
    late, wrong, size = Delayed(model, delay, votes=votes), 0, 0
    for page in open_stream(X, y=y):
        wrong += int(page.target.mistakes(late.learn(page, squeeze=False), page.batch.y).sum())
        size += page.n_rows
    return wrong / size


def unchanged(y: Any) -> dict[str, float]:
    """The error of repeating the last label that is known, by delay."""
    return {str(delay): float(np.mean(y[delay + 1 :] != y[: -delay - 1])) for delay in DELAYS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_data(parser)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument(
        "--more", type=Path, nargs="*", default=[], help="further sets, as arrays X and y in their order"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    streams = {}
    for name in SETS:
        X, y = datasets.load(name, options.data)
        order = np.random.default_rng(0).permutation(len(y))[: options.rows]
        streams[name] = X[order], y[order]
    for path in options.more:
        arrays = np.load(path)
        streams[path.stem] = arrays["X"][: options.rows], arrays["y"][: options.rows]
    found: dict[str, Any] = {}
    with Progress() as progress:
        task = progress.add_task("late labels", total=len(streams) * len(models()) * 2 * len(DELAYS))
        for name, (X, y) in streams.items():
            for kind in models():
                mine = found.setdefault(name, {}).setdefault(kind, {"then": {}, "now": {}})
                for votes in mine:
                    for delay in DELAYS:
                        mine[votes][str(delay)] = error(models()[kind], X, y, delay, votes)
                        progress.advance(task)
    in_order = [path.stem for path in options.more]
    found["no change"] = {name: unchanged(streams[name][1]) for name in in_order}
    keep(FIGURES, found)
    print(blocks()["late"])
    print("mistakes with the votes of then, as a share of those with the votes of now:", blocks()["ratio"])


if __name__ == "__main__":
    main()
