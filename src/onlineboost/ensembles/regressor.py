"""OnlineBoostRegressor: the default regressor, an ensemble of boosted trees and linear models."""

from __future__ import annotations

import numbers
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from onlineboost.boosters.base import seed_of
from onlineboost.boosters.gradient import OnlineGradientBoost
from onlineboost.data.batch import Floats
from onlineboost.data.regression import Numbers
from onlineboost.diagnostics.report import Columns, Report
from onlineboost.engine.replay import NO_NUMBERS
from onlineboost.ensembles.regression import (
    COVERAGES,
    LogParts,
    NumberStack,
    RegressionEnsemble,
    new_number_stack,
    new_spread,
)
from onlineboost.errors import ParameterError
from onlineboost.learners.batch_boost import BatchBoostRegressor
from onlineboost.learners.least_squares import LeastSquares
from onlineboost.learners.regression_tree import RegressionTree
from onlineboost.loop.record import Settings, new_record
from onlineboost.loop.target_scaling import IDENTITY, LOG, new_scaling
from onlineboost.parameters import brief, check_bool, check_one_of
from onlineboost.regressor import OnlineRegressor

Goal = Literal["auto", "log", "identity"]
GOALS: tuple[Goal, ...] = ("auto", "log", "identity")
_MB = 512  # for the histograms of a part
_TREES = 40  # of a part
_LEAST_TARGET = 1e-30  # smallest target that has a logarithm
_POSITIVE = "a number above 0, since its logarithm is learned (target='auto', --target auto, takes any number)"
_LOW = tuple(round((1 - coverage) / 2, 6) for coverage in COVERAGES)
_HIGH = tuple(round(1 - low, 6) for low in _LOW)


