"""Learners and examples needed for an error rate: Table 1 of the paper, in numbers.

An algorithm is named by its class: "OnlineBBM", "AdaBoostOL" or "OSBoost". "any" stands for the lower bounds of
Theorem 3, which hold for every booster.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from onlineboost.boosters.osboost import smooth_constants
from onlineboost.boosters.shared.majority import DELIVERIES, Delivery, edge, phi0
from onlineboost.errors import ParameterError
from onlineboost.parameters import check_between, check_one_of
from onlineboost.theory import bounds

LEAST_GAMMA = 1e-4  # below, hundreds of millions of learners would be needed
Algorithm = Literal["OnlineBBM", "AdaBoostOL", "OSBoost", "any"]
ALGORITHMS: tuple[Algorithm, ...] = ("OnlineBBM", "AdaBoostOL", "OSBoost", "any")


def n_learners(
    epsilon: float, gamma: float, *, coin: Delivery = "sample", exact: bool = True, algorithm: Algorithm = "OnlineBBM"
) -> int:
    """The number of learners with edge gamma for an error rate of epsilon, in the limit of many examples.

    | algorithm | exact | closed form | where |
    | --- | --- | --- | --- |
    | OnlineBBM | least odd N with Phi_0(0) <= epsilon | 2 ln(1/epsilon) / g^2 | Theorem 2 |
    | AdaBoostOL | 7.30 / (epsilon g^2) | 8 / (epsilon g^2) | Theorem 5 |
    | OSBoost | least N with osboost_bound's rate <= epsilon | 4 / (epsilon gamma^2) | Table 1 |
    | any | the same for a coin of 1/2 + 2 gamma | ln(1/epsilon) / (8 gamma^2) | Theorem 3 |

    where g is gamma for coin="sample" and 2 gamma for coin="weight". The closed forms, rounded up, are sufficient; the
    first and the last come from Hoeffding's inequality and are far from tight.

    Parameters
    ----------
    epsilon : float
        Error rate to reach, between 0 and 1.
    gamma : float
        Edge of the weak learners, above 0 and below 1/2.
    coin : {"sample", "weight"}, default="sample"
        Delivery of the weights: sampling, or importance weights.
    exact : bool, default=True
        Whether to compute the number itself; otherwise it is the closed form.
    algorithm : {"OnlineBBM", "AdaBoostOL", "OSBoost", "any"}, default="OnlineBBM"
        Name of the algorithm; "any": the lower bound for every booster.

    Returns
    -------
    int
        Number of learners.

    Examples
    --------
    >>> n_learners(0.01, 0.1, exact=False), n_learners(0.01, 0.1), n_learners(0.01, 0.1, coin="weight")
    (922, 539, 133)
    """
    check_between("epsilon", epsilon, 1e-300, 1)
    check_between("gamma", gamma, LEAST_GAMMA, 0.25 - 5e-10 if algorithm == "any" else 0.5)
    check_one_of("coin", coin, DELIVERIES)
    check_one_of("algorithm", algorithm, ALGORITHMS)
    if algorithm == "OSBoost":
        theta, log_base = smooth_constants(gamma)
        return math.ceil((1 / epsilon - 1) / (-log_base * theta) if exact else 4 / (epsilon * gamma**2))
    g = 4 * gamma if algorithm == "any" else edge(gamma, coin)
    if algorithm == "AdaBoostOL":
        return math.ceil((4 * math.log(2) * bounds.HEDGE["vote"] if exact else 8) / (epsilon * g**2))
    enough = math.ceil(2 * math.log(1 / epsilon) / g**2)
    return _least_majority(epsilon, gamma, 0.5 + g / 2, enough // 2) if exact else enough


def _least_majority(epsilon: float, gamma: float, b: float, enough: int) -> int:
    """The least odd number 2 j + 1 of coins whose majority is wrong with probability at most epsilon; j <= enough."""
    few = -1
    while enough - few > 1:
        j = (few + enough) // 2
        few, enough = (few, j) if phi0(2 * j + 1, gamma, b) <= epsilon else (j, enough)
    return 2 * enough + 1


def sample_complexity(
    epsilon: float,
    gamma: float,
    excess: float,
    *,
    algorithm: Algorithm = "OnlineBBM",
    coin: Delivery = "sample",
    delta: float = 0.05,
) -> int:
    """The number of examples after which the algorithm's bound on the error rate is at most epsilon.

    The learners have the excess loss ``excess``; their number is the one for epsilon / 2 in the limit, which leaves the
    other half to the excess. (For another number of learners use ``examples_for`` of its bound.) If S = O(1 / gamma),
    it is of order 1 / (epsilon gamma^2) for OnlineBBM and OSBoost, 1 / (epsilon^2 gamma^4) for AdaBoostOL (Table 1).

    For "any" it is the lower bound S / (8 epsilon gamma) for every booster, on average, if S >= ln(1/delta) / gamma:
    such learners may guess on the first S / (4 gamma) examples (Theorem 3).

    Parameters
    ----------
    epsilon : float
        Error rate to reach, between 0 and 1.
    gamma : float
        Edge of the weak learners, above 0 and below 1/2.
    excess : float
        Excess loss S of the weak learners, in examples.
    algorithm : {"OnlineBBM", "AdaBoostOL", "OSBoost", "any"}, default="OnlineBBM"
        Name of the algorithm; "any": the lower bound for every booster.
    coin : {"sample", "weight"}, default="sample"
        Delivery of the weights: sampling, or importance weights.
    delta : float, default=0.05
        Probability that the bound does not hold.

    Returns
    -------
    int
        Number of examples.

    Examples
    --------
    >>> sample_complexity(0.1, 0.1, 30, coin="weight"), sample_complexity(0.1, 0.1, 30, algorithm="any")
    (7014, 375)
    """
    check_one_of("algorithm", algorithm, ALGORITHMS)
    check_between("epsilon", epsilon, 0, 1)
    bounds.check_excess(excess)
    if algorithm == "any":
        check_between("gamma", gamma, 0, 0.25)
        if not excess >= default_excess(gamma, delta) * (1 - 1e-9):
            raise ParameterError("excess", excess, f"ln(1/delta) / gamma = {default_excess(gamma, delta):g} or more")
        return math.ceil(excess / (8 * epsilon * gamma))
    N = n_learners(epsilon / 2, gamma, coin=coin, algorithm=algorithm)
    bound = {
        "OnlineBBM": bounds.bbm_bound,
        "AdaBoostOL": bounds.adaboost_ol_bound_from_gamma,
        "OSBoost": bounds.osboost_bound,
    }[algorithm]
    return bound(1, N, gamma, excess, coin=coin, delta=delta).examples_for(epsilon)


def default_excess(gamma: float, delta: float) -> float:
    """ln(1/delta) / gamma: the excess loss of a learner with O(sqrt(T)) regret (after Lemma 2, and in Theorem 3).

    >>> round(default_excess(0.1, 0.05), 2)
    29.96
    """
    check_between("gamma", gamma, 0, 0.5)
    check_between("delta", delta, 0, 1)
    return math.log(1 / delta) / gamma


@dataclass(frozen=True)
class Table1Row:
    """Learners and examples that one algorithm needs.

    Parameters
    ----------
    algorithm : str
        Name of the algorithm.
    n_learners : int
        Number of learners.
    n_examples : int
        Number of examples.
    optimal : bool or None
        Whether the number of learners is optimal; None for the lower bound.
    adaptive : bool or None
        Whether the algorithm adapts to the edges of the learners; None for the lower bound.

    Examples
    --------
    >>> table1(0.1, 0.1).rows[0].n_learners
    269
    """

    algorithm: str
    n_learners: int
    n_examples: int
    optimal: bool | None
    adaptive: bool | None


@dataclass(frozen=True)
class Table1:
    """Learners and examples that each algorithm needs for an error rate of epsilon; ``str`` gives a readable table.

    Parameters
    ----------
    epsilon : float
        Error rate to reach, between 0 and 1.
    gamma : float
        Edge of the weak learners, above 0 and below 1/2.
    excess : float
        Excess loss S of the weak learners, in examples.
    rows : tuple of Table1Row
        The algorithms.

    Examples
    --------
    >>> len(table1(0.1, 0.1).rows)
    4
    """

    epsilon: float
    gamma: float
    excess: float
    rows: tuple[Table1Row, ...]

    def __str__(self) -> str:
        head = ("algorithm", "N", "T", "optimal", "adaptive")
        words = {True: "yes", False: "no", None: ""}
        cells = [
            (row.algorithm, f"{row.n_learners:,}", f"{row.n_examples:,}", words[row.optimal], words[row.adaptive])
            for row in self.rows
        ]
        widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
        lines = [
            f"error rate {self.epsilon:g} from learners with edge {self.gamma:g} and excess loss {self.excess:.4g}"
        ]
        for name, *others in (head, *cells):
            columns = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
            lines.append("  ".join((name.ljust(widths[0]), *columns)).rstrip())
        return "\n".join(lines)


def table1(
    epsilon: float, gamma: float, excess: float | None = None, *, coin: Delivery = "sample", delta: float = 0.05
) -> Table1:
    """The paper's Table 1 in numbers, and the lower bound for every booster (Theorem 3, for gamma < 1/4).

    Parameters
    ----------
    epsilon : float
        Error rate to reach, between 0 and 1.
    gamma : float
        Edge of the weak learners, above 0 and below 1/2.
    excess : float or None, default=None
        Excess loss S of the weak learners; None: ln(1/delta) / gamma, for learners with O(sqrt(T)) regret, as in the
        paper.
    coin : {"sample", "weight"}, default="sample"
        Delivery of the weights: sampling, or importance weights.
    delta : float, default=0.05
        Probability that the bound does not hold.

    Returns
    -------
    Table1
        The table; ``str`` makes it readable.

    Examples
    --------
    >>> print(table1(0.1, 0.1))
    error rate 0.1 from learners with edge 0.1 and excess loss 29.96
    algorithm         N               T  optimal  adaptive
    Online BBM      269          30,422      yes        no
    AdaBoost.OL  14,597  15,965,870,066       no       yes
    OSBoost       7,574          58,174       no        no
    lower bound       9             375
    """
    check_between("epsilon", epsilon, 0, 1)
    S = default_excess(gamma, delta) if excess is None else excess
    bounds.check_excess(S)
    names: tuple[tuple[Algorithm, str, bool | None, bool | None], ...] = (
        ("OnlineBBM", "Online BBM", True, False),
        ("AdaBoostOL", "AdaBoost.OL", False, True),
        ("OSBoost", "OSBoost", False, False),
        ("any", "lower bound", None, None),
    )
    rows = []
    for algorithm, name, optimal, adaptive in names:
        if algorithm == "any" and (gamma >= 0.25 or default_excess(gamma, delta) > S):
            continue
        N = n_learners(epsilon if algorithm == "any" else epsilon / 2, gamma, coin=coin, algorithm=algorithm)
        T = sample_complexity(epsilon, gamma, S, algorithm=algorithm, coin=coin, delta=delta)
        rows.append(Table1Row(name, N, T, optimal, adaptive))
    return Table1(epsilon, gamma, S, tuple(rows))
