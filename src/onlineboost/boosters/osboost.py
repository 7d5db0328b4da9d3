"""OSBoost, online smooth boosting (Chen, Lin and Lu 2012), the algorithm that the paper compares with.

| symbol | here | meaning |
| --- | --- | --- |
| N | ``n_estimators`` | number of weak learners |
| h_i(x) | ``h[i]`` | vote of learner i |
| theta = gamma / (2 + gamma) | ``theta`` | margin that an example should reach |
| z_i | ``z`` | sum of y h - theta over the learners up to i |
| w_i = min((1 - gamma)^(z / 2), 1) | ``p[i]`` | weight of the example for the next learner |
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

from onlineboost.boosters.base import ADVICE_ON_GAMMA, COMMON, GAMMA, HEAD, VOTES, Booster, Delivery, Votes
from onlineboost.compiled import dispatch
from onlineboost.compiled.jit import hot, njit
from onlineboost.data.batch import Floats, Floats32
from onlineboost.loop.explaining import credit_sum
from onlineboost.loop.heads import HeadName
from onlineboost.parameters import check_between


class OSBoostState(NamedTuple):
    theta: float
    log_base: float  # ln(1 - gamma) / 2


@njit
def vote(state: OSBoostState, h: Floats) -> float:
    return float(h.sum())


@hot
def smooth_weights(theta: float, log_base: float, factor: float, h: Floats, y: float, p: Floats, carry: Floats) -> None:
    z = carry[1]
    for i in range(h.size):
        p[i] = min(math.exp(log_base * z), 1.0)
        z = factor * z + (y * h[i] - theta)
    carry[1] = z


@njit
def round(state: OSBoostState, h: Floats, y: float, p: Floats, t: Floats32, first: int, carry: Floats) -> None:
    smooth_weights(state.theta, state.log_base, 1.0, h, y, p, carry)


@hot
def first(state: OSBoostState, n: int) -> OSBoostState:
    return state


dispatch.register(dispatch.first, OSBoostState, first)


def smooth_constants(gamma: float) -> tuple[float, float]:
    """theta, and the logarithm of the base of the weights."""
    check_between("gamma", gamma, 0, 0.5)
    return gamma / (2 + gamma), math.log1p(-gamma) / 2


@dataclass(eq=False, repr=False)
class OSBoost(
    Booster,
    name="osboost",
    title="OSBoost",
    options=(*COMMON, GAMMA, VOTES, HEAD),
    state=OSBoostState,
    vote=vote,
    round=round,
    credit=credit_sum,
):
    """OSBoost, online smooth boosting (Chen, Lin and Lu, 2012): all learners have the same weight in the vote.

    Parameters
    ----------
    estimator : estimator or None, default=None
        Weak learner; None: ``Linear()``. Any online classifier of River or scikit-learn works as well.
    n_estimators : int, default=21
        Number of weak learners.
    gamma : float, default=0.1
        Assumed edge of the weak learners over guessing, above 0 and below 1/2.
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is refused before anything is learned.
    delivery : {"auto", "weight", "sample"}, default="auto"
        Use of the weights: importance weights ("weight"), sampling probabilities ("sample"), or the form that the
        learner prefers ("auto").
    votes : {"hard", "real"}, default="hard"
        Votes of the learners: -1 or +1 ("hard", as in the paper), or real numbers ("real", as in Vowpal Wabbit).
    head : {"vote", "stack"}, default="vote"
        Final score: the algorithm's own vote ("vote"), or a logistic regression on the votes, learned online ("stack").
    random_state : int, NumPy generator or None, default=None
        Random seed, for sampling; None: a new seed for each ``fit``.
    n_jobs : int or None, default=None
        Number of threads; None: 1, -1: one for each core. The result is the same, bit for bit.
    lag : int, default=0
        Number of lagged labels that are features of each row: ``label[-1]``, ``label[-2]``, ...; 0: none.
    class_weight : dict, "balanced" or None, default=None
        Factor of the weight of a row by its label. "balanced": the rarer the label, the larger the factor.

    Examples
    --------
    >>> from onlineboost import OSBoost
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_error
    >>> X, y = load_letter()
    >>> print(f"{progressive_error(OSBoost(), X, y):.3f}")
    0.304
    """

    advice = ADVICE_ON_GAMMA

    estimator: Any = None
    n_estimators: int = 21
    gamma: float = 0.1
    _: KW_ONLY
    delivery: Delivery = "auto"
    votes: Votes = "hard"
    head: HeadName = "vote"
    random_state: Any = None
    n_jobs: int | None = None
    lag: int = 0
    class_weight: Any = None

    def initial_state(self, n_learners: int, sampled: bool, seed: int) -> OSBoostState:
        return OSBoostState(*smooth_constants(self.gamma))
