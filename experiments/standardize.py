"""Does standardising help, on every available set, and should it be on by default?

Progressive 0-1 error of linear learners with and without it, in one pass; writes docs/standardize.md.

    python experiments/standardize.py [--data ../shared/data] [--rows 50000] [--shuffles 2]
"""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress

from onlineboost import Linear, OnlineBBM, OnlineClassifier
from onlineboost.data.batch import Batch, cut, joined
from onlineboost.data.batch import shuffled as in_other_order
from onlineboost.datasets import load_letter
from onlineboost.evaluate import progressive_score
from onlineboost.readers import open_stream
from onlineboost.transforms.standardize import new_standardize

PAGE = Path("docs/standardize.md")


def models(standardize: bool) -> dict[str, OnlineClassifier]:
    return {
        "Linear": Linear(standardize=standardize),
        "Linear, logistic": Linear("logistic", standardize=standardize),
        "Online BBM": OnlineBBM(Linear(standardize=standardize)),
    }


def load(path: Path) -> Batch:
    """A whole set as one batch."""
    return joined([page.batch for page in open_stream(path)])


def load_all(data: Path) -> dict[str, Batch]:
    """Every set of a folder; the bundled set if there is none."""
    sets = {path.name.split(".")[0]: load(path) for path in sorted(data.glob("*.libsvm.gz"))}
    if not sets:
        X, y = load_letter()
        sets = {"letter": joined([page.batch for page in open_stream(X, y=y)])}
    return sets


def shuffled(whole: Batch, rows: int, seed: int) -> Batch:
    """Some of the rows, in another order."""
    return cut(in_other_order(whole, seed), 0, min(rows, whole.y.size))


def measure(sets: dict[str, Batch], rows: int, shuffles: int) -> list[dict[str, Any]]:
    results = []
    with Progress(transient=True) as progress:
        task = progress.add_task("measuring", total=len(sets))
        for name, whole in sets.items():
            streams = [shuffled(whole, rows, seed) for seed in range(shuffles)]
            result: dict[str, Any] = {"name": name, "rows": streams[0].y.size}
            for kind in models(False):
                pair = [models(standardize)[kind] for standardize in (False, True)]
                result[kind] = [
                    float(np.mean([progressive_score(model, stream) for stream in streams])) for model in pair
                ]
            standardized = new_standardize(1 << 18).apply(streams[0], learning=True)
            result["growth"] = standardized.values.size / streams[0].values.size
            results.append(result)
            progress.advance(task)
    return results


def page(results: list[dict[str, Any]], command: str, shuffles: int) -> str:
    kinds = list(models(False))
    lines = [
        "# Standardising",
        "",
        f"Made by `{command}`.",
        "Progressive 0-1 error without and with `standardize=True` (the rule is in `transforms/standardize.py`),",
        f"mean of {shuffles} shuffles, default parameters, Online BBM with 21 learners.",
        "Growth: features per row with over without.",
        "",
        "| set | rows | " + " | ".join(f"{kind}: off | on" for kind in kinds) + " | growth |",
        "| --- | --- | " + " | ".join(["--- | ---"] * len(kinds)) + " | --- |",
    ]
    for r in results:
        errors = " | ".join(f"{r[kind][0]:.4f} | {r[kind][1]:.4f}" for kind in kinds)
        lines.append(f"| {r['name']} | {r['rows']:,} | {errors} | {r['growth']:.2f} |")
    ratios = {kind: [r[kind][1] / r[kind][0] - 1 for r in results] for kind in kinds}
    mean = " | ".join(f"| **{np.mean(ratios[kind]):+.1%}**" for kind in kinds)
    worst = " | ".join(f"| {max(ratios[kind]):+.1%}" for kind in kinds)
    lines += [f"| **mean change** | | {mean} | |", f"| worst set | | {worst} | |", ""]
    helped = all(np.mean(ratio) < 0 and max(ratio) < 0.02 for ratio in ratios.values())
    if helped:
        lines.append("It lowers the mean error of all three models, and raises the error by 2 % or more on no set.")
        lines.append("So `onlineboost train` standardises for linear learners.")
    else:
        lines.append("It does not help on all sets.")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--shuffles", type=int, default=2)
    options = parser.parse_args()
    sets = load_all(options.data)
    given = [f"--{name} {shlex.quote(os.fspath(value))}" for name, value in (("data", options.data),) if sets]
    given += [f"--rows {options.rows}", f"--shuffles {options.shuffles}"]
    command = " ".join(["python experiments/standardize.py", *given])
    text = page(measure(sets, options.rows, options.shuffles), command, options.shuffles)
    PAGE.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
