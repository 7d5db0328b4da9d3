"""Gain of linear learners from bins and crosses, compared with the gain from boosting, on every available set.

Progressive 0-1 error in one pass; writes docs/features.md. Crosses are left out where rows are long.

    python experiments/features.py [--data ../shared/data] [--rows 50000]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from rich.progress import track
from standardize import load_all, shuffled

from onlineboost import Linear, OnlineBBM, OnlineClassifier, Tree
from onlineboost.evaluate import progressive_score

PAGE = Path("docs/features.md")
MAPS = {
    "standardised": {"standardize": True},
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--rows", type=int, default=50_000)
    options = parser.parse_args()
    names = list(models())
    lines = [
        "# Bins and crosses",
        "",
        f"Made by `python experiments/features.py --rows {options.rows}`: progressive 0-1 error in one pass",
        "over one shuffle, of `Linear` alone and of Online BBM with 21 of them, by the transform of the features;",
        "trees for comparison. Squared loss, default parameters. Crosses are all pairs, hashed to 18 bits; they are",
        f"left out where a row has more than {LONGEST:,} features.",
        "",
        "| set | rows | " + " | ".join(f"{name}: alone | BBM" for name in names) + " |",
        "| --- | ---: | " + " | ".join(["---: | ---:"] * len(names)) + " |",
    ]
    for name, whole in track(load_all(options.data).items(), "measuring", transient=True):
        stream = shuffled(whole, options.rows, seed=0)
        cells = []
        for kind, pair in models().items():
            left_out = "crosses" in kind and np.diff(stream.indptr).max() > LONGEST
            cells += ["", ""] if left_out else [f"{progressive_score(model, stream):.4f}" for model in pair]
        lines.append(f"| {name} | {stream.y.size:,} | {' | '.join(cells)} |")
    text = "\n".join(lines) + "\n"
    PAGE.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
