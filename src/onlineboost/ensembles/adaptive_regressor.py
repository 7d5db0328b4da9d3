"""AdaptiveRegressor: any regressor, for streams that change: it starts over when its error rises.

Errors e = |y - answer| are made numbers from 0 to 1 for ADWIN (``engine/adwin.py``): u = e / (e + m), where m is the
running mean error since the model began, in which no error counts as more than 4 m. So neither the unit of the target
nor a single row matters. u is cut to multiples of 1/1024: their sums are exact, whatever the order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from onlineboost.boosters.gradient import OnlineGradientBoost
from onlineboost.compiled.block import Call, unpack
from onlineboost.compiled.jit import hot, njit
from onlineboost.data.batch import Batch, Floats, Ints, cut
from onlineboost.data.numbers import Numbers
from onlineboost.engine import adwin
from onlineboost.engine.adwin import BLOCK, Windows, closed_block, new_windows, start_over
from onlineboost.engine.explaining import Explained, Terms
from onlineboost.engine.machine import BatchMachine, Said, told
from onlineboost.engine.one_row import Steps
from onlineboost.engine.parts import PartsMachine
from onlineboost.engine.record import Record, Settings, new_record
from onlineboost.engine.schedule import later
from onlineboost.engine.token import Token
from onlineboost.ensembles.restarting import Alarm, Listening, verdict
from onlineboost.errors import ParameterError
from onlineboost.parameters import check_between
from onlineboost.regressor import OnlineRegressor
from onlineboost.storage.validity import COUNT, SUM, Limits

_PIECE = 1024  # rows that the model learns before its errors are tested
_FIRST = 16  # errors that count as they are
_MOST = 4.0  # of other errors, in means
_GRAIN = 1024.0  # parts of 1


class Usual(NamedTuple):
    """The error to expect, and the number of rows."""

    error: Floats  # [1] m
    rows: Ints  # [2] since the model began; of the stream

    def limits(self) -> Limits:
        return {"error": SUM, "rows": COUNT}


def new_usual() -> Usual:
    return Usual(np.zeros(1), np.zeros(2, np.int64))


@hot
def _notice(windows: Windows, usual: Usual, error: float, delta: float) -> bool:
    """Count the error of a row; returns whether errors have risen."""
    m, n = usual.error[0], usual.rows[0]
    if error > 0:
        windows.block[0] += math.floor(_GRAIN * (error / (error + m))) / _GRAIN
    counted = error if n < _FIRST else min(error, _MOST * m)
    usual.error[0] = m + (counted - m) / (n + 1)
    usual.rows[0] += 1
    usual.rows[1] += 1
    windows.counts[1] += 1
    if windows.counts[1] < BLOCK:
        return False
    windows.counts[1] = 0
    if not closed_block(windows, 0, delta):
        return False
    start_over(windows, 0, usual.rows[1])
    usual.error[0], usual.rows[0] = 0.0, 0
    return True


@njit
def watch_errors(block: Any) -> None:
    """Go through rows up to the first alarm; ``stop`` gets their number, and whether there was one."""
    windows, usual, answers, y, weight, delta, stop = unpack(block)
    stop[0], stop[1] = y.size, 0
    for r in range(y.size):
        if weight[r] > 0 and _notice(windows, usual, abs(y[r] - answers[r]), delta):
            stop[0], stop[1] = r + 1, 1
            return


@dataclass
class RestartingNumbers(PartsMachine):
    """The machine of a regressor that starts over at an alarm; its one part is the regressor's."""

    windows: Windows = field(default_factory=lambda: new_windows(1))
    usual: Usual = field(default_factory=new_usual)
    spec: Any = None  # the ``AdaptiveRegressor`` that this was made by
    notify: Callable[[Alarm], None] = print
    names: dict[int, str] = field(default_factory=dict)  # of features by id

    @property
    def width(self) -> int:
        return self.parts[0].width

    def run(self, examples: Batch, learning: bool, said: Said | None = None) -> Floats:
        self.parts[0].n_jobs = self.n_jobs
        if not learning:
            return self._ask_part(examples, said)
        answers, start = [np.empty((0, self.width))], 0
        while start < examples.y.size:
            piece = cut(examples, start, min(start + _PIECE, examples.y.size))
            now = None if said is None else said.rows(start, start + piece.y.size)
            found = self._learn_part(piece, now).reshape(piece.y.size, -1)
            stop, first = np.zeros(2, np.int64), np.ascontiguousarray(found[:, 0])
            watched = self.windows, self.usual, first, piece.y, piece.weight, float(self.spec.delta), stop
            Call(watch_errors, *watched)()
            answers.append(found[: stop[0]])
            start += int(stop[0])
            if stop[1]:
                self._start_over()  # the model has learnt beyond the alarm, but none of it is kept
        return np.concatenate(answers).reshape(self.shape_of(examples))

    def _ask_part(self, rows: Batch, said: Said | None) -> Floats:
        if said is None:
            return self.parts[0].run(rows, False)
        share = self._share_of_part(said)
        answers = self.parts[0].run(rows, False, share)
        share.scores[:, : self.width] = answers.reshape(rows.y.size, -1)
        return answers

    def _learn_part(self, rows: Batch, said: Said | None) -> Floats:
        if said is None:
            return self.parts[0].run(rows, True)
        return told(self.parts[0].run, rows, self._share_of_part(said), self.width)

    def _share_of_part(self, said: Said) -> Said:
        shares = self._shares(said)
        assert shares is not None
        return shares[0]

    def _start_over(self) -> None:
        self.parts, self.token = (self.spec.model().new_machine(0, self.settings.seed),), Token()
        self.parts[0].name_features(self.names)
        later(partial(self.notify, self.alarms(self.n_alarms - 1)[0]))

    def name_features(self, names: Mapping[int, str]) -> None:
        self.names.update(names)
        super().name_features(names)

    def combine(
        self, parts: Sequence[BatchMachine], scores: Floats, rows: Batch, answers: Floats, learning: bool, given: bool
    ) -> Call:
        raise NotImplementedError("there is one part, which answers by itself")

    def add_steps(self, steps: Steps, score: Floats) -> bool:
        if not self.parts[0].add_steps(steps, score):
            return False
        steps.machines.append(self)
        if steps.learning:
            stop, row = np.zeros(2, np.int64), steps.row
            watched = self.windows, self.usual, score.reshape(-1), row.y, row.weight, float(self.spec.delta), stop
            steps.calls.append(Call(watch_errors, *watched))
            steps.events.append(lambda: self._start_over() if stop[1] else None)
        return True

    @property
    def n_learnt(self) -> int:
        return int(self.usual.rows[1])

    @property
    def learners(self) -> Record:
        return self.parts[0].learners

    @property
    def gives_odds(self) -> bool:
        return False

    def probabilities(self, scores: Floats) -> Floats:
        """There are none."""
        return np.full(len(scores), np.nan)

    def strengths(self, names: Mapping[int, str]) -> list[tuple[str, int, float]]:
        return self.parts[0].strengths(names)

    def explain(self, examples: Batch) -> Explained:
        return self.parts[0].explain(examples)

    def share_of(self, k: int, part: Explained) -> list[Terms]:
        return part.terms

    def check_divisible(self) -> None:
        raise ParameterError("engine", "ray", "'threads': a model that starts over is not divided among machines")

    @property
    def may_alarm(self) -> bool:
        return True

    def listen(self, notify: Callable[[Alarm], None]) -> None:
        self.notify = notify

    def tell_of(self, alarm: Alarm) -> None:
        self.notify(alarm)

    @property
    def n_alarms(self) -> int:
        return int(self.windows.counts[0])

    def alarms(self, since: int = 0) -> list[Alarm]:
        return [Alarm(example, None) for example, _ in adwin.alarms(self.windows, since)]

    def states(self) -> dict[str, Any]:
        return {"windows": self.windows, "usual": self.usual} | super().states()


