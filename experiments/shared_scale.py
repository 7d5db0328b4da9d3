"""Does sharing the scale of each feature among the learners of Online BBM change the error?

``OnlineBBM(Linear())`` keeps one scale of a feature for all learners; Vowpal Wabbit keeps one for each learner, as
``OnlineBBM(Copies(Linear()))`` does. Both learn the same stream of every set; writes docs/shared-scale.md.

    python experiments/shared_scale.py [--data ../shared/data] [--rows 10000] [--shuffles 4]
"""

from __future__ import annotations

import argparse
import math
import os
import shlex
import statistics
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import Progress
from sklearn.datasets import load_svmlight_file

from onlineboost import Copies, Linear, OnlineBBM, OnlineClassifier
from onlineboost.evaluate import progressive_score

PAGE = Path("docs/shared-scale.md")
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


class Result(NamedTuple):
    name: str
    rows: int
    errors: dict[str, float]  # means over the shuffles


class Difference(NamedTuple):
    """Fused - separate: positive where sharing costs."""

    votes: str
    mean: float
    error: float  # standard error over sets; NaN for a single set


def measure(paths: list[Path], rows: int, shuffles: int) -> list[Result]:
    results = []
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
            results.append(Result(name, min(rows, len(y)), errors))
    return results


def difference(results: list[Result], votes: str) -> Difference:
    each = [result.errors[f"fused {votes}"] - result.errors[f"separate {votes}"] for result in results]
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


def page(results: list[Result], shuffles: int, command: str) -> str:
    columns = list(models())
    table = [
        f"| set | rows | {' | '.join(columns)} |",
        f"| --- |{' ---: |' * (1 + len(columns))}",
        *(
            f"| {r.name} | {r.rows:,} | {' | '.join(f'{r.errors[column]:.4f}' for column in columns)} |"
            for r in results
        ),
    ]
    differences = [difference(results, votes) for votes in VOTES]
    summary = [
        "| votes | mean of fused - separate | standard error over sets |",
        "| --- | ---: | ---: |",
        *(f"| {d.votes} | {d.mean:+.5f} | {d.error:.5f} |" for d in differences),
    ]
    boosted = f"Online BBM (weights, gamma {GAMMA:g})"
    return "\n".join(
        [
            "# Shared feature scales",
            "",
            f"Progressive 0-1 error of `Linear()`, and of {LEARNERS} of them in {boosted}. They",
            "share each feature's scale (fused) or keep their own, as in Vowpal Wabbit (separate: `Copies(Linear())`).",
            "",
            f"    {command}",
            "",
            f"Every set is shuffled and cut to the rows shown, {shuffles} times; errors are means over these.",
            '"Real" is `votes="real", normalizer="none"`.',
            "",
            *table,
            "",
            *summary,
            "",
            verdict(differences, len(results)),
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of <name>.libsvm.gz files")
    parser.add_argument("--rows", type=int, default=10_000, help="largest number of rows of each set")
    parser.add_argument("--shuffles", type=int, default=4, help="number of shuffles of each set")
    options = parser.parse_args()
    paths = sorted(options.data.glob("*.libsvm.gz"))
    if not paths:
        parser.error(f"no data in {options.data}: expected <name>.libsvm.gz files. Name their folder with --data")
    if min(options.rows, options.shuffles) < 1:
        parser.error("--rows and --shuffles: expected at least 1")

    data = os.path.relpath(options.data)  # the page names no machine's folders
    size = ["--rows", str(options.rows), "--shuffles", str(options.shuffles)]
    command = shlex.join(["python", "experiments/shared_scale.py", "--data", data, *size])
    text = page(measure(paths, options.rows, options.shuffles), options.shuffles, command)
    PAGE.write_text(text)
    console = Console()
    console.print(text, markup=False, highlight=False, soft_wrap=True)
    console.print(f"written: {PAGE}")


if __name__ == "__main__":
    main()
