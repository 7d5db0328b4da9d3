"""LeastSquares: ridge regression that forgets, for N learners side by side.

For an example x, with a constant 1, of weight p and target t:

    A <- F A + p x x',   b <- F b + p t x,   w = (A + R)^-1 b

where F forgets. R is diagonal: the weight of ``ridge`` examples in which the feature has its variance by these sums;
.001 for the constant. Features are bounded before (``transforms/standardize.py``), but not centered: sums over rows
centered by different means would fit no line. Unseen features have w = 0.

All sums are multiplied by ``growth`` = F^-n, so that a row changes only the places of its own features. Weights are
solved for after every 1 + d^2 // 400 rows, where d is the number of features met.
"""

from __future__ import annotations

import numbers
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import f32, hot, i64, lean
from onlineboost.compiled.solve import solve
from onlineboost.data.allocation import filled
from onlineboost.data.batch import Batch, Floats, Floats32, Ints
from onlineboost.errors import ParameterError
from onlineboost.learners.base import kernels_of
from onlineboost.learners.number_learner import NumberLearner
from onlineboost.loop.explaining import Found, Pulls
from onlineboost.parameters import check_whole
from onlineboost.storage.validity import COUNT, Limits, check_products
from onlineboost.transforms.chain import Transforms
from onlineboost.transforms.standardize import new_standardize

_CONSTANT_RIDGE = 1e-3
_LEAST_SPREAD = 1e-6  # of a feature, as a share of its mean square
_SOLVE = 400  # squares of numbers of features, for each row between two solutions
_LARGEST_GROWTH = 1e30
_MAX_SLOTS = 1024
_MAX_VOTE = 1e30


class LeastSquaresState(NamedTuple):
    weights: Floats  # [learners, 1 + slots]; the first is the constant
    products: Floats  # [learners, 1 + slots, 1 + slots] A, times growth; its upper triangle counts
    moment: Floats  # [learners, 1 + slots] b, times growth
    growth: Floats  # [learners]
    since: Ints  # [learners] rows since the last solution
    met: Ints  # [1] 1 + the largest slot met
    forgetting: float
    ridge: float

    def limits(self) -> Limits:
        return {"growth": (1.0, 2 * _LARGEST_GROWTH), "since": COUNT, "met": (1, self.weights.shape[1])}

    def check(self) -> None:
        check_products("products", self.products)


class LeastSquaresWork(NamedTuple):
    x: Floats  # [1 + slots] the row
    places: Ints  # of its features
    there: NDArray[np.bool_]  # [1 + slots] whether a feature is among them
    found: Ints  # [1] how many they are
    ridge: Floats  # [1 + slots]
    factor: Floats  # [1 + slots, 1 + slots]


def workspace(state: LeastSquaresState, longest: int) -> LeastSquaresWork:
    size = state.weights.shape[1]
    places, there = np.zeros(min(longest, size) + 1, np.int64), np.zeros(size, np.bool_)
    return LeastSquaresWork(
        np.zeros(size), places, there, np.zeros(1, np.int64), np.zeros(size), np.zeros((size, size))
    )


@hot
def predict(state: LeastSquaresState, work: LeastSquaresWork, batch: Batch, r: int, h: Floats32) -> None:
    _read(work, batch, r)
    for i in range(state.weights.shape[0]):
        z = 0.0
        for k in range(work.found[0]):
            z += state.weights[i, work.places[k]] * work.x[work.places[k]]
        h[i] = f32(min(max(z, -_MAX_VOTE), _MAX_VOTE))


@hot
def pull(state: LeastSquaresState, work: LeastSquaresWork, batch: Batch, r: int, h: Floats32, pulls: Pulls) -> None:
    """The terms of a vote are weights times values."""
    up, down, link = pulls.up[r], pulls.down[r], pulls.link[r]
    for i in range(link.size):
        link[i] = 1.0 if abs(h[i]) < _MAX_VOTE else 0.0
    for i in range(pulls.n):
        up[i] = down[i] = 0.0
        for k in range(work.found[0]):
            term = state.weights[i, work.places[k]] * work.x[work.places[k]]
            up[i], down[i] = up[i] + max(term, 0.0), down[i] + min(term, 0.0)


@hot
def explain(state: LeastSquaresState, work: LeastSquaresWork, batch: Batch, r: int, found: Found, k: int) -> int:
    for j in range(batch.indptr[r], batch.indptr[r + 1]):
        found.slots[k], found.values[k] = batch.indices[j], 0.0
        for i in range(state.weights.shape[0]):
            place = i64(batch.indices[j]) + 1
            term = state.weights[i, place] * (batch.values[j] - _usual(state, i, place))
            found.values[k] += term * (found.plus[r, i] if term > 0 else found.minus[r, i])
        k += 1
    return k


@hot
def _usual(state: LeastSquaresState, i: int, place: int) -> float:
    """Reference value of explanations: the mean of a feature that varies less than its size (a date), else 0."""
    A = state.products[i]
    return A[0, place] / A[0, 0] if A[0, place] * A[0, place] > 0.5 * A[0, 0] * A[place, place] else 0.0


@hot
def _read(work: LeastSquaresWork, batch: Batch, r: int) -> None:
    for k in range(work.found[0]):
        work.x[work.places[k]] = 0.0
        work.there[work.places[k]] = False
    work.x[0], work.places[0] = 1.0, 0
    m = 1
    for k in range(batch.indptr[r], batch.indptr[r + 1]):
        j = i64(batch.indices[k]) + 1
        if not work.there[j]:  # features may share a slot
            work.there[j] = True
            work.places[m] = j
            m += 1
        work.x[j] += batch.values[k]
    work.found[0] = m


