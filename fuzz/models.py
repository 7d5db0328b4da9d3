"""Fuzzer of model files whose checksums and signatures are right. See README.md here.

NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=/tmp/fuzz-cache python fuzz/models.py --inputs 20000 --seed 0 --state run.json
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
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
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from forged_tickets import change_tickets, from_outside, pending_of, tickets_of
from model_files import closed, opened
from pairs import BOOSTERS, CLASS_VOTES, COMPILED, make

import onlineboost
from onlineboost import (
    Adaptive,
    AdaptiveRegressor,
    BatchBoostRegressor,
    DataError,
    LeastSquares,
    ModelFileError,
    OnlineBoostRegressor,
    OnlineGradientBoost,
    OnlineRegressor,
    ParameterError,
    Pending,
    RegressionTree,
    TicketError,
)
from onlineboost.cli.inspect import describe
from onlineboost.compiled.jit import njit
from onlineboost.errors import ConflictError, NotFittedError
from onlineboost.fitted.asked import HEAD
from onlineboost.model import MODEL_CLASSES
from onlineboost.readers import open_stream

TESTS = Path(__file__).resolve().parent.parent / "tests"
OURS = (DataError, ParameterError, ConflictError, NotFittedError, ModelFileError, TicketError)
LIMIT, CLOCK = 10, 60  # seconds for an input: of the worker's own time, and of the clock while it does nothing
MEMORY = 8 << 30  # bytes of address space beyond those of the start
TIMES = 4  # times the memory that the honest file needs
LEAST = 32 << 20  # bytes that any file may need
PAIRS = [
    *((booster, "linear") for booster in BOOSTERS),
    *(("bbm", learner) for learner in COMPILED if learner != "linear"),
    ("safe", "tree"),
    ("adaptive", "tree"),
    ("adaptive-learners", "tree"),
    ("adaptive-learners", "bayes"),
    ("stacked", "tree"),
    *((booster, "class-tree") for booster in CLASS_VOTES),
    *(("numbers", name) for name in ("tree", "lines", "weighed", "ridge", "adaptive", "memory", "default")),
]
KINDS = ("arrays", "dicts", "stream", "classes", "five")  # dicts and five have tickets
NUMBERS = {  # regressors; they learn all kinds but classes
    "tree": lambda: RegressionTree(4),
    "lines": lambda: OnlineGradientBoost(RegressionTree(3, leaf_prediction="linear"), 5, radius=3.0, shrinkage=0.3),
    "weighed": lambda: OnlineGradientBoost(RegressionTree(3), 6, loss="quantile", quantile=0.8),
    "ridge": lambda: OnlineGradientBoost(LeastSquares(), 2, version="hull"),
    "adaptive": lambda: AdaptiveRegressor(LeastSquares(), delta=0.9),
    "memory": lambda: BatchBoostRegressor(n_estimators=3, max_leaves=5, max_rows=200),
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
W, SIGNS = np.hstack([X, X[:, :4]]), 2 * Y - 1  # as files of older formats have learned
FIVE = [(int(label) + int(3 * (row[3] > 1)) + int(row[4] > 1)) for row, label in zip(X, Y, strict=True)]
DICTS = [({f"n{j}": float(v) for j, v in enumerate(row) if v} | {"c": "ab"[int(row[0] > 0)]}) for row in X[:80]]


def learn(model: Any, kind: str, n: int) -> None:
    if isinstance(model, OnlineRegressor):
        learn_numbers(model, kind, n)
    elif kind == "arrays":
        model.partial_fit(X[:n], Y[:n], classes=[0, 1])
    elif kind == "classes":
        model.partial_fit(X[:n], np.where(X[:n, 3] > 1, 2, Y[:n]))
    elif kind in ("dicts", "five"):
        for x, label in zip(DICTS[: n // 5], Y if kind == "dicts" else FIVE, strict=False):
            model.learn_one(x, int(label))
    else:
        like = {"like": model} if model._fitted is not None else {}
        rows, labels = (W, SIGNS) if kind == "old" else (X, Y)
        for page in open_stream(rows[:n], y=labels[:n], **like):
            model.learn(page)


def learn_numbers(model: Any, kind: str, n: int) -> None:
    if kind == "arrays":
        model.partial_fit(X[:n], Z[:n])
    elif kind == "dicts":
        for x, target in zip(DICTS[: n // 5], Z, strict=False):
            model.learn_one(x, float(target))
    else:
        like = {"like": model} if model._fitted is not None else {"task": "number"}
        for page in open_stream(X[:n], y=Z[:n], **like):
            model.learn(page)


class File(NamedTuple):
    name: str
    kind: str
    content: bytes


def honest(pairs: list[tuple[str, str]], old: bool = False) -> list[File]:
    """Files of every pair and kind of data; with ``old``, those of older formats too."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (booster, learner) in enumerate(pairs):
            regressor = booster == "numbers"
            for kind in KINDS[:1] if learner == "binned" else KINDS[:3] if regressor else KINDS:
                model = NUMBERS[learner]() if regressor else make(booster, learner)
                if kind == "dicts":
                    more = {"lag": 2, "class_weight": "balanced"}
                    model.set_params(**{name: more[name] for name in more.keys() & model.get_params().keys()})
                for n, votes in ((37, "now"), (400, "then")):  # in the middle of the warm-up, and later
                    learn(model, kind, n)
                    if kind in ("dicts", "five"):
                        wait(model, votes)
                    model.save(Path(folder) / "m", base=model if number % 5 == 0 else None, notes={"curve": {}})
                    found.append(File(f"{booster} {learner} {n}", kind, (Path(folder) / "m").read_bytes()))
    for path in sorted((TESTS / "saved").glob("format[234]-*.safetensors")) if old else ():
        if path.stem != "format2-adaptive":  # which must be trained again
            found.append(File(path.stem, "old", path.read_bytes()))
    return found


