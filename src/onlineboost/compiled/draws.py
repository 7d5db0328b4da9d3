"""Counter-based random numbers: a draw is a function of (seed, example number, stream) only.

So it depends neither on batches nor on earlier draws, and there is no generator state to save.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import njit

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@njit
def _mix(z: np.uint64) -> np.uint64:
    """The finaliser of SplitMix64: every bit of z reaches every bit of the result."""
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    return z ^ (z >> _S31)


@njit
def uniform(seed: int, example: int, stream: int) -> float:
    """A random number in [0, 1), the same for the same three arguments.

    Parameters
    ----------
    seed : int
        Random seed.
    example : int
        Number of the example.
    stream : int
        Number of the stream of random numbers, such as the number of the learner.

    Returns
    -------
    float
        The random number.

    Examples
    --------
    >>> uniform(1, 2, 3)
    0.05816240739533696
    """
    key = _mix(np.uint64(seed) + _STEP * (np.uint64(example) + np.uint64(1)))
    bits = _mix(key + _STEP * (np.uint64(stream) + np.uint64(1)))
    return float(bits >> _S11) * 2.0**-53


@njit
def uniforms(seed: int, n: int) -> NDArray[np.float64]:
    """Random numbers in [0, 1): ``uniform(seed, k, 0)`` for k below n.

    Parameters
    ----------
    seed : int
        Random seed.
    n : int
        Number of random numbers.

    Returns
    -------
    array of shape (n,)
        The random numbers.

    Examples
    --------
    >>> uniforms(1, 3).size
    3
    """
    drawn = np.empty(n)
    for k in range(n):
        drawn[k] = uniform(seed, k, 0)
    return drawn


@njit
def count(seed: int, example: int, stream: int, mean: float) -> float:
    """A random whole number with the given mean: its floor, plus one with the probability of its fraction.

    Parameters
    ----------
    seed : int
        Random seed.
    example : int
        Number of the example.
    stream : int
        Number of the stream of random numbers, such as the number of the learner.
    mean : float
        Mean of the number, at least 0.

    Returns
    -------
    float
        The random number.

    Examples
    --------
    >>> count(0, 1, 2, 2.0)
    2.0
    """
    floor = float(np.floor(mean))
    return floor + 1.0 if uniform(seed, example, stream) < mean - floor else floor
