"""One rival over the streams of a folder: each row is predicted, then learnt. Mistakes and CPU seconds, by stream.

A stream is a file NAME.npz with labels ``y`` of -1 and +1, and either ``X`` or the parts of a CSR matrix: ``data``,
``indices``, ``indptr``, ``shape``. Before both labels were seen every rival predicts the only label seen, or -1. The
output is saved after every stream, and streams that it has already are left out. Needs no onlineboost: it runs in an
environment of its own, see benchmarks/accuracy.py.

    python benchmarks/accuracy_rivals.py FOLDER RIVAL ROWS OUTPUT [--streams a,b]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

MAX_FEATURES = 400  # of the rivals that learn row by row
FIRST_TRAINING = 256  # rows; LightGBM is trained again whenever their number has doubled
BLOCK = 1_000
WARM_UP = 1_000  # rows before the time of CapyMOA is taken: Java compiles as it goes
Found = tuple[np.ndarray, float]  # predictions of -1 or +1, CPU seconds


def load(path: Path, rows: int) -> tuple[Any, np.ndarray]:
    with np.load(path) as parts:
        y = parts["y"][:rows].astype(int)
        if "X" in parts:
            return parts["X"][:rows], y
        X = sp.csr_matrix((parts["data"], parts["indices"], parts["indptr"]), tuple(parts["shape"]))
    return X[:rows], y


def majority(y: np.ndarray) -> np.ndarray:
    """The more frequent label of the rows before each row; -1 if there are as many of both."""
    before = np.cumsum(y) - y
    return np.where(before > 0, 1, -1)


def by_row(predict: Callable[[Any], Any], learn: Callable[[Any, int], Any], rows: Any, y: np.ndarray) -> Found:
    """Predict and learn row by row; where the rival has no prediction, the majority label."""
    predictions = majority(y)
    began = time.process_time()
    for i, (row, label) in enumerate(zip(rows, y.tolist(), strict=True)):
        predicted = predict(row)
        if predicted is not None:
            predictions[i] = predicted
        learn(row, label)
    return predictions, time.process_time() - began


def capymoa(kind: str, X: np.ndarray, y: np.ndarray) -> Found:
    from capymoa import classifier
    from capymoa.stream import NumpyStream

    stream = NumpyStream(X.astype(np.float64), (y > 0).astype(int))
    warm, model = (getattr(classifier, kind)(schema=stream.get_schema(), ensemble_size=30) for _ in range(2))
    for row in islice(stream, WARM_UP):
        warm.predict(row)
        warm.train(row)
    stream.restart()
    signs = {None: None, 0: -1, 1: 1}
    return by_row(lambda row: signs[model.predict(row)], lambda row, label: model.train(row), stream, y)


def river(X: np.ndarray, y: np.ndarray) -> Found:
    from river.forest import AMFClassifier

    model = AMFClassifier(n_estimators=10, seed=0)
    rows = [dict(enumerate(row)) for row in X.tolist()]
    return by_row(model.predict_one, model.learn_one, rows, y)


def lightgbm(X: Any, y: np.ndarray) -> Found:
    """Trained on all rows so far at row 256, 512, 1,024, ...; predicts all rows up to the next training at once."""
    import lightgbm as lgb

    options = {"objective": "binary", "num_threads": 1, "verbose": -1}
    predictions = majority(y)
    began = time.process_time()
    trained = FIRST_TRAINING
    while trained < len(y):
        model = lgb.train(options, lgb.Dataset(X[:trained], (y[:trained] > 0).astype(float)))
        coming = slice(trained, 2 * trained)
        predictions[coming] = np.where(model.predict(X[coming]) > 0.5, 1, -1)
        trained *= 2
    return predictions, time.process_time() - began


RIVALS: dict[str, Callable[[Any, np.ndarray], Found]] = {
    "ARF": lambda X, y: capymoa("AdaptiveRandomForestClassifier", X, y),
    "LightGBM": lightgbm,
    "AMF": river,
    "SRP": lambda X, y: capymoa("StreamingRandomPatches", X, y),
}


def reason_to_skip(rival: str, X: Any, y: np.ndarray) -> str | None:
    if y.min() == y.max():
        return "one label"
    if rival == "LightGBM":
        return None
    if sp.issparse(X):
        return "sparse: too slow"
    return f"more than {MAX_FEATURES} features: too slow" if X.shape[1] > MAX_FEATURES else None


def figures(predictions: np.ndarray, y: np.ndarray, seconds: float) -> dict[str, Any]:
    """Mistakes in all, in the first 1,000 rows, and in each 1,000 rows."""
    one_label = np.cumprod(y == y[0]).sum()  # rows before the other label
    predictions = predictions.copy()
    predictions[1 : one_label + 1] = y[0]
    predictions[0] = -1
    wrong = predictions != y
    blocks = [int(wrong[start : start + BLOCK].sum()) for start in range(0, len(y), BLOCK)]
    return {"rows": len(y), "mistakes": sum(blocks), "first": blocks[0], "blocks": blocks, "seconds": round(seconds, 4)}


def run(rival: str, path: Path, rows: int) -> dict[str, Any]:
    X, y = load(path, rows)
    reason = reason_to_skip(rival, X, y)
    if reason:
        return {"skipped": reason}
    predictions, seconds = RIVALS[rival](X, y)
    return figures(predictions, y, seconds)


def save(found: dict[str, Any], output: Path) -> None:
    """JSON with one line a stream; a run that is stopped here leaves the old file."""
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in found.items()]
    part = output.with_suffix(".part")
    part.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    part.replace(output)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("rival", choices=RIVALS)
    parser.add_argument("rows", type=int, help="of each stream, at most")
    parser.add_argument("output", type=Path, help="JSON file")
    parser.add_argument("--streams", help="names, separated by commas; all if not given")
    options = parser.parse_args()
    found = json.loads(options.output.read_text()) if options.output.exists() else {}
    every = sorted(path.stem for path in options.folder.glob("*.npz"))
    names = options.streams.split(",") if options.streams else every
    for name in names:
        if name not in found:
            found[name] = run(options.rival, options.folder / f"{name}.npz", options.rows)
            save(found, options.output)
            print(name, {key: value for key, value in found[name].items() if key != "blocks"}, flush=True)


if __name__ == "__main__":
    main()
