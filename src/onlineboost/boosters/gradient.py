"""Online gradient boosting (Beygelzimer, Hazan, Kale and Luo 2015), for numbers.

| paper | here | meaning |
| --- | --- | --- |
| N | ``n_estimators / chains`` | number of weak learners of a chain |
| A_i(x_t) | ``h[i - 1]`` | vote of learner i |
| y_t^i | ``f`` | prediction by the learners up to i |
| eta, eta_i | ``eta`` | span: ``shrinkage``, or rates of a grid; hull: 2 / (i + 1) |
| sigma_t^i | ``sigma`` | span: shrinks predictions that are too large, learned; hull: 1 |
| B, L_B | ``radius``, ``steepest`` | bound of predictions in the span version, and of the slope of the loss there |

Algorithm 1 (span) and Algorithm 2 (hull) are one: y^i = (1 - sigma_i eta_i) y^{i-1} + eta_i A_i(x). Learner i is shown
the linear loss of slope l'(y^{i-1}): its target is the negative slope. Without a radius, sigma is 0 and nothing is
clipped. Several chains are boosters side by side, and the answer is their mean.

Without a rate (``shrinkage`` is None), learners are divided among chains with rates of a grid: 1 - exp(-c / n) for
chains of n learners, with c = 4 (careful) and 14 (fast); 14 and 50 for absolute and quantile loss, where no learner
moves a prediction by more than its rate. Their mean is weighted by AdaNormalHedge (``shared/hedge.py``)
on the slope of the loss: chain k gains l'(f) (f - f_k), divided by the largest such number so far. So it is not much
worse than the best mean of the chains with fixed weights.

Targets are in the units of ``engine/regression.py``. For f, the prediction so far, and a target z:

| loss | target of the next learner | weight | answer |
| --- | --- | --- | --- |
| squared | z - f | 1 | f |
| absolute | sign(z - f) | 1 | f |
| huber | z - f within [-1, 1] | 1 | f |
| quantile | q where z > f, else q - 1 | 1 | f |
| logistic | 4 (z - logistic(f)): the slope, over the largest curvature | 1 | logistic(f) |
| poisson | (z - exp(f)) / exp(f), at most 4: Newton's step | exp(f), its curvature | exp(f) |
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.boosters.base import MAX_LEARNERS, seed_of
from onlineboost.boosters.shared import hedge
from onlineboost.compiled import dispatch
from onlineboost.compiled.jit import f32, hot
from onlineboost.data.allocation import filled, planning
from onlineboost.data.batch import Floats, Floats32, Ints
from onlineboost.data.regression import Numbers
from onlineboost.engine.committee import Committee
from onlineboost.engine.regression import RegressionNode, regression_node
from onlineboost.errors import ParameterError
from onlineboost.learners.base import WeakLearner
from onlineboost.learners.class_learner import ClassLearner
from onlineboost.learners.number_learner import compiled_numbers
from onlineboost.learners.regression_tree import RegressionTree
from onlineboost.loop.heads import logistic
from onlineboost.loop.record import Settings
from onlineboost.loop.target_scaling import EXP, IDENTITY, LOGISTIC
from onlineboost.parameters import check_between, check_count, check_one_of, check_share
from onlineboost.regressor import OnlineRegressor
from onlineboost.storage.validity import SUM, Limits

Loss = Literal["squared", "absolute", "huber", "quantile", "logistic", "poisson"]
LOSSES: tuple[Loss, ...] = ("squared", "absolute", "huber", "quantile", "logistic", "poisson")
_SQUARED, _ABSOLUTE, _HUBER, _QUANTILE, _LOGISTIC, _POISSON = range(6)
Version = Literal["span", "hull"]
VERSIONS: tuple[Version, ...] = ("span", "hull")
_GRID = 4.0, 14.0  # c of the rates
_STEEP_GRID = 14.0, 50.0  # c if targets are signs
_MOST_STEP = 4.0  # Newton's step for Poisson loss
_LEAST_RATE, _MOST_RATE = 1e-3, 1e3  # of the weight for Poisson loss
_MOST_SCORE = 30.0  # of the logarithm of a rate


class GradientState(NamedTuple):
    eta: Floats  # [learners]
    sigma: Floats  # [learners]
    begins: NDArray[np.bool_]  # [learners] whether a chain begins
    ends: Ints  # [chains] the last learner of each
    radius: float
    steepest: float
    learns: bool  # whether sigma is learned
    loss: int
    quantile: float
    shares: Floats  # [chains] their weights
    regret: Floats  # [chains] this and the next as in ``shared/hedge.py``; [0] if weights are equal
    size: Floats
    most: Floats  # [1] the largest gain of a chain so far

    def derived(self) -> tuple[str, ...]:
        return ("eta", "begins", "ends")

    def limits(self) -> Limits:
        return {"sigma": (0.0, 1.0), "shares": (0.0, 1 + 1e-9), "size": SUM, "most": SUM}

    def of_learners(self) -> tuple[str, ...]:
        return ("sigma",)


@hot
def _next(state: GradientState, i: int, f: float, h: float) -> float:
    """The prediction after learner i, numbered from 0."""
    eta = state.eta[i]
    f = (1 - state.sigma[i] * eta) * f + eta * h
    return float(min(max(f, -state.radius), state.radius))


@hot
def lead(state: GradientState, h: Floats, e: Floats, first: int, carry: Floats) -> None:
    f = carry[2]
    for j in range(h.size):
        f = _next(state, first + j, 0.0 if state.begins[first + j] else f, h[j])
        e[j] = f
    carry[2] = f


@hot
def vote(state: GradientState, e: Floats) -> float:
    total = 0.0
    for k in range(state.ends.size):
        total += state.shares[k] * e[state.ends[k]]
    return total


@hot
def credit(state: GradientState, h: Floats, e: Floats, slopes: Floats, leading: bool) -> None:
    for k in range(state.ends.size):
        slope, first = state.shares[k], state.ends[k - 1] + 1 if k > 0 else 0
        for i in range(state.ends[k], first - 1, -1):
            kept = 1 - state.sigma[i] * state.eta[i]
            f = kept * (0.0 if state.begins[i] else e[i - 1]) + state.eta[i] * h[i]
            slope *= state.radius / abs(f) if abs(f) > state.radius else 1.0
            slopes[i] = slope * state.eta[i]
            slope *= kept


@hot
def round(state: GradientState, h: Floats, y: float, p: Floats, t: Floats32, first: int, carry: Floats) -> None:
    f = carry[1]
    step = 1 / (state.steepest * state.radius * math.sqrt(carry[0] + 1))
    for j in range(h.size):
        i = first + j
        f = 0.0 if state.begins[i] else f
        target, p[j] = _target(state, f, y)
        t[j] = f32(target)
        after = _next(state, i, f, h[j])
        if state.learns:
            state.sigma[i] = min(max(state.sigma[i] - target * f * step, 0.0), 1.0)
        f = after
    carry[1] = f


@hot
def _target(state: GradientState, f: float, z: float) -> tuple[float, float]:
    """The target of a learner and its weight, for the prediction f so far."""
    loss = state.loss
    if loss == _SQUARED:
        return z - f, 1.0
    if loss == _HUBER:
        return min(max(z - f, -1.0), 1.0), 1.0
    if loss == _ABSOLUTE:
        return (1.0 if z > f else (-1.0 if z < f else 0.0)), 1.0
    if loss == _QUANTILE:
        return (state.quantile if z > f else state.quantile - 1), 1.0
    if loss == _LOGISTIC:
        return 4 * (z - logistic(f)), 1.0
    rate = math.exp(min(max(f, -_MOST_SCORE), _MOST_SCORE))
    return min((z - rate) / rate, _MOST_STEP), min(max(rate, _LEAST_RATE), _MOST_RATE)


@hot
def settle(state: GradientState, e: Floats, y: float) -> None:
    if state.regret.size == 0:
        return
    f, most = vote(state, e), state.most[0]
    target, weight = _target(state, f, y)
    slope = -target * weight
    for k in range(state.ends.size):
        most = max(most, abs(slope * (f - e[state.ends[k]])))
    state.most[0] = most
    if most > 0:
        for k in range(state.ends.size):
            hedge.learn(state.regret, state.size, k, slope * (f - e[state.ends[k]]) / most, 0.0)
        hedge.share(state.regret, state.size, state.shares)


dispatch.register(dispatch.lead, GradientState, lead)
dispatch.register(dispatch.round, GradientState, round)
dispatch.register(dispatch.vote, GradientState, vote)
dispatch.register(dispatch.settle, GradientState, settle)
dispatch.register(dispatch.credit, GradientState, credit)


@dataclass(eq=False, repr=False)
class OnlineGradientBoost(OnlineRegressor):
    """Online gradient boosting for regression: each learner learns the residuals of the learners before it.

    Parameters
    ----------
    estimator : learner or None, default=None
        Weak learner; None: ``RegressionTree()``. Also ``LeastSquares``, or a compiled learner with real votes such as
        ``Linear``, whose votes are at most one mean deviation of the target.
    n_estimators : int, default=20
        Number of weak learners in all chains.
    loss : {"squared", "absolute", "huber", "quantile", "logistic", "poisson"}, default="squared"
        Loss. "huber" bends at one mean deviation of the target; "logistic" is for targets from 0 to 1, and predicts
        probabilities; "poisson" is for counts.
    version : {"span", "hull"}, default="span"
        Version: a sum of votes ("span", Algorithm 1) or a weighted mean of votes ("hull", Algorithm 2).
    shrinkage : float or None, default=None
        Step size eta of the span version; None: two rates that suit the number of learners, weighted online.
    chains : int, default=1
        Number of boosters side by side whose predictions are averaged; a divisor of ``n_estimators``.
    quantile : float, default=0.5
        Quantile of the quantile loss: with 0.9, 90 % of the targets do not exceed the prediction.
    radius : float or None, default=None
        Bound B of the span version, in mean deviations of the target; None: no bound, and sigma is 0.
    random_state : int, NumPy generator or None, default=None
        Random seed; None: a new seed for each ``fit``. Learners of regression draw nothing.
    n_jobs : int or None, default=None
        Number of threads; None: 1, -1: one for each core. The result is the same, bit for bit.
    lag : int, default=0
        Number of lagged targets that are features of each row: ``label[-1]``, ``label[-2]``, ...; 0: none.

    Examples
    --------
    >>> import numpy as np
    >>> from onlineboost import OnlineGradientBoost, RegressionTree
    >>> X = np.random.default_rng(0).random((3000, 3))
    >>> y = np.sin(6 * X[:, 0]) + X[:, 1]
    >>> for model in (RegressionTree(3), OnlineGradientBoost(RegressionTree(3))):
    ...     print(f"{model.fit(X[:2500], y[:2500]).score(X[2500:], y[2500:]):.2f}")
    0.91
    0.96
    """

    _traits: ClassVar[dict[str, bool]] = {"leading": True, "scan": True}
    _links: ClassVar[dict[str, int]] = {"logistic": LOGISTIC, "poisson": EXP}

    estimator: Any = None
    n_estimators: int = 20
    _: KW_ONLY
    loss: Loss = "squared"
    version: Version = "span"
    shrinkage: float | None = None
    chains: int = 1
    quantile: float = 0.5
    radius: float | None = None
    random_state: Any = None
    n_jobs: int | None = None
    lag: int = 0

    def _new_target(self) -> Numbers:
        if self.loss == "logistic":
            return Numbers(least=0.0, most=1.0)
        return Numbers(least=0.0) if self.loss == "poisson" else Numbers()

    def _base_learner(self) -> WeakLearner:
        if self.estimator is None:
            return RegressionTree()
        if not isinstance(self.estimator, WeakLearner):
            raise ParameterError("estimator", self.estimator, "a compiled learner such as RegressionTree or Linear")
        if isinstance(self.estimator, ClassLearner):
            raise ParameterError("estimator", self.estimator, "a regression learner, such as RegressionTree")
        return self.estimator

    def _initial_state(self) -> GradientState:
        """The state before the first example. Raises an error for wrong parameters."""
        check_one_of("loss", self.loss, LOSSES)
        check_one_of("version", self.version, VERSIONS)
        if self.shrinkage is not None:
            check_share("shrinkage", self.shrinkage)
        check_between("quantile", self.quantile, 0, 1)
        check_count("n_estimators", self.n_estimators, MAX_LEARNERS)
        check_count("chains", self.chains, int(self.n_estimators))
        n, chains, hull = int(self.n_estimators), int(self.chains), self.version == "hull"
        if n % chains:
            raise ParameterError("chains", chains, f"a divisor of n_estimators, {n}")
        if self.radius is not None:
            check_between("radius", self.radius, 0, math.inf)
        radius = math.inf if self.radius is None else float(self.radius)
        steepest = {"squared": 2 * radius, "logistic": 4.0}.get(self.loss, 1.0)
        weighed = self.shrinkage is None and not hull and n >= len(_GRID) * chains
        count = len(_GRID) * chains if weighed else chains
        bounds = np.round(np.linspace(0, n, count + 1)).astype(np.int64)
        begins, eta = np.zeros(n, np.bool_), filled(0.0, n)
        for k, (first, last) in enumerate(zip(bounds.tolist(), bounds[1:].tolist(), strict=False)):
            if not planning():
                begins[first] = True
                eta[first:last] = 2 / (np.arange(last - first) + 2) if hull else self._rate(k, last - first)
        return GradientState(
            eta=eta,
            sigma=filled(1.0 if hull else 0.0, n),
            begins=begins,
            ends=bounds[1:] - 1,
            radius=radius,
            steepest=steepest,
            learns=not hull and self.radius is not None,
            loss=LOSSES.index(self.loss),
            quantile=float(self.quantile),
            shares=filled(1 / count, count),
            regret=filled(0.0, count if weighed else 0),
            size=filled(0.0, count if weighed else 0),
            most=np.zeros(1),
        )

    def _rate(self, k: int, size: int) -> float:
        """The rate of chain k, of so many learners."""
        if self.shrinkage is not None:
            return float(self.shrinkage)
        grid = _STEEP_GRID if self.loss in ("absolute", "quantile") else _GRID
        return 1 - math.exp(-grid[k % len(grid)] / size)

    def _part_node(self, n_features: int, seed: int | None = None) -> Committee:
        """The inner node, which gets scaled targets."""
        state, seed = self._initial_state(), seed_of(self.random_state) if seed is None else seed
        settings = Settings(int(self.n_estimators), hard=False, sample=False, seed=seed, numbers=True, **self._traits)
        return compiled_numbers(self._base_learner(), state, n_features, settings)

    def _new_node(self, n_features: int, seed: int | None = None) -> RegressionNode:
        return regression_node(self._part_node(n_features, seed), self._links.get(self.loss, IDENTITY))
