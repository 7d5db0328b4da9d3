"""The biased coin of boost-by-majority: its bias, and binomial probabilities to the last bit.

Probabilities are built from ratios of neighbors, outward from the largest, in twice the working precision (Dekker
1971), and rounded once: to the nearest number, except that very near a tie it may be the other of the two. No
logarithm, no factorial, no overflow: the same bits on every machine, for any N.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from onlineboost.compiled.jit import njit
from onlineboost.data.batch import Floats, Ints
from onlineboost.errors import ParameterError
from onlineboost.parameters import check_between

Coin = Literal["auto"] | float

_SPLIT = 134217729.0  # 2^27 + 1
NEGLIGIBLE = 1e-300  # smaller values count as zero


def bias(coin: Coin, gamma: float, sampled: bool) -> float:
    """The coin's probability of heads: 1/2 + gamma/2 for sampling, 1/2 + gamma for importance weights, unless given.

    Lemma 1 of the paper promises a sampled learner's weighted edge to be gamma, equation (3) a weighted one's 2 gamma.

    >>> bias("auto", 0.1, sampled=True), bias("auto", 0.1, sampled=False), bias(0.7, 0.1, sampled=False)
    (0.55, 0.6, 0.7)
    """
    check_between("gamma", gamma, 0, 0.5 - 1e-9)
    if coin == "auto":
        return 0.5 + float(gamma) / 2 if sampled else 0.5 + float(gamma)
    if isinstance(coin, str):
        raise ParameterError("coin", coin, "'auto' or the probability of heads")
    check_between("coin", coin, 0.5, 1 - 1e-9)
    return float(coin)


@njit
def mode(m: int, b: float) -> int:
    """The most probable number of heads in m tosses: floor((m + 1) b), corrected for rounding."""
    k = min(int((m + 1) * b), m)  # rounding can only make it one too large
    if k > 0 and _less(_product(float(m - k + 1), b), _product(float(k), 1 - b)):
        return k - 1
    return k


@njit
def binomial(m: int, b: float, at: int, there: tuple[float, float], low: int, out: Floats) -> None:
    """``out[k - low]``: proportional to Pr[k heads in m tosses], and ``there`` for k = ``at``; correctly rounded."""
    q = 1 - b  # exact, as b >= 1/2
    out[:] = 0.0
    value = there
    for k in range(at, low + out.size):
        if value[0] < NEGLIGIBLE:
            break
        if k >= low:
            out[k - low] = value[0]
        value = _divide(_multiply(value, _product(float(m - k), b)), _product(float(k + 1), q))
    value = there
    for k in range(at, low - 1, -1):
        if value[0] < NEGLIGIBLE:
            break
        if k < low + out.size:
            out[k - low] = value[0]
        value = _divide(_multiply(value, _product(float(k), q)), _product(float(m - k + 1), b))


@njit
def peak(m: int, b: float, factor: float) -> tuple[float, float]:
    """``factor`` times Pr[mode(m, b) heads in m tosses], as one over the sum of all probabilities relative to it."""
    q = 1 - b
    at = mode(m, b)
    total = (1.0, 0.0)
    value = (1.0, 0.0)
    for k in range(at, m):
        value = _divide(_multiply(value, _product(float(m - k), b)), _product(float(k + 1), q))
        total = _add(total, value)
        if value[0] < NEGLIGIBLE:
            break
    value = (1.0, 0.0)
    for k in range(at, 0, -1):
        value = _divide(_multiply(value, _product(float(k), q)), _product(float(m - k + 1), b))
        total = _add(total, value)
        if value[0] < NEGLIGIBLE:
            break
    return _divide((factor, 0.0), total)


@njit
def largest(b: float, at: Ints) -> Floats:
    """Pr[``at[i]`` heads in N - 1 - i tosses], for an ``at`` that falls by 0 or 1 from each entry to the next, to 0.

    Computed from 1 for no toss upward, one toss at a time: N steps in all.
    """
    q = 1 - b
    N = at.size
    out = np.zeros(N)
    value = (1.0, 0.0)
    for m in range(N):
        k = at[N - 1 - m]
        if m > 0 and k > at[N - m]:
            value = _divide(_multiply(value, _product(float(m), b)), (float(k), 0.0))
        elif m > 0:
            value = _divide(_multiply(value, _product(float(m), q)), (float(m - k), 0.0))
        if value[0] < NEGLIGIBLE:
            break
        out[N - 1 - m] = value[0]
    return out


@njit
def _sum(a: float, b: float) -> tuple[float, float]:
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@njit
def _product(a: float, b: float) -> tuple[float, float]:
    p = a * b
    t = _SPLIT * a
    a1 = t - (t - a)
    a2 = a - a1
    t = _SPLIT * b
    b1 = t - (t - b)
    b2 = b - b1
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


@njit
def _less(a: tuple[float, float], b: tuple[float, float]) -> bool:
    return a[0] < b[0] or (a[0] == b[0] and a[1] < b[1])


@njit
def _add(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    s, e = _sum(a[0], b[0])
    return _sum(s, e + a[1] + b[1])


@njit
def _multiply(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    p, e = _product(a[0], b[0])
    return _sum(p, e + (a[0] * b[1] + a[1] * b[0]))


@njit
def _divide(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    first = a[0] / b[0]
    p, e = _multiply((first, 0.0), b)
    second = ((a[0] - p) - e + a[1]) / b[0]
    return _sum(first, second)
