"""OSBoost.OCP: OSBoost whose vote is learned by online convex programming (Chen, Lin and Lu 2012).

| symbol | here | meaning |
| --- | --- | --- |
| alpha_i | ``alpha[i]`` | weight of learner i in the vote; together a point of the simplex |
| theta - y alpha.h, if positive | | the hinge loss whose gradient is followed |
| eta_t = sqrt(2) / sqrt(N t) | ``eta`` | diameter of the simplex over the largest gradient, over sqrt(t) |

The weights of the examples are OSBoost's. The authors' code for Vowpal Wabbit, never merged, had
``z += z + y h - theta``, which doubles z each time, and steps without the sqrt(2). The paper's table may come from it.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np

from onlineboost.boosters.base import ADVICE_ON_GAMMA, COMMON, GAMMA, HEAD, VOTES, Booster, Delivery, Votes
from onlineboost.boosters.osboost import smooth_constants, smooth_weights
from onlineboost.compiled.jit import hot, njit
from onlineboost.data.allocation import filled
from onlineboost.data.batch import Floats, Floats32, Ints
from onlineboost.errors import ParameterError
from onlineboost.loop.heads import HeadName
from onlineboost.storage.validity import COUNT, Limits

_LARGE = 1e6  # far beyond the range for votes from -50 to 50


class OSBoostOCPState(NamedTuple):
    alpha: Floats
    t: Ints  # [1] rounds so far
    theta: float
    log_base: float
    factor: float  # of z from learner to learner: 1, or 2 as in the authors' code
    rate: float  # factor of the step size: sqrt(2), or 1 as in the authors' code

    def limits(self) -> Limits:
        return {"alpha": (0, 2), "t": COUNT}


@njit
def vote(state: OSBoostOCPState, h: Floats) -> float:
    score = 0.0
    for i in range(h.size):
        score += state.alpha[i] * h[i]
    return score


@hot
def credit(state: OSBoostOCPState, h: Floats, e: Floats, slopes: Floats, leading: bool) -> None:
    for i in range(h.size):
        slopes[i] = state.alpha[i]


@njit
def round(state: OSBoostOCPState, h: Floats, y: float, p: Floats, t: Floats32, first: int, carry: Floats) -> None:
    smooth_weights(state.theta, state.log_base, state.factor, h, y, p, carry)


@njit
def settle(state: OSBoostOCPState, h: Floats, y: float) -> None:
    state.t[0] += 1
    if y * vote(state, h) < state.theta:
        eta = state.rate / math.sqrt(h.size * state.t[0])
        for i in range(h.size):
            state.alpha[i] += eta * y * h[i]
        project_to_simplex(state.alpha)


@njit
def project_to_simplex(a: Floats) -> None:
    """Move to the nearest point whose coordinates are at least 0 and sum to 1 (Duchi et al. 2008)."""
    if abs(a.max()) > _LARGE:  # the same point, without rounding all differences away
        a -= a.max()
    ordered = np.sort(a)[::-1]
    total = shift = 0.0
    for k in range(a.size):
        total += ordered[k]
        if ordered[k] * (k + 1) > total - 1:
            shift = (total - 1) / (k + 1)
    for i in range(a.size):
        a[i] = max(a[i] - shift, 0.0)


@dataclass(eq=False, repr=False)
class OSBoostOCP(
    Booster,
    name="osboost-ocp",
    title="OSBoost.OCP",
    options=(*COMMON, GAMMA, VOTES, HEAD),
    state=OSBoostOCPState,
    vote=vote,
    round=round,
    settle=settle,
    credit=credit,
):
    """OSBoost with learned weights of the learners in the vote, by online convex programming (Chen, Lin and Lu, 2012).

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
    as_authors : bool, default=False
        Whether to compute exactly like the authors' code for Vowpal Wabbit, including its bug.
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
    >>> from onlineboost import OSBoostOCP
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_error
    >>> X, y = load_letter()
    >>> print(f"{progressive_error(OSBoostOCP(), X, y):.3f}")
    0.305
    """

    advice = ADVICE_ON_GAMMA

    estimator: Any = None
    n_estimators: int = 21
    gamma: float = 0.1
    _: KW_ONLY
    delivery: Delivery = "auto"
    votes: Votes = "hard"
    as_authors: bool = False
    head: HeadName = "vote"
    random_state: Any = None
    n_jobs: int | None = None
    lag: int = 0
    class_weight: Any = None

    def initial_state(self, n_learners: int, sampled: bool, seed: int) -> OSBoostOCPState:
        alpha = filled(1 / n_learners, n_learners)
        if not isinstance(self.as_authors, bool | np.bool_):
            raise ParameterError("as_authors", self.as_authors, "True or False")
        variant = (2.0, 1.0) if self.as_authors else (1.0, math.sqrt(2.0))
        return OSBoostOCPState(alpha, np.zeros(1, np.int64), *smooth_constants(self.gamma), *variant)
