"""SafeBoost: several Online BBMs over a grid of gamma, the base learner, and combinations of their votes.

Learners belong to groups, one for each gamma; each group is an Online BBM. The answer is the vote of these experts,
weighted by AdaNormalHedge:

| expert | its answer |
| --- | --- |
| the base learner | the vote of learner 1, which sees every example |
| each group | its majority |
| the sum, the majority | of all learners; of the groups |
| the stack | a logistic regression on all real votes (``loop/heads.py``) |
| AdaBoost.OL | the vote of the base learner and the groups, with weights (alphas) learned by gradient descent |

So it is not much worse than any of them (Luo and Schapire, 2015), the base learner among them, and mostly better.
On short streams the search for the best expert costs a few percent (figures: ``docs/cli.md``).
The score is the stack's log odds if the answer has their sign, else almost 0: logistic(score) is a probability.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.boosters.adaboost_ol_plus import move
from onlineboost.boosters.base import COMMON, Booster, Delivery
from onlineboost.boosters.online_bbm import OnlineBBMState, weight_table
from onlineboost.boosters.shared import hedge
from onlineboost.boosters.shared.coin import bias
from onlineboost.compiled import dispatch
from onlineboost.compiled.jit import hot, njit, u64
from onlineboost.compiled.simd import count_ones, load, signs, zeros
from onlineboost.data.allocation import filled, planning
from onlineboost.data.batch import Floats, Floats32, Ints
from onlineboost.errors import ParameterError
from onlineboost.loop.explaining import credit_sum
from onlineboost.loop.heads import (
    StackHead,
    chance,
    check_calibration,
    learn_stack,
    log_odds,
    logistic,
    new_stack,
    shift,
    stack_answer,
    stack_slopes,
    with_sign,
)
from onlineboost.parameters import check_between
from onlineboost.storage.validity import SUM, Limits

_ALL_BITS = u64(0xFFFFFFFFFFFFFFFF)
_BLOCK, _ALONE = (0,) * 8, (0,)


class SafeState(NamedTuple):
    table: Floats  # weights of Online BBM for each learner, by the number of right votes before it in its group
    start: Ints  # [learners] where the weights of a learner begin
    begins: NDArray[np.bool_]  # [learners] whether it is the first of its group

    def derived(self) -> tuple[str, ...]:
        return ("table", "start", "begins")


@njit
def vote(state: SafeState, h: Floats) -> float:
    return float(h.sum())  # the head answers


@njit
def round(state: SafeState, h: Floats, y: float, p: Floats, t: Floats32, first: int, carry: Floats) -> None:
    right, start, begins = u64(carry[1]), state.start[first:], state.begins[first:]
    for i in range(h.size):
        right = u64(0) if begins[i] else right
        p[i] = state.table[u64(start[i]) + right]
        right += u64(1) if y * h[i] > 0 else u64(0)
    carry[1] = right


class SafeHead(NamedTuple):
    weights: Floats  # this and the next three: the stack, as in StackHead
    squares: Floats
    bins: Floats
    curve: Floats
    alpha: Floats  # [1 + groups] of AdaBoost.OL
    alpha_squares: Floats
    regret: Floats  # [experts]
    size: Floats
    shares: Floats  # weight of each expert's vote; computed from the two before
    bounds: Ints

    def derived(self) -> tuple[str, ...]:
        return ("bounds",)

    def limits(self) -> Limits:
        return {"squares": SUM, "bins": SUM, "alpha": (-2, 2), "alpha_squares": SUM, "size": SUM, "shares": (0, 2)}

    def check(self) -> None:
        check_calibration(self.bins, self.curve)


@hot
def answer(head: SafeHead, score: float, h: Floats32) -> float:
    log_odds = stack_answer(_stack(head), score, h)
    said = _weighted_vote(head, _expert_votes(head, log_odds, h))
    return with_sign(log_odds, said)


@hot
def _stack(head: SafeHead) -> StackHead:
    return StackHead(head.weights, head.squares, head.bins, head.curve)


@hot
def _expert_votes(head: SafeHead, log_odds: float, h: Floats32) -> int:
    """The experts' votes: bit k is set if expert k votes +1."""
    groups, n = head.bounds.size - 1, head.bounds[head.bounds.size - 1]
    opinions = 1 if h[0] >= 0 else 0
    g = first = votes = total = majorities = 0
    for start in range(0, n, 64):
        positive = _signs(h, start, min(start + 64, n))
        while g < groups and head.bounds[g + 1] <= start + 64:  # the group ends here
            last = head.bounds[g + 1]
            mine = _ALL_BITS >> u64(start + 64 - last)
            votes += count_ones(positive & mine)
            positive &= ~mine
            majority = 1 if 2 * votes >= last - first else 0
            g += 1
            opinions |= majority << g
            majorities += majority
            total += votes
            first, votes = last, 0
        votes += count_ones(positive)
    alphas = 0.0
    for k in range(groups + 1):
        alphas += head.alpha[k] if opinions >> k & 1 else -head.alpha[k]
    opinions |= (1 if 2 * total >= n else 0) << (groups + 1)
    opinions |= (1 if 2 * majorities >= groups else 0) << (groups + 2)
    opinions |= (1 if log_odds >= 0 else 0) << (groups + 3)
    return opinions | (1 if alphas >= 0 else 0) << (groups + 4)


