"""Perceptron: Rosenblatt's algorithm, for N learners side by side."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from onlineboost.compiled.jit import f32, hot, lean
from onlineboost.data.allocation import filled, with_room
from onlineboost.data.batch import Batch, Floats, Floats32
from onlineboost.errors import ParameterError
from onlineboost.learners.base import Learner, kernels_of
from onlineboost.loop.explaining import Found, Pulls
from onlineboost.parameters import check_whole
from onlineboost.storage.validity import Limits
from onlineboost.transforms.chain import Transforms
from onlineboost.transforms.slots import BITS, MAX_BITS
from onlineboost.transforms.standardize import STANDARDIZE, new_standardize


class PerceptronState(NamedTuple):
    weights: Floats32  # [1 + features, learners]; the first row is the constant

    def limits(self) -> Limits:
        return {"weights": (-MAX_WEIGHT, MAX_WEIGHT)}


class PerceptronWork(NamedTuple):
    step: Floats  # [learners]
    total: Floats  # [learners]


MAX_WEIGHT = 1e37  # a sum of float32 must not become infinite


def workspace(state: PerceptronState, longest: int) -> PerceptronWork:
    n = state.weights.shape[1]
    return PerceptronWork(np.zeros(n), np.zeros(n))


@hot
def predict(state: PerceptronState, work: PerceptronWork, batch: Batch, r: int, h: Floats32) -> None:
    for i in range(work.total.size):
        work.total[i] = state.weights[0, i]
    for j in range(batch.indptr[r], batch.indptr[r + 1]):
        row, x = np.int64(batch.indices[j]) + 1, np.float64(batch.values[j])
        for i in range(work.total.size):
            work.total[i] += state.weights[row, i] * x
    for i in range(work.total.size):
        h[i] = _within(work.total[i])


@hot
def learn(
    state: PerceptronState, work: PerceptronWork, batch: Batch, r: int, h: Floats32, t: Floats32, p: Floats
) -> None:
    """A wrong learner moves by the example times its weight; a right one does not."""
    for i in range(p.size):
        work.step[i] = p[i] * t[i] if h[i] * t[i] <= 0 else 0.0
        state.weights[0, i] = _within(state.weights[0, i] + work.step[i])
    for j in range(batch.indptr[r], batch.indptr[r + 1]):
        row, x = np.int64(batch.indices[j]) + 1, np.float64(batch.values[j])
        for i in range(p.size):
            state.weights[row, i] = _within(state.weights[row, i] + work.step[i] * x)


@hot
def pull(state: PerceptronState, work: PerceptronWork, batch: Batch, r: int, h: Floats32, pulls: Pulls) -> None:
    """The terms of a vote are weights times values."""
    up, down, link = pulls.up[r], pulls.down[r], pulls.link[r]
    for i in range(link.size):
        link[i] = MAX_WEIGHT / max(abs(work.total[i]), MAX_WEIGHT)
    for i in range(pulls.n):
        constant = np.float64(state.weights[0, i])
        up[i], down[i] = max(constant, 0.0), min(constant, 0.0)
    for k in range(batch.indptr[r], batch.indptr[r + 1]):
        row, x = np.int64(batch.indices[k]) + 1, np.float64(batch.values[k])
        for i in range(pulls.n):
            term = state.weights[row, i] * x
            up[i] += term if term > 0 else 0.0
            down[i] += term if term < 0 else 0.0


@hot
def explain(state: PerceptronState, work: PerceptronWork, batch: Batch, r: int, found: Found, k: int) -> int:
    for j in range(batch.indptr[r], batch.indptr[r + 1]):
        found.slots[k], found.values[k] = batch.indices[j], 0.0
        for i in range(state.weights.shape[1]):
            term = state.weights[np.int64(batch.indices[j]) + 1, i] * np.float64(batch.values[j])
            found.values[k] += term * (found.plus[r, i] if term > 0 else found.minus[r, i])
        k += 1
    return k


@lean
def forget(state: PerceptronState, i: int) -> None:
    for row in range(state.weights.shape[0]):
        state.weights[row, i] = f32(0)


@hot
def _within(x: float) -> np.float32:
    """x clipped to the range of weights, as a float32."""
    x = MAX_WEIGHT if x > MAX_WEIGHT else x
    return f32(-MAX_WEIGHT if x < -MAX_WEIGHT else x)  # type: ignore[no-any-return]


@dataclass(eq=False, repr=False)
class Perceptron(
    Learner, name="perceptron", options=(STANDARDIZE, BITS), state=PerceptronState, **kernels_of(__name__)
):
    """Perceptron, a linear classifier updated only by its mistakes: the cheapest learner, with nothing to tune.

    It is invariant to the scale of weights: with importance weights all copies would be the same, so boosters sample.

    Parameters
    ----------
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is refused before anything is learned.
    standardize : bool, default=False
        Whether features are centered and bounded online (rule: ``transforms/standardize.py``).
    bits : int, default=18
        At most 2**bits features have slots of their own; further features share slots by hashing.

    Examples
    --------
    >>> from onlineboost import OnlineBBM, Perceptron
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_error
    >>> X, y = load_letter()
    >>> round(progressive_error(Perceptron(), X, y), 3)
    0.368
    >>> round(progressive_error(OnlineBBM(Perceptron(), random_state=0), X, y), 3)
    0.336
    """

    prefers: ClassVar[Literal["weight", "sample"]] = "sample"  # with weights, copies would be identical
    linear: ClassVar[bool] = True
    strength: ClassVar[str] = "mean weight"
    axes: ClassVar[dict[str, int]] = {"weights": 1}

    _: KW_ONLY
    standardize: bool = False
    bits: int = 18

    @classmethod
    def from_options(cls, **given: Any) -> Self:
        return cls(**{"standardize": True, **given})

    def committee(self, n_learners: int, n_features: int) -> PerceptronState:
        if not isinstance(self.standardize, bool | np.bool_):
            raise ParameterError("standardize", self.standardize, "True or False")
        check_whole("bits", self.bits, 1, MAX_BITS)
        return PerceptronState(filled(0, (1 << n_features.bit_length(), n_learners), np.float32))

    def capacity(self, committee: PerceptronState) -> int:
        return len(committee.weights) - 1

    def grow(self, committee: PerceptronState, n_features: int) -> PerceptronState:
        return PerceptronState(with_room(committee.weights, 1 + n_features))

    def slot_limit(self) -> int:
        return 1 << int(self.bits)

    def separate(self, n_learners: int, n_features: int) -> bool:
        return True

    def strengths(self, committee: PerceptronState, n_learners: int) -> Floats | None:
        """The learners' mean weight."""
        return committee.weights[1:].mean(axis=1, dtype=np.float64)  # type: ignore[no-any-return]

    def transforms(self, n_features: int) -> Transforms:
        return (new_standardize(n_features),) if self.standardize else ()
