"""A race: many configurations learn the same examples, and are compared by progressive error."""

from __future__ import annotations

import copy
import itertools
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from onlineboost.boosters.base import seed_of
from onlineboost.errors import NotFittedError, ParameterError
from onlineboost.model import OnlineModel
from onlineboost.parameters import Parameters
from onlineboost.regressor import OnlineRegressor
from onlineboost.tuning.data import Data, read
from onlineboost.tuning.engines import Engine, open_engine
from onlineboost.tuning.runs import Failure, Journal, Outcome, Run, together

RUNGS = 2  # comparisons of halving before the end


@dataclass(frozen=True)
class Row:
    """The result of one configuration.

    Parameters
    ----------
    model : estimator
        Parameters and seed of the model; it is not fitted.
    error : float or None, default=None
        Weighted progressive error, or the root mean squared error of a regressor; None: there is none.
    examples : int, default=0
        Number of examples learned.
    seconds : float, default=0.0
        Seconds on one core; the time of a shared run is divided among its configurations.
    status : {"waiting", "done", "stopped", "failed"}, default="waiting"
        State of the run; "stopped" by halving.
    reason : str, default=""
        Reason of a failure.

    Examples
    --------
    >>> from onlineboost import Linear
    >>> from onlineboost.tuning import Row
    >>> Row(Linear(), error=0.3, examples=100).settings()["learning_rate"]
    0.5
    """

    model: OnlineModel
    error: float | None = None
    examples: int = 0
    seconds: float = 0.0
    status: Literal["waiting", "done", "stopped", "failed"] = "waiting"
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        """The row as a dict for JSON.

        Returns
        -------
        dict
            Facts by name.
        """
        facts = {name: getattr(self, name) for name in ("error", "examples", "seconds", "status", "reason")}
        return {"model": repr(self.model), **facts}

    def settings(self) -> dict[str, Any]:
        """Parameters of the model and of its weak learner by name, and the classes of both."""
        params = self.model.get_params()
        plain = {name: value for name, value in params.items() if not isinstance(value, Parameters)}
        learner = {"learner": type(params["estimator"]).__name__} if params.get("estimator") is not None else {}
        return {"model": type(self.model).__name__, **learner, **plain}


@dataclass(frozen=True)
class Race:
    """The results of all configurations, as returned by ``tune``.

    Parameters
    ----------
    rows : list of Row
        Results in the order of the configurations.

    Examples
    --------
    >>> from onlineboost import Linear
    >>> from onlineboost.tuning import Race, Row
    >>> race = Race([Row(Linear(), 0.3, 100, status="done"), Row(Linear("logistic"), 0.2, 100, status="done")])
    >>> race.best.error
    0.2
    """

    rows: list[Row]

    @property
    def ranking(self) -> list[Row]:
        """Rows with an error, the best first: more examples, then lower error; ties in the order given."""
        return sorted((row for row in self.rows if row.error is not None), key=lambda row: (-row.examples, row.error))

    @property
    def best(self) -> Row:
        """The configuration with the lowest error on all examples."""
        ranking = self.ranking
        if not ranking or ranking[0].status != "done":
            reasons = sorted({row.reason for row in self.rows if row.reason})
            raise NotFittedError(f"no configuration has learned all examples: {'; '.join(reasons) or 'none was given'}")
        return ranking[0]

    def table(self, most: int = 10) -> str:
        """The best rows, with the parameters in which the configurations differ."""
        settings = [row.settings() for row in self.rows]
        names = list(dict.fromkeys(name for setting in settings for name in setting))
        varied = [name for name in names if len({repr(s[name]) for s in settings if name in s}) > 1]
        error = "RMSE" if self.numbers else "error"
        head = [error, *(name.removeprefix("estimator__") for name in varied), "examples", "seconds"]
        lines = [head]
        for row in self.ranking[:most]:
            values = (_short(row.settings().get(name, "")) for name in varied)
            lines.append([self.shown(row), *values, f"{row.examples:,}", f"{row.seconds:.2f}"])
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        shown = ["  ".join(map(str.rjust, line, widths)) for line in lines]
        failed = [row for row in self.rows if row.status == "failed"]
        shown += [f"failed: {row.model!r}: {row.reason}" for row in failed[:most]]
        return "\n".join(shown)

    @property
    def numbers(self) -> bool:
        """Whether the models are regressors."""
        return any(isinstance(row.model, OnlineRegressor) for row in self.rows)

    def shown(self, row: Row) -> str:
        """The error of a row as text."""
        return f"{row.error:.5g}" if self.numbers else f"{row.error:.4f}"

    @property
    def lowest(self) -> tuple[str, str]:
        """Name and value of the lowest error."""
        return "lowest RMSE" if self.numbers else "lowest error", self.shown(self.best)

    def __str__(self) -> str:
        return self.table()

    def to_json(self) -> str:
        """All rows as a JSON list."""
        return json.dumps([row.as_json() for row in self.rows])


