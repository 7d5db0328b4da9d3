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
    gamma : assumed edge of the weak learners over guessing, in (0, 1/2)
    estimator, n_estimators, delivery, votes, head, random_state, n_jobs, lag, class_weight : as for ``OnlineBBM``

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
