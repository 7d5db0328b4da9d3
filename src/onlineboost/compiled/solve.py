"""Least squares with a ridge, by Cholesky's factor: no pivoting, no allocation."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import lean

Floats: TypeAlias = NDArray[np.float64]
_TINY = 1e-9  # smallest pivot, as a share of the diagonal


@lean
def solve(
    A: Floats,
    ridge: Floats,
    b: Floats,
    n: int,
    U: Floats,
    w: Floats,
) -> None:
    """w = (A + diag(ridge))^-1 b, for the first n rows and columns; the upper triangle of A counts.

    U is memory for the factor. Where a diagonal is 0, so is w.
    """
    for i in range(n):
        for k in range(i, n):
            U[i, k] = A[i, k]
        U[i, i] += ridge[i]
        w[i] = b[i]
    for j in range(n):
        least = _TINY * (A[j, j] + ridge[j])
        pivot = math.sqrt(U[j, j] if U[j, j] > least else least)
        scale = 1 / pivot if pivot > 0 else 0.0
        for k in range(j, n):
            U[j, k] *= scale
        U[j, j] = pivot
        w[j] *= scale
        for i in range(j + 1, n):
            part = U[j, i]
            w[i] -= part * w[j]
            for k in range(i, n):
                U[i, k] -= part * U[j, k]
    for i in range(n - 1, -1, -1):
        s = w[i]
        for k in range(i + 1, n):
            s -= U[i, k] * w[k]
        w[i] = s / U[i, i] if U[i, i] > 0 else 0.0
