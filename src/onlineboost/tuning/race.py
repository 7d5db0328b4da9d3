"""A race: many configurations over the same examples, told apart by progressive error."""

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
from onlineboost.model import OnlineClassifier
from onlineboost.parameters import Parameters
from onlineboost.tuning.data import Data, read
from onlineboost.tuning.engines import Engine, open_engine
from onlineboost.tuning.journal import Journal
from onlineboost.tuning.runs import Failure, Outcome, Run, together

RUNGS = 2  # of halving, before the end


@dataclass(frozen=True)
class Row:
    """What became of a configuration."""

    model: OnlineClassifier  # with its parameters and its seed; it has learnt nothing
    error: float | None = None  # progressive, by weight; None where there is none
    examples: int = 0
    seconds: float = 0.0  # of one core; runs that are shared count by their parts
    status: Literal["waiting", "done", "stopped", "failed"] = "waiting"
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        facts = {name: getattr(self, name) for name in ("error", "examples", "seconds", "status", "reason")}
        return {"model": repr(self.model), **facts}

    def settings(self) -> dict[str, Any]:
        """Parameters by name, those of the weak learner too, and the classes of both."""
        params = self.model.get_params()
        plain = {name: value for name, value in params.items() if not isinstance(value, Parameters)}
        learner = {"learner": type(params["estimator"]).__name__} if params.get("estimator") is not None else {}
        return {"model": type(self.model).__name__, **learner, **plain}


@dataclass(frozen=True)
class Race:
    """What became of all configurations, in the order in which they were given."""

    rows: list[Row]

    @property
    def ranking(self) -> list[Row]:
        """The best first: of those that met more examples, then the fewest mistakes; of equals the first given."""
        return sorted((row for row in self.rows if row.error is not None), key=lambda row: (-row.examples, row.error))

    @property
    def best(self) -> Row:
        """The configuration with the least error on all examples."""
        ranking = self.ranking
        if not ranking or ranking[0].status != "done":
            reasons = sorted({row.reason for row in self.rows if row.reason})
            raise NotFittedError(f"no configuration has met all examples: {'; '.join(reasons) or 'none was given'}")
        return ranking[0]

    def table(self, most: int = 10) -> str:
        """The best, with the parameters in which the configurations differ."""
        settings = [row.settings() for row in self.rows]
        names = list(dict.fromkeys(name for setting in settings for name in setting))
        varied = [name for name in names if len({repr(s[name]) for s in settings if name in s}) > 1]
        head = ["error", *(name.removeprefix("estimator__") for name in varied), "examples", "seconds"]
        lines = [head]
        for row in self.ranking[:most]:
            values = (_short(row.settings().get(name, "")) for name in varied)
            lines.append([f"{row.error:.4f}", *values, f"{row.examples:,}", f"{row.seconds:.2f}"])
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        shown = ["  ".join(map(str.rjust, line, widths)) for line in lines]
        failed = [row for row in self.rows if row.status == "failed"]
        shown += [f"failed: {row.model!r}: {row.reason}" for row in failed[:most]]
        return "\n".join(shown)

    def __str__(self) -> str:
        return self.table()

    def to_json(self) -> str:
        """All rows."""
        return json.dumps([row.as_json() for row in self.rows])


def grid(model: OnlineClassifier, **choices: Iterable[Any]) -> list[OnlineClassifier]:
    """The model with every combination of the choices; names of the weak learner's begin with ``estimator__``.

    >>> from onlineboost import Linear, OnlineBBM
    >>> for model in grid(OnlineBBM(Linear()), n_estimators=[5, 11], estimator__learning_rate=[0.1]):
    ...     print(model)
    OnlineBBM(estimator=Linear(learning_rate=0.1), n_estimators=5)
    OnlineBBM(estimator=Linear(learning_rate=0.1), n_estimators=11)
    """
    found = []
    for values in itertools.product(*choices.values()):
        # Deep, since a learner of another library would be shared.
        found.append(copy.deepcopy(model.clone()).set_params(**dict(zip(choices, values, strict=True))))
    return found


