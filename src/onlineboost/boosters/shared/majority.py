"""Online BBM's potentials and weights (section 3.1): a biased coin stands for the votes that are still to come.

| paper | here | meaning |
| --- | --- | --- |
| N | ``n_learners`` | number of weak learners |
| s | ``s`` | sum of y h over the votes so far |
| 1/2 + gamma/2 | ``b`` | the coin's probability of heads; 1/2 + gamma for importance weights |
| Phi_i(s) | ``phi`` | the chance that the majority errs, if the coin decides the votes after learner i |
| w^i(s) | ``weight`` | half the chance that learner i's vote decides |

In every function ``coin`` is the delivery, "sample" or "weight", or the probability b.
"""

from __future__ import annotations

import math
import numbers
from typing import Literal

import numpy as np

from onlineboost.boosters.shared.coin import bias, binomial, largest, mode, peak
from onlineboost.data.batch import Floats, Ints
from onlineboost.errors import ParameterError
from onlineboost.parameters import check_count, check_one_of

Delivery = Literal["sample", "weight"]
DELIVERIES: tuple[Delivery, ...] = ("sample", "weight")


def phi(i: int, s: int, n_learners: int, gamma: float, coin: Delivery | float = "sample") -> float:
    """The potential Phi_i(s), i = 0, ..., N: Pr[at most (N - i - s) / 2 heads in N - i tosses].

    The formula after Lemma 3. It solves equation (4) with equality: Phi_N(s) is 1 if s <= 0 and 0 otherwise, and
    Phi_{i-1}(s) = (1 - b) Phi_i(s - 1) + b Phi_i(s + 1).

    Parameters
    ----------
    i : int
        Number of learners that have voted, from 0 to N.
    s : int
        Sum of y h over the learners so far: correct votes minus wrong votes.
    n_learners : int
        Number of weak learners N.
    gamma : float
        Edge of the weak learners, above 0 and below 1/2.
    coin : {"sample", "weight"} or float, default="sample"
        Delivery of the weights, which gives the probability of heads b, or b itself.

    Returns
    -------
    float
        The potential, from 0 to 1.

    Examples
    --------
    >>> round(phi(0, 0, 3, 0.1), 5)  # 0.45^3 + 3 * 0.55 * 0.45^2
    0.42525
    """
    b = heads(coin, gamma)
    m = _tosses(i, 0, s, n_learners)
    k = (m - int(s)) // 2
    if k < 0 or k >= m:
        return float(k >= m)
    return min(1.0, math.fsum(_probabilities(m, b, 0, k)))


def phi0(n_learners: int, gamma: float, coin: Delivery | float = "sample") -> float:
    """Phi_0(0): the error rate that N learners are guaranteed to reach; at most exp(-N g^2 / 2), where g = 2 b - 1.

    Lemma 3 and the proof of Theorem 2. A tie counts as an error, so one learner more is worse if it makes N even.

    Parameters
    ----------
    n_learners : int
        Number of weak learners N.
    gamma : float
        Edge of the weak learners, above 0 and below 1/2.
    coin : {"sample", "weight"} or float, default="sample"
        Delivery of the weights, which gives the probability of heads b, or b itself.

    Returns
    -------
    float
        The error rate.

    Examples
    --------
    >>> [round(phi0(N, 0.2), 4) for N in (9, 10, 11)]
    [0.2666, 0.3669, 0.2465]
    """
    return phi(0, 0, n_learners, gamma, coin)


def weight(i: int, s: int, n_learners: int, gamma: float, coin: Delivery | float = "sample") -> float:
    """The weight w^i(s), i = 1, ..., N: half of Pr[k heads in N - i tosses], k = floor((N - i - s + 1) / 2).

    Equation (5); equal to (Phi_i(s - 1) - Phi_i(s + 1)) / 2. Here s is the sum before learner i.

    Parameters
    ----------
    i : int
        Number of the learner, from 1 to N.
    s : int
        Sum of y h over the learners before it: correct votes minus wrong votes.
    n_learners : int
        Number of weak learners N.
    gamma : float
        Edge of the weak learners, above 0 and below 1/2.
    coin : {"sample", "weight"} or float, default="sample"
        Delivery of the weights, which gives the probability of heads b, or b itself.

    Returns
    -------
    float
        The weight, from 0 to 1/2.

    Examples
    --------
    >>> weight(1, 0, 3, 0.1)  # 0.55 * 0.45
    0.2475
    """
    b = heads(coin, gamma)
    m = _tosses(i, 1, s, n_learners)
    k = (m - int(s) + 1) // 2
    return float(_probabilities(m, b, k, k)[0]) / 2 if 0 <= k <= m else 0.0