@hot
def learn(
    state: LeastSquaresState, work: LeastSquaresWork, batch: Batch, r: int, h: Floats32, t: Floats32, p: Floats
) -> None:
    for k in range(work.found[0]):
        state.met[0] = max(state.met[0], work.places[k] + 1)
    for i in range(p.size):
        if p[i] > 0:
            _add(state, work, i, float(t[i]), p[i])
            state.since[i] += 1
            if state.since[i] > state.met[0] * state.met[0] // _SOLVE:
                state.since[i] = 0
                _solve(state, work, i)


@hot
def _add(state: LeastSquaresState, work: LeastSquaresWork, i: int, t: float, w: float) -> None:
    A, b, x, n = state.products[i], state.moment[i], work.x, work.found[0]
    state.growth[i] /= state.forgetting
    if state.growth[i] > _LARGEST_GROWTH:
        _shrink(state, i)
    grown, met = w * state.growth[i], state.met[0]
    if 2 * n >= met:  # dense: adjacent places, zeros among them
        for j in range(met):
            here = grown * x[j]
            b[j] += here * t
            for k in range(j, met):
                A[j, k] += here * x[k]
        return
    for k in range(n):
        j = work.places[k]
        here = grown * x[j]
        b[j] += here * t
        for q in range(k, n):
            other = work.places[q]
            A[min(j, other), max(j, other)] += here * x[other]


@lean
def _shrink(state: LeastSquaresState, i: int) -> None:
    """Restart growth at 1."""
    scale, state.growth[i] = 1 / state.growth[i], 1.0
    for j in range(state.met[0]):
        state.moment[i, j] *= scale
        for k in range(j, state.met[0]):
            state.products[i, j, k] *= scale


@lean
def _solve(state: LeastSquaresState, work: LeastSquaresWork, i: int) -> None:
    A, n = state.products[i], state.met[0]
    share = state.ridge * state.growth[i] / A[0, 0]
    work.ridge[0] = _CONSTANT_RIDGE * state.growth[i]
    for j in range(1, n):
        spread = A[j, j] - A[0, j] * A[0, j] / A[0, 0]
        work.ridge[j] = share * max(spread, _LEAST_SPREAD * A[j, j])
    solve(A, work.ridge, state.moment[i], n, work.factor, state.weights[i])


@lean
def forget(state: LeastSquaresState, i: int) -> None:
    state.growth[i], state.since[i] = 1.0, 0
    for j in range(state.weights.shape[1]):
        state.weights[i, j] = state.moment[i, j] = 0.0
        for k in range(state.weights.shape[1]):
            state.products[i, j, k] = 0.0


@dataclass(eq=False, repr=False)
class LeastSquares(NumberLearner, state=LeastSquaresState, **kernels_of(__name__)):
    """Ridge regression that forgets; needs no feature scaling and no learning rate, for up to some hundred features.

    Time and memory grow with the square of the number of features.

    Parameters
    ----------
    forgetting : float, default=0.9999
        Factor of the weight of past examples at each new one; at most 1, which forgets nothing.
    ridge : float, default=1.0
        Strength of the L2 penalty, in examples.
    max_slots : int, default=128
        Number of features with slots of their own; further features share slots by hashing.
    follows : bool, default=False
        Whether a feature that grows with the stream, such as a date, may leave its range, so that a trend continues.

    Examples
    --------
    >>> import numpy as np
    >>> from onlineboost import LeastSquares
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> y = 100 + X @ [1.0, 2.0, 3.0]
    >>> round(LeastSquares().fit(X, y).score(X, y), 2)
    1.0
    """

    prefers: ClassVar[Literal["weight", "sample"]] = "weight"
    axes: ClassVar[dict[str, int]] = dict.fromkeys(("weights", "products", "moment", "growth", "since"), 0)
    linear: ClassVar[bool] = True

    forgetting: float = 0.9999
    _: KW_ONLY
    ridge: float = 1.0
    max_slots: int = 128
    follows: bool = False

    def committee(self, n_learners: int, n_features: int) -> LeastSquaresState:
        if not isinstance(self.forgetting, numbers.Real) or not 0.5 <= float(self.forgetting) <= 1:
            raise ParameterError("forgetting", self.forgetting, "a number from 0.5 to 1")
        if not isinstance(self.ridge, numbers.Real) or not 0 <= float(self.ridge) <= 1e6:
            raise ParameterError("ridge", self.ridge, "a number from 0 to 1,000,000")
        size = 1 + check_whole("max_slots", self.max_slots, 1, _MAX_SLOTS)
        return LeastSquaresState(
            weights=filled(0, (n_learners, size)),
            products=filled(0, (n_learners, size, size)),
            moment=filled(0, (n_learners, size)),
            growth=filled(1.0, n_learners),
            since=filled(0, n_learners, np.int64),
            met=np.ones(1, np.int64),
            forgetting=float(self.forgetting),
            ridge=float(self.ridge),
        )

    def grow(self, committee: LeastSquaresState, n_features: int) -> LeastSquaresState:
        return committee

    def transforms(self, n_features: int) -> Transforms:
        return (new_standardize(n_features, centering=False, follows=bool(self.follows)),)

    def strengths(self, committee: LeastSquaresState, n_learners: int) -> Floats | None:
        """The learners' mean weight."""
        mean: Floats = committee.weights[:, 1:].mean(axis=0)
        return mean
