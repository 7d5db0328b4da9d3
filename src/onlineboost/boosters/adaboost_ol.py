"""AdaBoost.OL, the adaptive algorithm (Algorithm 2 of Beygelzimer, Kale and Luo 2015).

| paper | here | meaning |
| --- | --- | --- |
| N | ``n_estimators`` | number of weak learners, and of experts |
| WL^i(x_t) | ``h[i]`` | vote of learner i |
| alpha_t^i | ``alpha[i]`` | weight of learner i in the vote, learned by online gradient descent on [-2, 2] |
| y-hat_t^i | sign of ``s`` | expert i: the weighted vote of the first i learners |
| v_t^i | exp(-``mistakes[i]``) | Hedge's weight of expert i, kept as its logarithm: the number of its mistakes |
| s_t^i | ``s`` | margin of expert i |
| p_t^i = w_t^i | ``p[i]`` | weight of the example for learner i, or the probability that it gets it |
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np

from onlineboost.boosters.base import COMMON, HEAD, VOTES, Booster, Delivery, Votes
from onlineboost.boosters.shared.experts import EXPERTS, Expert, Experts
from onlineboost.compiled import dispatch
from onlineboost.compiled.draws import uniform
from onlineboost.compiled.jit import hot, njit
from onlineboost.data.batch import Floats, Floats32, Ints
from onlineboost.data.target import mistaken
from onlineboost.loop.explaining import shared
from onlineboost.loop.heads import HeadName, logistic
from onlineboost.registry import BOOSTERS, Entry, Option
from onlineboost.storage.validity import COUNT, Limits

_MAX_EXPONENT = 745  # exp(-745) is the smallest positive number
_EXP = np.exp(-np.arange(_MAX_EXPONENT + 1.0))


class AdaBoostOLState(NamedTuple):
    alpha: Floats
    mistakes: Ints
    t: Ints  # [1] examples so far
    expert: int  # which of EXPERTS
    seed: int

    def of_learners(self) -> tuple[str, ...]:
        """Arrays with a number for each learner, which ``round`` changes; it changes no others."""
        return ("alpha",)

    def limits(self) -> Limits:
        return {"alpha": (-2, 2), "mistakes": COUNT, "t": COUNT}


@hot
def lead(state: Any, h: Floats, e: Floats, first: int, carry: Floats) -> None:
    s, alpha = carry[2], state.alpha[first:]
    for i in range(h.size):
        s += alpha[i] * h[i]
        e[i] = s  # whose sign is expert i's answer
    carry[2] = s


@njit
def vote(state: AdaBoostOLState, e: Floats) -> float:
    N = e.size
    if state.expert == 2:
        return float(e[N - 1])
    best = state.mistakes.min()
    total = 0.0
    for i in range(N):
        total += _EXP[min(state.mistakes[i] - best, _MAX_EXPONENT)]
    # The random pick depends on the round only, so that predicting twice gives the same answer (line 7).
    pick = total * uniform(state.seed, state.t[0], N) if state.expert == 1 else math.inf
    passed = score = 0.0
    for i in range(N):
        advice = 1.0 if e[i] >= 0 else -1.0  # line 5
        v = _EXP[min(state.mistakes[i] - best, _MAX_EXPONENT)]
        passed += v
        score += v * advice
        if passed > pick or (i == N - 1 and state.expert == 1):
            return advice  # line 8
    return score / total


@njit
def credit(state: AdaBoostOLState, h: Floats, e: Floats, slopes: Floats, leading: bool) -> None:
    N = e.size
    if state.expert == 2:
        for i in range(N):  # Numba takes two seconds to compile slopes[:] = ...
            slopes[i] = state.alpha[i]
        return
    v = np.empty(N)
    best, total = state.mistakes.min(), 0.0
    for i in range(N):
        v[i] = _EXP[min(state.mistakes[i] - best, _MAX_EXPONENT)]
        total += v[i]
    if state.expert == 1:
        pick, passed = total * uniform(state.seed, state.t[0], N), 0.0
        for i in range(N):
            before, passed = passed, passed + v[i]
            v[i] = total if before <= pick < passed or (i == N - 1 and passed <= pick) else 0.0
    credit_experts(state.alpha, h, e, v, total, slopes)


@hot
def credit_experts(alpha: Floats, h: Floats, e: Floats, v: Floats, total: float, slopes: Floats) -> None:
    """The slopes of a vote of experts with weights v / total: expert i decides by the sign of the first i terms."""
    up = 0.0
    for i in range(h.size):
        up += max(alpha[i] * h[i], 0.0)
        slopes[i] = up
    plus = minus = 0.0
    for i in range(h.size - 1, -1, -1):  # a learner is in the sums of its own expert and of those after it
        a, b = shared(slopes[i], min(e[i] - slopes[i], 0.0), e[i])
        plus, minus = plus + a * v[i] / total, minus + b * v[i] / total
        slopes[i] = alpha[i] * (plus if alpha[i] * h[i] > 0 else minus)


@njit
def round(state: AdaBoostOLState, h: Floats, y: float, p: Floats, t: Floats32, first: int, carry: Floats) -> None:
    eta, alpha = 4 / math.sqrt(carry[0] + 1), state.alpha[first:]
    s = carry[1]  # 0 before the first learner: line 9
    w = logistic(-s)  # 1 / (1 + exp(s))
    for i in range(h.size):  # line 10
        p[i] = w  # line 14
        z = y * h[i]  # line 11
        s += alpha[i] * z  # line 12
        w = logistic(-s)
        alpha[i] = min(2.0, max(-2.0, alpha[i] + eta * z * w))  # line 13
    carry[1] = s


@hot
def settle(state: AdaBoostOLState, e: Floats, y: float) -> None:
    state.t[0] += 1
    for i in range(e.size):
        state.mistakes[i] += mistaken(e[i], y)  # line 15


@hot
def first(state: AdaBoostOLState, n: int) -> AdaBoostOLState:
    return AdaBoostOLState(state.alpha[:n], state.mistakes[:n], state.t, state.expert, state.seed)


dispatch.register(dispatch.first, AdaBoostOLState, first)


_EXPERT = Option(
    "expert", "Final prediction: weighted vote of all experts, a random expert, or the last.", choices=EXPERTS
)
_OPTIONS = (*COMMON, _EXPERT, VOTES, HEAD)


@dataclass(eq=False, repr=False)
class AdaBoostOL(
    Experts,
    Booster,
    name="adaboost-ol",
    title="AdaBoost.OL",
    options=_OPTIONS,
    state=AdaBoostOLState,
    vote=vote,
    round=round,
    lead=lead,
    settle=settle,
    credit=credit,
):
    """AdaBoost.OL (Algorithm 2 of the paper): adapts to the learners' edges. AdaBoost.OL.S is its sampling variant.

    Parameters
    ----------
    estimator : estimator or None, default=None
        Weak learner; None: ``Linear()``. Any online classifier of River or scikit-learn works as well.
    n_estimators : int, default=21
        Number of weak learners.
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is refused before anything is learned.
    delivery : {"auto", "weight", "sample"}, default="auto"
        Use of the weights: importance weights ("weight"), sampling probabilities ("sample": AdaBoost.OL.S), or the form
        that the learner prefers ("auto").
    expert : {"vote", "random", "last"}, default="vote"
        Combination of the experts; expert i is the vote of the first i learners. "vote": weighted by Hedge; "random":
        one of them, drawn by these weights (the paper); "last": the last expert, which is the whole committee (Vowpal
        Wabbit's ``logistic``).
    votes : {"hard", "real"}, default="hard"
        Votes of the learners: -1 or +1 ("hard", as in the paper), or real numbers ("real", as in Vowpal Wabbit).
    head : {"vote", "stack"}, default="vote"
        Final score: the algorithm's own vote ("vote"), or a logistic regression on the votes, learned online ("stack").
    random_state : int, NumPy generator or None, default=None
        Random seed for sampling and the random expert; None: a new seed for each ``fit``.
    n_jobs : int or None, default=None
        Number of threads; None: 1, -1: one for each core. The result is the same, bit for bit.
    lag : int, default=0
        Number of lagged labels that are features of each row: ``label[-1]``, ``label[-2]``, ...; 0: none.
    class_weight : dict, "balanced" or None, default=None
        Factor of the weight of a row by its label. "balanced": the rarer the label, the larger the factor.

    Examples
    --------
    >>> from onlineboost import AdaBoostOL
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_error
    >>> X, y = load_letter()
    >>> print(f"{progressive_error(AdaBoostOL(), X, y):.3f}")
    0.312
    """

    estimator: Any = None
    n_estimators: int = 21
    _: KW_ONLY
    delivery: Delivery = "auto"
    expert: Expert = "vote"
    votes: Votes = "hard"
    head: HeadName = "vote"
    random_state: Any = None
    n_jobs: int | None = None
    lag: int = 0
    class_weight: Any = None

    def initial_state(self, n_learners: int, sampled: bool, seed: int) -> AdaBoostOLState:
        return AdaBoostOLState(**self._new_experts(n_learners, seed))


BOOSTERS.add(Entry("adaboost-ol-s", AdaBoostOL, "AdaBoost.OL.S", _OPTIONS, {"delivery": "sample"}))
