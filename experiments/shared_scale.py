"""Does sharing the scale of each feature among the learners of Online BBM change the error?

``OnlineBBM(Linear())`` keeps one scale of a feature for all learners; Vowpal Wabbit keeps one for each learner, as
``OnlineBBM(Copies(Linear()))`` does. Both learn the same stream of every set.

    python experiments/shared_scale.py [--data FOLDER] [--rows 10000] [--shuffles 4]
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.progress import Progress
from sklearn.datasets import load_svmlight_file

from onlineboost import Copies, Linear, OnlineBBM, OnlineClassifier
from onlineboost.evaluate import progressive_score

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, add_data, keep, kept, table

FIGURES = FOLDER / "shared-scale.json"
LEARNERS, GAMMA = 21, 0.1
VOTES = ("hard", "real")
CLEAR = 2  # a mean this many standard errors from 0 is called a difference


def models() -> dict[str, OnlineClassifier]:
    """A new model for each column of the table."""
    bbm = partial(OnlineBBM, n_estimators=LEARNERS, gamma=GAMMA, delivery="weight")
    as_vw = {"votes": "real", "normalizer": "none"}
    return {
        "Linear alone": Linear(),
        "fused hard": bbm(Linear()),
        "separate hard": bbm(Copies(Linear())),
        "fused real": bbm(Linear(), **as_vw),
        "separate real": bbm(Copies(Linear()), **as_vw),
    }


class Difference(NamedTuple):
    """Fused - separate: positive where sharing costs."""

    votes: str
    mean: float
    error: float  # standard error over sets; NaN for a single set


def measure(paths: list[Path], rows: int, shuffles: int) -> dict[str, Any]:
    """Rows, and mean errors over the shuffles, by set."""
    results = {}
    with Progress(transient=True) as progress:
        task = progress.add_task("", total=len(paths) * (1 + shuffles * len(models())))
        for path in paths:
            name = path.name.removesuffix(".libsvm.gz")
            progress.update(task, description=f"{name}: reading")
            X, y = load_svmlight_file(str(path), dtype=np.float32)
            progress.advance(task)
            errors = dict.fromkeys(models(), 0.0)
            for seed in range(shuffles):
                order = np.random.default_rng(seed).permutation(len(y))[:rows]
                for column, model in models().items():
                    progress.update(task, description=f"{name}: {column}")
                    errors[column] += progressive_score(model, X[order], y[order]) / shuffles
                    progress.advance(task)
            results[name] = {"rows": min(rows, len(y)), "errors": errors}
    return results


def difference(results: dict[str, Any], votes: str) -> Difference:
    errors = [result["errors"] for result in results.values()]
    each = [one[f"fused {votes}"] - one[f"separate {votes}"] for one in errors]
    spread = statistics.stdev(each) if len(each) > 1 else math.nan
    return Difference(votes, statistics.mean(each), spread / math.sqrt(len(each)))


def verdict(differences: list[Difference], n_sets: int) -> str:
    """The conclusion in one sentence."""
    if n_sets < 2:
        return "One set is not enough to say whether sharing the scale changes the error."
    parts = [f"{_effect(d)} with {d.votes} votes" for d in differences]
    return f"Over {n_sets} sets, sharing the scale {', and '.join(parts)}."


def _effect(d: Difference) -> str:
    if d.mean == d.error == 0:
        return "changes no error at all"
    if abs(d.mean) <= CLEAR * d.error:
        return f"makes no clear difference (mean within {CLEAR} standard errors of 0)"
    change = "raises" if d.mean > 0 else "lowers"
    return f"{change} the error by {abs(d.mean):.5f} (more than {CLEAR} standard errors)"


def blocks() -> dict[str, str]:
    figures = kept(FIGURES)
    results = figures["sets"]
    rows = [
        [name, f"{r['rows']:,}", *(f"{error:.4f}" for error in r["errors"].values())] for name, r in results.items()
    ]
    differences = [difference(results, votes) for votes in VOTES]
    means = [[d.votes, f"{d.mean:+.5f}", f"{d.error:.5f}"] for d in differences]
    return {
        "shuffles": str(figures["shuffles"]),
        "errors": table(["set", "rows", *models()], rows),
        "differences": table(["votes", "mean of fused - separate", "standard error over sets"], means),
        "verdict": verdict(differences, len(results)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_data(parser)
    parser.add_argument("--rows", type=int, default=10_000, help="largest number of rows of each set")
    parser.add_argument("--shuffles", type=int, default=4, help="number of shuffles of each set")
    options = parser.parse_args()
    paths = sorted(options.data.glob("*.libsvm.gz"))
    if not paths:
        parser.error(f"no data in {options.data}: expected <name>.libsvm.gz files. Name their folder with --data")
    found = measure(paths, options.rows, options.shuffles)
    keep(FIGURES, {"shuffles": options.shuffles, "sets": found})


if __name__ == "__main__":
    main()
