"""A run: one pass over the examples, for one configuration or for several nested ones; and the journal of results."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from onlineboost.classifier import OnlineClassifier
from onlineboost.compiled.cache import source_digest
from onlineboost.data.batch import Batch, Floats
from onlineboost.data.classes import Classes
from onlineboost.data.page import Page
from onlineboost.data.regression import Numbers
from onlineboost.data.scores import as_columns
from onlineboost.engine.committee import Committee
from onlineboost.engine.node import Prepared
from onlineboost.engine.program import run_batch
from onlineboost.evaluate.sums import added
from onlineboost.model import OnlineModel
from onlineboost.parameters import described
from onlineboost.regressor import OnlineRegressor
from onlineboost.tuning.data import Data, Transformed, pieces
from onlineboost.tuning.nested import can_nest, nest, run_nested

_START = b'{"key": "'  # of a line of a journal


class Interrupted(BaseException):
    """The race was stopped, and the result is not needed."""


class Outcome(NamedTuple):
    """The result of a configuration after ``examples`` examples."""

    examples: int
    mistakes: float  # sum of weights; of numbers, the weighted sum of squared errors
    weight: float
    seconds: float  # on one core
    numbers: bool = False

    @property
    def error(self) -> float:
        """The share of mistakes; of numbers, the root of the mean squared error."""
        mean = self.mistakes / self.weight if self.weight else float("inf")
        return math.sqrt(mean) if self.numbers else mean


class Failure(NamedTuple):
    """The reason of a failure, as text: not every exception can be sent between processes."""

    reason: str


class Run:
    """One model, or models that differ only in the number of learners and are nested in the largest."""

    def __init__(self, models: list[OnlineModel]) -> None:
        self.models = [model.clone() for model in models]
        self.examples = 0
        self.weight, self.seconds = 0.0, 0.0
        self.mistakes = [0.0] * len(models)
        self._node: Committee | None = None  # of the largest model

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_programs"}

    def advance(self, data: Data, stop: int, stopped: Callable[[], bool] = lambda: False) -> list[Outcome]:
        """Learn up to example ``stop``; the outcome of each model."""
        began = time.thread_time()
        rows = data.transformed(self.models[0])
        if rows is None:
            self._learn_by_itself(data, stop)
        else:
            for batch in pieces(rows.batch, self.examples, stop):
                if stopped():
                    raise Interrupted
                self._learn(batch, rows)
        self.examples = stop
        self.seconds += time.thread_time() - began
        seconds = self.seconds / len(self.models)
        return [Outcome(stop, mistakes, self.weight, seconds, data.numbers) for mistakes in self.mistakes]

    def _learn(self, batch: Batch, rows: Transformed) -> None:
        if self._node is None:
            self._node = self._new_node(rows.n_features)
        if self._node.prepared() is None:
            self._programs = Prepared(self._node)
        if len(self.models) == 1:
            self._count(batch, [run_batch(self._node, batch, True)])
            return
        largest, within = run_nested(self._node, batch)
        learned = batch.weight > 0
        self._count(batch._replace(y=batch.y[learned], weight=batch.weight[learned]), [*within.T, largest[learned]])

    def _new_node(self, n_features: int) -> Committee:
        node = self.models[-1]._new_node(0)
        assert isinstance(node, Committee)
        node.slots, node.transforms = None, ()  # the rows are transformed already
        node.grow(n_features)
        if len(self.models) > 1:
            nest(node, [model.n_estimators for model in self.models[:-1]])  # type: ignore[attr-defined]
        return node

    def _learn_by_itself(self, data: Data, stop: int) -> None:
        model: Any
        (model,) = self.models  # nested multiclass runs fail here, and are run one by one
        for batch in pieces(data.batch, self.examples, stop):
            start = self.examples
            self.examples += batch.y.size
            if isinstance(data.origin, Page):
                names = data.origin.names if start == 0 else []
                scores = model.learn(data.origin._replace(batch=batch, names=names), squeeze=False)
            else:
                X, y, weight, labels = data.origin
                part = slice(start, self.examples)
                rows = X.iloc[part] if hasattr(X, "iloc") else X[part]
                known = {} if data.numbers else {"classes": None if data.many_classes else labels.classes}
                scores = as_columns(model.progressive_fit(rows, y[part], weight[part], **known))
                if not data.numbers and labels.width == 1:
                    scores = labels.scores(scores)  # by places, as in the batch
            self._count(batch, [scores])

    def _count(self, batch: Batch, scores: list[Floats]) -> None:
        numbers = isinstance(self.models[0], OnlineRegressor)
        for k, answers in enumerate(scores):
            wrong = (Numbers().decode(answers) - batch.y) ** 2 if numbers else Classes.mistakes(answers, batch.y)
            [self.mistakes[k]] = added([self.mistakes[k]], [wrong * batch.weight])
        [self.weight] = added([self.weight], [batch.weight])


def attempt(run: Run, data: Data, stop: int, stopped: Callable[[], bool] = lambda: False) -> list[Outcome] | Failure:
    """``run.advance``; an exception becomes a ``Failure`` of these configurations only."""
    try:
        return run.advance(data, stop, stopped)
    except Exception as problem:
        return Failure(str(problem) or type(problem).__name__)


def together(models: dict[int, OnlineModel]) -> list[list[int]]:
    """Groups of models that share a run, by number of learners; the run with the most learners first."""
    groups: dict[Any, list[int]] = {}
    for number, model in models.items():
        groups.setdefault(nesting_key(model) or number, []).append(number)
    for group in groups.values():
        group.sort(key=lambda number: _size(models[number]))
    return sorted(groups.values(), key=lambda group: -_size(models[group[-1]]))


def _size(model: OnlineModel) -> int:
    n = getattr(model, "n_estimators", 1)
    return n if isinstance(n, int) else 1


def nesting_key(model: OnlineModel) -> str | None:
    """A key that nested boosters have in common; None for a model that does not nest."""
    try:
        if not isinstance(model, OnlineClassifier) or not can_nest(model):
            return None
    except Exception:  # it fails with a reason when it is run
        return None
    return repr(described(model.clone().set_params(n_estimators=1)))


def is_journal(path: Path) -> bool:
    """Whether a file is empty or begins like a journal; other files must not be written to."""
    with path.open("rb") as file:
        start = file.read(len(_START))
    return start == _START[: len(start)]


class Journal:
    """Outcomes by configuration and data; without a path it is always empty.

    Lines of other data, configurations and package versions are ignored and kept.
    """

    def __init__(self, path: Path | None, fingerprint: str) -> None:
        self.path, self.fingerprint = path, fingerprint
        self.known: dict[tuple[str, int], Outcome] = {}
        self._incomplete = False  # the last line was cut off by a crash
        if path is not None and path.exists():
            text = path.read_text(encoding="utf-8", errors="replace")
            self._incomplete = bool(text) and not text.endswith("\n")
            for line in text.splitlines():
                self._parse(line)

    def _parse(self, line: str) -> None:
        try:
            facts = json.loads(line)
            outcome = Outcome(**{name: facts[name] for name in Outcome._fields if name != "numbers" or name in facts})
            self.known[facts["key"], outcome.examples] = outcome
        except (ValueError, TypeError, KeyError):
            return

    def find(self, model: OnlineModel, examples: int) -> Outcome | None:
        return self.known.get((self._key(model), examples)) if self.path is not None else None

    def add(self, model: OnlineModel, outcome: Outcome) -> None:
        if self.path is None:
            return
        line = json.dumps({"key": self._key(model), **outcome._asdict(), "model": " ".join(repr(model).split())})
        with self.path.open("a", encoding="utf-8") as file:
            file.write("\n" * self._incomplete + line + "\n")
        self._incomplete = False

    def _key(self, model: OnlineModel) -> str:
        text = json.dumps([source_digest(), self.fingerprint, described(model)], default=_plain)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(value: Any) -> str:
    """Text for objects outside JSON, such as a learner of another library: its class and parameters."""
    params = value.get_params() if hasattr(value, "get_params") and not isinstance(value, type) else None
    return f"{type(value).__module__}.{type(value).__qualname__} {params if params is not None else value!r}"