def tune(
    models: Sequence[OnlineClassifier],
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
    """Let every model learn the examples once, and compare their progressive errors: the paper's protocol.

    Each row of the result is what ``progressive_fit`` of that model alone would give, whatever the engine, the number
    of workers and the order in which they end. What fails is told in its row, and the others go on.

    Parameters
    ----------
    models : configurations that have learnt nothing, such as those of ``grid``; they are not changed. One without a
        seed gets 0
    X, y, sample_weight : as for ``fit``: a stream, or arrays; or a list of ``Batch``. All examples are kept in memory
    halving : a number such as 3: after a ninth of the examples the best third of the models goes on, after a third the
        best third of those; the others are "stopped". None: all go to the end
    workers : how many work at a time; None: one for each core
    engine, address : "threads", or "ray", on the cluster at that address or one of its own on this machine
    journal : a file to which each result is added at once, and from which it is taken if it is asked for again
    progress : called with the number of results so far, of all, and the best row

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
    data = X if isinstance(X, Data) else read(X, y, sample_weight)
    path = Path(journal).expanduser() if journal is not None else None
    known = Journal(path, data.fingerprint() if path is not None else "")
    workshop = open_engine(engine, data, workers, address)
    try:
        track = _Track(rows, data.n_features, known, workshop, progress)
        return Race(track.race(_stops(data.rows, halving), halving or 1))
    finally:
        workshop.close()


def _seeded(model: Any) -> OnlineClassifier:
    """A copy that learns the same whenever it does."""
    if not isinstance(model, OnlineClassifier):
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
    """After how many examples the models are compared."""
    early = [-(-n // eta**k) for k in range(RUNGS, 0, -1)] if eta else []
    return sorted({*early, n})


class _Track:
    """The course of a race."""

    def __init__(self, rows: list[Row], n_features: int, journal: Journal, engine: Engine, progress: Any) -> None:
        self.rows, self.n_features = rows, n_features
        self.journal, self.engine, self.progress = journal, engine, progress
        self.tickets: dict[tuple[int, ...], Any] = {}  # runs that stopped on the way, by the numbers of their models
        self.best: Row | None = None
        self.done = self.all = 0

    def race(self, stops: list[int], eta: int) -> list[Row]:
        alive = set(range(len(self.rows)))
        places = [len(alive)]
        for _ in stops[1:]:
            places.append(-(-places[-1] // eta))
        self.all = sum(places)
        for stop, after in zip(stops, [*places[1:], 0], strict=True):
            self._leg(alive, stop, after)
            ahead = self._ahead(alive, stop)
            alive = set(ahead[:after] if after else ahead)
            for number in ahead:
                self.rows[number] = replace(self.rows[number], status="done" if number in alive else "stopped")
        return self.rows

    def _ahead(self, numbers: Iterable[int], stop: int) -> list[int]:
        """Those that have come so far, the best first; of equals the first given."""
        rows = self.rows
        here = [number for number in numbers if rows[number].examples == stop and rows[number].error is not None]
        return sorted(here, key=lambda number: (rows[number].error, number))

    def _leg(self, alive: set[int], stop: int, after: int) -> None:
        """Take all that are alive so far. Runs of which nobody can be among the first ``after`` are given up."""
        models = {}
        running = {number for group in self.tickets for number in group}
        for number in sorted(alive):
            outcome = self.journal.find(self.rows[number].model, stop)
            if outcome is not None:
                self._note(number, outcome)
            elif number not in running:
                models[number] = self.rows[number].model
        groups = {group: ticket for group, ticket in self.tickets.items() if self._wanted(group, alive, stop)}
        for fresh in together(models, self.n_features):
            groups[tuple(fresh)] = Run([models[number] for number in fresh])
        self.tickets = {}
        while groups:
            again: list[int] = []
            order = list(groups)
            for place, found, ticket in self.engine.advance([groups.pop(group) for group in order], stop):
                group = order[place]
                if isinstance(found, Failure) and len(group) > 1:
                    again += group  # the largest may have been too large: each by itself
                    continue
                self._arrive(group, found, alive)
                if after:
                    self.tickets[group] = ticket
                    self._give_up(alive, stop, after)
                del ticket
            groups = {(number,): Run([self.rows[number].model]) for number in again}

    def _wanted(self, group: tuple[int, ...], alive: set[int], stop: int) -> bool:
        return any(number in alive and self.rows[number].examples != stop for number in group)

    def _arrive(self, group: tuple[int, ...], found: list[Outcome] | Failure, alive: set[int]) -> None:
        for k, number in enumerate(group):
            if number not in alive:
                continue
            if isinstance(found, Failure):
                self.rows[number] = replace(self.rows[number], status="failed", reason=found.reason, error=None)
                self._tell()
            else:
                self.journal.add(self.rows[number].model, found[k])
                self._note(number, found[k])

    def _give_up(self, alive: set[int], stop: int, after: int) -> None:
        """Keep the memory of those only that may go on."""
        hopeful = set(self._ahead(alive, stop)[:after])
        self.tickets = {group: ticket for group, ticket in self.tickets.items() if hopeful.intersection(group)}

    def _note(self, number: int, outcome: Outcome) -> None:
        row = replace(self.rows[number], error=outcome.error, examples=outcome.examples, seconds=outcome.seconds)
        if not math.isfinite(outcome.error):
            row = replace(row, error=None, status="failed", reason="no example has a weight: there is nothing to learn")
        elif self.best is None or (-row.examples, row.error) < (-self.best.examples, self.best.error):
            self.best = row
        self.rows[number] = row
        self._tell()

    def _tell(self) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.all, self.best)
