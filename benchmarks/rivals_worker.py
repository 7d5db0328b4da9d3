"""One model over one stream, in a process of its own: every row is predicted, then learned.

A stream is a file NAME.npz with labels ``y`` of -1 and +1, and either ``X`` or the parts of a CSR matrix: ``data``,
``indices``, ``indptr``, ``shape``. What is measured is printed as JSON:

rows      number of rows
mistakes  rows predicted wrongly; a probability of at least 0.5 is a prediction of +1
first     mistakes among the first 1,000 rows
log_loss  mean, of probabilities held between 1e-6 and 1 - 1e-6; absent if the model has no probabilities
seconds   CPU time of the process, all threads, while it predicts and learns; not: reading rows, and warming up
memory    MB. Growth of the resident memory from just before the model is made to its peak. CapyMOA: growth of
          the Java heap in use after a garbage collection, at the end; the heap itself is larger

Until both labels have been seen, and where a model has no prediction yet, the prediction is the share of +1 so far,
the same for all. Before that a copy of the model learns the first rows and is thrown away: Numba and Java compile
then. Needs no onlineboost for the rivals: CapyMOA and LightGBM run in an environment of their own, see rivals.py.

    python benchmarks/rivals_worker.py MODEL STREAM.npz [--limit 120]
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

FIRST = 1_000  # rows
LIMIT = 600.0  # CPU seconds
WINDOW = 5_000  # rows; the rival that is trained on the last rows only
EVERY = 1_024  # rows between two trainings of it
TINY = 1e-6
Rows = tuple[Any, np.ndarray]


class Model:
    """A model with the rows that it will learn."""

    block = 100  # rows between two looks at the clock
    warm_up = 300  # rows
    has_probabilities = True
    needs: ClassVar[tuple[str, ...]] = ()  # packages

    def __init__(self, X: Any, y: np.ndarray) -> None:
        self.X, self.y = X, y

    def rows(self, span: slice) -> Any:
        """Rows as the library takes them; not timed."""
        return self.X[span], self.y[span]

    def learn(self, rows: Any) -> Any:
        """Probabilities of +1, each given before the label was used; None or nan: no prediction."""
        raise NotImplementedError

    def memory(self) -> float | None:
        """MB, if the process's own memory says little."""
        return None


class NoChange(Model):
    """The label of the row before."""

    has_probabilities = False

    def rows(self, span: slice) -> Any:
        return np.roll(self.y, 1)[span]

    def learn(self, rows: Any) -> Any:
        return rows > 0


class Ours(Model):
    """A model of onlineboost, whose score is the log odds."""

    block = 1_000
    needs = ("onlineboost",)

    def __init__(self, X: Any, y: np.ndarray) -> None:
        import onlineboost

        super().__init__(X, y)
        self.model = self.make(onlineboost)

    @staticmethod
    def make(package: Any) -> Any:
        raise NotImplementedError

    def learn(self, rows: Any) -> Any:
        scores = self.model.progressive_fit(*rows, classes=[-1, 1])
        return 0.5 + 0.5 * np.tanh(scores / 2)


def ours(make: Callable[[Any], Any], log_odds: bool = True) -> type[Model]:
    return type("Ours", (Ours,), {"make": staticmethod(make), "has_probabilities": log_odds})


class VowpalWabbit(Model):
    """Examples are parsed beforehand; ``learn`` gives the prediction made before the update."""

    needs = ("vowpalwabbit",)
    options = "--loss_function logistic --link logistic"

    def __init__(self, X: Any, y: np.ndarray) -> None:
        import vowpalwabbit

        super().__init__(sp.csr_matrix(X), y)
        bits = 18 if X.shape[1] <= 1_000 else 22
        self.workspace = vowpalwabbit.Workspace(f"{self.options} -b {bits} --quiet")

    def rows(self, span: slice) -> Any:
        X = self.X[span]
        texts = (f"{j}:{v:.6g}" for j, v in zip(X.indices.tolist(), X.data.tolist(), strict=True))
        lines = (" ".join(islice(texts, n)) for n in np.diff(X.indptr).tolist())
        parsed = (self.workspace.parse(f"{label} | {line}") for label, line in zip(self.y[span], lines, strict=True))
        return [one[0] if isinstance(one, list) else one for one in parsed]

    def learn(self, rows: Any) -> Any:
        found = []
        for example in rows:
            self.workspace.learn(example)
            found.append(example.get_simplelabel_prediction())
            self.workspace.finish_example(example)
        return found