def wait(model: Any, votes: Any) -> None:
    """Some tickets that wait, the same in every run."""
    pending = model._fitted.pending = Pending(votes=votes)
    pending.model, pending.secret, pending.run = b"the same", b"known to the file", 7
    pending.secret = pending.secret[:16]
    model.tell(model.ask(DICTS[0]), 1)
    model.ask(DICTS[1]), model.ask(DICTS[2] | {"new": 1.0, "c": "z"}), model.ask({"n0": None, "day": "2026-11-18"})


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
CLASSES = sorted({*MODEL_CLASSES, "Copies", "Binner", "object"})


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


class Input(NamedTuple):
    number: int  # of the honest file
    kind: str
    content: bytes
    tickets: list[bytes]  # told from outside
    wide: int = 0  # number of features of a further row that is asked and told


def widest(one: Input) -> int:
    """The most features of a ticket."""
    arrays, _ = opened(one.content)
    planted = tickets_of(arrays) if "model.pending.tickets" in arrays else []
    return max((HEAD.unpack_from(data)[4] for data in (*planted, *one.tickets) if len(data) >= HEAD.size), default=0)


def damaged(draw: random.Random, files: list[File]) -> Input:
    """A changed file; or an honest one, and changed tickets for it."""
    number = draw.randrange(len(files))
    _, kind, content = files[number]
    arrays, facts = opened(content)
    if pending_of(facts) and draw.random() < 0.2:
        return Input(number, kind, content, from_outside(draw, arrays, facts["parts"]["model"]["pending"]))
    if pending_of(facts) and draw.random() < 0.5:
        change_tickets(draw, arrays, facts["parts"]["model"]["pending"])
        if draw.random() < 0.7:
            return Input(number, kind, closed(arrays, facts), [])
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
            others, _ = opened(draw.choice(files).content)
            arrays |= {name: others[name] for name in sorted(others) if draw.random() < 0.3}
    content = closed(arrays, facts)
    if draw.random() < 0.03:  # the container itself
        changed = bytearray(content)
        for _ in range(draw.choice([1, 3])):
            changed[draw.randrange(min(len(changed), 4000))] = draw.choice(b'0123456789[]{}",: \x00\xff')
        content = bytes(changed)
    return Input(number, kind, content, [])


# ---- use


def use(path: Path, kind: str, tickets: Sequence[bytes] = (), wide: int = 0) -> str:
    """Load a file and use the model in every way; what became of it. Every error but ours is raised."""
    try:
        model, *_ = onlineboost.model.load_all(path)
    except ModelFileError as problem:
        return f"refused: {problem.field.split('.')[-1]}"
    errors: Counter[str] = Counter()

    def each(*steps: Callable[[], object]) -> bool:
        for step in steps:
            try:
                step()
            except OURS as problem:
                errors[type(problem).__name__] += 1
                if errors.total() > 40:
                    break
        return not errors

    waiting = [model.pending[number] for number in model.pending]
    label = float(Z[0]) if isinstance(model, OnlineRegressor) else SIGNS[0] if kind == "old" else 1
    each(
        lambda: describe(path, 5),
        lambda: predict(model, kind),
        lambda: explain(model, kind),
        *(lambda one=one: model.tell(one, label) for one in (*waiting, *tickets)),
        lambda: model.tell(model.ask({f"w{k}": 1.0 for k in range(wide)}), label) if wide else None,
        lambda: learn(model, kind, 200),
        lambda: model.tell(ask(model, kind), [label] * 2),
        lambda: ask(model, kind),
        lambda: predict(model, kind),
        lambda: explain(model, kind),
        lambda: look(model),
    )
    if not each(lambda: model.save(path)) and "ModelFileError" in errors:
        return "accepted, then not saved"
    twin = onlineboost.load(path)  # whatever was saved is loaded
    each(*(lambda number=number: twin.tell(twin.pending[number], label) for number in twin.pending))
    each(lambda: predict(twin, kind))
    return "accepted, then " + max(errors) if errors else "accepted"