@dataclass(eq=False, repr=False)
class OnlineBoostRegressor(OnlineRegressor):
    """The default regressor, which needs no tuning: boosted trees and linear models under one stack.

    The trees remember all, many or few rows, and one of the linear models forgets fast. Prediction intervals keep their
    coverage, also after concept drift.

    Parameters
    ----------
    random_state : int, NumPy generator or None, default=None
        Random seed; nothing is drawn at present.
    n_jobs : int or None, default=None
        Number of threads; None: 1, -1: one for each core. The result is the same, bit for bit.
    lag : int, default=0
        Number of lagged targets that are features of each row: ``label[-1]``, ``label[-2]``, ...; 0: none.
    target : {"auto", "log", "identity"}, default="auto"
        Scale of the target: its logarithm ("log", for positive targets such as prices), or the target itself
        ("identity"). "auto": the target itself, and two more members on its logarithm if the first targets are positive
        and the largest is more than twice the smallest; the stack weights them.
    memory : bool, default=True
        Whether one member keeps the last rows, as bins, and learns them more than once (``BatchBoostRegressor``). A
        saved model contains these rows, unless it is saved with ``memory=False``.

    Examples
    --------
    >>> import numpy as np
    >>> from onlineboost import OnlineBoostRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((2000, 3))
    >>> y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=2000)
    >>> answers, low, high = OnlineBoostRegressor().progressive_interval(X, y)
    >>> round(float(np.mean((low <= y) & (y <= high))), 2)
    0.9
    """

    _absent: ClassVar[dict[str, Any]] = {"target": "identity", "memory": False}

    _: KW_ONLY
    random_state: Any = None
    n_jobs: int | None = None
    lag: int = 0
    target: Goal = "auto"
    memory: bool = True

    def _new_target(self) -> Numbers:
        check_one_of("target", self.target, GOALS)
        return Numbers(least=_LEAST_TARGET, expected=_POSITIVE) if self.target == "log" else Numbers()

    def _parts(self) -> list[OnlineGradientBoost | LeastSquares | BatchBoostRegressor]:
        """The members; with ``target="auto"``, the last two learn the logarithm."""
        memory = [BatchBoostRegressor()] if check_bool("memory", self.memory) else []
        return [*self._online_parts(), *memory, *(self._log_parts() if self.target == "auto" else ())]

    def _log_parts(self) -> list[OnlineGradientBoost | LeastSquares]:
        return [LeastSquares(0.9999, follows=True), OnlineGradientBoost(_tree(4), _TREES, chains=2, shrinkage=0.5)]

    def _online_parts(self) -> list[OnlineGradientBoost | LeastSquares]:
        return [
            LeastSquares(0.99),
            LeastSquares(0.9999),
            OnlineGradientBoost(_tree(1), _TREES, chains=2, shrinkage=0.5),
            OnlineGradientBoost(_tree(2, memory=64), _TREES, chains=2, shrinkage=0.5),
            OnlineGradientBoost(_tree(3, memory=8, min_split_gain=32.0), _TREES, chains=2, shrinkage=0.5),
        ]

    def _scale_part(self) -> OnlineGradientBoost:
        """The model of the size of errors."""
        tree = RegressionTree(5, memory=128, min_split_gain=16.0, smoothing=2.5, max_mb=_MB)
        return OnlineGradientBoost(tree, 5, shrinkage=0.5)

    def _base_learner(self) -> Any:
        return self._online_parts()[-1]._base_learner()

    def _new_node(self, n_features: int, seed: int | None = None) -> RegressionEnsemble:
        seed = seed_of(self.random_state) if seed is None else seed
        parts = [*self._parts(), self._scale_part()]
        nodes = tuple(part._part_node(n_features, (seed + k) % (1 << 63)) for k, part in enumerate(parts))
        n = len(nodes) - 1
        settings = Settings(n, hard=False, sample=False, seed=seed, numbers=True)
        check_one_of("target", self.target, GOALS)
        states = new_scaling(LOG if self.target == "log" else IDENTITY), new_number_stack(n), new_spread()
        logs = (new_scaling(LOG), LogParts(np.zeros(1, np.int64))) if self.target == "auto" else (None, None)
        return RegressionEnsemble(settings, new_record(n), nodes, *states, *logs, held=NO_NUMBERS)

    def predict_interval(self, X: Any, coverage: float | tuple[float, float] = 0.9) -> tuple[Floats, Floats]:
        """Predict an interval that contains the target of each row with a given probability.

        The probability is based on past rows: it holds as long as labels keep coming. A model that predicts later rows
        without their labels keeps the margins of its last rows.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of dicts or Stream
            Rows, in any form that ``fit`` takes.
        coverage : float or tuple of float, default=0.9
            Probability: .5, .8, .9, .95 or .99, with equal shares of misses on both sides; or two quantiles at which
            these intervals end, such as (.05, .975).

        Returns
        -------
        low : array of shape (n_samples,)
            Lower bounds.
        high : array of shape (n_samples,)
            Upper bounds.
        """
        return self.bounds(self._answers(self._check_fitted(), X), coverage)

    def bounds(self, scores: Floats, coverage: float | tuple[float, float] = 0.9) -> tuple[Floats, Floats]:
        """Prediction intervals, as in ``predict_interval``, from scores that ``learn`` returns.

        Parameters
        ----------
        scores : array
            Scores of rows.
        coverage : float or tuple of float, default=0.9
            Probability, as in ``predict_interval``.

        Returns
        -------
        low : array of shape (n_samples,)
            Lower bounds.
        high : array of shape (n_samples,)
            Upper bounds.
        """
        low, high = _columns(coverage)
        return scores[:, low].copy(), scores[:, high].copy()

    def progressive_interval(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, coverage: float | tuple[float, float] = 0.9
    ) -> tuple[Floats, Floats, Floats]:
        """Continue learning, and return the prediction and its interval of each row from before its target was used.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of dicts or Stream
            Rows, in any form that ``fit`` takes.
        y : array or None, default=None
            One number per row; None: the stream has its own.
        sample_weight : array or None, default=None
            Weight of each row, at least 0; None: 1. Rows of weight 0 are skipped.
        coverage : float or tuple of float, default=0.9
            Probability, as in ``predict_interval``.

        Returns
        -------
        predictions : array of shape (n_samples,)
            The predictions.
        low : array of shape (n_samples,)
            Lower bounds.
        high : array of shape (n_samples,)
            Upper bounds.
        """
        low, high = _columns(coverage)
        scores = self._learn(X, y, None, sample_weight, scored=True)
        return scores[:, 0].copy(), scores[:, low].copy(), scores[:, high].copy()

    def _node(self) -> RegressionEnsemble:
        node = self._check_fitted().root
        assert isinstance(node, RegressionEnsemble)
        return node

    def report(self) -> Report:
        """The weight of each member in the stack, and its error.

        ``excess alone`` is the excess error of the member alone over the stack's: the root of the difference of their
        mean squared errors over about the last 500 examples, in units of the target.

        Returns
        -------
        Report
            A table (``print``) or a plot (``.plot(path)``).
        """
        node, weights = self._node(), self.weights_
        n = weights.size
        unit = float(node.scaling.units[1])
        columns: Columns = {"weight": (weights, "+10.3f"), "excess alone": (unit * _excess(node.stack, n), "14.5g")}
        error = f"Mean absolute error of about the last 500 examples: {unit * float(node.spread.typical[0]):.5g}."
        bars = np.abs(weights) / max(float(np.abs(weights).sum()), 1e-300)
        title = f"{type(self).__name__}, {n} members"
        return Report(title, self.n_seen_, "member", self._part_names(), columns, bars, None, error)

    def _part_names(self) -> list[str]:
        """Names of the active members."""
        names = [brief(part) for part in self._check_fitted().spec._parts()][: self.weights_.size]
        return [f"{name} of the logarithm" if k >= self._node().n_plain else name for k, name in enumerate(names)]

    @property
    def weights_(self) -> Floats:
        """Weight of each member in the stack."""
        node = self._node()
        n = len(node.awake()) - 1
        weights: Floats = node.stack.weights[:n] + 1 / n
        return weights