class VowpalWabbitBoosting(VowpalWabbit):
    """Predicts -1 or +1."""

    has_probabilities = False
    options = "--boosting 10 --alg BBM"

    def learn(self, rows: Any) -> Any:
        return np.array(super().learn(rows)) > 0


class River(Model):
    """Dicts are made beforehand; those of text have no zeros."""

    needs = ("river",)

    def __init__(self, X: Any, y: np.ndarray) -> None:
        super().__init__(X, y)
        self.model = self.make()

    @staticmethod
    def make() -> Any:
        raise NotImplementedError

    def rows(self, span: slice) -> Any:
        X, labels = self.X[span], (self.y[span] > 0).tolist()
        if not sp.issparse(X):
            return [(dict(enumerate(x)), y) for x, y in zip(X.tolist(), labels, strict=True)]
        cells = zip(X.indices.tolist(), X.data.tolist(), strict=True)
        sizes = np.diff(X.indptr).tolist()
        return [(dict(islice(cells, size)), y) for size, y in zip(sizes, labels, strict=True)]

    def learn(self, rows: Any) -> Any:
        found = []
        for x, y in rows:
            probabilities = self.model.predict_proba_one(x)
            found.append(probabilities.get(True, 0.0) if probabilities else None)
            self.model.learn_one(x, y)
        return found


class RiverLogistic(River):
    @staticmethod
    def make() -> Any:
        from river import linear_model, preprocessing

        return preprocessing.StandardScaler() | linear_model.LogisticRegression()


class RiverTree(River):
    @staticmethod
    def make() -> Any:
        from river.tree import HoeffdingTreeClassifier

        return HoeffdingTreeClassifier()


class RiverMondrian(River):
    @staticmethod
    def make() -> Any:
        from river.forest import AMFClassifier

        return AMFClassifier(seed=0)


class RiverForest(River):
    @staticmethod
    def make() -> Any:
        from river.forest import ARFClassifier

        return ARFClassifier(seed=0)


class CapyMOA(Model):
    """Instances are made beforehand, with all zeros."""

    needs = ("capymoa",)
    warm_up = 1_000
    kind = ""
    options: ClassVar[dict[str, Any]] = {}

    def __init__(self, X: Any, y: np.ndarray) -> None:
        from capymoa import classifier
        from capymoa.stream import NumpyStream

        super().__init__(X, y)
        self.schema = NumpyStream(_dense(X[:2]), np.array([0, 1])).get_schema()
        self.before = _java_heap()
        self.model = getattr(classifier, self.kind)(schema=self.schema, **self.options)

    def rows(self, span: slice) -> Any:
        from capymoa.core import LabeledInstance

        cells = zip(_dense(self.X[span]), (self.y[span] > 0).astype(int), strict=True)
        return [LabeledInstance.from_array(self.schema, x, y) for x, y in cells]

    def learn(self, rows: Any) -> Any:
        found = []
        for row in rows:
            probabilities = self.model.predict_proba(row)
            found.append(None if probabilities is None else probabilities[1])
            self.model.train(row)
        return found

    def memory(self) -> float | None:
        return _java_heap() - self.before


class CapyMOAForest(CapyMOA):
    kind = "AdaptiveRandomForestClassifier"
    options: ClassVar = {"ensemble_size": 30}


class CapyMOAPatches(CapyMOA):
    kind = "StreamingRandomPatches"
    options: ClassVar = {"ensemble_size": 30}


