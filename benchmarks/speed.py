"""Examples per second compared with Vowpal Wabbit: one core, both systems in one run, repeats interleaved, medians.

SafeBoost with the same number of learners is compared with Online BBM: the cost of not tuning.

Vowpal Wabbit learns pre-parsed examples, one call each; onlineboost gets a NumPy array or a SciPy matrix, and its
time includes all checks and conversions. Both do one pass of progressive validation from an empty model.

    python benchmarks/speed.py [--repeats 5] [--rows 20000] [--data FOLDER] [--only dense] [--publish]
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from onlineboost import Linear, OnlineBBM, OnlineClassifier, SafeBoost

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, add_data, keep, kept
from figures import table as markdown

FIGURES = FOLDER / "speed.json"

# Required speed: (data, learners) -> multiple of Vowpal Wabbit's.
FLOORS = {
    ("dense", 21): 15,
    ("dense", 61): 22,
    ("sparse", 21): 13,
    ("sparse", 61): 17,
    ("dense", 1): 1,
    ("sparse", 1): 1,
}
SAFE_FLOOR = 0.6  # of Online BBM's speed


def noisy_labels(X: Any, rng: np.random.Generator) -> np.ndarray:
    """A linear rule with a tenth of the labels flipped."""
    score = X @ rng.normal(size=X.shape[1])
    return np.where(score > np.median(score), 1, -1) * np.where(rng.random(X.shape[0]) < 0.1, -1, 1)


def dense(rows: int) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 54)).astype(np.float32)
    return X, noisy_labels(X, rng)


def sparse(rows: int) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    indices = np.concatenate([np.sort(rng.choice(43_000, 76, replace=False)) for _ in range(rows)])
    X = sp.csr_matrix(
        (rng.random(rows * 76).astype(np.float32) + 0.1, indices, np.arange(rows + 1) * 76), (rows, 43_000)
    )
    return X, noisy_labels(X, rng)


def real(path: Path, rows: int) -> tuple[Any, np.ndarray]:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(path), dtype=np.float32)
    order = np.random.default_rng(0).permutation(X.shape[0])[:rows]
    return X[order].tocsr(), y[order]


def vw_examples(X: Any, y: np.ndarray, options: str) -> tuple[Any, list[Any]]:
    import vowpalwabbit

    workspace = vowpalwabbit.Workspace(f"{options} --quiet")
    csr = sp.csr_matrix(X)
    examples = []
    for r, label in enumerate(y):
        part = slice(csr.indptr[r], csr.indptr[r + 1])
        features = " ".join(f"{i}:{v:.6g}" for i, v in zip(csr.indices[part], csr.data[part], strict=True))
        parsed = workspace.parse(f"{int(label)} | {features}")
        examples.append(parsed[0] if isinstance(parsed, list) else parsed)
    return workspace, examples


def time_vw(X: Any, y: np.ndarray, n: int) -> Callable[[], float]:
    bits = 18 + (int(np.ceil(np.log2(n))) if X.shape[1] > 1000 else 0)
    options = f"-b {bits}" + (f" --boosting {n} --alg BBM --gamma 0.1" if n > 1 else "")

    def run() -> float:
        workspace, examples = vw_examples(X, y, options)  # a new model each time; parsing is not timed
        learn = workspace.learn
        gc.collect()
        began = time.perf_counter()
        for example in examples:
            learn(example)
        seconds = time.perf_counter() - began
        for example in examples:
            workspace.finish_example(example)
        workspace.finish()
        return seconds

    return run


def time_ours(X: Any, y: np.ndarray, kind: OnlineClassifier) -> Callable[[], float]:
    def run() -> float:
        model = kind.clone()
        gc.collect()
        began = time.perf_counter()
        model.progressive_fit(X, y)
        return time.perf_counter() - began

    run()  # compiles, and warms up
    return run


def blocks() -> dict[str, str]:
    results = kept(FIGURES)
    by_case = {(r["data"], r["learners"]): r for r in results}
    names = {"dense": "dense, 54 features", "sparse": "sparse, 76 of 43,000 features"}
    names |= {"covtype": "covtype, 12 of 54 features", "rcv1": "rcv1, 78 of 29,163 features"}
    rows = []
    for name in dict.fromkeys(r["data"] for r in results):
        pair = [by_case[name, n] for n in (21, 61)]
        speeds = [" / ".join(f"{round(r[who], -3):,.0f}" for r in pair) for who in ("vw", "ours")]
        rows.append([names[name], *speeds, " / ".join(f"{r['ratio']:.0f}x" for r in pair)])
    return {"speed": markdown(["21 / 61 linear learners, one core", "`vw --boosting`", "onlineboost", ""], rows)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", type=int, default=20_000)
    add_data(parser)
    parser.add_argument("--only", default="", help="prefix of the names of the data to run")
    parser.add_argument("--publish", action="store_true", help="write docs/figures/speed.json and the pages")
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

    sets: dict[str, Callable[[], tuple[Any, np.ndarray]]] = {
        "dense": lambda: dense(options.rows),
        "sparse": lambda: sparse(options.rows),
    }
    for name in ("covtype", "rcv1"):
        path = options.data / f"{name}.libsvm.gz"
        if path.exists():
            sets[name] = lambda path=path: real(path, options.rows)
    sets = {name: make for name, make in sets.items() if name.startswith(options.only)}

    results = []
    columns = ["data", "learners", "vw ex/s", "ours ex/s", "ratio", "floor", "Safe/BBM", "floor"]
    table = Table(*columns, title="Online BBM; 1: no boosting; SafeBoost over Online BBM")
    with Progress(transient=True) as progress:
        task = progress.add_task("timing", total=3 * len(sets) * options.repeats)
        for name, make in sets.items():
            X, y = make()
            for n in (1, 21, 61):
                models = {"ours": OnlineBBM(n_estimators=n), "safe": SafeBoost(n_estimators=n)}
                models = models if n > 1 else {"ours": Linear()}
                contenders = {"vw": time_vw(X, y, n)}
                contenders |= {who: time_ours(X, y, model) for who, model in models.items()}
                seconds: dict[str, list[float]] = {who: [] for who in contenders}
                for _ in range(options.repeats):
                    for who, run in contenders.items():
                        seconds[who].append(run())
                    progress.advance(task)
                speed = {who: len(y) / statistics.median(times) for who, times in seconds.items()}
                ratio, floor = speed["ours"] / speed["vw"], FLOORS.get((name, n))
                results.append({"data": name, "learners": n, **speed, "ratio": ratio, "floor": floor})
                shown = "" if floor is None else f"{floor} {'ok' if ratio >= floor else 'MISSED'}"
                cells = [f"{speed['vw']:,.0f}", f"{speed['ours']:,.0f}", f"{ratio:.1f}x", shown]
                if "safe" in speed:
                    share = speed["safe"] / speed["ours"]
                    verdict = "ok" if share >= SAFE_FLOOR else "MISSED"
                    cells += [f"{share:.2f}x", f"{SAFE_FLOOR} {verdict}"]
                table.add_row(name, str(n), *cells)
    Console().print(table)
    if options.publish:
        keep(FIGURES, results)


if __name__ == "__main__":
    main()
