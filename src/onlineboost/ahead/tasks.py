"""Units of compilation: models of one kind of learner, and files of one format.

A task learns or reads a little with the code that is to be compiled. Tasks share hardly any code, so that they can run
side by side.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from onlineboost.boosters.online_bbm import OnlineBBM
from onlineboost.boosters.safe import SafeBoost
from onlineboost.classifier import OnlineClassifier
from onlineboost.compiled import cache
from onlineboost.data.batch import Batch, check_batch
from onlineboost.ensembles.ensemble import Ensemble, StackedEnsemble
from onlineboost.ensembles.online_boost import EFFORTS, OnlineBoost
from onlineboost.ensembles.regressor import OnlineBoostRegressor
from onlineboost.learners.linear import Linear
from onlineboost.learners.tree import Tree
from onlineboost.model import OnlineModel, load
from onlineboost.readers import open_stream
from onlineboost.registry import BOOSTERS, FORMATS, LEARNERS

_ROWS = 6_000  # enough that trees grow and change their bins
_FEW = 500  # of several classes
_LEARNERS = 63  # at most, of a booster


class Task(Protocol):
    """Something to compile. Its names are the same in all processes."""

    @property
    def names(self) -> Sequence[str]: ...

    def run(self) -> None: ...


@dataclass(frozen=True)
class Models:
    """Models whose weak learners are of one kind: learning, predicting, saving and loading them."""

    learner: str
    models: tuple[OnlineModel, ...]

    @property
    def names(self) -> list[str]:
        return [_name(model) for model in self.models]

    def __str__(self) -> str:
        return self.learner

    def run(self) -> None:
        from onlineboost.datasets import load_letter

        X, y = load_letter()
        X, y = X[:_ROWS], y[:_ROWS]
        for model in self.models:
            fitted = model.clone().fit(X, y)
            fitted.predict_proba(X[:10]) if isinstance(fitted, OnlineClassifier) else fitted.predict(X[:10])
            assert fitted._fitted is not None
            fitted._fitted.root.knows(np.arange(3, dtype=np.int32))  # as for the columns of a file
            for x, label in zip(X[:3].tolist(), y[:3].tolist(), strict=True):
                fitted.learn_one(dict(enumerate(x)), label)
            with tempfile.TemporaryDirectory() as folder:
                fitted.save(Path(folder) / "model")
                load(Path(folder) / "model").predict(X[:10])


@dataclass(frozen=True)
class SeveralClasses:
    """Ensembles with more than two classes: the code beyond that of binary classification."""

    names = ("several classes",)

    def __str__(self) -> str:
        return "several classes"

    def run(self) -> None:
        from onlineboost.datasets import load_letter

        X, _ = load_letter()
        parts = [Linear(standardize=True), OnlineBBM(Linear(standardize=True), 2, head="stack")]
        model = StackedEnsemble(parts, n_always_active=1)
        for rows in (X[:_FEW], X[_FEW : 2 * _FEW]):
            model.partial_fit(rows, np.arange(_FEW) % 3, range(3))
            model.predict_proba(rows)
        indices = np.array([5, 2, 5], np.int32)  # as words come
        one = np.ones(1)
        model.learn(Batch(np.array([0, 3]), indices, np.array([1, 0, 1], np.float32), one, one))


@dataclass(frozen=True)
class Files:
    """Reading files of a format."""

    format: str

    @property
    def names(self) -> list[str]:
        return [f"files {self.format}"]

    def __str__(self) -> str:
        return FORMATS.find(self.format).title

    def run(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "examples"
            options = _write_examples(path, self.format)
            with open_stream(str(path), format=self.format, **options) as stream:
                for page in stream:
                    check_batch(page.batch, True)


def _write_examples(path: Path, format: str) -> dict[str, Any]:
    """A small file of this format. Returns the options to read it with."""
    if format in _LINES:
        path.write_text("".join(f"{line}\n" for line in _LINES[format]))
        return {} if format in ("libsvm", "vw") else {"label": "y"}
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    table = pa.table({"x": [0.5, None, 2.0], "color": ["red", "blue", None], "y": [0, 1, 1]})
    (pyarrow.parquet.write_table if format == "parquet" else pyarrow.feather.write_feather)(table, str(path))
    return {"label": "y"}


_TABLES = ("arrow", "parquet")
_CELLS = ["x color day y", "0.5 red 2026-01-01 0", "-1e3 blue 2026-01-02 1", "4 red 2026-01-03 1"]
_TEXTS = [f"{k} the_word_{k}_and_some_more_words_after_it 2026-01-01 {k % 2}" for k in range(200)]  # of a column
_LINES = {
    "csv": [line.replace(" ", ",").replace("_", " ") for line in (*_CELLS, *_TEXTS)],
    "tsv": [line.replace(" ", "\t").replace("_", " ") for line in (*_CELLS, *_TEXTS)],
    "jsonl": ['{"x": 0.5, "color": "red", "y": 0}', '{"x": null, "color": "blue", "y": 1, "z": [true]}'],
    "libsvm": ["1 1:0.5 7:2", "-1 2:1e3"],
    "vw": ["1 2 'tag |a x:0.5 y |b red", "-1 |a x:1e3"],
}


def tasks_of(models: Iterable[OnlineModel], formats: Iterable[str] = ()) -> list[Task]:
    """Tasks for these models and formats: models of the same learners are one task, since they share code."""
    models = [*models]
    by_learner: dict[str, dict[str, OnlineModel]] = {}
    for part in (part for model in models for part in _parts(model)):
        inside = _inside(part)
        # Classes from outside this package are compiled in each process.
        if all(type(each).__module__.startswith("onlineboost.") for each in inside):
            by_learner.setdefault(type(inside[-1]).__name__, {}).setdefault(_name(part), _small(part))
    ours = [*_LINES, *(_TABLES if find_spec("pyarrow") is not None else ())]
    known = [format for format in dict.fromkeys(formats) if format in ours]
    tasks: list[Task] = [*(Models(name, tuple(some.values())) for name, some in by_learner.items()), *map(Files, known)]
    tasks += [SeveralClasses()] if any(isinstance(model, Ensemble) for model in models) else []
    return sorted(tasks, key=lambda task: -len(task.models) if isinstance(task, Models) else -2)  # longest first


def _parts(model: OnlineModel) -> list[OnlineModel]:
    """The parts of an ensemble, and a small ensemble for its own code."""
    if not isinstance(model, Ensemble):
        return [model]
    small = [StackedEnsemble([Linear(standardize=True), Linear()])]
    return [*(inner for part in model._parts() for inner in _parts(part)), *small]


def _inside(model: OnlineModel) -> list[OnlineModel]:
    """The model, what it is around, and so on to the weak learner."""
    inner = model.estimators[0] if isinstance(model, StackedEnsemble) else getattr(model, "estimator", None)
    return [model, *(_inside(inner) if inner is not None else [])]


def _small(model: OnlineModel) -> OnlineModel:
    """The same code, with less to do."""
    small = model.clone()
    if getattr(small, "n_estimators", 0) > _LEARNERS:
        small.n_estimators = _LEARNERS  # type: ignore[attr-defined]
    return small


def _name(model: OnlineModel) -> str:
    """The model without its numbers, which do not change what is compiled, but for ``bins``.

    >>> _name(StackedEnsemble([Linear("logistic", learning_rate=0.1), Linear(bits=20, bins=16)]))
    "StackedEnsemble(estimators=[Linear(loss='logistic'), Linear(bins=16)])"
    """
    return re.sub(r", (?=\))", "", re.sub(r"\b(?!bins=)\w+=-?[0-9][0-9.e+-]*(, )?", "", repr(model.clone())))


def missing(tasks: Iterable[Task]) -> list[Task]:
    """What was not compiled yet for these sources and this processor."""
    left: list[Task] = []
    for task in tasks:
        if isinstance(task, Models):
            task = Models(task.learner, tuple(m for m in task.models if not cache.is_done(_name(m))))
        if not all(map(cache.is_done, task.names)):
            left.append(task)
    return left


def usual_models() -> list[OnlineModel]:
    """The default classifiers and regressor, with every effort; the models of the demo and of the tutorial."""
    models: list[OnlineModel] = [*(OnlineBoost(effort) for effort in EFFORTS), OnlineBoostRegressor()]
    for learner in (Linear(standardize=True), Tree()):
        models += [learner, OnlineBBM(learner), SafeBoost(learner)]
    return models


def all_models() -> list[OnlineModel]:
    """The usual models, and every booster with every learner that it boosts."""
    models = usual_models()
    for learner in LEARNERS:
        boosters = (entry.make for entry in BOOSTERS if entry.make.boosts(learner.make))  # type: ignore[attr-defined]
        models += [learner.make(), *(booster(learner.make()) for booster in boosters)]
    return models
