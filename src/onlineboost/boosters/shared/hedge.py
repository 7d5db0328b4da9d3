"""AdaNormalHedge (Luo and Schapire, 2015): experts weighted by their regret, with nothing to tune.

| paper | here | meaning |
| --- | --- | --- |
| R | ``regret`` | sum of r, the expected loss of the weighted experts less that of this one |
| C | ``size`` | sum of abs(r) |
| Phi(R, C) | exp(max(R, 0)^2 / (3 C)) | potential |
| w(R, C) | (Phi(R + 1, C + 1) - Phi(R - 1, C + 1)) / 2 | weight |
"""

from __future__ import annotations

import math

from onlineboost.compiled.jit import hot
from onlineboost.data.batch import Floats

_NEGLIGIBLE = 40.0  # exp(-40) does not change a sum that contains 1


@hot
def exponent(regret: float, size: float) -> float:
    """The logarithm of Phi."""
    positive = regret if regret > 0 else 0.0
    return positive * positive / (3 * size)


@hot
def largest(regret: Floats, size: Floats) -> float:
    """The largest exponent, by which weights are scaled to avoid overflow."""
    top = 0.0
    for k in range(regret.size):
        top = max(top, exponent(regret[k] + 1, size[k] + 1))
    return top


@hot
def weight(regret: float, size: float, top: float) -> float:
    """The weight of an expert, times exp(-top)."""
    return math.exp(exponent(regret + 1, size + 1) - top) - math.exp(exponent(regret - 1, size + 1) - top)


@hot
def learn(regret: Floats, size: Floats, k: int, expected: float, loss: float) -> None:
    """Update the regret of an expert by its loss and the expected loss."""
    regret[k] += expected - loss
    size[k] += abs(expected - loss)


@hot
def share(regret: Floats, size: Floats, shares: Floats) -> None:
    """The experts' weights, divided by their sum. Negligible ones are set to 0, which saves their exponentials.

    If all regrets are below -1, since the weighted experts were better than each of them, weights are equal.
    """
    top = largest(regret, size)
    total = 0.0
    for k in range(regret.size):
        relevant = regret[k] > -1 and exponent(regret[k] + 1, size[k] + 1) > top - _NEGLIGIBLE
        shares[k] = weight(regret[k], size[k], top) if relevant else 0.0
        total += shares[k]
    if total == 0:
        for k in range(regret.size):
            shares[k] = 1 / regret.size
        return
    scale = 1 / total
    for k in range(regret.size):
        shares[k] *= scale
