"""Probabilities on held-out data: the stack of Online BBM compared with ``vw``'s logistic regression.

80 % of a shuffle are learnt in one pass, 20 % are tested; writes docs/probabilities.md.

    python experiments/probabilities.py [--data ../shared/data] [--rows 200000]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from rich.progress import track
from standardize import load_all, shuffled

from onlineboost import Linear, OnlineBBM, OnlineClassifier, SafeBoost, Tree
from onlineboost.data.batch import Batch, cut
from onlineboost.evaluate.metrics import Calibration

PAGE = Path("docs/probabilities.md")
VW = [sys.executable, "-m", "vowpalwabbit", "--quiet"]
MODELS: dict[str, OnlineClassifier] = {
    "BBM, linear, stack": OnlineBBM(Linear(standardize=True), head="stack"),
    "BBM, logistic, real votes, stack": OnlineBBM(Linear("logistic", standardize=True), head="stack", votes="real"),
    "BBM, linear, vote": OnlineBBM(Linear(standardize=True)),
    "SafeBoost, linear": SafeBoost(Linear(standardize=True)),
    "BBM, trees, stack": OnlineBBM(Tree(5), head="stack", random_state=0),
    "SafeBoost, trees": SafeBoost(Tree(5), random_state=0),
}


def as_text(batch: Batch, path: Path) -> None:
    with path.open("w") as file:
        for r in range(batch.y.size):
            part = slice(batch.indptr[r], batch.indptr[r + 1])
            pairs = zip(batch.indices[part].tolist(), batch.values[part].tolist(), strict=True)
            file.write(f"{int(batch.y[r])} | {' '.join(f'{j}:{x:.7g}' for j, x in pairs)}\n")


def vw(train: Batch, test: Batch) -> Calibration:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        as_text(train, folder / "train")
        as_text(test, folder / "test")
        model, answers = str(folder / "model"), str(folder / "answers")
        learn = ["-d", str(folder / "train"), "-f", model, "--loss_function", "logistic", "--link", "logistic"]
        subprocess.run([*VW, *learn], check=True)
        subprocess.run([*VW, "-t", "-i", model, "-d", str(folder / "test"), "-p", answers], check=True)
        return measured(np.loadtxt(answers), test)


def measured(chances: np.ndarray, test: Batch) -> Calibration:
    calibration = Calibration()
    calibration.update(chances, test.y, test.weight)
    return calibration


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--rows", type=int, default=200_000)
    options = parser.parse_args()
    lines = [
        "# Probabilities",
        "",
        f"Made by `python experiments/probabilities.py --rows {options.rows}`: log loss, and in parentheses the",
        "expected calibration error (15 bins), on a held-out fifth of the rows. `vw` is `vw --loss_function logistic",
        "--link logistic` with its defaults, in one pass over the same rows.",
        "",
        "| set | rows | `vw` | " + " | ".join(MODELS) + " |",
        "| --- | ---: | ---: |" + " ---: |" * len(MODELS),
    ]
    for name, whole in track(load_all(options.data).items(), "measuring", transient=True):
        stream = shuffled(whole, options.rows, seed=0)
        at = int(0.8 * stream.y.size)
        train, test = cut(stream, 0, at), cut(stream, at, stream.y.size)
        found = [vw(train, test)]
        for kind in MODELS.values():
            model = kind.clone()
            model.fit(train)
            found.append(measured(model.probabilities(model.decision_function(test)), test))
        cells = " | ".join(f"{figure.log_loss:.4f} ({figure.error:.3f})" for figure in found)
        lines.append(f"| {name} | {stream.y.size:,} | {cells} |")
        print(lines[-1], flush=True)
    PAGE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
