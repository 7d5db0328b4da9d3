"""Newton: logistic regression by Newton steps, for N learners side by side.

The inverse P of the information so far is kept by Sherman and Morrison's update. For an example x of weight p, with q =
logistic(w.x), c = p max(q (1 - q), .02), u = P x, and the forgetting factor F = .9995:

    P <- (P - c / (F + c u.x) u u') / F
    w <- w + p (y - q) / (F + c u.x) u

Features are divided by a power of two that is near their first value. A feature that becomes 16 times as large, or
stays 16 times smaller for 32 values, gets another divisor and keeps only its weight.  P begins as 100 I; above 10,000
times that, nothing is forgotten.

With ``steady``, for rare labels, forgetting depends on the information of a row: F = 1 - .0005 min(p, 1) 4 q (1 - q),
and P begins as 4 I. A row whose label is nearly certain hardly forgets the others.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from onlineboost.compiled.jit import f32, hot, lean
from onlineboost.data.allocation import filled, planning
from onlineboost.data.batch import Batch, Floats, Floats32, Ints
from onlineboost.learners.base import Learner, kernels_of
from onlineboost.loop.explaining import Found, Pulls
from onlineboost.loop.heads import logistic
from onlineboost.parameters import check_whole
from onlineboost.registry import Option
from onlineboost.storage.validity import Limits

FORGETTING = 0.9995
START, STEADY_START = 100.0, 4.0  # of the diagonal of P
LARGEST = 1e4 * START
_RANGE = 16.0
_WINDOW = 32  # values
_LEAST = 0.02
_MAX_SCORE, _MAX_WEIGHT = 50.0, 1e12
_MAX_SLOTS = 256


class NewtonState(NamedTuple):
    weights: Floats  # [learners, 1 + slots]; the first is the constant
    inverse: Floats  # [learners, 1 + slots, 1 + slots] P
    scale: Floats  # [1 + slots] divisor of a feature; 0: not met
    recent: Floats  # [1 + slots, 2] number of values since the last look, and the largest of them
    met: Ints  # [1] the largest slot met, and the constant
    steady: bool

    def limits(self) -> Limits:
        sizes = dict.fromkeys(("scale", "recent"), (0, 1e30))
        return {"weights": (-_MAX_WEIGHT, _MAX_WEIGHT), "met": (1, self.scale.size), **sizes}


class NewtonWork(NamedTuple):
    x: Floats  # [1 + slots] the row
    u: Floats  # [1 + slots]
    z: Floats  # [learners] scores


def workspace(state: NewtonState, longest: int) -> NewtonWork:
    n, size = state.weights.shape
    return NewtonWork(np.zeros(size), np.zeros(size), np.zeros(n))


@hot
def predict(state: NewtonState, work: NewtonWork, batch: Batch, r: int, h: Floats32) -> None:
    _read(state, work, batch, r)
    for i in range(work.z.size):
        z = 0.0
        for j in range(state.met[0]):
            z += state.weights[i, j] * work.x[j]
        work.z[i] = z
        h[i] = f32(min(max(z, -_MAX_SCORE), _MAX_SCORE))


@hot
def pull(state: NewtonState, work: NewtonWork, batch: Batch, r: int, h: Floats32, pulls: Pulls) -> None:
    """The terms of a vote are weights times values."""
    up, down, link = pulls.up[r], pulls.down[r], pulls.link[r]
    for i in range(link.size):
        link[i] = _MAX_SCORE / max(abs(work.z[i]), _MAX_SCORE)
    for i in range(pulls.n):
        up[i], down[i] = max(state.weights[i, 0], 0.0), min(state.weights[i, 0], 0.0)
        for k in range(batch.indptr[r], batch.indptr[r + 1]):
            term = state.weights[i, np.int64(batch.indices[k]) + 1] * _value(state, batch, k)
            up[i], down[i] = up[i] + max(term, 0.0), down[i] + min(term, 0.0)


@hot
def explain(state: NewtonState, work: NewtonWork, batch: Batch, r: int, found: Found, k: int) -> int:
    for j in range(batch.indptr[r], batch.indptr[r + 1]):
        found.slots[k], found.values[k] = batch.indices[j], 0.0
        for i in range(state.weights.shape[0]):
            term = state.weights[i, np.int64(batch.indices[j]) + 1] * _value(state, batch, j)
            found.values[k] += term * (found.plus[r, i] if term > 0 else found.minus[r, i])
        k += 1
    return k


@hot
def _value(state: NewtonState, batch: Batch, k: int) -> float:
    """A scaled entry."""
    scale = state.scale[np.int64(batch.indices[k]) + 1]
    return batch.values[k] / scale if scale > 0 else 0.0


@hot
def _read(state: NewtonState, work: NewtonWork, batch: Batch, r: int) -> None:
    for i in range(state.met[0]):
        work.x[i] = 0.0
    work.x[0] = 1.0
    j: Any
    for k in range(batch.indptr[r], batch.indptr[r + 1]):
        j = np.int64(batch.indices[k]) + 1
        if state.scale[j] > 0:
            work.x[j] += batch.values[k] / state.scale[j]


@hot
def learn(state: NewtonState, work: NewtonWork, batch: Batch, r: int, h: Floats32, t: Floats32, p: Floats) -> None:
    changed = False
    for k in range(batch.indptr[r], batch.indptr[r + 1]):
        j: Any = np.int64(batch.indices[k]) + 1
        size = abs(np.float64(batch.values[k]))
        if _leaves_range(state, j, size):
            _rescale(state, j, max(size, state.recent[j, 1]))
            changed = True
    if changed:
        _read(state, work, batch, r)
    for i in range(p.size):
        if p[i] > 0:
            _step(state, work.x, work.u, i, work.z[i], 1.0 if t[i] > 0 else 0.0, p[i])


@hot
def _leaves_range(state: NewtonState, j: int, size: float) -> bool:
    """Note a value; returns whether the feature must be divided by another number."""
    recent, scale = state.recent, state.scale[j]
    recent[j, 0] += 1
    recent[j, 1] = max(recent[j, 1], size)
    if recent[j, 0] < _WINDOW and size <= _RANGE * scale:
        return False
    leaves = size > _RANGE * scale or 0 < _RANGE * recent[j, 1] < scale
    if not leaves:
        recent[j, 0] = recent[j, 1] = 0.0
    return bool(leaves)


@hot
def _start(state: NewtonState) -> float:
    return STEADY_START if state.steady else START


@lean
def _rescale(state: NewtonState, j: int, size: float) -> None:
    """Divide a feature by the power of two for this size from now on; keeps only its weight."""
    scale = 2.0 ** math.ceil(math.log2(size))
    for i in range(state.weights.shape[0]):
        w = state.weights[i, j] * scale / state.scale[j] if state.scale[j] > 0 else 0.0
        state.weights[i, j] = min(max(w, -_MAX_WEIGHT), _MAX_WEIGHT)
        for k in range(state.scale.size):
            state.inverse[i, j, k] = state.inverse[i, k, j] = 0.0
        state.inverse[i, j, j] = _start(state)
    state.scale[j] = scale
    state.recent[j, 0] = state.recent[j, 1] = 0.0
    state.met[0] = max(state.met[0], j + 1)


@lean
def _step(state: NewtonState, x: Floats, u: Floats, i: int, z: float, true: float, weight: float) -> None:
    """A Newton step of learner i."""
    P, w = state.inverse[i], state.weights[i]
    size = state.met[0]
    q = logistic(z)
    forgetting = FORGETTING
    if state.steady:
        forgetting = 1 - (1 - FORGETTING) * min(weight, 1.0) * 4 * q * (1 - q)
    for j in range(size):
        u[j] = 0.0
        if P[j, j] > LARGEST:
            forgetting = 1.0
    for k in range(size):
        if x[k] != 0:
            for j in range(size):
                u[j] += x[k] * P[k, j]
    along = 0.0
    for j in range(size):
        along += u[j] * x[j]
    if not along >= 0:  # no digits are left
        forget(state, i)
        return
    curvature = weight * max(q * (1 - q), _LEAST)
    whole = forgetting + curvature * along
    inverse = 1 / forgetting
    step = weight * (true - q) / whole
    for j in range(size):
        part = curvature / whole * u[j]
        for k in range(size):
            P[j, k] = (P[j, k] - part * u[k]) * inverse
        w[j] = min(max(w[j] + step * u[j], -_MAX_WEIGHT), _MAX_WEIGHT)


@lean
def forget(state: NewtonState, i: int) -> None:
    for j in range(state.scale.size):
        state.weights[i, j] = 0.0
        for k in range(state.scale.size):
            state.inverse[i, j, k] = _start(state) if j == k else 0.0


SLOTS = Option(
    "max_slots", "Maximum number of features; further ones share entries by hashing.", int, least=1, most=_MAX_SLOTS
)


@dataclass(eq=False, repr=False)
class Newton(Learner, name="newton", options=(SLOTS,), state=NewtonState, **kernels_of(__name__)):
    """Logistic regression by Newton steps: for few features that belong together, such as two prices.

    It needs no feature scaling and no learning rate. Time and memory grow with the square of the number of features.

    Parameters
    ----------
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is refused before anything is learned.
    max_slots : int, default=64
        Number of features with slots of their own; further features share slots by hashing.
    steady : bool, default=False
        Whether it forgets by the information of the rows, for imbalanced data; otherwise the weight of past rows
        decreases by a factor of .9995 at each row.

    Examples
    --------
    >>> from onlineboost import Linear, Newton
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_error
    >>> X, y = load_letter()
    >>> [round(progressive_error(learner, X, y), 3) for learner in (Linear(), Newton())]
    [0.307, 0.275]
    """

    prefers: ClassVar[Literal["weight", "sample"]] = "weight"
    axes: ClassVar[dict[str, int]] = {"weights": 0, "inverse": 0}
    linear: ClassVar[bool] = True
    several_classes: ClassVar[bool] = True

    _: KW_ONLY
    max_slots: int = 64
    steady: bool = False

    def committee(self, n_learners: int, n_features: int) -> NewtonState:
        size = 1 + check_whole("max_slots", self.max_slots, 1, _MAX_SLOTS)
        inverse = filled(0, (n_learners, size, size))
        if not planning():
            inverse[:] = (STEADY_START if self.steady else START) * np.eye(size)
        weights, met = filled(0, (n_learners, size)), np.ones(1, np.int64)
        return NewtonState(weights, inverse, filled(0, size), filled(0, (size, 2)), met, bool(self.steady))

    def grow(self, committee: NewtonState, n_features: int) -> NewtonState:
        return committee

    def separate(self, n_learners: int, n_features: int) -> bool:
        return False  # scales follow every row that a learner learns

    def strengths(self, committee: NewtonState, n_learners: int) -> Floats | None:
        """The learners' mean weight for scaled features."""
        mean: Floats = committee.weights[:, 1:].mean(axis=0)
        return mean