def grid(model: OnlineModel, **choices: Iterable[Any]) -> list[OnlineModel]:
    """Copies of a model with every combination of parameters; names of the weak learner's begin with ``estimator__``.

    Parameters
    ----------
    model : estimator
        Model whose other parameters all copies have.
    **choices : iterable
        Values of a parameter, by its name.

    Returns
    -------
    list of estimators
        One model for each combination.

    Examples
    --------
    >>> from onlineboost import Linear, OnlineBBM
    >>> for model in grid(OnlineBBM(Linear()), n_estimators=[5, 11], estimator__learning_rate=[0.1]):
    ...     print(model)
    OnlineBBM(estimator=Linear(learning_rate=0.1), n_estimators=5)
    OnlineBBM(estimator=Linear(learning_rate=0.1), n_estimators=11)
    """
    found = []
    for values in itertools.product(*choices.values()):
        # A deep copy: a learner of another library would be shared otherwise.
        found.append(copy.deepcopy(model.clone()).set_params(**dict(zip(choices, values, strict=True))))
    return found


def tune(
    models: Sequence[OnlineModel],
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    halving: int | None = None,
    workers: int | None = None,
    engine: Literal["threads", "ray"] = "threads",
    address: str | None = None,
    journal: str | Path | None = None,
    progress: Callable[[int, int, Row | None], None] | None = None,
) -> Race:
    """Train every model on the examples in one pass, and compare their progressive errors: the paper's protocol.

    The error of classifiers is the share of mistakes, the error of regressors the root mean squared error. Each result
    equals ``progressive_fit`` of that model alone, whatever the engine, the number of workers and the order in which
    they finish. A failure is reported in its row, and the others continue.

    Parameters
    ----------
    models : list of estimators
        Configurations, such as those of ``grid``; they do not change. A model without a seed gets seed 0.
    X : array, sparse matrix, data frame, Stream or list of Batch
        Rows, in any form that ``fit`` takes. All examples are kept in memory.
    y : array or None, default=None
        One label per row; None: the stream has its own labels.
    sample_weight : array or None, default=None
        Weight of each row, at least 0; None: 1, or the weights of the stream.
    halving : int or None, default=None
        Share of models that is dropped early. With 3, after a ninth of the examples the best third of the models
        continues, after a third the best third of these; the others are "stopped". None: all models learn all examples.
    workers : int or None, default=None
        Number of models that learn at the same time; None: one for each core.
    engine : {"threads", "ray"}, default="threads"
        Run in threads or on Ray.
    address : str or None, default=None
        Address of the Ray cluster; None: Ray is started on this machine.
    journal : str, Path or None, default=None
        File for the results; results that it contains are not computed again.
    progress : callable or None, default=None
        Function that is called with the number of results so far, the number of all, and the best row.

    Returns
    -------
    Race
        The results, one row for each model.

    Examples
    --------
    >>> from onlineboost import Linear, OnlineBBM
    >>> from onlineboost.datasets import load_letter
    >>> X, y = load_letter()
    >>> models = grid(OnlineBBM(Linear()), n_estimators=[5, 11], gamma=[0.05, 0.1, 0.2])
    >>> race = tune(models, X, y)
    >>> race.best.model
    OnlineBBM(estimator=Linear(), n_estimators=5, gamma=0.05, random_state=0)
    >>> round(race.best.error, 4)
    0.3056
    """
    if halving is not None and (not isinstance(halving, int) or halving < 2):
        raise ParameterError("halving", halving, "None or a whole number of at least 2")
    rows = [Row(_seeded(model)) for model in models]
    if not rows:
        raise ParameterError("models", models, "at least one configuration")
    numbers = [isinstance(row.model, OnlineRegressor) for row in rows]
    if any(numbers) and not all(numbers):
        raise ParameterError("models", models, "classifiers only, or regressors only")
    data = X if isinstance(X, Data) else read(X, y, sample_weight, numbers=numbers[0])
    if data.numbers != numbers[0]:
        raise ParameterError("models", models, f"{'regressors' if data.numbers else 'classifiers'}, as the labels ask")
    path = Path(journal).expanduser() if journal is not None else None
    known = Journal(path, data.fingerprint() if path is not None else "")
    runner = open_engine(engine, data, workers, address)
    try:
        track = _Track(rows, known, runner, progress)
        return Race(track.race(_stops(data.rows, halving), halving or 1))
    finally:
        runner.close()


