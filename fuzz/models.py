"""Fuzzer of model files whose checksums are right. See README.md here.

NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=/tmp/fuzz-cache python fuzz/models.py --inputs 100000 --seed 0
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import textwrap
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from model_files import closed, opened
from pairs import BOOSTERS, CLASS_VOTES, COMPILED, make

import onlineboost
from onlineboost import (
    Adaptive,
    AdaptiveRegressor,
    DataError,
    LeastSquares,
    ModelFileError,
    OnlineBoostRegressor,
    OnlineGradientBoost,
    OnlineRegressor,
    ParameterError,
    RegressionTree,
)
from onlineboost.cli.inspect import describe
from onlineboost.compiled.jit import njit
from onlineboost.errors import ConflictError, NotFittedError
from onlineboost.readers import open_stream

OURS = (DataError, ParameterError, ConflictError, NotFittedError, ModelFileError)
LIMIT = 20  # seconds for an input
MEMORY = 8 << 30  # bytes of address space beyond those of the start
PAIRS = [
    *((booster, "linear") for booster in BOOSTERS),
    *(("bbm", learner) for learner in COMPILED if learner != "linear"),
    ("safe", "tree"),
    ("adaptive", "tree"),
    ("adaptive-learners", "tree"),
    ("adaptive-learners", "bayes"),
    ("stacked", "tree"),
    *((booster, "class-tree") for booster in CLASS_VOTES),
    *(("numbers", name) for name in ("tree", "lines", "weighed", "ridge", "adaptive", "default")),
]
KINDS = ("arrays", "dicts", "stream", "classes")
NUMBERS = {  # regressors; they learn all kinds but classes
    "tree": lambda: RegressionTree(4),
    "lines": lambda: OnlineGradientBoost(RegressionTree(3, leaves="linear"), 5, radius=3.0, shrinkage=0.3),
    "weighed": lambda: OnlineGradientBoost(RegressionTree(3), 6, loss="quantile", quantile=0.8),
    "ridge": lambda: OnlineGradientBoost(LeastSquares(), 2, version="hull"),
    "adaptive": lambda: AdaptiveRegressor(LeastSquares(), delta=0.9),
    "default": lambda: OnlineBoostRegressor(random_state=0),
}


# ---- honest files


def rows(n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    draws = np.random.default_rng(5)
    X = np.round(draws.normal(size=(n, 6)) * draws.choice([0, 1, 1, 40], size=(n, 6)), 3)
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + draws.normal(size=n) > 0, 1, 0)
    y[n // 2 :] ^= draws.random(n - n // 2) < 0.5  # a change, for those that notice it
    return X, y


X, Y = rows()
Z = 1e3 + X[:, 0] + np.where(np.arange(len(X)) < 200, 1, -3) * np.abs(X[:, 1])  # numbers
DICTS = [({f"n{j}": float(v) for j, v in enumerate(row) if v} | {"c": "ab"[int(row[0] > 0)]}) for row in X[:80]]


def learn(model: Any, kind: str, n: int) -> None:
    if isinstance(model, OnlineRegressor):
        learn_numbers(model, kind, n)
    elif kind == "arrays":
        model.partial_fit(X[:n], Y[:n], classes=[0, 1])
    elif kind == "classes":
        model.partial_fit(X[:n], np.where(X[:n, 3] > 1, 2, Y[:n]))
    elif kind == "dicts":
        for x, label in zip(DICTS[: n // 5], Y, strict=False):
            model.learn_one(x, int(label))
    else:
        like = {"like": model} if model.fitted is not None else {}
        for page in open_stream(X[:n], y=Y[:n], **like):
            model.learn(page)


def learn_numbers(model: Any, kind: str, n: int) -> None:
    if kind == "arrays":
        model.partial_fit(X[:n], Z[:n])
    elif kind == "dicts":
        for x, target in zip(DICTS[: n // 5], Z, strict=False):
            model.learn_one(x, float(target))
    else:
        like = {"like": model} if model.fitted is not None else {"task": "number"}
        for page in open_stream(X[:n], y=Z[:n], **like):
            model.learn(page)


def honest(pairs: list[tuple[str, str]]) -> list[tuple[str, str, bytes]]:
    """Name, kind and content of one file for every pair and kind of data."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (booster, learner) in enumerate(pairs):
            regressor = booster == "numbers"
            for kind in KINDS[:1] if learner == "binned" else KINDS[:3] if regressor else KINDS:
                model = NUMBERS[learner]() if regressor else make(booster, learner)
                if kind == "dicts":
                    more = {"lag": 2, "class_weight": "balanced"}
                    model.set_params(**{name: more[name] for name in more.keys() & model.get_params().keys()})
                for n in (37, 400):  # in the middle of the warm-up, and later
                    learn(model, kind, n)
                    if kind == "dicts":  # and some tickets that wait
                        model.tell(model.ask(DICTS[0]), 1)
                        model.ask(DICTS[1]), model.ask(DICTS[2])
                    model.save(Path(folder) / "m", base=model if number % 5 == 0 else None, notes={"curve": {}})
                    found.append((f"{booster} {learner} {n}", kind, (Path(folder) / "m").read_bytes()))
    return found


