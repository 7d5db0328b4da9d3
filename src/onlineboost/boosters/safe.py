"""SafeBoost: several Online BBMs over a grid of gamma, the base learner, and what can be made of their votes.

Learners belong to groups, one for each gamma, each taught as Online BBM would. The answer is the vote of these experts,
weighed by AdaNormalHedge:

| expert | says |
| --- | --- |
| the base learner | the vote of learner 1, which sees every example |
| each group | its majority |
| the sum, the majority | of all learners; of the groups |
| the stack | a logistic regression on all real votes (``heads.py``) |
| AdaBoost.OL | the vote of all learners, weighed by alphas that gradient descent finds |

So it is not much worse than any of them (Luo and Schapire, 2015), the base learner among them, and mostly better.
The score is the stack's log odds where the answer has their sign, else next to nothing: logistic(score) is a
probability.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np

from onlineboost import dispatch
from onlineboost._jit import hot, njit
from onlineboost.batch import Floats, Floats32, Ints
from onlineboost.boosters import hedge
from onlineboost.boosters.adaboost_ol_plus import move
from onlineboost.boosters.base import Booster, Delivery
from onlineboost.boosters.coin import bias
from onlineboost.boosters.online_bbm import round_of_group, weight_table
from onlineboost.errors import ParameterError
from onlineboost.heads import StackHead, logistic, new_stack, stack_answer, stack_correct
from onlineboost.parameters import check_between

_NEXT_TO_NOTHING = 1e-6


class SafeState(NamedTuple):
    table: Floats  # as those of OnlineBBMState, one group after the other
    start: Ints
    low: Ints
    high: Ints
    bounds: Ints  # [groups + 1] the first learner of each group


@njit
def vote(state: SafeState, h: Floats) -> float:
    return float(h.sum())  # the head answers


@njit
def round(state: SafeState, h: Floats, y: float, p: Floats) -> None:
    for g in range(state.bounds.size - 1):
        round_of_group(state, h, y, p, state.bounds[g], state.bounds[g + 1])


class SafeHead(NamedTuple):
    weights: Floats  # of the stack, as those of StackHead
    squares: Floats
    bins: Floats
    alpha: Floats  # [n_learners] of AdaBoost.OL
    alpha_squares: Floats
    regret: Floats  # [experts]
    size: Floats
    bounds: Ints


@hot
def answer(head: SafeHead, score: float, h: Floats32) -> float:
    log_odds = stack_answer(StackHead(head.weights, head.squares, head.bins), score, h)
    said = _weighed(head, _opinions(head, log_odds, h))
    if said * log_odds > 0:
        return log_odds
    return _NEXT_TO_NOTHING if said >= 0 else -_NEXT_TO_NOTHING


@hot
def _opinions(head: SafeHead, log_odds: float, h: Floats32) -> int:
    """What the experts say: bit k is set if expert k says +1."""
    groups = head.bounds.size - 1
    opinions = 1 if h[0] >= 0 else 0
    total = majorities = alphas = 0.0
    for g in range(groups):
        s = 0.0
        for i in range(head.bounds[g], head.bounds[g + 1]):
            vote = 1.0 if h[i] >= 0 else -1.0
            s += vote
            alphas += head.alpha[i] * vote
        total += s
        majorities += 1.0 if s >= 0 else -1.0
        opinions |= (1 if s >= 0 else 0) << (g + 1)
    opinions |= (1 if total >= 0 else 0) << (groups + 1)
    opinions |= (1 if majorities >= 0 else 0) << (groups + 2)
    opinions |= (1 if log_odds >= 0 else 0) << (groups + 3)
    return opinions | (1 if alphas >= 0 else 0) << (groups + 4)


@hot
def _weighed(head: SafeHead, opinions: int) -> float:
    """The experts' weighted vote, from -1 to 1."""
    top = hedge.largest(head.regret, head.size)
    total = score = 0.0
    for k in range(head.regret.size):
        w = hedge.weight(head.regret[k], head.size[k], top)
        total += w
        score += w if opinions >> k & 1 else -w
    return score / total


@hot
def correct(head: SafeHead, said: float, h: Floats32, y: float, weight: float) -> None:
    stack = StackHead(head.weights, head.squares, head.bins)
    opinions = _opinions(head, stack_answer(stack, 0.0, h), h)
    expected = (1 - y * _weighed(head, opinions)) / 2
    for k in range(head.regret.size):
        right = (opinions >> k & 1) == (1 if y > 0 else 0)
        hedge.learn(head.regret, head.size, k, expected, 0.0 if right else 1.0)
    stack_correct(stack, 0.0, h, y, weight)
    s = 0.0
    for i in range(head.alpha.size):
        z = y if h[i] >= 0 else -y
        s += head.alpha[i] * z
        move(head.alpha, head.alpha_squares, i, z * logistic(-s))


dispatch.register(dispatch.answer, SafeHead, answer)
dispatch.register(dispatch.correct, SafeHead, correct)


@dataclass(eq=False, repr=False)
class SafeBoost(Booster, state=SafeState, vote=vote, round=round):
    """Boosting with nothing to tune: as good as the best gamma, and never noticeably worse than the base learner.

    Parameters
    ----------
    estimator : the weak learner; None is ``Linear()``
    n_estimators : number of weak learners in all
    gammas : edges to be prepared for; the learners are divided among them
    delivery, random_state : as for ``OnlineBBM``

    Examples
    --------
    >>> from onlineboost import SafeBoost, Tree
    >>> from onlineboost.datasets import load_letter
    >>> X, y = load_letter()
    >>> scores = SafeBoost(Tree(3), random_state=0).progressive_fit(X, y)
    >>> float(((scores >= 0) != (y > 0)).mean().round(3))
    0.102
    """

    estimator: Any = None
    n_estimators: int = 63
    _: KW_ONLY
    gammas: tuple[float, ...] = (0.05, 0.15, 0.4)
    delivery: Delivery = "auto"
    random_state: Any = None

    def initial_state(self, n_learners: int, sampled: bool, seed: int) -> SafeState:
        bounds = self._bounds(n_learners)
        groups = []
        for gamma, size in zip(self.gammas, np.diff(bounds).tolist(), strict=True):
            check_between("gammas", gamma, 0, 0.5)
            groups.append(weight_table(size, bias("auto", gamma, sampled), "reachable", hard=True))
        offsets = np.cumsum([0, *(group.table.size for group in groups)])
        starts = [group.start + offset for group, offset in zip(groups, offsets[:-1], strict=True)]
        tables, _, lows, highs = zip(*groups, strict=True)
        table, start, low, high = (np.concatenate(parts) for parts in (tables, starts, lows, highs))
        return SafeState(table, start, low, high, bounds)

    def _bounds(self, n_learners: int) -> Ints:
        groups = len(self.gammas)
        if not 1 <= groups <= min(n_learners, 50):
            raise ParameterError(
                "n_estimators", n_learners, f"at least {groups}, one for each of the gammas, which are 1 to 50"
            )
        return np.round(np.linspace(0, n_learners, groups + 1)).astype(np.int64)

    def _new_head(self, n_learners: int) -> Any:
        stack = new_stack(n_learners)
        experts = len(self.gammas) + 5
        zeros = (np.zeros(n_learners), np.zeros(n_learners), np.zeros(experts), np.zeros(experts))
        return SafeHead(*stack, *zeros, self._bounds(n_learners))
