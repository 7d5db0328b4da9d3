"""Online MBBM's potentials, exactly: a die stands for the votes that are still to come.

| paper | here | meaning |
| --- | --- | --- |
| k | ``rivals`` + 1 | number of classes |
| u^r | ``a`` for the class r, ``q`` for each other | the die: (1 - gamma) / k for each class, and gamma more for r |
| s | ``s`` | number of votes so far, for each class |
| phi_n^r(s) | 1 - ``win`` | the chance that r has not more votes than each other class, after n throws more |

With m throws for r and j = n - m for the others, r wins if each other class l has at most c_l = s_r + m - 1 - s_l of
them. The chance of that is j! times the coefficient of x^j in the product over l of T_c(x / rivals), where T_c is the
series of exp to degree c. Powers of these series are in tables, and classes with equally many votes are one factor. All
terms are positive, so little is lost by rounding.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import lean, njit
from onlineboost.data.allocation import filled, planning
from onlineboost.data.batch import Floats
from onlineboost.data.classes import MAX_CLASSES
from onlineboost.parameters import check_between, check_count, check_whole

MAX_THROWS = 150  # beyond it, 1 / j! is too small for float64
_DIGIT = 64  # powers above it are products of two


class Die(NamedTuple):
    """The die, and tables for up to ``factorial.size - 1`` throws; all follow from the parameters."""

    low: NDArray[np.float64]  # [g, c, j] the coefficient of x^j in T_c(x / scale)^g
    high: NDArray[np.float64]  # [g, c, j] the same of the power 64 g
    factorial: Floats
    rivals: int
    scale: float  # a power of two, at least the number of rivals
    a: float
    q: float

    def derived(self) -> tuple[str, ...]:
        return ("low", "high", "factorial")


def new_die(throws: int, n_classes: int, gamma: float) -> Die:
    rivals, q = n_classes - 1, (1 - gamma) / n_classes
    scale = 1 << (rivals - 1).bit_length()
    low, high = _tables(throws, scale) if not planning() else (filled(0, (0, 0, 0)), filled(0, (0, 0, 0)))
    factorial = np.cumprod(np.maximum(np.arange(throws + 1.0), 1))
    return Die(low, high, factorial, rivals, float(scale), q + gamma, q)


@functools.lru_cache(8)
def _tables(throws: int, scale: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    low = np.zeros((min(scale, _DIGIT - 1) + 1, throws + 1, throws + 1))
    high = np.zeros((scale // _DIGIT + 1, throws + 1, throws + 1))
    _fill(low, high, float(scale))
    return low, high


@njit
def _fill(low: NDArray[np.float64], high: NDArray[np.float64], scale: float) -> None:
    size = low.shape[1]
    for c in range(size):
        low[0, c, 0] = high[0, c, 0] = low[1, c, 0] = 1.0
        for j in range(1, c + 1):
            low[1, c, j] = low[1, c, j - 1] / (j * scale)
        for g in range(2, low.shape[0]):
            _times(low[g - 1, c], low[1, c], size - 1, low[g, c])
        for g in range(1, high.shape[0]):
            if g == 1:
                _times(low[low.shape[0] - 1, c], low[1, c], size - 1, high[g, c])
            else:
                _times(high[g - 1, c], high[1, c], size - 1, high[g, c])


@lean
def _times(a: Floats, b: Floats, degree: int, product: Floats) -> None:
    for j in range(degree + 1):
        product[j] = 0.0
    for i in range(degree + 1):
        if b[i] != 0:
            for j in range(i, degree + 1):
                product[j] += b[i] * a[j - i]


@lean
def _coefficient(a: Floats, b: Floats, j: int) -> float:
    """That of x^j in the product of two series."""
    total = 0.0
    for i in range(j + 1):
        total += a[i] * b[j - i]
    return total


@lean
def win(die: Die, n: int, ahead: NDArray[np.int64], among: NDArray[np.int64], groups: int, work: Floats) -> float:
    """The probability that the class wins after n more throws, if it is ``ahead[k]`` votes ahead of ``among[k]`` rivals
    each.

    ``ahead`` goes up; ``work`` is memory, [2, throws + 1].
    """
    if ahead[0] + n <= 0 or ahead[0] > n:
        return 1.0 if ahead[0] > n else 0.0
    total, share = 0.0, die.q * die.scale
    for m in range(max(0, 1 - ahead[0]), n + 1):
        j = n - m
        free = 0  # rivals that would need more than all j votes
        bound = groups
        while bound > 0 and ahead[bound - 1] + m - 1 >= j:
            bound -= 1
            free += among[bound]
        found = _product(die, j, ahead, among, bound, free, m, work)
        total += die.factorial[n] / die.factorial[m] * die.a**m * share**j * found
    return total


@lean
def _product(
    die: Die,
    j: int,
    ahead: NDArray[np.int64],
    among: NDArray[np.int64],
    bound: int,
    free: int,
    m: int,
    work: Floats,
) -> float:
    """The coefficient of x^j in the product of all series."""
    last = die.factorial.size - 1
    series, other = work[0], work[1]
    for i in range(j + 1):
        series[i] = die.low[free % _DIGIT, last, i]
    if free >= _DIGIT:
        _times(series, die.high[free // _DIGIT, last], j, other)
        series, other = other, series
    for k in range(bound):
        c, g = ahead[k] + m - 1, among[k]
        if g >= _DIGIT:
            _times(series, die.high[g // _DIGIT, c], j, other)
            series, other = other, series
        if k == bound - 1:
            return _coefficient(series, die.low[g % _DIGIT, c], j)
        _times(series, die.low[g % _DIGIT, c], j, other)
        series, other = other, series
    return float(series[j])


@njit
def weigh(
    die: Die,
    s: Floats,
    y: int,
    n: int,
    known: float,
    ahead: NDArray[np.int64],
    among: NDArray[np.int64],
    work: Floats,
) -> tuple[float, float]:
    """The weight of a class whose learner has n after it: the sum over l of phi_n(s + e_l) - phi_n(s + e_y).

    Since phi_{n+1}(s) is the mean of phi_n after one throw, it is (phi_{n+1}(s) - phi_n(s + e_y)) / q. ``known`` is the
    chance to win for phi_{n+1}(s), or negative. Returns the weight, and the chance for phi_n(s + e_y).
    """
    groups = _grouped(s, y, ahead, among)
    before = known if known >= 0 else win(die, n + 1, ahead, among, groups, work)
    for k in range(groups):
        ahead[k] += 1
    after = win(die, n, ahead, among, groups, work)
    return max(after - before, 0.0) / die.q, after


@lean
def _grouped(s: Floats, y: int, ahead: NDArray[np.int64], among: NDArray[np.int64]) -> int:
    """The leads of the class over its rivals, ascending, and the number of rivals for each."""
    groups = 0
    for other in range(s.size):
        if other == y:
            continue
        d, k = int(s[y] - s[other]), groups
        while k > 0 and ahead[k - 1] > d:
            k -= 1
        if k > 0 and ahead[k - 1] == d:
            among[k - 1] += 1
            continue
        for j in range(groups, k, -1):
            ahead[j], among[j] = ahead[j - 1], among[j - 1]
        ahead[k], among[k] = d, 1
        groups += 1
    return groups


def largest_weights(die: Die, n_learners: int) -> Floats:
    """The largest weight for each learner, over all numbers of votes."""
    found = filled(1, n_learners)
    if not planning():
        _largest(die, found)
    return found


@njit
def _largest(die: Die, found: Floats) -> None:
    """The maximum is where all rivals but one have equal votes: searched first at exact equality, then nearby."""
    rivals, work = die.rivals, np.empty((2, die.factorial.size))
    ahead, among = np.empty(rivals, np.int64), np.empty(rivals, np.int64)
    for i in range(found.size):
        n = found.size - 1 - i
        best, at = 0.0, 0
        for d in range(-n - 1, n + 2):
            w = _level(die, d, rivals, n, ahead, among, work)
            if w > best:
                best, at = w, d
        for d in (at - 1, at):
            for g in range(1, rivals):
                best = max(best, _level(die, d, g, n, ahead, among, work))
        found[i] = best


@lean
def _level(die: Die, d: int, g: int, n: int, ahead: NDArray[np.int64], among: NDArray[np.int64], work: Floats) -> float:
    """The weight if the class is d ahead of g rivals, and one more of the others."""
    ahead[0], among[0], groups = d, g, 1
    if g < die.rivals:
        ahead[1], among[1], groups = d + 1, die.rivals - g, 2
    before = win(die, n + 1, ahead, among, groups, work)
    for k in range(groups):
        ahead[k] += 1
    return max(win(die, n, ahead, among, groups, work) - before, 0.0) / die.q


def mbbm_phi0(n_learners: int, n_classes: int, gamma: float) -> float:
    """phi_N(0): the error rate that N learners with edge gamma reach, at most (k - 1) exp(-gamma^2 N / 2).

    Online MBBM's first potential; a tie counts as an error. With two classes it is ``phi0`` of the coin 1/2 + gamma/2.

    Parameters
    ----------
    n_learners : int
        Number of weak learners N.
    n_classes : int
        Number of classes k.
    gamma : float
        Edge of the weak learners, above 0 and below 1.

    Returns
    -------
    float
        The error rate.

    Examples
    --------
    >>> [round(mbbm_phi0(n, 10, 0.3), 4) for n in (1, 11, 51)]
    [0.63, 0.2608, 0.0019]
    """
    check_count("n_learners", n_learners, MAX_THROWS)
    check_whole("n_classes", n_classes, 2, MAX_CLASSES)
    check_between("gamma", gamma, 0, 1)
    die = new_die(int(n_learners), int(n_classes), float(gamma))
    groups = np.zeros(1, np.int64), np.array([die.rivals])
    return 1 - _win(die, int(n_learners), *groups, np.empty((2, int(n_learners) + 1)))


@njit
def _win(die: Die, n: int, ahead: NDArray[np.int64], among: NDArray[np.int64], work: Floats) -> float:
    return win(die, n, ahead, among, ahead.size, work)