def predict(model: Any, kind: str) -> None:
    numbers = isinstance(model, OnlineRegressor)
    if kind == "arrays":
        model.predict(X[:20]), None if numbers else model.predict_proba(X[:20])
    elif kind in ("dicts", "five"):
        model.predict_one(DICTS[0]), None if numbers else model.predict_proba_one(DICTS[1])
    else:
        rows, labels = (W, SIGNS) if kind == "old" else (X, Y)
        list(map(model.predict, open_stream(rows[:20], y=labels[:20], like=model)))


def ask(model: Any, kind: str) -> list[Any]:
    if kind in ("dicts", "five"):
        return [model.ask(DICTS[3]), model.ask(DICTS[4] | {"more": 1.0})]
    return model.ask((W if kind == "old" else X)[:2])


def explain(model: Any, kind: str) -> None:
    if kind in ("dicts", "five"):
        str(model.explain_one(DICTS[1]))
    else:
        model.explain((W if kind == "old" else X)[:5])
    model.importances()


def look(model: Any) -> None:
    model.verdict()
    if hasattr(model, "report") and (not isinstance(model, Adaptive) or hasattr(model.estimator_, "report")):
        str(model.report())


# ---- processes: a crash or a hang ends a worker, not the fuzzer


class Outcome(NamedTuple):
    number: int  # of the input
    what: str
    problem: str | None
    seconds: float
    memory: int  # bytes added by it
    digest: int
    file: int  # number of the honest file


def work(files: list[File], inputs: Callable[[int], Input], start: int, stop: int, at: Any, queue: Any) -> None:
    """Use inputs one after the other, in a process of their own."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY,) * 2)
    path = Path(tempfile.gettempdir()) / f"onlineboost-fuzz-{os.getpid()}"
    for k in range(start, stop):
        one = inputs(k)
        at[0] = k
        digest = hashlib.sha256(one.content + b"".join(one.tickets)).digest()
        path.write_bytes(one.content)
        before, began, problem = forget_peak(), time.process_time(), None
        try:
            what = use(path, one.kind, one.tickets, one.wide)
        except Exception:
            what, problem = "PROBLEM", traceback.format_exc()
        seconds = time.process_time() - began
        queue.put(Outcome(k, what, problem, seconds, peak() - before, int.from_bytes(digest[:8], "big"), one.number))
    path.unlink(missing_ok=True)


def forget_peak() -> int:
    """Begin to watch the peak of memory; returns the bytes in use."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak() -> int:
    """The most bytes in use since then."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith("VmHWM")))


def outcomes(files: list[File], inputs: Callable[[int], Input], start: int, stop: int) -> Iterator[Outcome]:
    """What becomes of each input: workers that crash or hang are replaced."""
    context = multiprocessing.get_context("fork")
    while start < stop:
        at, queue = context.Array("q", [start]), context.SimpleQueue()
        worker = context.Process(target=work, args=(files, inputs, start, stop, at, queue))
        worker.start()
        last, since, used, spent = start, time.monotonic(), seconds_of(worker), 0.0
        alive, killed = True, False
        while alive:
            alive = worker.is_alive()
            while not queue.empty():
                found = queue.get()
                start = found.number + 1
                yield found
            now = seconds_of(worker)
            if at[0] != last:
                last, since, used = at[0], time.monotonic(), now
            since, spent = (time.monotonic(), now) if now != spent else (since, spent)  # it works
            if alive and (now - used > LIMIT or time.monotonic() - since > CLOCK):
                os.kill(worker.pid, signal.SIGKILL)
                killed = True
            time.sleep(0.1)
        worker.join()
        if start < stop:
            why = f"more than {LIMIT} s" if killed else f"exit status {worker.exitcode}"
            yield Outcome(start, "HANG" if killed else "CRASH", why, LIMIT if killed else 0, 0, 0, 0)
            start += 1


def seconds_of(process: Any) -> float:
    """The time that a process has worked."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except OSError:  # it has just ended
        return 0.0


def _probe(array: np.ndarray, k: int) -> float:
    return array[k]


def bounds_are_checked() -> bool:
    try:
        njit(_probe, cache=False)(np.zeros(1), 1)
    except IndexError:
        return True
    return False


