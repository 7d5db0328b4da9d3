"""Arithmetic of vectors."""

from __future__ import annotations

import numpy as np
import pytest

from onlineboost.compiled.jit import njit
from onlineboost.compiled.simd import exp, first_half, join, load, reciprocal, second_half, store, zeros

ONE, EIGHT, SIXTEEN = (0,), (0,) * 8, (0,) * 16


@njit
def inverses(x, found, block):
    for k in range(0, x.size, len(block)):
        store(found, k, reciprocal(load(x, k, zeros(block))))


@njit
def exponentials(x, found, block):
    for k in range(0, x.size, len(block)):
        store(found, k, exp(load(x, k, zeros(block))))


@njit
def halves_swapped(x, found, block):
    width = len(block)
    for k in range(0, x.size, 2 * width):
        both = join(load(x, k, zeros(block)), load(x, k + width, zeros(block)))
        store(found, k, second_half(both))
        store(found, k + width, first_half(both))


@pytest.mark.parametrize("block", [ONE, EIGHT])
def test_halves_are_those_that_were_joined(block):
    x = np.arange(64, dtype=np.float32)
    found = np.empty_like(x)
    halves_swapped(x, found, block)
    assert np.array_equal(found, x.reshape(-1, 2, len(block))[:, ::-1].reshape(-1))


@pytest.mark.parametrize("block", [ONE, EIGHT, SIXTEEN])
def test_reciprocals_are_correctly_rounded(block):
    mantissas = np.arange(1 << 23, dtype=np.uint32)
    for exponent in (2, 126, 127, 251):
        x = (mantissas | np.uint32(exponent << 23)).view(np.float32)
        found = np.empty_like(x)
        inverses(x, found, block)
        assert np.array_equal(found, np.float32(1) / x)


@pytest.mark.parametrize("block", [ONE, EIGHT, SIXTEEN])
def test_exponentials_are_those_of_double_precision(block):
    x = -np.arange(1 << 20, dtype=np.float32) / 2**15
    x = np.concatenate([x, -x, -(2.0 ** -np.arange(1, 33, dtype=np.float32))])
    found = np.empty_like(x)
    exponentials(x, found, block)
    exact = np.exp(x.astype(np.float64))
    assert (abs(found - exact) < 0.503 * np.spacing(exact.astype(np.float32))).all()
