"""How trees are made: loss, number, sizes.

Where one of two labels is rare, ``gentle`` plans make smaller and weaker trees: with e = min(5 q (1 - q), 1), where q
is the share of the positive label, e^2 times as many leaves (15 at least), e times the rate (.4 times at least), and
10 (1 - e) more l2.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from onlineboost.compiled.jit import hot, i64
from onlineboost.learners.batch.trees import Trees

CLASSES, SQUARED, ABSOLUTE, QUANTILE = range(4)  # losses
_FEW_ROWS = 500  # fewer have smaller leaves
_GENTLE_LEAVES, _GENTLE_L2, _LEAST_RATE = 15, 10.0, 0.4  # of ``gentle`` plans: the fewest leaves; at most; a factor


class Plan(NamedTuple):
    loss: int
    quantile: float
    rounds: int
    rate: float
    leaves: int
    least: int  # rows of a leaf
    few: int  # the same while there are fewer than 500 rows
    l2: float
    gentle: bool = False  # whether trees are smaller and weaker where one of two labels is rare


@hot
def least_rows(plan: Plan, n: int) -> int:
    """Number of rows that a leaf must have, if the training has n."""
    return plan.few if n < _FEW_ROWS else plan.least


@hot
def _evenness(plan: Plan, trees: Trees) -> float:
    """Of the labels of the training, by the share q of the positive one; 1 where it does not count."""
    if not plan.gentle or plan.loss != CLASSES or trees.base.size > 1:
        return 1.0
    q = 1 / (1 + math.exp(-trees.base[0]))
    return min(5 * q * (1 - q), 1.0)


@hot
def most_leaves(plan: Plan, trees: Trees) -> int:
    leaves: int = plan.leaves
    evenness = _evenness(plan, trees)
    most: int = max(i64(evenness * evenness * leaves), min(leaves, _GENTLE_LEAVES))
    return most


@hot
def l2_of(plan: Plan, trees: Trees) -> float:
    return plan.l2 + _GENTLE_L2 * (1 - _evenness(plan, trees))


@hot
def rate_of(plan: Plan, trees: Trees) -> float:
    return plan.rate * max(_evenness(plan, trees), _LEAST_RATE)