def new_state(seed: int) -> dict[str, Any]:
    return {
        "seed": seed, "done": 0, "bounds checked": 0, "counts": {}, "problems": [], "seconds": 0.0, "slowest": 0.0,
        "most memory": 0, "most times honest": 0.0, "digest": 0,
    }  # fmt: skip


def judged(found: Outcome, need: int) -> Outcome:
    """The outcome of an input whose honest file needs so much memory."""
    times = found.memory / max(need, LEAST)
    if times <= TIMES or found.problem is not None:
        return found
    problem = f"{found.memory >> 20} MB: {times:.1f} times the {need >> 20} MB of the honest file"
    return found._replace(what="MEMORY", problem=problem)


def take(state: dict[str, Any], found: Outcome, need: int) -> None:
    """Add what became of an input."""
    what, times = found.what, found.memory / max(need, LEAST)
    state["done"] = found.number + 1
    state["counts"][what] = state["counts"].get(what, 0) + 1
    if found.problem is not None:
        state["problems"].append([found.number, found.problem])
    state["slowest"] = max(state["slowest"], found.seconds)
    state["most memory"] = max(state["most memory"], found.memory)
    state["most times honest"] = max(state["most times honest"], times)
    state["digest"] = (state["digest"] + found.digest) % (1 << 64)


def show(state: dict[str, Any]) -> None:
    counts = Counter(state["counts"])
    print(f"{counts.total():,} files in {state['seconds']:,.0f} s, {state['bounds checked']:,} with bounds checked")
    refused = Counter({what.partition(": ")[2]: n for what, n in counts.items() if what.startswith("refused")})
    shown = ", ".join(f"{field} {n:,}" for field, n in refused.most_common(12))
    print(textwrap.fill(f"  refused: {refused.total():,} ({shown}, ...)", 112, subsequent_indent=" " * 6))
    for what, count in counts.most_common():
        if not what.startswith("refused"):
            print(f"  {what}: {count:,}")
    memory = f"{state['most memory'] >> 20} MB, {state['most times honest']:.1f} times the honest file's"
    print(f"  slowest: {state['slowest']:.2f} s; most memory: {memory} (or {LEAST >> 20} MB)")
    print(f"  digest of the inputs: {state['digest']:016x}; problems: {len(state['problems'])}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=1000, help="number of inputs, with those done before")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--from", type=int, default=0, dest="first", help="number of the first input")
    parser.add_argument("--only", help="boosters to try, such as numbers; default: all, and files of older formats")
    parser.add_argument("--keep", type=Path, help="folder for the files that make problems")
    parser.add_argument("--state", type=Path, help="file with what was found so far: the run goes on from there")
    given = parser.parse_args()
    checked = bounds_are_checked()
    files = honest([pair for pair in PAIRS if given.only in (None, pair[0])], given.only is None)
    with tempfile.NamedTemporaryFile() as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for one in files:  # also compiles what the workers need, before they are forked
            Path(file.name).write_bytes(one.content)
            assert use(Path(file.name), one.kind) == "accepted", (one.name, one.kind)
    alone = [Input(number, one.kind, one.content, []) for number, one in enumerate(files)]
    needs = [found.memory for found in outcomes(files, alone.__getitem__, 0, len(files))]
    print(f"{len(files)} honest files; bounds are {'checked' if checked else 'not checked'}", flush=True)
    state = new_state(given.seed) | {"done": given.first}
    if given.state and given.state.exists():
        state = json.loads(given.state.read_text())
        assert state["seed"] == given.seed, "the state is that of another seed"

    def inputs(k: int) -> Input:
        return damaged(random.Random(f"{given.seed} {k}"), files)

    first, before, began = state["done"], state["seconds"], time.monotonic()
    for found in outcomes(files, inputs, first, first + given.inputs if given.state is None else given.inputs):
        need = needs[found.file]
        if judged(found, need).what == "MEMORY":  # a row of many features takes memory in an honest model, too
            _, kind, content = files[found.file]
            rows = [Input(found.file, kind, content, [], widest(inputs(found.number)))]
            need = max(need, *(one.memory for one in outcomes(files, rows.__getitem__, 0, 1)))
        found = judged(found, need)
        take(state, found, need)
        state["bounds checked"] += checked
        state["seconds"] = before + time.monotonic() - began
        if found.problem is not None and given.keep:
            given.keep.mkdir(exist_ok=True)
            (given.keep / f"{given.seed}-{found.number}").write_bytes(inputs(found.number).content)
        if given.state and (state["done"] % 50 == 0 or state["done"] == given.inputs):
            draft = given.state.with_suffix(".part")
            draft.write_text(json.dumps(state, indent=1))
            draft.replace(given.state)
    show(state)
    for number, text in state["problems"]:
        print(f"\n--from {number} --inputs 1\n{text}")
    sys.exit(1 if state["problems"] else 0)


if __name__ == "__main__":
    main()
