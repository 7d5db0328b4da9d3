"""Upper bounds on the boosters' mistakes, with the constants that the paper hides in O(.).

| paper | here | meaning |
| --- | --- | --- |
| T, N | ``n_examples``, ``n_learners`` | |
| gamma, S | ``gamma``, ``excess`` | a learner makes at most (1/2 - gamma) T + S mistakes: equations (1) and (2) |
| S-tilde | ``weighted_excess`` | the same for weights: w.z >= g ||w||_1 - S-tilde ||w||_inf, Lemma 1 and equation (3) |
| gamma_i | ``edges`` / 2 | measured edge of learner i: w.z / (2 ||w||_1) |

Here g is the guaranteed edge of a learner: gamma with sampling, 2 gamma with weights.
The bounds hold for hard votes, examples of weight 1 and, for Online BBM, normalizer="reachable".
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from onlineboost.boosters.osboost import smooth_constants
from onlineboost.boosters.shared.majority import DELIVERIES, Delivery, edge, penalty, phi0
from onlineboost.data.batch import Floats
from onlineboost.errors import ParameterError
from onlineboost.parameters import check_between, check_count, check_one_of

Expert = Literal["vote", "random"]
# Hedge with learning rate 1 makes at most this many times m + ln N mistakes, if the best of N experts makes m.
HEDGE = {"vote": 1 / math.log(2 / (1 + math.exp(-1))), "random": 1 / (1 - math.exp(-1))}
# The regret of line 13 of Algorithm 2 over sqrt(T): 3/2 times the diameter 4 of [-2, 2]. The paper's 4 is too small.
DESCENT = 6.0


@dataclass(frozen=True)
class Bound:
    """Bound on the number of mistakes: ``rate`` T + ``root`` sqrt(T) + ``excess`` on T = ``n_examples`` examples.

    Parameters
    ----------
    n_examples : int
        Number of examples T.
    rate : float
        Mistakes per example, in the limit of many examples.
    root : float
        Mistakes per square root of T.
    excess : float
        Mistakes that do not depend on T.

    Examples
    --------
    >>> bound = Bound(1000, rate=0.1, root=2.0, excess=30.0)
    >>> round(bound.mistakes, 2), bound.vacuous, bound.examples_for(0.2)
    (193.25, False, 900)
    """

    n_examples: int
    rate: float
    root: float
    excess: float

    @property
    def mistakes(self) -> float:
        """The bound itself."""
        return self.rate * self.n_examples + self.root * math.sqrt(self.n_examples) + self.excess

    @property
    def error(self) -> float:
        """The bound on the error rate."""
        return self.mistakes / self.n_examples

    @property
    def vacuous(self) -> bool:
        """Whether the bound is at least the number of examples, and so says nothing."""
        return self.error >= 1

    def examples_for(self, epsilon: float) -> int:
        """The number of examples after which the bound on the error rate is at most epsilon."""
        check_between("epsilon", epsilon, 0, 1)
        left = epsilon - self.rate
        if left <= 0:
            raise ParameterError("epsilon", epsilon, f"more than {self.rate:g}, the limit for any number of examples")
        root = (self.root + math.sqrt(self.root**2 + 4 * left * self.excess)) / (2 * left)
        return max(1, math.ceil(root**2))


def excess_from_regret(c: float, gamma: float) -> float:
    """The excess loss S = max_T (R(T) - gamma T) = c^2 / (4 gamma) of a learner whose regret is R(T) = c sqrt(T).

    Lemma 2. Its class must contain a hypothesis with edge 2 gamma on any examples; half of this edge is lost to
    learning.

    Parameters
    ----------
    c : float
        Factor of the regret.
    gamma : float
        Edge of the weak learners, above 0 and below 1/2.

    Returns
    -------
    float
        The excess loss, in examples.

    Examples
    --------
    >>> excess_from_regret(2.0, 0.1)
    10.0
    """
    check_between("c", c, 0, math.inf)
    check_between("gamma", gamma, 0, 0.5)
    return c**2 / (4 * gamma)


def weighted_excess(
    excess: float, gamma: float, n_learners: int, *, coin: Delivery = "sample", delta: float = 0.05
) -> float:
    """S-tilde: 2 S for weights (equation 3), 2 S + (1 + 2 gamma)^2 / (2 gamma) ln(N / delta) for sampling (Lemma 1).

    The latter holds for all T and all N learners at once with probability 1 - delta, in addition to the learners' own
    delta. It replaces the paper's O~(1 / gamma), by a supermartingale: if v = 1{mistake} - 1/2 + gamma and B is 1 with
    probability p (the example is shown), then E exp(a (p - B) v - a p gamma / 2) <= 1 for
    a = 4 gamma / (1 + 2 gamma)^2.

    Parameters
    ----------
    excess : float
        Excess loss S of the weak learners, in examples.
    gamma : float
        Edge of the weak learners, above 0 and below 1/2.
    n_learners : int
        Number of weak learners N.
    coin : {"sample", "weight"}, default="sample"
        Delivery of the weights: sampling, or importance weights.
    delta : float, default=0.05
        Probability that the bound does not hold.

    Returns
    -------
    float
        The excess loss of weighted learners, S-tilde.

    Examples
    --------
    >>> weighted_excess(30, 0.1, 101, coin="weight"), round(weighted_excess(30, 0.1, 101), 1)
    (60.0, 114.8)
    """
    check_between("gamma", gamma, 0, 0.5)
    check_between("delta", delta, 0, 1)
    check_count("n_learners", n_learners)
    check_one_of("coin", coin, DELIVERIES)
    check_excess(excess)
    sampling = (1 + 2 * gamma) ** 2 / (2 * gamma) * math.log(n_learners / delta) if coin == "sample" else 0.0
    return 2.0 * excess + sampling


def check_excess(excess: object) -> None:
    if not isinstance(excess, numbers.Real) or not 0 <= float(excess) < math.inf:
        raise ParameterError("excess", excess, "a number of at least 0")


def bbm_bound(
    n_examples: int, n_learners: int, gamma: float, excess: float, *, coin: Delivery = "sample", delta: float = 0.05
) -> Bound:
    """Bound on Online BBM's mistakes: Phi_0(0) T + S-tilde sum_i ||w^i||_inf (Lemma 3, Theorem 2).

    Parameters
    ----------
    n_examples : int
        Number of examples T.
    n_learners : int
        Number of weak learners N.
    gamma : float
        Edge of the weak learners, above 0 and below 1/2.
    excess : float
        Excess loss S of the weak learners, in examples.
    coin : {"sample", "weight"}, default="sample"
        Delivery of the weights: sampling, or importance weights.
    delta : float, default=0.05
        Probability that the bound does not hold.

    Returns
    -------
    Bound
        The bound.

    Examples
    --------
    >>> bound = bbm_bound(20_000, 101, 0.1, 30, coin="weight")
    >>> round(bound.rate, 4), round(bound.excess), round(bound.error, 4)
    (0.0209, 446, 0.0432)
    """
    check_count("n_examples", n_examples)
    each = weighted_excess(excess, gamma, n_learners, coin=coin, delta=delta)
    return Bound(n_examples, phi0(n_learners, gamma, coin), 0.0, each * penalty(n_learners, gamma, coin))


def adaboost_ol_bound(n_examples: int, edges: Sequence[float] | Floats, *, expert: Expert = "vote") -> Bound:
    """Bound on AdaBoost.OL's mistakes from the measured edges of its learners, ``model.edges_`` (Theorem 4).

    At most c (m + ln N), where m = (T ln 2 + 6 N sqrt(T)) / sum_i gamma_i^2 bounds the best expert's mistakes and
    gamma_i is half of edges[i - 1]. For a "random" expert c = 1.582, and the bound is on the expected number; for the
    experts' "vote" c = 2.633. The paper has c = 2 and drops ln 2. Mostly vacuous in practice: see ``vacuous``.

    Parameters
    ----------
    n_examples : int
        Number of examples T.
    edges : array of shape (n_learners,)
        Edges of the learners, from 0 to 1, as in ``model.edges_``.
    expert : {"vote", "random"}, default="vote"
        Combination of the experts, as for ``AdaBoostOL``.

    Returns
    -------
    Bound
        The bound.

    Examples
    --------
    >>> adaboost_ol_bound(100_000, [0.4] * 100, expert="random").vacuous
    True
    >>> round(adaboost_ol_bound(100_000_000, [0.4] * 100, expert="random").error, 3)
    0.298
    """
    check_count("n_examples", n_examples)
    try:
        found = np.asarray(edges, float)
    except (TypeError, ValueError):
        found = np.full(1, np.nan)
    if found.ndim != 1 or found.size == 0 or not (np.abs(found) <= 1).all():
        raise ParameterError("edges", edges, "a number from -1 to 1 for each learner, as in model.edges_")
    return _adaboost_ol(n_examples, found.size, float((found**2).sum()) / 4, 0.0, expert)


def adaboost_ol_bound_from_gamma(
    n_examples: int,
    n_learners: int,
    gamma: float,
    excess: float,
    *,
    coin: Delivery = "sample",
    expert: Expert = "vote",
    delta: float = 0.05,
) -> Bound:
    """Bound on AdaBoost.OL's mistakes if every learner has the edge gamma (Theorem 5).

    As for ``adaboost_ol_bound``, with m = 4 (T ln 2 + 6 N sqrt(T) + N g S-tilde) / (g^2 N). The paper has 8 T /
    (gamma^2 N) plus lower-order terms, for sampling.

    Parameters
    ----------
    n_examples : int
        Number of examples T.
    n_learners : int
        Number of weak learners N.
    gamma : float
        Edge of the weak learners, above 0 and below 1/2.
    excess : float
        Excess loss S of the weak learners, in examples.
    coin : {"sample", "weight"}, default="sample"
        Delivery of the weights: sampling, or importance weights.
    expert : {"vote", "random"}, default="vote"
        Combination of the experts, as for ``AdaBoostOL``.
    delta : float, default=0.05
        Probability that the bound does not hold.

    Returns
    -------
    Bound
        The bound.

    Examples
    --------
    >>> bound = adaboost_ol_bound_from_gamma(10**9, 10_000, 0.1, 30, expert="random")
    >>> round(bound.rate, 4), round(bound.error, 4)
    (0.0439, 0.1639)
    """
    check_count("n_examples", n_examples)
    each = weighted_excess(excess, gamma, n_learners, coin=coin, delta=delta)
    g = edge(gamma, coin)
    return _adaboost_ol(n_examples, n_learners, n_learners * g**2 / 4, n_learners * g * each, expert)


def _adaboost_ol(n_examples: int, n_learners: int, squares: float, loss: float, expert: Expert) -> Bound:
    """From the proof of Theorem 4: ``squares`` times the best expert's mistakes <= T ln 2 + 6 N sqrt(T) + loss."""
    check_one_of("expert", expert, tuple(HEDGE))
    c = HEDGE[expert]
    if squares == 0:
        return Bound(n_examples, math.inf, 0.0, 0.0)
    rate, root = math.log(2) / squares, DESCENT * n_learners / squares
    return Bound(n_examples, c * rate, c * root, c * (loss / squares + math.log(n_learners)))


