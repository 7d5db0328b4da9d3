"""AdaptiveRegressor: concept drift for any regressor, which is reset when its error rises.

Errors e = |y - answer| are made numbers from 0 to 1 for ADWIN (``loop/adwin.py``): u = e / (e + m), where m is the
running mean error since the model began, in which no error counts as more than 4 m. So neither the unit of the target
nor a single row matters. u is cut to multiples of 1/1024: their sums are exact, whatever the order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from onlineboost.boosters.gradient import OnlineGradientBoost
from onlineboost.compiled.block import unpack
from onlineboost.compiled.jit import hot, njit
from onlineboost.data.batch import Floats, Ints
from onlineboost.data.regression import Numbers
from onlineboost.engine.stage import Key, Stage
from onlineboost.ensembles.restarting import Alarm, Listening, Restart, verdict
from onlineboost.errors import ParameterError
from onlineboost.loop.adwin import Windows, has_risen, new_windows
from onlineboost.parameters import check_between
from onlineboost.regressor import OnlineRegressor
from onlineboost.storage.validity import COUNT, SUM, Limits

_FIRST = 16  # first errors, which are not limited
_MOST = 4.0  # limit of other errors, in means
_GRAIN = 1024.0  # steps from 0 to 1


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
    u = math.floor(_GRAIN * (error / (error + m))) / _GRAIN if error > 0 else 0.0
    counted = error if n < _FIRST else min(error, _MOST * m)
    usual.error[0] = m + (counted - m) / (n + 1)
    usual.rows[0] += 1
    usual.rows[1] += 1
    if not has_risen(windows, u, usual.rows[1], delta):
        return False
    usual.error[0], usual.rows[0] = 0.0, 0
    return True


@njit
def watch_errors(block: Any) -> bool:
    """Check rows; returns whether the error has risen. ``stop`` is then the row after the alarm."""
    span, windows, usual, answers, y, weight, delta, stop = unpack(block)
    for r in range(span[0], span[1]):
        if weight[r] > 0 and _notice(windows, usual, abs(y[r] - answers[r, 0]), delta):
            stop[0] = r + 1
            return True
    return False


@dataclass
class RestartRegression(Restart):
    """The node of a regressor that is reset at an alarm."""

    usual: Usual = field(default_factory=new_usual)
    names: dict[int, str] = field(default_factory=dict)  # of features by id

    def add(self, stage: Stage, y: Floats, out: Floats) -> None:
        stage.outs.append(out)
        stage.part(0, self.part, y, out)
        if stage.mode.learning:
            stop = stage.array("stop", 1, np.int64)
            states = self.windows, self.usual, out, y, stage.table.weight, float(self.spec.delta), stop
            stage.call(watch_errors, stage.span, *states, ask=partial(self._on_alarm, stage.path, stop))
        stage.mark("end")

    def _on_alarm(self, path: Key, stop: Ints, stage: Stage) -> Key:
        """Reset; the driver continues with the remaining rows, which the old part has learned too."""
        fresh = self.spec._model()._new_node(0, self.settings.seed)
        fresh.name_features(self.names)
        self.start_over(fresh)
        stage.program.done = int(stop[0])
        return (*path, "end")

    def name_features(self, names: Mapping[int, str]) -> None:
        self.names.update(names)
        super().name_features(names)

    @property
    def n_learned(self) -> int:
        return int(self.usual.rows[1])

    def own_states(self) -> dict[str, Any]:
        return {"windows": self.windows, "usual": self.usual}


@dataclass(eq=False, repr=False)
class AdaptiveRegressor(Listening, OnlineRegressor):
    """Wrapper for concept drift: resets a regressor when its error rises.

    Parameters
    ----------
    estimator : regressor or None, default=None
        Regressor of onlineboost; None: ``OnlineGradientBoost()``.
    delta : float, default=0.002
        Confidence parameter of the drift detector ADWIN; a lower value gives fewer alarms.
    n_jobs : int or None, default=None
        Number of threads; None: 1, -1: one for each core. The result is the same, bit for bit.
    lag : int, default=0
        Number of lagged targets that are features of each row: ``label[-1]``, ``label[-2]``, ...; 0: none.
    on_drift : callable or None, default=None
        Function that is called with an ``Alarm(example, learner)`` soon after each drift alarm. It must not raise.

    Notes
    -----
    Weights of examples do not count for the alarms. ``OnlineBoostRegressor`` adapts by itself: its members forget.

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

    def _model(self) -> Any:
        """A new wrapped regressor."""
        if self.estimator is None:
            return OnlineGradientBoost()
        if not isinstance(self.estimator, OnlineRegressor) or isinstance(self.estimator, AdaptiveRegressor):
            raise ParameterError("estimator", self.estimator, "a regressor of onlineboost that does not adapt itself")
        return self.estimator.clone()

    def _base_learner(self) -> Any:
        return self._model()._base_learner()

    def _new_target(self) -> Numbers:
        found: Numbers = self._model()._new_target()
        return found

    def _new_node(self, n_features: int, seed: int | None = None) -> RestartRegression:
        check_between("delta", self.delta, 0, 1)
        self._check_listener()
        part = self._model()._new_node(n_features, seed)
        return RestartRegression((part,), new_windows(1), self.clone(), self._notify)

    def verdict(self) -> str:
        """The number of drift alarms.

        Returns
        -------
        str
            The verdict.
        """
        return verdict(self._check_fitted().root, "", "The model")
