"""Online MBBM, boost-by-majority for many classes (Algorithm 1 of Jung, Goetz and Tewari 2017, for the 0/1 loss).

| paper | here | meaning |
| --- | --- | --- |
| N | ``n_estimators`` | number of weak learners |
| k | ``die.rivals`` + 1 | number of classes |
| l_t^i | ``h[i - 1]`` | the class that learner i votes for |
| s_t^i | ``s`` | number of votes for each class, of the learners up to i |
| u_gamma^r, phi_n^r | ``die`` | what stands for the votes to come, and its potentials (``shared/plurality.py``) |
| C_t^i[y, l] | | phi_{N - i}^y(s_t^{i - 1} + e_l), the cost of voting for l |
| w^i[t] | ``w`` | sum over l of C_t^i[y, l] - C_t^i[y, y] |
| w^i[t] / max w^i | ``p[i - 1]`` | weight of the example for learner i, or the probability that it gets it |

With two classes this is Online BBM, with the coin 1/2 + gamma/2 and the normalizer "mode".
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np

from onlineboost.boosters.base import COMMON, GAMMA, Booster, Delivery
from onlineboost.boosters.shared.class_booster import ClassBooster
from onlineboost.boosters.shared.plurality import MAX_THROWS, Die, largest_weights, new_die, weigh
from onlineboost.compiled.jit import hot, njit
from onlineboost.data.batch import Floats, Floats32
from onlineboost.loop.explaining_classes import credit_classes
from onlineboost.parameters import check_between


class OnlineMBBMState(NamedTuple):
    die: Die
    largest: Floats  # [learners] the largest weight for each learner

    def derived(self) -> tuple[str, ...]:
        return ("largest",)


@hot
def lead(state: OnlineMBBMState, h: Floats, e: Floats, first: int, carry: Floats) -> None:
    for i in range(h.size):
        e[i] = h[i]
        carry[1 + int(h[i])] += 1


@hot
def vote(state: OnlineMBBMState, e: Floats, scores: Floats) -> None:
    """The scores are the numbers of votes."""


@hot
def credit(state: OnlineMBBMState, h: Floats, e: Floats, slopes: Floats, leading: bool) -> None:
    credit_classes(slopes)


@njit
def round(state: OnlineMBBMState, h: Floats, y: float, p: Floats, t: Floats32, first: int, carry: Floats) -> None:
    N, s, k = state.largest.size, carry[1:], carry.size - 1
    ahead, among, work = np.empty(k, np.int64), np.empty(k, np.int64), np.empty((2, N + 1))
    known = -1.0
    for j in range(h.size):
        i = first + j + 1
        w, known = weigh(state.die, s, int(y), N - i, known, ahead, among, work)
        p[j] = w / state.largest[i - 1]
        s[int(h[j])] += 1
        if h[j] != y:
            known = -1.0


@dataclass(eq=False, repr=False)
class OnlineMBBM(
    ClassBooster,
    Booster,
    name="mbbm",
    title="Online MBBM",
    options=(*COMMON, GAMMA),
    state=OnlineMBBMState,
    vote=vote,
    round=round,
    lead=lead,
    credit=credit,
):
    """Online MBBM (Jung, Goetz and Tewari 2017): boost-by-majority of multiclass learners.

    Parameters
    ----------
    estimator : estimator or None, default=None
        Weak learner that votes for classes; None: ``ClassTree()``. Any online classifier of River or scikit-learn works
        as well.
    n_estimators : int, default=21
        Number of weak learners N, at most 150.
    gamma : float, default=0.1
        Assumed edge of the weak learners over guessing, above 0 and below 1: with k classes they are right with
        probability (1 - gamma) / k + gamma.
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is refused before anything is learned.
    delivery : {"auto", "weight", "sample"}, default="auto"
        Use of the weights: importance weights ("weight"), sampling probabilities ("sample"), or the form that the
        learner prefers ("auto").
    random_state : int, NumPy generator or None, default=None
        Random seed, for sampling; None: a new seed for each ``fit``.
    n_jobs : int or None, default=None
        Number of threads that predict; None: 1, -1: one for each core. One thread learns.
    lag : int, default=0
        Number of lagged labels that are features of each row: ``label[-1]``, ``label[-2]``, ...; 0: none.
    class_weight : dict, "balanced" or None, default=None
        Factor of the weight of a row by its label. "balanced": the rarer the label, the larger the factor.

    Examples
    --------
    >>> from onlineboost import OnlineMBBM
    >>> from onlineboost.datasets import load_letter
    >>> X, y = load_letter(letters=True)
    >>> model = OnlineMBBM(random_state=0).fit(X[:4000], y[:4000])
    >>> f"{model.score(X[4000:], y[4000:]):.3f}"
    '0.784'
    """

    max_learners = MAX_THROWS - 1

    estimator: Any = None
    n_estimators: int = 21
    gamma: float = 0.1
    _: KW_ONLY
    delivery: Delivery = "auto"
    random_state: Any = None
    n_jobs: int | None = None
    lag: int = 0
    class_weight: Any = None

    def _state_for(self, n_classes: int, n_learners: int, seed: int, before: Any = None) -> OnlineMBBMState:
        check_between("gamma", self.gamma, 0, 1)
        die = new_die(n_learners, n_classes, float(self.gamma))
        return OnlineMBBMState(die, largest_weights(die, n_learners))
