"""Squared and logistic loss: gradients and importance-invariant steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onlineboost.compiled.jit import hot
from onlineboost.compiled.simd import choose, exp, larger, splat

f32 = np.float32


@hot
def squared_gradient(score: np.float32, y: np.float32) -> np.float32:
    """The squared derivative of the logistic loss, or 0 where the loss is 0 in float32."""
    if f32(1) + math.exp(-y * score) == f32(1):
        return f32(0)
    d = -y / (f32(1) + math.exp(y * score))
    return d * d


@hot
def step_squared(rate: Any, gain: Any, error: Any) -> Any:
    """The limit of ever smaller steps of total size ``rate``; a unit step moves the score by ``gain``. For lanes."""
    size = rate * gain
    exponent = splat(f32(-2), rate) * rate * gain
    rest = exp(larger(splat(f32(-32), rate), exponent))  # of less, 1 - e^x is 1, too
    whole = error * (splat(f32(1), rate) - rest) / gain
    return choose(splat(f32(1e-6), rate) - size, splat(f32(2), rate) * error * rate, whole)


@hot
def step_logistic(rate: np.float32, gain: np.float32, score: np.float32, y: np.float32) -> np.float32:
    """The same, for the logistic loss and one learner."""
    d = math.exp(y * score)
    if rate * gain < f32(1e-6):
        return y * rate / (f32(1) + d)
    return -(y * f32(_implicit(rate * gain + y * score + d)) + score) / gain


@hot
def _implicit(x: Any) -> Any:
    """W(e^x) - x to about six digits (W: Lambert's function): one step of Halley's method from an approximation."""
    if x >= 1:
        a = 0.86 * x + 0.01
        c = x - math.log(a) - a
    else:
        a = math.exp(0.8 * x - 0.65)
        c = 0.2 * x + 0.65 - a
    t = 1 + a
    b = 2 * t * (t + 2 * c / 3)
    return a * (1 + (c / t) * (b - c) / (b - 2 * c)) - x
