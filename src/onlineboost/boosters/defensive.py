"""DefensiveBoost: boosting of one learner by its residuals, without a known edge (Noarov and Roth, 2026).

| paper | here | meaning |
| --- | --- | --- |
| h-hat | mean of ``h`` | the oracle's (weak learner's) prediction, in [-1, 1] |
| theta, lambda | ``scalars`` | trust in the booster's own prediction, and in the oracle |
| mu | ``vote`` | the prediction in [-1, 1]: the root of F, or the end that F points to |
| F(mu) = (1 + lambda) / 2 h-hat + (1 - lambda) / 2 theta mu | | |
| r = y - mu | | the residual; the oracle gets the example with weight abs(r) / 2, since the sign of r is y |
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np

from onlineboost.boosters.base import COMMON, HEAD, Booster, Delivery
from onlineboost.compiled.jit import hot, njit
from onlineboost.data.batch import Floats
from onlineboost.loop.explaining import shared
from onlineboost.loop.heads import HeadName
from onlineboost.storage.validity import HUGE, Limits

_THETA, _LAMBDA = 0, 1


class DefensiveState(NamedTuple):
    scalars: Floats  # [2] theta and lambda, in [-1, 1]
    squares: Floats  # [2] sums of their squared gradients, from 4 on

    def limits(self) -> Limits:
        return {"scalars": (-1, 1), "squares": (4, HUGE)}


@njit
def vote(state: DefensiveState, h: Floats) -> float:
    theta, trust = state.scalars[_THETA], state.scalars[_LAMBDA]
    constant, slope = (1 + trust) / 2 * _oracle(h), (1 - trust) / 2 * theta
    if slope != 0 and abs(constant) <= abs(slope):
        return float(-constant / slope)
    return 1.0 if constant >= 0 else -1.0


@hot
def credit(state: DefensiveState, h: Floats, e: Floats, slopes: Floats, leading: bool) -> None:
    theta, trust = state.scalars[_THETA], state.scalars[_LAMBDA]
    constant, slope = (1 + trust) / 2 * _oracle(h), (1 - trust) / 2 * theta
    up = down = 0.0
    for i in range(h.size):
        vote = min(max(h[i], -1.0), 1.0)
        up, down = up + max(vote, 0.0), down + min(vote, 0.0)
    plus, minus = shared(up, down, constant)
    if slope != 0 and abs(constant) <= abs(slope):
        plus = minus = -(1 + trust) / 2 / slope / h.size
    for i in range(h.size):
        slopes[i] = (plus if h[i] > 0 else minus) / max(abs(h[i]), 1.0)


@njit
def round(state: DefensiveState, h: Floats, y: float, p: Floats) -> None:
    mu = vote(state, h)
    r = y - mu
    theta = state.scalars[_THETA]
    _step(state, _LAMBDA, (_oracle(h) * r - theta * mu * r) / 2)
    _step(state, _THETA, mu * r)
    for i in range(p.size):
        p[i] = abs(r) / 2


@hot
def _oracle(h: Floats) -> float:
    total = 0.0
    for i in range(h.size):
        total += min(max(h[i], -1.0), 1.0)
    return total / h.size


@njit
def _step(state: DefensiveState, k: int, gradient: float) -> None:
    moved = state.scalars[k] + gradient / math.sqrt(state.squares[k])
    state.scalars[k] = min(max(moved, -1.0), 1.0)
    state.squares[k] += gradient * gradient


@dataclass(eq=False, repr=False)
class DefensiveBoost(
    Booster,
    name="defensive",
    title="DefensiveBoost",
    options=(*COMMON, HEAD),
    state=DefensiveState,
    vote=vote,
    round=round,
    credit=credit,
):
    """One weak learner trained on the residuals of the predictions so far; no edge needed (Noarov and Roth, 2026).

    Parameters
    ----------
    estimator : estimator or None, default=None
        Weak learner; None: ``Linear()``. Its votes should be real numbers in [-1, 1].
    n_estimators : int, default=1
        Number of weak learners, whose votes are averaged.
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is refused before anything is learned.
    delivery : {"auto", "weight", "sample"}, default="weight"
        Use of the weights: importance weights ("weight"), sampling probabilities ("sample"), or the form that the
        learner prefers ("auto").
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
    >>> from onlineboost import DefensiveBoost, Tree
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_error
    >>> X, y = load_letter()
    >>> print(f"{progressive_error(DefensiveBoost(Tree(5)), X, y):.3f}")
    0.166
    """

    votes = "real"

    estimator: Any = None
    n_estimators: int = 1
    _: KW_ONLY
    delivery: Delivery = "weight"
    head: HeadName = "vote"
    random_state: Any = None
    n_jobs: int | None = None
    lag: int = 0
    class_weight: Any = None

    def initial_state(self, n_learners: int, sampled: bool, seed: int) -> DefensiveState:
        return DefensiveState(np.zeros(2), np.full(2, 4.0))