def _seeded(model: Any) -> OnlineModel:
    """A copy with a fixed seed."""
    if not isinstance(model, OnlineModel):
        raise ParameterError("models", model, "boosters and learners of onlineboost")
    clone = model.clone()
    given = getattr(clone, "random_state", 0)
    if given is None or isinstance(given, np.random.Generator | np.random.RandomState):
        clone.set_params(random_state=0 if given is None else seed_of(given))
    return clone


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 24 else f"{text[:21]}..."


def _stops(n: int, eta: int | None) -> list[int]:
    """Numbers of examples after which the models are compared."""
    early = [-(-n // eta**k) for k in range(RUNGS, 0, -1)] if eta else []
    return sorted({*early, n})


class _Track:
    """A race in progress."""

    def __init__(self, rows: list[Row], journal: Journal, engine: Engine, progress: Any) -> None:
        self.rows, self.journal, self.engine, self.progress = rows, journal, engine, progress
        self.tickets: dict[tuple[int, ...], Any] = {}  # unfinished runs, by the numbers of their models
        self.best: Row | None = None
        self.done = self.all = 0

    def race(self, stops: list[int], eta: int) -> list[Row]:
        alive = set(range(len(self.rows)))
        survivors = [len(alive)]
        for _ in stops[1:]:
            survivors.append(-(-survivors[-1] // eta))
        self.all = sum(survivors)
        for stop, after in zip(stops, [*survivors[1:], 0], strict=True):
            self._advance(alive, stop, after)
            ranked = self._ranked(alive, stop)
            alive = set(ranked[:after] if after else ranked)
            for number in ranked:
                self.rows[number] = replace(self.rows[number], status="done" if number in alive else "stopped")
        return self.rows

    def _ranked(self, numbers: Iterable[int], stop: int) -> list[int]:
        """Models that have learned ``stop`` examples, the best first; ties in the order given."""
        rows = self.rows
        here = [number for number in numbers if rows[number].examples == stop and rows[number].error is not None]
        return sorted(here, key=lambda number: (rows[number].error, number))

    def _advance(self, alive: set[int], stop: int, after: int) -> None:
        """Advance all models that are alive to ``stop``. Runs without a model among the best ``after`` are dropped."""
        models = {}
        running = {number for group in self.tickets for number in group}
        for number in sorted(alive):
            outcome = self.journal.find(self.rows[number].model, stop)
            if outcome is not None:
                self._update(number, outcome)
            elif number not in running:
                models[number] = self.rows[number].model
        groups = {group: ticket for group, ticket in self.tickets.items() if self._wanted(group, alive, stop)}
        for fresh in together(models):
            groups[tuple(fresh)] = Run([models[number] for number in fresh])
        self.tickets = {}
        while groups:
            again: list[int] = []
            order = list(groups)
            for place, found, ticket in self.engine.advance([groups.pop(group) for group in order], stop):
                group = order[place]
                if isinstance(found, Failure) and len(group) > 1:
                    again += group  # the largest may need too much memory: run each by itself
                    continue
                self._store(group, found, alive)
                if after:
                    self.tickets[group] = ticket
                    self._give_up(alive, stop, after)
                del ticket
            groups = {(number,): Run([self.rows[number].model]) for number in again}

    def _wanted(self, group: tuple[int, ...], alive: set[int], stop: int) -> bool:
        return any(number in alive and self.rows[number].examples != stop for number in group)

    def _store(self, group: tuple[int, ...], found: list[Outcome] | Failure, alive: set[int]) -> None:
        for k, number in enumerate(group):
            if number not in alive:
                continue
            if isinstance(found, Failure):
                self.rows[number] = replace(self.rows[number], status="failed", reason=found.reason, error=None)
                self._notify()
            else:
                self.journal.add(self.rows[number].model, found[k])
                self._update(number, found[k])

    def _give_up(self, alive: set[int], stop: int, after: int) -> None:
        """Drop the runs that cannot continue, to free their memory."""
        best = set(self._ranked(alive, stop)[:after])
        self.tickets = {group: ticket for group, ticket in self.tickets.items() if best.intersection(group)}

    def _update(self, number: int, outcome: Outcome) -> None:
        row = replace(self.rows[number], error=outcome.error, examples=outcome.examples, seconds=outcome.seconds)
        if not math.isfinite(outcome.error):
            row = replace(row, error=None, status="failed", reason="all weights are 0: there is nothing to learn from")
        elif self.best is None or (-row.examples, row.error) < (-self.best.examples, self.best.error):
            self.best = row
        self.rows[number] = row
        self._notify()

    def _notify(self) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.all, self.best)
