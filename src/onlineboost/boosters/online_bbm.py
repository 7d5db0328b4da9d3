"""Online BBM, the optimal algorithm (Algorithm 1 of Beygelzimer, Kale and Luo 2015).

| paper | here | meaning |
| --- | --- | --- |
| N | ``n_estimators`` | number of weak learners |
| WL^i(x_t) | ``h[i - 1]`` | vote of learner i |
| s_t^i | ``s`` | sum of y h over the learners up to i |
| k_t^i | ``k`` | number of heads at which learner i's vote decides |
| 1/2 + gamma/2 | ``b`` | the coin's probability of heads |
| p_t^i = w_t^i / norm | ``p[i - 1]`` | weight of the example for learner i, or the probability that it gets it |
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from onlineboost.boosters.base import ADVICE_ON_GAMMA, COMMON, GAMMA, HEAD, VOTES, Booster, Delivery, Votes
from onlineboost.boosters.shared.coin import Coin, bias, binomial, mode, peak
from onlineboost.boosters.shared.majority import likeliest, phi0, reachable, weight_norms
from onlineboost.compiled.jit import njit, u64
from onlineboost.data.allocation import filled, planning
from onlineboost.data.batch import Floats, Floats32, Ints
from onlineboost.diagnostics.report import Certificate
from onlineboost.errors import ParameterError
from onlineboost.loop.explaining import credit_sum
from onlineboost.loop.heads import HeadName
from onlineboost.parameters import check_one_of
from onlineboost.registry import Option

Normalizer = Literal["reachable", "mode", "lemma", "none"]
NORMALIZERS: tuple[Normalizer, ...] = ("reachable", "mode", "lemma", "none")
_NORMALIZER = Option(
    "normalizer", "Scale of the example weights; none: unscaled, as in Vowpal Wabbit.", choices=NORMALIZERS
)


class OnlineBBMState(NamedTuple):
    """A table of weights: ``table[start[i - 1] + k]`` for learner i and low <= k <= high, zero outside."""

    table: Floats
    start: Ints
    low: Ints
    high: Ints

    def derived(self) -> tuple[str, ...]:
        return ("table", "start", "low", "high")


@njit
def vote(state: OnlineBBMState, h: Floats) -> float:
    return float(h.sum())  # line 3


@njit
def round(state: OnlineBBMState, h: Floats, y: float, p: Floats, t: Floats32, first: int, carry: Floats) -> None:
    N, (start, low, high) = state.start.size, (state.start[first:], state.low[first:], state.high[first:])
    s = carry[1]  # 0 before the first learner: line 4
    for j in range(h.size):  # line 5, in three loops: only the sum is one number after the other
        p[j] = s
        s += y * h[j]  # line 6, for the next learner
    carry[1] = s
    for j in range(h.size):
        i = first + j + 1
        k = int(math.floor((N - i - p[j] + 1) / 2))  # line 7
        near = min(max(k, low[j]), high[j])
        p[j] = start[j] + near if near == k else -1  # where the weight is; beyond the table it is 0
    for j in range(h.size):
        at = int(p[j])
        weight = state.table[u64(max(at, 0))]  # without an unpredictable branch
        p[j] = weight if at >= 0 else 0.0  # lines 8 and 9


def weight_table(N: int, b: float, normalizer: Normalizer, hard: bool) -> OnlineBBMState:
    """Lines 8 and 9 of the algorithm for every learner and every k that can occur."""
    least, most = reachable(N)
    low = least if hard else np.zeros(N, np.int64)
    high = most if hard else np.arange(N - 1, -1, -1)
    size = high - low + 1
    start = np.cumsum(size) - size - low
    table = filled(0, int(size.sum()))
    if not planning():
        _fill(table, start, low, high, least, most, b, NORMALIZERS.index(normalizer))
    return OnlineBBMState(table, start, low, high)


@njit
def _fill(
    table: Floats, start: Ints, low: Ints, high: Ints, least: Ints, most: Ints, b: float, normalizer: int
) -> None:
    N = start.size
    for i in range(1, N + 1):
        m = N - i
        first, last = low[i - 1], high[i - 1]
        row = table[start[i - 1] + first : start[i - 1] + last + 1]
        at, there = mode(m, b), (1.0, 0.0)  # "mode": the largest of all binomial weights becomes 1
        if normalizer == 0:  # "reachable": the largest weight that learner i can get becomes 1
            bottom, top = least[i - 1], most[i - 1]
            binomial(m, b, min(max(at, bottom), top), there, bottom, row[bottom - first : top - first + 1])
            row[: bottom - first] = row[bottom - first]  # real votes beyond -1 and +1 can lead farther
            row[top - first + 1 :] = row[top - first]
            continue
        if normalizer == 3:  # "none"
            there = peak(m, b, 1.0)
        elif normalizer == 2 and m > 0:  # "lemma": Lemma 4 with its constant, which is no bound for coins far from fair
            bounded = peak(m, b, math.sqrt(2 * math.pi * m * b * (1 - b)))
            there = bounded if bounded[0] < 1 else there
        binomial(m, b, at, there, first, row)


@dataclass(eq=False, repr=False)
class OnlineBBM(
    Booster,
    name="bbm",
    title="Online BBM",
    options=(*COMMON, GAMMA, _NORMALIZER, VOTES, HEAD),
    state=OnlineBBMState,
    vote=vote,
    round=round,
    credit=credit_sum,
):
    """Online BBM (Algorithm 1 of the paper), boost-by-majority: optimal if the learners' edge gamma is known.

    Parameters
    ----------
    estimator : estimator or None, default=None
        Weak learner; None: ``Linear()``. Any online classifier of River or scikit-learn works as well.
    n_estimators : int, default=21
        Number of weak learners N; odd numbers avoid ties.
    gamma : float, default=0.1
        Assumed edge of the weak learners over guessing, above 0 and below 1/2.
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is refused before anything is learned.
    delivery : {"auto", "weight", "sample"}, default="auto"
        Use of the weights: importance weights ("weight"), sampling probabilities ("sample"), or the form that the
        learner prefers ("auto").
    votes : {"hard", "real"}, default="hard"
        Votes of the learners: -1 or +1 ("hard", as in the paper), or real numbers ("real", as in Vowpal Wabbit; without
        guarantee).
    coin : "auto" or float, default="auto"
        Probability of heads. "auto" is 1/2 + gamma with importance weights and 1/2 + gamma/2 with sampling.
    normalizer : {"reachable", "mode", "lemma", "none"}, default="reachable"
        Divisor of the weights: the largest reachable weight ("reachable"; the first learner always gets 1), the largest
        binomial probability ("mode"), its bound ("lemma"), or 1 ("none").
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
    >>> from onlineboost import OnlineBBM
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_error
    >>> X, y = load_letter()
    >>> print(f"{progressive_error(OnlineBBM(), X, y):.3f}")
    0.310
    """

    advice = ADVICE_ON_GAMMA

    estimator: Any = None
    n_estimators: int = 21
    gamma: float = 0.1
    _: KW_ONLY
    delivery: Delivery = "auto"
    votes: Votes = "hard"
    coin: Coin = "auto"
    normalizer: Normalizer = "reachable"
    head: HeadName = "vote"
    random_state: Any = None
    n_jobs: int | None = None
    lag: int = 0
    class_weight: Any = None

    def initial_state(self, n_learners: int, sampled: bool, seed: int) -> OnlineBBMState:
        check_one_of("normalizer", self.normalizer, NORMALIZERS)
        b = bias(self.coin, self.gamma, sampled)
        return weight_table(n_learners, b, self.normalizer, self.votes == "hard")

    def certificate(self) -> Certificate:
        """The mistakes as T Phi_0(0) plus the deficit of each learner against its edge (Lemma 3).

        Returns
        -------
        Certificate
            The sum; ``print`` shows it.

        Examples
        --------
        >>> from onlineboost import OnlineBBM
        >>> from onlineboost.datasets import load_letter
        >>> print(OnlineBBM(n_estimators=5).fit(*load_letter()).certificate())
               6,122.0  mistakes on 20,000.0 examples
               6,348.8  if every learner had exactly its edge: 31.74%
                +488.7  added by learners below their edge
                -715.5  saved by learners above it
        Learner 3 costs most: 289.7 mistakes.
        """
        fitted = self._check_fitted()
        spec, settings, record = fitted.spec, fitted.root.settings, fitted.root.record
        if not settings.hard:
            raise ParameterError("votes", spec.votes, "'hard': there is no certificate for real votes")
        N, state = settings.n_learners, self._booster_state()
        b = bias(spec.coin, spec.gamma, settings.sample)
        # The divisor of the weights: the largest reachable weight over its entry in the table.
        largest = state.table[state.start + likeliest(N, b)]
        found = weight_norms(N, spec.gamma, b)
        norms = np.divide(found, largest, out=np.zeros(N), where=largest > 0)  # 0: weights below the smallest number
        deficits = norms * ((2 * b - 1) * record.weights - record.edges)
        return Certificate(float(record.totals[0]), phi0(N, spec.gamma, b), deficits, float(record.totals[1]))
