"""Runs of the program Vowpal Wabbit on the same split, if it is installed."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from onlineboost.data.batch import Batch

ALGORITHMS = {"baseline": None, "bbm": "BBM", "adaboost-ol": "logistic", "adaboost-ol-s": "adaptive"}
_BITS = 18


def is_installed() -> bool:
    return find_spec("vowpalwabbit") is not None


def write(batch: Batch, path: Path) -> None:
    """Write the rows as VW text, with enough digits for float32."""
    with path.open("w") as file:
        for r in range(batch.y.size):
            part = slice(batch.indptr[r], batch.indptr[r + 1])
            pairs = zip(batch.indices[part].tolist(), batch.values[part].tolist(), strict=True)
            file.write(f"{1 if batch.y[r] > 0 else -1} | {' '.join(f'{j}:{x:.9g}' for j, x in pairs)}\n")


def options(family: str, model: Any) -> list[str]:
    """The options of ``vw`` for one of our models; the weight table grows with the number of learners."""
    name = ALGORITHMS[family]
    learner = model if name is None else model.estimator
    chosen = ["-l", repr(learner.learning_rate), "--binary"]
    if name is None:
        return [*chosen, "-b", str(_BITS)]
    n = model.n_estimators
    chosen += ["--boosting", str(n), "--alg", name, "-b", str(_BITS + math.ceil(math.log2(n)))]
    return [*chosen, "--gamma", repr(model.gamma)] if name == "BBM" else chosen


def run(family: str, model: Any, train: Path, test: Path, labels: Any, folder: Path) -> tuple[float, float]:
    """Error on the test part after one pass over the training part, and the seconds of that pass."""
    kept, answers = folder / f"{family}.model", folder / f"{family}.answers"
    again = ["--gamma", repr(model.gamma)] if family == "bbm" else []  # a model file of vw does not keep gamma
    began = time.perf_counter()
    _vw("-d", str(train), "-f", str(kept), *options(family, model))
    seconds = time.perf_counter() - began
    _vw("-t", "-i", str(kept), "-d", str(test), "-p", str(answers), *again)
    return float((np.loadtxt(answers) != np.where(labels > 0, 1, -1)).mean()), seconds


def _vw(*arguments: str) -> None:
    command = [sys.executable, "-m", "vowpalwabbit", "--quiet", *arguments]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode:
        raise RuntimeError(f"vw failed: {' '.join(arguments)}: {found.stderr.strip()[-300:]}")


def timed(family: str, model: Any, train: Path) -> float:
    """Seconds of one pass."""
    began = time.perf_counter()
    _vw("-d", str(train), *options(family, model))
    return time.perf_counter() - began
