"""Gain of linear learners from bins and crosses, compared with the gain from boosting, on every available set.

Progressive 0-1 error in one pass. Crosses are left out where rows are long.

    python experiments/features.py [--data FOLDER] [--rows 50000]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from rich.progress import track
from standardize import load_all, shuffled

from onlineboost import Linear, OnlineBBM, OnlineClassifier, Tree
from onlineboost.evaluate import progressive_error

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, add_data, keep, kept, table

FIGURES = FOLDER / "features.json"
MAPS = {
    "standardized": {"standardize": True},
    "bins": {"bins": 16},
    "crosses": {"standardize": True, "crosses": True},
    "bins and crosses": {"bins": 16, "crosses": True},
}
LONGEST = 1000  # features in a row; longer rows are not crossed


def models() -> dict[str, tuple[OnlineClassifier, OnlineClassifier]]:
    """A learner alone and 21 of them under Online BBM."""
    learners: dict[str, OnlineClassifier] = {name: Linear(**options) for name, options in MAPS.items()}  # type: ignore[arg-type]
    learners["Tree(5)"] = Tree(5)
    return {name: (learner, OnlineBBM(learner, random_state=0)) for name, learner in learners.items()}


def blocks() -> dict[str, str]:
    found = kept(FIGURES)
    names = list(models())
    rows = []
    for name, one in found.items():
        pairs = (one["errors"].get(kind) for kind in names)
        rows.append([name, f"{one['rows']:,}", *(f"{e:.4f}" if e else "" for pair in pairs for e in pair or ("", ""))])
    head = ["set", "rows", *(head for name in names for head in (f"{name}: alone", "BBM"))]
    gained = []
    for name in ("poker", "letter", "nomao", "covtype"):
        before, after = (found[name]["errors"][kind][0] for kind in ("standardized", "bins and crosses"))
        gained.append(f"{name} {before:.3f} -> {after:.3f}")
    return {"errors": table(head, rows), "gained": ", ".join(gained)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_data(parser)
    parser.add_argument("--rows", type=int, default=50_000)
    options = parser.parse_args()
    found = {}
    for name, whole in track(load_all(options.data).items(), "measuring", transient=True):
        stream = shuffled(whole, options.rows, seed=0)
        long = np.diff(stream.indptr).max() > LONGEST
        pairs = {kind: pair for kind, pair in models().items() if not (long and "crosses" in kind)}
        errors = {kind: [progressive_error(model, stream) for model in pair] for kind, pair in pairs.items()}
        found[name] = {"rows": stream.y.size, "errors": errors}
    keep(FIGURES, found)


if __name__ == "__main__":
    main()
