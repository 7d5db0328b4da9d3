"""What compare.py measures, and the process that runs it.

A worker imports the onlineboost that PYTHONPATH names and answers one JSON line for each that it reads: the names of
the cases, or the seconds of ``count`` calls of a case. Cases use only names that the compared commits have in common.

    python benchmarks/compare_cases.py FOLDER [--core NUMBER]
"""

from __future__ import annotations

import argparse
import collections
import functools
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

import onlineboost as ob
from onlineboost.readers import open_stream

FORMATS = ("csv", "vw", "libsvm", "jsonl")
Run = tuple[Callable[[], Any], int]  # what is timed, and how many rows (or calls, or files) it works through


@functools.cache
def dense(n: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, width)).astype(np.float32)
    score = np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) + X[:, 3] / 2
    return X, np.where(score + rng.normal(size=n) / 2 > 0, 1, -1)


@functools.cache
def sparse(n: int, width: int, per_row: int) -> tuple[scipy.sparse.csr_matrix, np.ndarray]:
    rng = np.random.default_rng(1)
    ends = np.arange(0, n * per_row + 1, per_row)
    columns = np.concatenate([np.sort(rng.choice(width, per_row, replace=False)) for _ in range(n)])
    X = scipy.sparse.csr_matrix((rng.random(n * per_row, np.float32), columns, ends), shape=(n, width))
    return X, np.where(X @ rng.normal(size=width) > 0, 1, -1)


@functools.cache
def dicts(words: int = 0) -> tuple[list[dict[str, Any]], list[int]]:
    """Rows of ten numbers, and of so many words, each one of 20."""
    X, y = dense(1000, 10)
    chosen = np.random.default_rng(2).integers(20, size=(1000, words)).tolist()
    rows = [{f"f{j}": x for j, x in enumerate(row)} for row in X.tolist()]
    pairs = zip(rows, chosen, strict=True)
    return [row | {f"w{j}": f"v{k}" for j, k in enumerate(ks)} for row, ks in pairs], y.tolist()


def texts(n: int = 20_000) -> dict[str, str]:
    """The same rows of 16 features in each format."""
    X, y = dense(n, 16)
    rows = [([f"{x:.4f}" for x in row], label) for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    head = ",".join([*(f"f{j}" for j in range(16)), "label"]) + "\n"
    return {
        "csv": head + "".join(f"{','.join(row)},{label}\n" for row, label in rows),
        "vw": "".join(f"{t} | {' '.join(f'f{j}:{x}' for j, x in enumerate(row))}\n" for row, t in rows),
        "libsvm": "".join(f"{t} {' '.join(f'{j}:{x}' for j, x in enumerate(row, 1))}\n" for row, t in rows),
        "jsonl": "".join(
            "{" + ", ".join(f'"f{j}": {x}' for j, x in enumerate(row)) + f', "label": {t}}}\n' for row, t in rows
        ),
    }


def bbm(learner: Any, n: int = 21) -> Any:
    return ob.OnlineBBM(learner, n, random_state=0)


def learn(make: Callable[[], Any], data: tuple[Any, np.ndarray]) -> Run:
    """A new model each time, so that every call does the same."""
    return lambda: make().progressive_fit(*data), len(data[1])


def predict(model: Any, data: tuple[Any, np.ndarray], rows: int | None = None) -> Run:
    model.fit(*data)
    X = data[0][:rows]
    return lambda: model.decision_function(X), X.shape[0]


def learn_one(model: Any, words: int = 0) -> Run:
    """The model goes on from call to call, the same way in every worker."""
    pairs = list(zip(*dicts(words), strict=True))[:200]

    def run() -> None:
        for x, y in pairs:
            model.learn_one(x, y)

    return run, len(pairs)


def predict_one(model: Any, words: int = 0) -> Run:
    rows, labels = dicts(words)
    if not model.__sklearn_is_fitted__():
        for x, y in zip(rows, labels, strict=True):
            model.learn_one(x, y)

    def run() -> None:
        for x in rows[:200]:
            model.predict_one(x)

    return run, 200


def hashed(folder: Path) -> Any:
    return bbm(ob.Linear()).fit(open_stream(folder / "rows.csv"))


def trees() -> Any:
    return bbm(ob.Tree(5)).fit(*dense(4000, 54))


def parse(path: Path) -> Run:
    return lambda: collections.deque(open_stream(path), maxlen=0), 20_000


def save(model: Any, folder: Path) -> Run:
    path = folder / f"model-{os.getpid()}"  # each in its own format
    return lambda: model.save(path), 1


def load(model: Any, folder: Path) -> Run:
    path = folder / f"model-{os.getpid()}"
    model.save(path)
    return lambda: ob.load(path), 1


def process(*arguments: str) -> Run:
    """A fresh process of the same interpreter, with the same PYTHONPATH and on the same core."""
    return lambda: subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL), 1