class CapyMOABoosting(CapyMOA):
    kind = "StreamingGradientBoostedTrees"


class LightGBM(Model):
    """Trained anew on all rows so far at row 256, 512, 1,024, ...; rows up to the next training are predicted by it."""

    needs = ("lightgbm",)
    block = 256
    warm_up = 600
    window: int | None = None  # rows of a training; None: all so far

    def __init__(self, X: Any, y: np.ndarray) -> None:
        super().__init__(X, y)
        self.model: Any = None

    def rows(self, span: slice) -> Any:
        return span

    def learn(self, rows: Any) -> Any:
        import lightgbm

        if self.trains(rows.start):
            known = slice(max(0, rows.start - (self.window or rows.start)), rows.start)
            data = lightgbm.Dataset(self.X[known], (self.y[known] > 0).astype(float))
            self.model = lightgbm.train({"objective": "binary", "num_threads": 1, "verbose": -1}, data)
        return [None] * len(self.y[rows]) if self.model is None else self.model.predict(self.X[rows], num_threads=1)

    def trains(self, seen: int) -> bool:
        return seen > 0 and seen & (seen - 1) == 0


class LastWindow(LightGBM):
    """Trained anew at row 256, 512, 1,024 and every 1,024 rows after, on the last 5,000 rows only."""

    window = WINDOW

    def trains(self, seen: int) -> bool:
        return super().trains(seen) or (seen > 0 and seen % EVERY == 0)


class StochasticGradient(Model):
    """scikit-learn's, in batches of 100 rows, standardized by the rows before."""

    needs = ("sklearn",)

    def __init__(self, X: Any, y: np.ndarray) -> None:
        from sklearn.linear_model import SGDClassifier
        from sklearn.preprocessing import StandardScaler

        super().__init__(X, y)
        self.model = SGDClassifier(loss="log_loss", random_state=0)
        self.scaler = StandardScaler(with_mean=not sp.issparse(X))
        self.fitted = False

    def learn(self, rows: Any) -> Any:
        X, y = rows
        found: Any = [None] * len(y)
        if self.fitted:
            found = self.model.predict_proba(self.scaler.transform(X))[:, 1]
        self.scaler.partial_fit(X)
        self.model.partial_fit(self.scaler.transform(X), y, classes=[-1, 1])
        self.fitted = True
        return found


def _boosted(package: Any, learner: Any) -> Any:
    return package.OnlineBBM(learner, 21, head="stack", random_state=0)


def _restarting(model: Any) -> Any:
    from onlineboost.ensembles.restarting import Restarting

    return Restarting(model)


MODELS: dict[str, type[Model]] = {
    "no change": NoChange,
    'OnlineBoost("low")': ours(lambda ob: ob.OnlineBoost("low", random_state=0)),
    "OnlineBoost()": ours(lambda ob: ob.OnlineBoost(random_state=0)),
    'OnlineBoost("high")': ours(lambda ob: ob.OnlineBoost("high", random_state=0)),
    "boosted linear": ours(lambda ob: _boosted(ob, ob.Linear(standardize=True))),
    "boosted deep trees": ours(lambda ob: _restarting(_boosted(ob, ob.Tree(8, max_mb=512)))),
    "boosted shallow trees": ours(lambda ob: _boosted(ob, ob.Tree(5, bins=64, max_mb=512))),
    "Newton": ours(lambda ob: ob.Newton(), log_odds=False),
    "naive Bayes": ours(lambda ob: ob.NaiveBayes(), log_odds=False),
    "linear": ours(lambda ob: ob.Linear("logistic", standardize=True), log_odds=False),
    "fast linear": ours(lambda ob: ob.Linear(standardize=True, learning_rate=32.0), log_odds=False),
    "VW": VowpalWabbit,
    "VW boosting": VowpalWabbitBoosting,
    "SGD": StochasticGradient,
    "LightGBM": LightGBM,
    "LightGBM last window": LastWindow,
    "River LR": RiverLogistic,
    "River HT": RiverTree,
    "River AMF": RiverMondrian,
    "River ARF": RiverForest,
    "CapyMOA ARF": CapyMOAForest,
    "CapyMOA SRP": CapyMOAPatches,
    "CapyMOA SGBT": CapyMOABoosting,
}