@hot
def _signs(h: Floats32, first: int, last: int) -> Any:
    """Bit i is set if vote ``first + i`` is not negative, for at most 64 votes."""
    found = u64(0)
    whole = (last - first) // len(_BLOCK) * len(_BLOCK)
    for i in range(0, whole, len(_BLOCK)):
        found |= signs(load(h, first + i, zeros(_BLOCK))) << u64(i)
    for i in range(whole, last - first):
        found |= signs(load(h, first + i, zeros(_ALONE))) << u64(i)
    return found


@hot
def _weighted_vote(head: SafeHead, opinions: int) -> float:
    """The experts' weighted vote, from -1 to 1."""
    score = 0.0
    for k in range(head.shares.size):
        score += head.shares[k] if opinions >> k & 1 else -head.shares[k]
    return score


@hot
def trust(head: SafeHead, h: Floats32, slopes: Floats) -> bool:
    """The stack's weights of the votes; where the experts overrule it, that belongs to no vote."""
    stack_slopes(head.weights, h, slopes)
    return True


@hot
def correct(head: SafeHead, said: float, h: Floats32, y: float, weight: float) -> None:
    stack = _stack(head)
    raw = log_odds(stack, h)
    p = chance(raw)
    opinions = _expert_votes(head, raw + shift(stack, p), h)
    expected = (1 - y * _weighted_vote(head, opinions)) / 2
    for k in range(head.regret.size):
        right = (opinions >> k & 1) == (1 if y > 0 else 0)
        hedge.learn(head.regret, head.size, k, expected, 0.0 if right else 1.0)
    hedge.share(head.regret, head.size, head.shares)
    learn_stack(stack, p, h, y, weight)
    s = 0.0
    for k in range(head.alpha.size):
        z = y if opinions >> k & 1 else -y
        s += head.alpha[k] * z
        move(head.alpha, head.alpha_squares, k, z * logistic(-s))


dispatch.register(dispatch.answer, SafeHead, answer)
dispatch.register(dispatch.correct, SafeHead, correct)
dispatch.register(dispatch.trust, SafeHead, trust)


def _rows(group: OnlineBBMState) -> Iterator[Floats]:
    """The table of Online BBM and the zeros outside it, by the number c of right votes: k = N // 2 - c."""
    N = group.start.size
    for i in range(N if not planning() else 0):
        start, low, high = group.start[i], group.low[i], group.high[i]
        k = N // 2 - np.arange(i + 1)
        yield np.where((low <= k) & (k <= high), group.table[start + np.clip(k, low, high)], 0.0)


@dataclass(eq=False, repr=False)
class SafeBoost(
    Booster,
    name="safe",
    title="SafeBoost",
    options=COMMON,
    state=SafeState,
    vote=vote,
    round=round,
    credit=credit_sum,
):
    """Nothing to tune: as accurate as Online BBM with the best gamma; at worst a few percent behind the base learner.

    Parameters
    ----------
    estimator : estimator or None, default=None
        Weak learner; None: ``Linear()``.
    n_estimators : int, default=63
        Number of weak learners in total.
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is refused before anything is learned.
    gammas : tuple of float, default=(0.05, 0.15, 0.4)
        Assumed edges, above 0 and below 1/2; the learners are divided among them.
    delivery : {"auto", "weight", "sample"}, default="auto"
        Use of the weights: importance weights ("weight"), sampling probabilities ("sample"), or the form that the
        learner prefers ("auto").
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
    >>> from onlineboost import SafeBoost, Tree
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_error
    >>> X, y = load_letter()
    >>> print(f"{progressive_error(SafeBoost(Tree(3), random_state=0), X, y):.3f}")
    0.092
    """

    advice = "deeper trees, or other features"
    grouped = True

    estimator: Any = None
    n_estimators: int = 63
    _: KW_ONLY
    gammas: tuple[float, ...] = (0.05, 0.15, 0.4)
    delivery: Delivery = "auto"
    random_state: Any = None
    n_jobs: int | None = None
    lag: int = 0
    class_weight: Any = None

    def initial_state(self, n_learners: int, sampled: bool, seed: int) -> SafeState:
        bounds = self._bounds(n_learners)
        sizes = np.diff(bounds).tolist()
        table, at = filled(0, sum(size * (size + 1) // 2 for size in sizes)), 0
        for gamma, size in zip(self.gammas, sizes, strict=True):
            check_between("gammas", gamma, 0, 0.5)
            for row in _rows(weight_table(size, bias("auto", gamma, sampled), "reachable", hard=True)):
                table[at : at + row.size] = row
                at += row.size
        before = np.concatenate([np.arange(size) for size in sizes])  # learners of its group, for each learner
        return SafeState(table, np.cumsum(before + 1) - (before + 1), before == 0)

    def _bounds(self, n_learners: int) -> Ints:
        if not isinstance(self.gammas, tuple | list) or not 1 <= len(self.gammas) <= 50:
            raise ParameterError("gammas", self.gammas, "1 to 50 numbers")
        groups = len(self.gammas)
        if groups > n_learners:
            raise ParameterError("n_estimators", n_learners, f"at least {groups}, one for each of the gammas")
        return np.round(np.linspace(0, n_learners, groups + 1)).astype(np.int64)

    def _new_head(self, n_learners: int) -> Any:
        groups = len(self.gammas)
        alpha, experts = np.zeros(1 + groups), np.zeros(groups + 5)
        shares = np.full(experts.size, 1 / experts.size)
        parts = alpha, alpha.copy(), experts, experts.copy(), shares
        return SafeHead(*new_stack(n_learners), *parts, bounds=self._bounds(n_learners))
