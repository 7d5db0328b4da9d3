"""AdaBoost.OLM, the adaptive algorithm for many classes (Algorithm 2 of Jung, Goetz and Tewari 2017).

| paper | here | meaning |
| --- | --- | --- |
| N | ``n_estimators`` | number of weak learners, and of experts |
| k | | number of classes |
| l_t^i | ``h[i]`` | the class that learner i votes for |
| alpha_t^i | ``alpha[i]`` | weight of learner i in the vote, learned by online gradient descent on [-2, 2] |
| s_t^i | ``s`` | score of each class, by the learners up to i |
| y-hat_t^i | ``e[i]`` | expert i: the class with the largest of these scores |
| v_t^i | exp(-``mistakes[i]``) | Hedge's weight of expert i, kept as the number of its mistakes |
| C_t^i[y, l] | | 1 / (1 + exp(s_y - s_l)) for l other than y, the cost of voting for l |
| -C_t^i[y, y] / (k - 1) | ``p[i]`` | their mean: weight of the example for learner i, or the probability of it |
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np

from onlineboost.boosters.base import COMMON, Booster, Delivery
from onlineboost.boosters.shared.class_booster import ClassBooster
from onlineboost.boosters.shared.experts import Expert, Experts
from onlineboost.compiled.draws import uniform
from onlineboost.compiled.jit import hot, njit
from onlineboost.data.batch import Floats, Floats32, Ints
from onlineboost.loop.class_tally import place_of
from onlineboost.loop.explaining_classes import shared_among
from onlineboost.loop.heads import logistic
from onlineboost.storage.validity import COUNT, Limits


class AdaBoostOLMState(NamedTuple):
    alpha: Floats
    mistakes: Ints
    t: Ints  # [1] examples so far
    expert: int  # which of EXPERTS
    seed: int

    def limits(self) -> Limits:
        return {"alpha": (-2, 2), "mistakes": COUNT, "t": COUNT}


@hot
def lead(state: AdaBoostOLMState, h: Floats, e: Floats, first: int, carry: Floats) -> None:
    s = carry[1:]
    for i in range(h.size):
        s[int(h[i])] += state.alpha[first + i]
        e[i] = place_of(s)


@njit
def vote(state: AdaBoostOLMState, e: Floats, scores: Floats) -> None:
    """The share of the experts that vote for each class; or one expert; or the scores of the last."""
    if state.expert == 2:
        return
    v = np.empty(e.size)
    total = _weights(state, v)
    for k in range(scores.size):
        scores[k] = 0.0
    for i in range(e.size):
        scores[int(e[i])] += v[i]
    for k in range(scores.size):
        scores[k] /= total


@njit
def _weights(state: AdaBoostOLMState, v: Floats) -> float:
    """Write the weights of the experts; returns their sum."""
    best, total = state.mistakes.min(), 0.0
    for i in range(v.size):
        v[i] = math.exp(-float(state.mistakes[i] - best))
        total += v[i]
    if state.expert == 0:
        return total
    # The random pick depends on the round only, so that predicting twice gives the same answer.
    pick, passed, chosen = total * uniform(state.seed, state.t[0], v.size), 0.0, 0
    while chosen < v.size - 1:
        passed += v[chosen]
        if passed > pick:
            break
        chosen += 1
    for i in range(v.size):
        v[i] = 1.0 if i == chosen else 0.0
    return 1.0


@njit
def credit(state: AdaBoostOLMState, h: Floats, e: Floats, slopes: Floats, leading: bool) -> None:
    """An expert decides about a class by a sum over its learners: alpha times the vote for the class, less 1 / k."""
    N, k = slopes.shape
    if state.expert == 2:
        for i in range(N):
            slopes[i] = state.alpha[i]
        return
    v, up, down = np.empty(N), np.empty(N), np.empty(N)
    total = _weights(state, v)
    for c in range(k):
        high = low = 0.0
        for i in range(N):
            term = state.alpha[i] * ((h[i] == c) - 1 / k)
            high, low = high + max(term, 0.0), low + min(term, 0.0)
            up[i], down[i] = high, low
        plus = minus = 0.0
        for i in range(N - 1, -1, -1):  # a learner is in the sums of its own expert and of those after it
            a, b = shared_among(up[i], down[i], e[i] == c, 1 / k)
            plus, minus = plus + v[i] * a / total, minus + v[i] * b / total
            slopes[i, c] = state.alpha[i] * (plus if state.alpha[i] * ((h[i] == c) - 1 / k) > 0 else minus)


@njit
def round(state: AdaBoostOLMState, h: Floats, y: float, p: Floats, t: Floats32, first: int, carry: Floats) -> None:
    s, k, r = carry[1:], carry.size - 1, int(y)
    eta = 2 * math.sqrt(2.0) / ((k - 1) * math.sqrt(carry[0] + 1))
    for i in range(h.size):
        alpha, voted = state.alpha[first + i], int(h[i])
        cost = slope = 0.0
        for j in range(k):
            if j != r:
                cost += logistic(s[j] - s[r])
                slope -= logistic(s[j] - s[r] - alpha)
        p[i] = cost / (k - 1)
        if voted != r:
            slope = logistic(s[voted] + alpha - s[r])
        s[voted] += alpha
        state.alpha[first + i] = min(2.0, max(-2.0, alpha - eta * slope))


@hot
def settle(state: AdaBoostOLMState, e: Floats, y: float) -> None:
    state.t[0] += 1
    for i in range(e.size):
        state.mistakes[i] += e[i] != y


@dataclass(eq=False, repr=False)
class AdaBoostOLM(
    Experts,
    ClassBooster,
    Booster,
    name="adaboost-olm",
    title="AdaBoost.OLM",
    options=COMMON,
    state=AdaBoostOLMState,
    vote=vote,
    round=round,
    lead=lead,
    settle=settle,
    credit=credit,
):
    """AdaBoost.OLM (Jung, Goetz and Tewari 2017): multiclass learners, weighted by their edges.

    Parameters
    ----------
    estimator : estimator or None, default=None
        Weak learner that votes for classes; None: ``ClassTree()``. Any online classifier of River or scikit-learn works
        as well.
    n_estimators : int, default=21
        Number of weak learners.
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is refused before anything is learned.
    delivery : {"auto", "weight", "sample"}, default="auto"
        Use of the weights: importance weights ("weight"), sampling probabilities ("sample"), or the form that the
        learner prefers ("auto").
    expert : {"vote", "random", "last"}, default="vote"
        Combination of the experts; expert i is the vote of the first i learners. "vote": weighted by Hedge; "random":
        one of them, drawn by these weights (the paper); "last": the last expert, which is the whole committee.
    random_state : int, NumPy generator or None, default=None
        Random seed for sampling and the random expert; None: a new seed for each ``fit``.
    n_jobs : int or None, default=None
        Number of threads that predict; None: 1, -1: one for each core. One thread learns.
    lag : int, default=0
        Number of lagged labels that are features of each row: ``label[-1]``, ``label[-2]``, ...; 0: none.
    class_weight : dict, "balanced" or None, default=None
        Factor of the weight of a row by its label. "balanced": the rarer the label, the larger the factor.

    Examples
    --------
    >>> from onlineboost import AdaBoostOLM
    >>> from onlineboost.datasets import load_letter
    >>> X, y = load_letter(letters=True)
    >>> model = AdaBoostOLM(random_state=0).fit(X[:4000], y[:4000])
    >>> f"{model.score(X[4000:], y[4000:]):.3f}"
    '0.680'
    """

    estimator: Any = None
    n_estimators: int = 21
    _: KW_ONLY
    delivery: Delivery = "auto"
    expert: Expert = "vote"
    random_state: Any = None
    n_jobs: int | None = None
    lag: int = 0
    class_weight: Any = None

    def _state_for(self, n_classes: int, n_learners: int, seed: int, before: Any = None) -> AdaBoostOLMState:
        if before is not None:
            return before  # type: ignore[no-any-return]
        return AdaBoostOLMState(**self._new_experts(n_learners, seed))