@dataclass(eq=False, repr=False)
class AdaptiveRegressor(Listening, OnlineRegressor):
    """Any regressor, for streams that change: it starts over when its error rises.

    Parameters
    ----------
    estimator : regressor of onlineboost (None: ``OnlineGradientBoost()``)
    delta : ADWIN's confidence parameter; lower values give fewer alarms
    n_jobs : number of threads (None: 1, -1: one for each core); the result is the same, bit for bit
    lag : number of last targets that are features of each row, ``label[-1]`` and so on; 0: none
    on_drift : function called with an ``Alarm(example, learner)`` soon after each alarm; it must not raise

    Weights of examples do not count for the alarms. ``OnlineBoostRegressor`` follows changes by itself: its parts
    forget.

    Examples
    --------
    >>> import numpy as np
    >>> from onlineboost import AdaptiveRegressor, OnlineGradientBoost
    >>> X = np.random.default_rng(0).random((6000, 3))
    >>> y = np.sin(6 * X[:, 0]) + X[:, 1]
    >>> y[3000:] *= -1
    >>> model = AdaptiveRegressor()
    >>> errors = [np.mean((one.progressive_fit(X, y) - y)[3000:] ** 2) for one in (OnlineGradientBoost(), model)]
    >>> bool(errors[1] < 0.5 * errors[0])
    True
    >>> len(model.alarms_)
    1
    """

    estimator: Any = None
    _: KW_ONLY
    delta: float = 0.002
    n_jobs: int | None = None
    lag: int = 0
    on_drift: Callable[[Alarm], object] | None = None

    def model(self) -> Any:
        """A new regressor of the kind that starts over."""
        if self.estimator is None:
            return OnlineGradientBoost()
        if not isinstance(self.estimator, OnlineRegressor) or isinstance(self.estimator, AdaptiveRegressor):
            raise ParameterError("estimator", self.estimator, "a regressor of onlineboost that does not adapt itself")
        return self.estimator.clone()

    def base_learner(self) -> Any:
        return self.model().base_learner()

    def new_target(self) -> Numbers:
        found: Numbers = self.model().new_target()
        return found

    def new_machine(self, n_features: int, seed: int | None = None) -> RestartingNumbers:
        check_between("delta", self.delta, 0, 1)
        self.check_listener()
        part = self.model().new_machine(n_features, seed)
        settings = Settings(1, hard=False, sample=False, seed=part.settings.seed, numbers=True)
        return RestartingNumbers(settings, new_record(1), (part,), spec=self.clone(), notify=self.notify)

    def verdict(self) -> str:
        """The number of alarms."""
        return verdict(self._check_fitted().machine, "", "The model")
