"""The real Vowpal Wabbit on the same split, where it is installed."""

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
    """The rows as VW text; digits are enough for float32."""
    with path.open("w") as file:
        for r in range(batch.y.size):
            part = slice(batch.indptr[r], batch.indptr[r + 1])
            pairs = zip(batch.indices[part].tolist(), batch.values[part].tolist(), strict=True)
            file.write(f"{int(batch.y[r])} | {' '.join(f'{j}:{x:.9g}' for j, x in pairs)}\n")


def options(family: str, model: Any) -> list[str]:
    """Those of ``vw`` for one of our models: the table is as large for each learner, whatever their number."""
    name = ALGORITHMS[family]
    learner = model if name is None else model.estimator
    chosen = ["-l", repr(learner.learning_rate), "--binary"]
    if name is None:
        return [*chosen, "-b", str(_BITS)]
    n = model.n_estimators
    chosen += ["--boosting", str(n), "--alg", name, "-b", str(_BITS + math.ceil(math.log2(n)))]
    return [*chosen, "--gamma", repr(model.gamma)] if name == "BBM" else chosen


def run(family: str, model: Any, train: Path, test: Path, labels: Any, folder: Path) -> tuple[float, float]:
    """Error on the test part after one pass over the other, and the seconds that the pass took."""
    kept, answers = folder / f"{family}.model", folder / f"{family}.answers"
    again = ["--gamma", repr(model.gamma)] if family == "bbm" else []  # which a model file of vw does not keep
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
    """The seconds of one pass."""
    began = time.perf_counter()
    _vw("-d", str(train), *options(family, model))
    return time.perf_counter() - began