def start(folder: Path, name: str) -> Run:
    """The command that trains on a file, with code compiled before in the folder ``name``; "": with none."""

    def run() -> None:
        with tempfile.TemporaryDirectory() as empty:
            cache = str(folder / name) if name else empty
            command = [sys.executable, "-m", "onlineboost", "train", str(folder / "rows.csv"), "--label", "label"]
            nowhere = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            subprocess.run(command, env=os.environ | {"NUMBA_CACHE_DIR": cache}, check=True, **nowhere)

    return run, 1


def jobs(model: Any, threads: int) -> Any:
    if not hasattr(model, "n_jobs"):
        raise TypeError("this commit does not learn on threads")
    model.n_jobs = threads
    return model


def vw(n: int, data: tuple[np.ndarray, np.ndarray]) -> Run:
    """Vowpal Wabbit on examples that it has parsed."""
    from speed import vw_examples

    workspace, examples = vw_examples(*data, f"-b 18 --boosting {n} --alg BBM --gamma 0.1")

    def run() -> None:
        for example in examples:
            workspace.learn(example)

    return run, len(examples)


def arrays() -> Run:
    """A yardstick: fixed work on arrays, within the caches and beyond."""
    rng = np.random.default_rng(0)
    small, large = rng.normal(size=(64, 64)).astype(np.float32), rng.random(1 << 19)
    order = rng.integers(large.size, size=1 << 16)

    def run() -> None:
        for _ in range(200):
            np.dot(small, small)
        np.sort(large[order])
        large[order].cumsum()

    return run, 1


def objects() -> Run:
    """A yardstick: fixed work of Python itself."""

    def run() -> None:
        found = {f"f{k % 97}": float(k) for k in range(2000)}
        sum(found[f"f{k % 97}"] * k for k in range(2000))

    return run, 1