# ---- damage


def number_for(draw: random.Random, array: np.ndarray) -> Any:
    """A number that may hurt in this array."""
    if array.dtype == np.bool_:
        return draw.random() < 0.5
    near = draw.choice([0, 1, 2, *array.shape, array.size, 6, 16, 32, 64, 128, 4096]) + draw.choice([-1, 0, 0, 1])
    if array.dtype.kind == "f":
        limit = float(np.finfo(array.dtype).max)
        odd = [0.0, -0.0, 0.5, 1e-300, 1e18, 1e99, 1e101, limit, -limit, np.inf, -np.inf, np.nan]
        return draw.choice([near, -near, *odd, draw.uniform(-3, 3)])
    info = np.iinfo(array.dtype)
    return max(info.min, min(info.max, draw.choice([near, -near, info.min, info.max, draw.randrange(-9, 99)])))


def change_array(draw: random.Random, arrays: dict[str, np.ndarray], facts: Any) -> None:
    name = draw.choice(sorted(arrays))
    array = arrays[name] = np.ascontiguousarray(arrays[name])
    flat = array.reshape(-1)
    how = draw.random()
    if how < 0.55 and flat.size:
        for _ in range(draw.choice([1, 1, 2, 5, 50])):
            flat[draw.randrange(flat.size)] = number_for(draw, array)
    elif how < 0.65 and flat.size:  # a run of numbers copied to another place
        n = draw.randrange(1, min(flat.size, 40) + 1)
        a, b = (draw.randrange(flat.size - n + 1) for _ in range(2))
        flat[a : a + n] = flat[b : b + n].copy()
    elif how < 0.72:
        flat[:] = number_for(draw, array)
    elif how < 0.78 and flat.size:  # any bits, also a bool of 2
        bits = flat.view(np.uint8)
        for _ in range(draw.choice([1, 4, 40])):
            bits[draw.randrange(bits.size)] = draw.randrange(256)
    elif how < 0.82:
        arrays[name] = array[::-1] if array.ndim else array
    elif how < 0.86:
        arrays[name] = array.astype(draw.choice(["f4", "f8", "i4", "i8", "u1", "?", "f2"]))
    elif how < 0.91:  # another shape
        shape = list(array.shape)
        change = draw.randrange(4)
        if change == 0 and shape:
            arrays[name] = array[: draw.randrange(shape[0] + 1)]
        elif change == 1 and shape:
            arrays[name] = np.concatenate([array, array])
        elif change == 2:
            arrays[name] = array.reshape(-1)
        else:
            arrays[name] = array.reshape(1, *shape)
    elif how < 0.94:
        del arrays[name]
    elif how < 0.97:  # as if it were saved by rows
        count = draw.choice([0, 1, 2, len(array) if array.ndim else 0])
        at = [draw.choice([0, 1, -1, count, 10**6, 1 << 62]) for _ in range(count)]
        arrays[f"{name}:rows"] = np.array(at, np.int64).astype(draw.choice(["i8", "i8", "i4", "f8"]))
    else:
        arrays[draw.choice(sorted(arrays)) if draw.random() < 0.5 else "model.surprise"] = array.copy()


