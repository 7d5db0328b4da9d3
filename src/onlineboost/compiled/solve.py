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
        row, z = U[i], b[i]
        for k in range(i, n):
            row[k] = A[i, k]
        row[i] += ridge[i]
        j = 0
        while j + 4 <= i:  # four rows at a time: a number is read and written once for all
            p, q, r, s = U[j, i], U[j + 1, i], U[j + 2, i], U[j + 3, i]
            z = z - p * w[j] - q * w[j + 1] - r * w[j + 2] - s * w[j + 3]
            for k in range(i, n):
                row[k] = row[k] - p * U[j, k] - q * U[j + 1, k] - r * U[j + 2, k] - s * U[j + 3, k]
            j += 4
        while j < i:
            z -= U[j, i] * w[j]
            for k in range(i, n):
                row[k] -= U[j, i] * U[j, k]
            j += 1
        least = _TINY * (A[i, i] + ridge[i])
        pivot = math.sqrt(row[i] if row[i] > least else least)
        scale = 1 / pivot if pivot > 0 else 0.0
        for k in range(i, n):
            row[k] *= scale
        row[i] = pivot
        w[i] = z * scale
    for i in range(n - 1, -1, -1):
        s = w[i]
        for k in range(i + 1, n):
            s -= U[i, k] * w[k]
        w[i] = s / U[i, i] if U[i, i] > 0 else 0.0
