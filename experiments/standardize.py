"""Does standardizing help, on every available set, and should it be on by default?

Progressive 0-1 error of linear learners with and without it, in one pass.

    python experiments/standardize.py [--data FOLDER] [--rows 50000] [--shuffles 2]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress

from onlineboost import Linear, OnlineBBM, OnlineClassifier
from onlineboost.data.batch import Batch, cut, joined
from onlineboost.data.batch import shuffled as in_other_order
from onlineboost.datasets import load_letter
from onlineboost.evaluate import progressive_error
from onlineboost.readers import open_stream
from onlineboost.transforms.chain import through
from onlineboost.transforms.standardize import new_standardize

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, add_data, keep, kept, table

FIGURES = FOLDER / "standardize.json"


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


def measure(sets: dict[str, Batch], rows: int, shuffles: int) -> dict[str, Any]:
    results = {}
    with Progress(transient=True) as progress:
        task = progress.add_task("measuring", total=len(sets))
        for name, whole in sets.items():
            streams = [shuffled(whole, rows, seed) for seed in range(shuffles)]
            errors = {}
            for kind in models(False):
                pair = [models(standardize)[kind] for standardize in (False, True)]
                errors[kind] = [
                    float(np.mean([progressive_error(model, stream) for stream in streams])) for model in pair
                ]
            standardized = joined([*through((new_standardize(1 << 18),), streams[0], learning=True)])
            growth = np.ptp(standardized.indptr) / np.ptp(streams[0].indptr)
            results[name] = {"rows": streams[0].y.size, "errors": errors, "growth": growth}
            progress.advance(task)
    return results


def blocks() -> dict[str, str]:
    sets = kept(FIGURES)
    kinds = list(models(False))
    rows = []
    for name, r in sets.items():
        errors = [f"{error:.4f}" for kind in kinds for error in r["errors"][kind]]
        rows.append([name, f"{r['rows']:,}", *errors, f"{r['growth']:.2f}"])
    changes = {
        kind: {name: r["errors"][kind][1] / r["errors"][kind][0] - 1 for name, r in sets.items()} for kind in kinds
    }
    mean = {kind: np.mean(list(change.values())) for kind, change in changes.items()}
    worst = {kind: max(change.values()) for kind, change in changes.items()}
    rows.append(["**mean change**", "", *(cell for kind in kinds for cell in ("", f"**{mean[kind]:+.1%}**")), ""])
    rows.append(["worst set", "", *(cell for kind in kinds for cell in ("", f"{worst[kind]:+.1%}")), ""])
    head = ["set", "rows", *(head for kind in kinds for head in (f"{kind}: off", "on")), "growth"]
    fewer = sorted(-100 * change for change in mean.values())
    growth = np.mean([r["growth"] for r in sets.values()]) - 1
    return {
        "errors": table(head, rows),
        "summary": f"{fewer[0]:.0f} to {fewer[-1]:.0f} % fewer mistakes on average, "
        f"{-100 * changes[kinds[0]]['covtype']:.0f} % fewer on covtype, "
        f"{100 * max(worst.values()):.1f} % more on the worst set, and {100 * growth:.0f} % more features per row",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_data(parser)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--shuffles", type=int, default=2)
    options = parser.parse_args()
    keep(FIGURES, measure(load_all(options.data), options.rows, options.shuffles))


if __name__ == "__main__":
    main()