ODD = (
    None, True, False, 0, 1, -1, 2, 3, 5, 7, 21, 255, 256, 10_000, 10**9, 2**31, 2**63, -(2**63), 10**30, 0.0, 0.1, 0.5,
    -0.5, 1e-300, 1e308, -1e308, "", "x", "auto", "\x1b[2J", "label", [], [0], [[]], [1, 2], ["a"], [["a", "b"]], {},
    {"class": "Linear", "params": {}}, {"array": [1, 2]}, {"array": [[1], [2, 3]]},
)  # fmt: skip
CLASSES = sorted({*onlineboost.OnlineClassifier.kinds, "Copies", "Binner", "object"})


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of everything in a JSON value, down to some depth."""
    inner: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    inner = inner if len(path) < 12 else ()
    return [path, *(found for key, item in inner for found in places(item, (*path, key)))]


def change_facts(draw: random.Random, arrays: dict[str, np.ndarray], facts: Any) -> None:
    path = draw.choice([p for p in places(facts) if p and p[0] != "arrays"])
    parent = facts
    for key in path[:-1]:
        parent = parent[key]
    old, how = parent[path[-1]], draw.random()
    if how < 0.1:
        del parent[path[-1]]
    elif how < 0.15 and isinstance(parent, dict):
        parent[draw.choice(["seed", "class", "bits", "estimator", "new"])] = draw.choice(ODD)
    elif how < 0.25:
        parent[path[-1]] = draw.choice(CLASSES) if isinstance(old, str) else copy.deepcopy(facts["parts"])
    elif how < 0.35:
        deep: Any = old
        for _ in range(draw.choice([1, 3, 10, 80])):
            deep = {"class": draw.choice(CLASSES), "params": {"estimator": deep}}
        parent[path[-1]] = deep
    elif how < 0.6 and isinstance(old, int | float):
        parent[path[-1]] = draw.choice([old + 1, old - 1, -old, old * 2, old * 1000, float(old), str(old)])
    elif how < 0.65 and isinstance(old, list):
        parent[path[-1]] = old + old if draw.random() < 0.5 else old[: len(old) // 2]
    else:
        parent[path[-1]] = draw.choice(ODD)


def damaged(draw: random.Random, files: list[tuple[str, str, bytes]]) -> tuple[str, bytes]:
    """The kind and content of a changed file."""
    _, kind, content = draw.choice(files)
    arrays, facts = opened(content)
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        where = draw.random()
        if where < 0.65 and arrays:
            change_array(draw, arrays, facts)
        elif where < 0.95:
            try:
                change_facts(draw, arrays, facts)
            except (LookupError, TypeError, RecursionError):  # the facts are no longer what they were
                facts = draw.choice(ODD)
        else:  # some arrays of another file
            others, _ = opened(draw.choice(files)[2])
            arrays |= {name: others[name] for name in sorted(others) if draw.random() < 0.3}
    content = closed(arrays, facts)
    if draw.random() < 0.03:  # the container itself
        changed = bytearray(content)
        for _ in range(draw.choice([1, 3])):
            changed[draw.randrange(min(len(changed), 4000))] = draw.choice(b'0123456789[]{}",: \x00\xff')
        content = bytes(changed)
    return kind, content


# ---- use


def use(path: Path, kind: str) -> str:
    """Load a file and use the model in every way; what became of it."""
    try:
        model, *_ = onlineboost.model.load_all(path)
    except ModelFileError as problem:
        return f"refused: {problem.field.split('.')[-1]}"
    steps: list[Callable[[], object]] = [
        lambda: describe(path, 5),
        lambda: predict(model, kind),
        lambda: learn(model, kind, 200),
        lambda: tell(model),
        lambda: predict(model, kind),
        lambda: look(model),
        lambda: model.save(path),
        lambda: onlineboost.load(path),
    ]
    for step in steps:
        try:
            step()
        except OURS as problem:
            return f"accepted, then {type(problem).__name__}"
    return "accepted"


def predict(model: Any, kind: str) -> None:
    numbers = isinstance(model, OnlineRegressor)
    if kind == "arrays":
        model.predict(X[:20]), None if numbers else model.predict_proba(X[:20])
    elif kind == "dicts":
        model.predict_one(DICTS[0]), None if numbers else model.predict_proba_one(DICTS[1])
    else:
        list(map(model.predict, open_stream(X[:20], y=Y[:20], like=model)))


def tell(model: Any) -> None:
    for number in model.pending:
        model.tell(model.pending[number], 1)


def look(model: Any) -> None:
    model.verdict()
    if hasattr(model, "report") and (not isinstance(model, Adaptive) or hasattr(model.estimator_, "report")):
        str(model.report())


# ---- processes: a crash or a hang ends a worker, not the fuzzer


def work(files: Any, seed: int, start: int, stop: int, at: Any, queue: Any) -> None:
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY,) * 2)
    path = Path(tempfile.gettempdir()) / f"onlineboost-fuzz-{os.getpid()}"
    counts: Counter[str] = Counter()
    problems, slowest, digest = [], 0.0, hashlib.sha256()
    for k in range(start, stop):
        at[0] = k
        kind, content = damaged(random.Random(f"{seed} {k}"), files)
        digest.update(content)
        path.write_bytes(content)
        began = time.perf_counter()
        try:
            counts[use(path, kind)] += 1
        except Exception:
            counts["PROBLEM"] += 1
            problems.append((k, traceback.format_exc()))
        slowest = max(slowest, time.perf_counter() - began)
        if (k + 1) % 100 == 0 or k + 1 == stop:
            queue.put((counts, problems, slowest, digest.hexdigest(), k + 1))
            counts, problems = Counter(), []
    path.unlink(missing_ok=True)


def _probe(array: np.ndarray, k: int) -> float:
    return array[k]


def check_bounds_are_checked() -> None:
    try:
        njit(_probe, cache=False)(np.zeros(1), 1)
    except IndexError:
        return
    sys.exit("accesses outside an array are not noticed: set NUMBA_BOUNDSCHECK=1 and a NUMBA_CACHE_DIR of its own")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--from", type=int, default=0, dest="first", help="number of the first input")
    parser.add_argument("--only", help="boosters to try, such as numbers; default: all")
    parser.add_argument("--keep", type=Path, help="folder for the files that make problems")
    given = parser.parse_args()
    check_bounds_are_checked()
    files = honest([pair for pair in PAIRS if given.only in (None, pair[0])])
    with tempfile.NamedTemporaryFile() as file:
        for name, kind, content in files:  # also compiles what the workers need, before they are forked
            Path(file.name).write_bytes(content)
            assert use(Path(file.name), kind) == "accepted", name
    print(f"{len(files)} honest files", flush=True)
    context = multiprocessing.get_context("fork")
    counts: Counter[str] = Counter()
    total, slowest, digests, began = [], 0.0, [], time.perf_counter()
    k, stop = given.first, given.first + given.inputs
    while k < stop:
        at, queue = context.Array("q", [k]), context.Queue()
        worker = context.Process(target=work, args=(files, given.seed, k, stop, at, queue))
        worker.start()
        alive, last, since = True, k, time.monotonic()
        while alive:
            alive = worker.is_alive()
            while not queue.empty():
                found, problems, slow, digest, done = queue.get()
                counts += found
                total += problems
                slowest = max(slowest, slow)
                if done == stop:
                    digests.append(digest)
            if at[0] != last:
                last, since = at[0], time.monotonic()
            elif alive and time.monotonic() - since > LIMIT:
                os.kill(worker.pid, signal.SIGKILL)
                counts["HANG"] += 1
                total.append((at[0], f"more than {LIMIT} s"))
                worker.join()
                break
            time.sleep(0.02)
        worker.join()
        if worker.exitcode == 0:
            break
        if worker.exitcode != -signal.SIGKILL:
            counts["CRASH"] += 1
            total.append((at[0], f"exit status {worker.exitcode}"))
        k = at[0] + 1
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{given.inputs:,} files in {seconds:,.0f} s, {given.inputs / seconds:,.0f}/s")
    refused = Counter({what.partition(": ")[2]: n for what, n in counts.items() if what.startswith("refused")})
    shown = ", ".join(f"{field} {n:,}" for field, n in refused.most_common(20))
    print(textwrap.fill(f"  refused: {refused.total():,} ({shown}, ...)", 112, subsequent_indent=" " * 6))
    for what, count in counts.most_common():
        if not what.startswith("refused"):
            print(f"  {what}: {count:,}")
    print(f"  slowest: {slowest:.2f} s; peak memory: {peak:,.0f} MB; digest of the inputs: {''.join(digests)[:16]}")
    print(f"  problems: {len(total)}")
    for number, text in total:
        print(f"\n--from {number} --inputs 1\n{text}")
        if given.keep:
            given.keep.mkdir(exist_ok=True)
            (given.keep / str(number)).write_bytes(damaged(random.Random(f"{given.seed} {number}"), files)[1])
    sys.exit(1 if total else 0)


if __name__ == "__main__":
    main()