def _excess(stack: NumberStack, n: int) -> Floats:
    """Recent excess error of each member alone over the stack: the root of the excess of its squared errors.

    In the letters of ``ensembles/regression.py``, with r = t - a: the squared error of member i less that of a is x_i^2
    - 2 a x_i + a^2 - 2 r x_i + 2 r a, and that of the stack less that of a is (w.x)^2 - 2 r w.x. Their means are sums
    over A and b.
    """
    A, b, w = stack.products[: n + 1, : n + 1], stack.moment[: n + 1], stack.weights[: n + 1]
    A = np.triu(A) + np.triu(A, 1).T
    A, b = A / max(float(A[-1, -1]), 1e-300), b / max(float(A[-1, -1]), 1e-300)
    a = np.append(np.full(w.size - 1, 1 / (w.size - 1)), 0.0)
    alone = np.diag(A) - 2 * A @ a + a @ A @ a - 2 * b + 2 * a @ b
    found: Floats = np.sqrt(np.maximum(alone[:-1] - (w @ A @ w - 2 * w @ b), 0.0))
    return found


def _tree(draw: int, memory: int = 0, min_split_gain: float = 8.0) -> RegressionTree:
    return RegressionTree(
        7, memory=memory, min_split_gain=min_split_gain, max_features=0.5, random_state=draw, max_mb=_MB
    )


def _columns(coverage: Any) -> tuple[int, int]:
    """The places of the bounds in a score."""
    if isinstance(coverage, tuple | list) and len(coverage) == 2:
        low, high = coverage
        if not all(isinstance(level, numbers.Real) and 0 < float(level) < 1 for level in coverage):
            raise ParameterError("coverage", coverage, "two quantiles between 0 and 1")
        if not low < high:
            raise ParameterError("coverage", coverage, f"quantiles that do not cross: {low:g} is not below {high:g}")
        lows, highs = np.isclose(_LOW, low), np.isclose(_HIGH, high)
        if not lows.any() or not highs.any():
            known = ", ".join(f"{level:g}" for level in _LOW), ", ".join(f"{level:g}" for level in _HIGH)
            raise ParameterError("coverage", coverage, f"one of {known[0]} and one of {known[1]}")
        return 1 + 2 * int(np.argmax(lows)), 2 + 2 * int(np.argmax(highs))
    found = [k for k, known in enumerate(COVERAGES) if isinstance(coverage, numbers.Real) and known == coverage]
    if not found:
        percent = isinstance(coverage, int | float) and 1 < coverage <= 100
        hint = f"; {coverage:g} % is {coverage / 100:g}" if percent else ""
        raise ParameterError("coverage", coverage, f"one of {', '.join(f'{known:g}' for known in COVERAGES)}{hint}")
    return 1 + 2 * found[0], 2 + 2 * found[0]
