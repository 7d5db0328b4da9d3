"""A run: one configuration on its way through the examples, or several that need one way only."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from onlineboost.data.batch import Batch, Floats
from onlineboost.data.page import Page
from onlineboost.data.target import Binary
from onlineboost.engine.machine import CompiledMachine
from onlineboost.model import OnlineClassifier
from onlineboost.tuning.data import Data, Shown, pieces
from onlineboost.tuning.nested import can_nest, nest, run_nested


class Interrupted(BaseException):
    """Nobody waits for the result any more."""


class Outcome(NamedTuple):
    """What became of a configuration after so many examples."""

    examples: int
    mistakes: float  # sum of weights
    weight: float
    seconds: float  # of one core

    @property
    def error(self) -> float:
        return self.mistakes / self.weight if self.weight else float("inf")


class Failure(NamedTuple):
    """Why there is no outcome. Words, since not every exception can travel between processes."""

    reason: str


class Run:
    """Models that differ in the number of learners only, each of which is part of the largest."""

    def __init__(self, models: list[OnlineClassifier]) -> None:
        self.models = [model.clone() for model in models]
        self.examples = 0
        self.weight, self.seconds = 0.0, 0.0
        self.mistakes = [0.0] * len(models)
        self._machine: CompiledMachine | None = None  # of the largest model

    def advance(self, data: Data, stop: int, stopped: Callable[[], bool] = lambda: False) -> list[Outcome]:
        """Go on to the example ``stop``; what became of each model."""
        began = time.thread_time()
        shown = data.shown(self.models[0])
        if shown is None:
            self._learn_by_itself(data, stop)
        else:
            for batch in pieces(shown.batch, self.examples, stop):
                if stopped():
                    raise Interrupted
                self._learn(batch, shown)
        self.examples = stop
        self.seconds += time.thread_time() - began
        seconds = self.seconds / len(self.models)
        return [Outcome(stop, mistakes, self.weight, seconds) for mistakes in self.mistakes]

    def _learn(self, batch: Batch, shown: Shown) -> None:
        if self._machine is None:
            self._machine = self._new_machine(shown.n_features)
        if len(self.models) == 1:
            self._count(batch, [self._machine.run(batch, learning=True)])
            return
        largest, within = run_nested(self._machine, batch)
        learnt = batch.weight > 0
        self._count(batch._replace(y=batch.y[learnt], weight=batch.weight[learnt]), [*within.T, largest[learnt]])

    def _new_machine(self, n_features: int) -> CompiledMachine:
        machine = self.models[-1].new_machine(n_features)
        assert isinstance(machine, CompiledMachine)
        machine.transforms = ()  # the rows have passed them
        if len(self.models) > 1:
            nest(machine, [model.n_estimators for model in self.models[:-1]])  # type: ignore[attr-defined]
        return machine

    def _learn_by_itself(self, data: Data, stop: int) -> None:
        (model,) = self.models
        for batch in pieces(data.batch, self.examples, stop):
            start = self.examples
            self.examples += batch.y.size
            if isinstance(data.origin, Page):
                names = data.origin.names if start == 0 else []
                scores = model.learn(data.origin._replace(batch=batch, names=names))
            else:
                X, y, weight, labels = data.origin
                part = slice(start, self.examples)
                rows = X.iloc[part] if hasattr(X, "iloc") else X[part]
                scores = model.progressive_fit(rows, y[part], weight[part], classes=labels.classes)
            self._count(batch, [scores])

    def _count(self, batch: Batch, scores: list[Floats]) -> None:
        for k, answers in enumerate(scores):
            self.mistakes[k] = _sum(self.mistakes[k], Binary.mistakes(answers, batch.y) * batch.weight)
        self.weight = _sum(self.weight, batch.weight)


def attempt(run: Run, data: Data, stop: int, stopped: Callable[[], bool] = lambda: False) -> list[Outcome] | Failure:
    """``run.advance``. What goes wrong is a matter of these configurations: others go on."""
    try:
        return run.advance(data, stop, stopped)
    except Exception as problem:
        return Failure(str(problem) or type(problem).__name__)


def _sum(start: float, values: Any) -> float:
    """Added one by one, so that sums do not depend on batches."""
    return float(np.cumsum(np.concatenate([[start], values]))[-1])


def together(models: dict[int, OnlineClassifier], n_features: int) -> list[list[int]]:
    """The numbers of the models that go in one run, each by number of learners; the most work first."""
    groups: dict[Any, list[int]] = {}
    for number, model in models.items():
        groups.setdefault(nesting_key(model, n_features) or number, []).append(number)
    for group in groups.values():
        group.sort(key=lambda number: _size(models[number]))
    return sorted(groups.values(), key=lambda group: -_size(models[group[-1]]))


def _size(model: OnlineClassifier) -> int:
    n = getattr(model, "n_estimators", 1)
    return n if isinstance(n, int) else 1


def nesting_key(model: OnlineClassifier, n_features: int) -> str | None:
    """What boosters within one booster have in common; None for a model that is no such."""
    try:
        if not can_nest(model, n_features):
            return None
    except Exception:  # it will fail, and say why, when its turn comes
        return None
    return repr(model.clone().set_params(n_estimators=1).describe())
