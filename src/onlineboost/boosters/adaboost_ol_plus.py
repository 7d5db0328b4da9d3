"""AdaBoost.OL+: AdaBoost.OL with step sizes that follow the gradients, and AdaNormalHedge over its experts.

| AdaBoost.OL | here |
| --- | --- |
| alpha <- alpha + 4 g / sqrt(t) | alpha <- alpha + g / (2 sqrt(1 + sum of g^2)): regret is O(sqrt(sum of g^2)) |
| Hedge: at most 1.58 (or 2.63) times the best expert's mistakes | AdaNormalHedge: 1 + O(sqrt(ln N / L)) times |

Ours, not the paper's; the loss bounds follow from those of the two parts.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np

from onlineboost.boosters.adaboost_ol import credit_experts, lead
from onlineboost.boosters.base import COMMON, HEAD, VOTES, Booster, Delivery, Votes
from onlineboost.boosters.shared import hedge
from onlineboost.compiled.jit import hot, njit
from onlineboost.data.allocation import filled
from onlineboost.data.batch import Floats, Floats32
from onlineboost.data.target import mistaken
from onlineboost.loop.heads import HeadName, logistic
from onlineboost.storage.validity import SUM, Limits


class AdaBoostOLPlusState(NamedTuple):
    alpha: Floats
    squares: Floats  # sum of g^2
    regret: Floats
    size: Floats

    def of_learners(self) -> tuple[str, ...]:
        return ("alpha", "squares")

    def limits(self) -> Limits:
        return {"alpha": (-2, 2), "squares": SUM, "size": SUM}


@njit
def vote(state: AdaBoostOLPlusState, e: Floats) -> float:
    """The experts' vote, weighted by AdaNormalHedge; expert i is the sign of the first i learners' weighted sum."""
    top = hedge.largest(state.regret, state.size)
    total = score = 0.0
    for i in range(e.size):
        w = hedge.weight(state.regret[i], state.size[i], top)
        total += w
        score += w if e[i] >= 0 else -w
    return score / total


@njit
def credit(state: AdaBoostOLPlusState, h: Floats, e: Floats, slopes: Floats, leading: bool) -> None:
    top, total, v = hedge.largest(state.regret, state.size), 0.0, np.empty(e.size)
    for i in range(e.size):
        v[i] = hedge.weight(state.regret[i], state.size[i], top)
        total += v[i]
    credit_experts(state.alpha, h, e, v, total, slopes)


@njit
def round(state: AdaBoostOLPlusState, h: Floats, y: float, p: Floats, t: Floats32, first: int, carry: Floats) -> None:
    s, alpha, squares = carry[1], state.alpha[first:], state.squares[first:]
    w = logistic(-s)
    for i in range(h.size):
        p[i] = w
        z = y * h[i]
        s += alpha[i] * z
        w = logistic(-s)
        move(alpha, squares, i, z * w)
    carry[1] = s


@njit
def settle(state: AdaBoostOLPlusState, e: Floats, y: float) -> None:
    expected = (1 - y * vote(state, e)) / 2  # of the weighted experts' losses
    for i in range(e.size):
        hedge.learn(state.regret, state.size, i, expected, 1.0 if mistaken(e[i], y) else 0.0)


@hot
def move(alpha: Floats, squares: Floats, i: int, g: float) -> None:
    """A step along the gradient g, within [-2, 2]."""
    squares[i] += g * g
    moved = alpha[i] + g / (2 * math.sqrt(1 + squares[i]))
    alpha[i] = 2.0 if moved > 2 else -2.0 if moved < -2 else moved


@dataclass(eq=False, repr=False)
class AdaBoostOLPlus(
    Booster,
    name="adaboost-ol-plus",
    title="AdaBoost.OL+",
    options=(*COMMON, VOTES, HEAD),
    state=AdaBoostOLPlusState,
    vote=vote,
    round=round,
    lead=lead,
    settle=settle,
    credit=credit,
):
    """AdaBoost.OL with step sizes that follow the gradients, and AdaNormalHedge over its experts; nothing to tune.

    Parameters
    ----------
    estimator : estimator or None, default=None
        Weak learner; None: ``Linear()``. Any online classifier of River or scikit-learn works as well.
    n_estimators : int, default=21
        Number of weak learners.
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is refused before anything is learned.
    delivery : {"auto", "weight", "sample"}, default="sample"
        Use of the weights: sampling probabilities ("sample", the most accurate in our measurements), importance weights
        ("weight"), or the form that the learner prefers ("auto").
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
    >>> from onlineboost import AdaBoostOLPlus, Tree
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_error
    >>> X, y = load_letter()
    >>> print(f"{progressive_error(AdaBoostOLPlus(Tree(3), random_state=0), X, y):.3f}")
    0.124
    """

    estimator: Any = None
    n_estimators: int = 21
    _: KW_ONLY
    delivery: Delivery = "sample"
    votes: Votes = "hard"
    head: HeadName = "vote"
    random_state: Any = None
    n_jobs: int | None = None
    lag: int = 0
    class_weight: Any = None

    def initial_state(self, n_learners: int, sampled: bool, seed: int) -> AdaBoostOLPlusState:
        return AdaBoostOLPlusState(*(filled(0, n_learners) for _ in AdaBoostOLPlusState._fields))