def weight_norms(n_learners: int, gamma: float, coin: Delivery | float = "sample") -> Floats:
    """The largest weight of each learner, ||w^i||_inf: over all s that i - 1 votes can lead to.

    It is that of the most probable k, or of the reachable k nearest to it. Lemma 4 bounds it by O(1 / sqrt(N - i)). The
    last learner's is 1/2, which the sum in the paper's proof of Theorem 2 leaves out.

    Parameters
    ----------
    n_learners : int
        Number of weak learners N.
    gamma : float
        Edge of the weak learners, above 0 and below 1/2.
    coin : {"sample", "weight"} or float, default="sample"
        Delivery of the weights, which gives the probability of heads b, or b itself.

    Returns
    -------
    array of shape (n_learners,)
        The largest weight of each learner.

    Examples
    --------
    >>> weight_norms(3, 0.1).round(5).tolist()
    [0.2475, 0.275, 0.5]
    """
    check_count("n_learners", n_learners)
    N, b = int(n_learners), heads(coin, gamma)
    return largest(b, likeliest(N, b)) / 2


def likeliest(N: int, b: float) -> Ints:
    """The reachable k with the largest weight, for each learner."""
    least, most = reachable(N)
    modes = np.array([mode(N - i, b) for i in range(1, N + 1)])
    found: Ints = np.clip(modes, least, most)
    return found


def reachable(N: int) -> tuple[Ints, Ints]:
    """The smallest and the largest k for each learner: N // 2 - c, if c of the hard votes before it were right."""
    i = np.arange(1, N + 1)
    return np.maximum(0, N // 2 - i + 1), np.minimum(N - i, N // 2)


def penalty(n_learners: int, gamma: float, coin: Delivery | float = "sample") -> float:
    """The sum of ``weight_norms``: mistakes for each unit of the learners' excess loss (Lemma 3).

    Theorem 2's O(sqrt(N)); in all cases that the tests try it is below 1/2 + sqrt(2 N / (pi (1 - g^2))), where g = 2 b
    - 1.

    Parameters
    ----------
    n_learners : int
        Number of weak learners N.
    gamma : float
        Edge of the weak learners, above 0 and below 1/2.
    coin : {"sample", "weight"} or float, default="sample"
        Delivery of the weights, which gives the probability of heads b, or b itself.

    Returns
    -------
    float
        The sum.

    Examples
    --------
    >>> round(penalty(101, 0.1), 3)
    7.568
    """
    return math.fsum(weight_norms(n_learners, gamma, coin))


def heads(coin: Delivery | float, gamma: float) -> float:
    """The coin's probability of heads.

    >>> heads("sample", 0.1), heads("weight", 0.1), heads(0.7, 0.1)
    (0.55, 0.6, 0.7)
    """
    if isinstance(coin, str):
        check_one_of("coin", coin, DELIVERIES)
        return bias("auto", gamma, coin == "sample")
    return bias(coin, gamma, sampled=False)


def edge(gamma: float, coin: Delivery) -> float:
    """g: the guaranteed w.z / ||w||_1 in the long run, by Lemma 1 (sampling) or equation (3) (weights).

    >>> edge(0.1, "sample"), edge(0.1, "weight")
    (0.1, 0.2)
    """
    return gamma if coin == "sample" else 2 * gamma


def _tosses(i: int, first: int, s: int, n_learners: int) -> int:
    """N - i; an error unless i is one of first, ..., N and s is whole."""
    check_count("n_learners", n_learners)
    if not isinstance(i, numbers.Integral) or not first <= i <= n_learners:
        raise ParameterError("i", i, f"a whole number from {first} to {n_learners}")
    if not isinstance(s, numbers.Integral):
        raise ParameterError("s", s, "a whole number")
    return int(n_learners) - int(i)


def _probabilities(m: int, b: float, low: int, high: int) -> Floats:
    """Pr[k heads in m tosses] for k = low, ..., high."""
    found = np.empty(high - low + 1)
    binomial(m, b, mode(m, b), peak(m, b, 1.0), low, found)
    return found