CASES: dict[str, Callable[[Path], Run]] = {
    "yardstick arrays": lambda _: arrays(),
    "yardstick objects": lambda _: objects(),
    "learn, 21 linear": lambda _: learn(lambda: bbm(ob.Linear()), dense(5000, 54)),
    "learn, 61 linear": lambda _: learn(lambda: bbm(ob.Linear(), 61), dense(2000, 54)),
    "learn, 21 linear, sparse": lambda _: learn(lambda: bbm(ob.Linear()), sparse(5000, 10_000, 50)),
    "learn, 21 linear beside vw": lambda _: learn(lambda: bbm(ob.Linear()), dense(5000, 54)),
    "learn, 61 linear beside vw": lambda _: learn(lambda: bbm(ob.Linear(), 61), dense(2000, 54)),
    "vw, 21 linear": lambda _: vw(21, dense(5000, 54)),
    "vw, 61 linear": lambda _: vw(61, dense(2000, 54)),
    "learn, SafeBoost linear": lambda _: learn(lambda: ob.SafeBoost(ob.Linear(), random_state=0), dense(2000, 54)),
    "learn, AdaBoostOL stump": lambda _: learn(lambda: ob.AdaBoostOL(ob.Stump(), random_state=0), dense(1000, 54)),
    "learn, 21 naive Bayes": lambda _: learn(lambda: bbm(ob.NaiveBayes()), dense(1000, 54)),
    "learn, 21 Tree(5)": lambda _: learn(lambda: bbm(ob.Tree(5)), dense(3000, 54)),
    "learn, 21 Tree(8)": lambda _: learn(lambda: bbm(ob.Tree(8)), dense(3000, 54)),
    "learn, OnlineBoost": lambda _: learn(lambda: ob.OnlineBoost(random_state=0), dense(2000, 54)),
    "learn, SafeBoost Tree(8)": lambda _: learn(lambda: ob.SafeBoost(ob.Tree(8), 21, random_state=0), dense(3000, 54)),
    "learn, Adaptive": lambda _: learn(lambda: ob.Adaptive(bbm(ob.Linear())), dense(3000, 54)),
    **{
        f"{count}, {name}": lambda _, make=make, n=n: learn(lambda: jobs(make(), n), dense(20_000, 54))
        for name, make in {
            "63 Tree(8)": lambda: bbm(ob.Tree(8), 63),
            "OnlineBoost": lambda: ob.OnlineBoost(random_state=0),
        }.items()
        for count, n in (("one thread", 1), ("two threads", 2))
    },
    "predict, 21 linear": lambda _: predict(bbm(ob.Linear()), dense(20_000, 54)),
    "predict, 21 Tree(5)": lambda _: predict(bbm(ob.Tree(5)), dense(4000, 54), 1000),
    "predict, array of one row": lambda _: predict(bbm(ob.Linear()), dense(1000, 10), 1),
    "learn_one, 21 linear": lambda _: learn_one(bbm(ob.Linear())),
    "learn_one, 21 Tree(5)": lambda _: learn_one(bbm(ob.Tree(5))),
    "learn_one, Adaptive": lambda _: learn_one(ob.Adaptive(bbm(ob.Linear()))),
    "learn_one, from a file": lambda folder: learn_one(hashed(folder)),
    "learn_one, OnlineBoost": lambda _: learn_one(ob.OnlineBoost(random_state=0)),
    "learn_one, OnlineBoost with words": lambda _: learn_one(ob.OnlineBoost(random_state=0), words=5),
    "predict_one, OnlineBoost": lambda _: predict_one(ob.OnlineBoost(random_state=0)),
    "predict_one, OnlineBoost with words": lambda _: predict_one(ob.OnlineBoost(random_state=0), words=5),
    "predict_one, 21 linear": lambda _: predict_one(bbm(ob.Linear())),
    "predict_one, 21 Tree(5)": lambda _: predict_one(bbm(ob.Tree(5))),
    "predict_one, from a file": lambda folder: predict_one(hashed(folder)),
    **{f"parse {name}": lambda folder, name=name: parse(folder / f"rows.{name}") for name in FORMATS},
    "fit a CSV file": lambda folder: ((lambda: hashed(folder)), 20_000),
    "save, trees": lambda folder: save(trees(), folder),
    "load, trees": lambda folder: load(trees(), folder),
    "save, hashed linear": lambda folder: save(hashed(folder), folder),
    "load, hashed linear": lambda folder: load(hashed(folder), folder),
    "first start": lambda folder: start(folder, ""),
    "second start": lambda folder: start(folder, f"code-{os.getpid()}"),
    "import onlineboost": lambda _: process("-c", "import onlineboost"),
    "onlineboost --help": lambda _: process("-m", "onlineboost", "--help"),
}


def processor_time() -> float:
    """Seconds of all threads of this process, and of the processes that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def timed(run: Callable[[], Any], count: int) -> dict[str, float]:
    began, used = time.perf_counter(), processor_time()
    for _ in range(count):
        run()
    return {"time": time.perf_counter() - began, "cpu": processor_time() - used}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="files that the cases read; the first worker writes them")
    parser.add_argument("--core", type=int, help="the only core to run on")
    options = parser.parse_args()
    if options.core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {options.core})
    answers, sys.stdout = sys.stdout, sys.stderr
    current, run, items = "", lambda: None, 1
    for line in sys.stdin:
        order = json.loads(line)
        answer: dict[str, Any]
        if order == "cases":
            for name, text in texts().items():
                (options.folder / f"rows.{name}").write_text(text)
            answer = {"cases": list(CASES), "package": ob.__file__}
        else:
            try:
                if order["case"] != current:
                    run, items = CASES[order["case"]](options.folder)
                    current = order["case"]
                    gc.unfreeze()
                    gc.collect()
                    gc.freeze()  # collections during a timing look at what it made, not at all of Numba
                answer = timed(run, order["count"]) | {"items": items}
            except Exception as problem:
                answer = {"problem": f"{type(problem).__name__}: {problem}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
