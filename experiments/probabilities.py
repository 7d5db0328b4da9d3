"""Probabilities on held-out data: the stack of Online BBM compared with ``vw``'s logistic regression.

80 % of a shuffle are learned in one pass, 20 % are tested.

    python experiments/probabilities.py [--data FOLDER] [--rows 200000]
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

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, add_data, keep, kept, table

FIGURES = FOLDER / "probabilities.json"
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
            file.write(f"{1 if batch.y[r] > 0 else -1} | {' '.join(f'{j}:{x:.7g}' for j, x in pairs)}\n")


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


def blocks() -> dict[str, str]:
    rows = []
    for name, one in kept(FIGURES)["sets"].items():
        rows.append(
            [name, f"{one['rows']:,}", *(f"{loss:.4f} ({error:.3f})" for loss, error in one["models"].values())]
        )
    return {"probabilities": table(["set", "rows", "`vw`", *MODELS], rows)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_data(parser)
    parser.add_argument("--rows", type=int, default=200_000)
    options = parser.parse_args()
    found = {}
    for name, whole in track(load_all(options.data).items(), "measuring", transient=True):
        stream = shuffled(whole, options.rows, seed=0)
        at = int(0.8 * stream.y.size)
        train, test = cut(stream, 0, at), cut(stream, at, stream.y.size)
        figures = {"vw": vw(train, test)}
        for kind, blank in MODELS.items():
            model = blank.clone().fit(train)
            figures[kind] = measured(model.probabilities(model.decision_function(test)), test)
        pairs = {kind: [figure.log_loss, figure.error] for kind, figure in figures.items()}
        found[name] = {"rows": stream.y.size, "models": pairs}
    keep(FIGURES, {"sets": found})


if __name__ == "__main__":
    main()