def load(path: Path) -> Rows:
    with np.load(path) as parts:
        y = parts["y"].astype(int)
        if "X" in parts:
            return parts["X"], y
        return sp.csr_matrix((parts["data"], parts["indices"], parts["indptr"]), tuple(parts["shape"])), y


def spans(n: int, block: int) -> Iterator[slice]:
    return (slice(start, min(start + block, n)) for start in range(0, n, block))


def share_so_far(y: np.ndarray) -> np.ndarray:
    """The share of +1 among the rows before each row, with one row of each label added.

    >>> share_so_far(np.array([1, 1, -1, 1])).round(2).tolist()
    [0.5, 0.67, 0.75, 0.6]
    """
    return (np.cumsum(y > 0) - (y > 0) + 1) / (np.arange(len(y)) + 2)


def figures(found: np.ndarray, y: np.ndarray, has_probabilities: bool) -> dict[str, Any]:
    one_label = int(np.cumprod(y == y[0]).sum())  # rows before the other label
    none = ~np.isfinite(found)
    none[: one_label + 1] = True
    p = np.where(none, share_so_far(y), found)
    wrong = (p >= 0.5) != (y > 0)
    result = {"rows": len(y), "mistakes": int(wrong.sum()), "first": int(wrong[:FIRST].sum())}
    if has_probabilities:
        losses = -np.log(np.clip(np.where(y > 0, p, 1 - p), TINY, 1 - TINY))
        result["log_loss"] = round(float(losses.mean()), 5)
    return result


def measure(kind: type[Model], X: Any, y: np.ndarray, limit: float = LIMIT) -> dict[str, Any]:
    """Warm up, then run; ``stopped`` if the CPU time passes the limit."""
    few = [*range(min(kind.warm_up, len(y))), int(y.argmax()), int(y.argmin())]  # both labels
    warm = kind(X[few], y[few])
    began = time.process_time()
    for span in spans(len(few), min(kind.block, kind.warm_up // 2 or 1)):  # some code first runs in the second call
        warm.learn(warm.rows(span))
        if time.process_time() - began > limit / 10:
            break
    del warm
    before = _start_of_memory()
    model = kind(X, y)
    found, seconds = np.full(len(y), np.nan), 0.0
    for span in spans(len(y), kind.block):
        rows = model.rows(span)
        began = time.process_time()
        found[span] = model.learn(rows)
        seconds += time.process_time() - began
        if seconds > limit and span.stop < len(y):
            return {"stopped": f"over {limit:g} s at row {span.stop:,}"}
    peak = _peak_of_memory() - before
    own = model.memory()
    result = figures(found, y, kind.has_probabilities)
    return result | {"seconds": round(seconds, 4), "memory": round(peak if own is None else own, 1)}


def run(name: str, path: Path, limit: float = LIMIT) -> dict[str, Any]:
    kind = MODELS[name]
    X, y = load(path)
    with warnings.catch_warnings(action="ignore"):
        return measure(kind, X, y, limit)


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)


def _java_heap() -> float:
    """MB in use after a garbage collection."""
    import jpype

    java = jpype.JClass("java.lang.Runtime").getRuntime()
    gc.collect()
    java.gc()
    return (java.totalMemory() - java.freeMemory()) / 1e6


def _start_of_memory() -> float:
    """Give back what is not used, and start the peak anew; MB resident now."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _peak_of_memory() -> float:
    return _status("VmHWM")


def _status(field: str) -> float:
    """MB, from Linux; 0 elsewhere."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(f"{field}:"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("stream", type=Path)
    parser.add_argument("--limit", type=float, default=LIMIT, help="CPU seconds")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    print(json.dumps(run(options.model, options.stream, options.limit)))


if __name__ == "__main__":
    main()