def osboost_bound(
    n_examples: int, n_learners: int, gamma: float, excess: float, *, coin: Delivery = "sample", delta: float = 0.05
) -> Bound:
    """Bound on OSBoost's mistakes: (T / a + N S-tilde) / (N theta + 1 / a), where a = -ln(1 - gamma) / 2.

    The paper cites Chen, Lin and Lu (2012) for the order: an error rate of O(1 / (N gamma^2)) plus S / gamma mistakes.
    The constants here are our own. With f(z) = min(exp(-a z), 1) and F its integral from 0, steps d = y h - theta obey
    f(z) d <= F(z + d) - F(z) + e f(z), where e = (exp(a (1 + theta)) - 1) / a - (1 + theta) <= gamma - theta. Summed
    over all learners and examples, the left side is at least e times the weights minus N S-tilde; on the right an
    example adds at most 1 / a, and a mistake of the vote at most -N theta.

    Parameters
    ----------
    n_examples : int
        Number of examples T.
    n_learners : int
        Number of weak learners N.
    gamma : float
        Edge of the weak learners, above 0 and below 1/2.
    excess : float
        Excess loss S of the weak learners, in examples.
    coin : {"sample", "weight"}, default="sample"
        Delivery of the weights: sampling, or importance weights.
    delta : float, default=0.05
        Probability that the bound does not hold.

    Returns
    -------
    Bound
        The bound.

    Examples
    --------
    >>> bound = osboost_bound(100_000, 4_000, 0.1, 30, coin="weight")
    >>> round(bound.rate, 4), round(bound.excess), round(bound.error, 4)
    (0.0906, 1146, 0.1021)
    """
    check_count("n_examples", n_examples)
    each = weighted_excess(excess, gamma, n_learners, coin=coin, delta=delta)
    theta, log_base = smooth_constants(gamma)
    longest = -1 / log_base
    room = n_learners * theta + longest
    return Bound(n_examples, longest / room, 0.0, n_learners * each / room)
