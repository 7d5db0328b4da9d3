"""FTRL: logistic regression on tokens and their pairs by follow-the-regularized-leader, for N learners side by side.

McMahan and others (2013), *Ad Click Prediction: a View from the Trenches*, algorithm 1 (FTRL-Proximal), line 5 ff.:

| paper | here | meaning |
| --- | --- | --- |
| w | ``numbers[j, 0]`` | weight of token j - 1 (0: the constant) |
| z | ``numbers[j, 1]`` | sum of gradients, each minus sigma w |
| sqrt(n) | ``numbers[j, 2]`` | root of the sum of squared gradients |
| alpha, beta | ``learning_rate``, 1 | step size |
| lambda_1 | ``noise`` sqrt(n) | a weight is 0 as long as \\|z\\| is not above it |

Differences from the paper: lambda_1 grows with sqrt(n), the size of z for a token without information, and holds for
pairs only. There is no lambda_2. With ``settling`` c, the step size of features and the constant is 1 / ((beta +
sqrt(n)) / alpha + c n), which ends like that of a mean, since steps of alpha / sqrt(n) are too large for large n.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from onlineboost.compiled.jit import f32, hot, lean
from onlineboost.data.allocation import filled, planning
from onlineboost.data.batch import Batch, Floats, Floats32
from onlineboost.errors import ParameterError
from onlineboost.learners.base import Learner, kernels_of
from onlineboost.learners.linear import LEARNING_RATE
from onlineboost.loop.explaining import Found, Pulls
from onlineboost.loop.heads import logistic
from onlineboost.parameters import check_between, check_count, check_whole
from onlineboost.registry import Option
from onlineboost.storage.validity import Limits
from onlineboost.transforms.chain import Transforms
from onlineboost.transforms.slots import BITS, MAX_BITS
from onlineboost.transforms.tokens import FEATURE, LEAST, USED, TokensState, new_tokens

_BETA = 1.0
_MAX_SCORE, _MAX_WEIGHT, _MAX_STEP = 50.0, 1e3, 1e12
_MAX_SUM = 1e37  # a sum of float32 must not become infinite
_MAX_ROW = 1024
_MOST_SETTLING = 1e3
_MAX_PLACES = 1 << 26
_BYTES = 20  # of a token in the table and the filter; 12 more for each learner


class FTRLState(NamedTuple):
    numbers: Floats32  # [1 + places, 3, learners]
    learning_rate: float
    noise: float
    settling: float

    def limits(self) -> Limits:
        return {"numbers": (-_MAX_SUM, _MAX_SUM)}


class FTRLWork(NamedTuple):
    total: Floats  # [learners]
    gradient: Floats  # [learners]


def workspace(state: FTRLState, longest: int) -> FTRLWork:
    n = state.numbers.shape[2]
    return FTRLWork(np.zeros(n), np.zeros(n))


@hot
def predict(state: FTRLState, work: FTRLWork, batch: Batch, r: int, h: Floats32) -> None:
    for i in range(work.total.size):
        work.total[i] = state.numbers[0, 0, i]
    for j in range(batch.indptr[r], batch.indptr[r + 1]):
        row = np.int64(batch.indices[j]) + 1
        for i in range(work.total.size):
            work.total[i] += state.numbers[row, 0, i]
    for i in range(work.total.size):
        h[i] = f32(min(max(work.total[i], -_MAX_SCORE), _MAX_SCORE))


@hot
def learn(state: FTRLState, work: FTRLWork, batch: Batch, r: int, h: Floats32, t: Floats32, p: Floats) -> None:
    idle = True
    for i in range(p.size):
        q = logistic(h[i]) - (1.0 if t[i] > 0 else 0.0)
        work.gradient[i] = min(max(p[i] * q, -_MAX_STEP), _MAX_STEP)
        idle &= work.gradient[i] == 0
    if idle:
        return
    _move(state, work, 0, 0.0, state.settling)
    for j in range(batch.indptr[r], batch.indptr[r + 1]):
        row: Any = np.int64(batch.indices[j]) + 1
        if batch.values[j] == FEATURE:
            _move(state, work, row, 0.0, state.settling)
        else:
            _move(state, work, row, state.noise, 0.0)


@hot
def _move(state: FTRLState, work: FTRLWork, row: int, threshold: float, settling: float) -> None:
    """Lines 7 to 11 for one token, then line 5: its next weight."""
    own, rate = state.numbers[row], state.learning_rate
    for i in range(work.gradient.size):
        g, w, z, root = work.gradient[i], np.float64(own[0, i]), np.float64(own[1, i]), np.float64(own[2, i])
        wider = math.sqrt(root * root + g * g)
        z = min(max(z + g - ((wider - root) / rate + settling * g * g) * w, -_MAX_SUM), _MAX_SUM)
        beyond = max(abs(z) - threshold * wider, 0.0)
        size = min(beyond * rate / (_BETA + wider + settling * rate * wider * wider), _MAX_WEIGHT)
        own[0, i] = f32(-size if z > 0 else size)
        own[1, i], own[2, i] = f32(z), f32(min(wider, _MAX_SUM))


@hot
def pull(state: FTRLState, work: FTRLWork, batch: Batch, r: int, h: Floats32, pulls: Pulls) -> None:
    """The terms of a vote are weights."""
    up, down, link = pulls.up[r], pulls.down[r], pulls.link[r]
    for i in range(link.size):
        link[i] = _MAX_SCORE / max(abs(work.total[i]), _MAX_SCORE)
    for i in range(pulls.n):
        constant = np.float64(state.numbers[0, 0, i])
        up[i], down[i] = max(constant, 0.0), min(constant, 0.0)
        for j in range(batch.indptr[r], batch.indptr[r + 1]):
            term = np.float64(state.numbers[np.int64(batch.indices[j]) + 1, 0, i])
            up[i], down[i] = up[i] + max(term, 0.0), down[i] + min(term, 0.0)


@hot
def explain(state: FTRLState, work: FTRLWork, batch: Batch, r: int, found: Found, k: int) -> int:
    for j in range(batch.indptr[r], batch.indptr[r + 1]):
        found.slots[k], found.values[k] = batch.indices[j], 0.0
        for i in range(state.numbers.shape[2]):
            term = np.float64(state.numbers[np.int64(batch.indices[j]) + 1, 0, i])
            found.values[k] += term * (found.plus[r, i] if term > 0 else found.minus[r, i])
        k += 1
    return k


@lean
def forget(state: FTRLState, i: int) -> None:
    for row in range(state.numbers.shape[0]):
        for k in range(3):
            state.numbers[row, k, i] = f32(0)


_OPTIONS = (
    LEARNING_RATE,
    Option("noise", "Ignore feature pairs whose gradients sum to less than X standard deviations of noise.", float),
    Option("settling", "Reduce the step size of frequent features faster than AdaGrad; 0: as AdaGrad.", float),
    Option("max_row", "Use feature pairs only in rows with at most N features.", int, least=1, most=_MAX_ROW),
    Option("max_mb", "Maximum memory for weights, in MB.", int, least=1),
)


@dataclass(eq=False, repr=False)
class FTRLProximal(Learner, name="ftrl", options=(*_OPTIONS, BITS), state=FTRLState, **kernels_of(__name__)):
    """Logistic regression on features and all their pairs, by FTRL-Proximal: for click data and tables.

    Features enter by their values or bins. The weight of a pair stays 0 until its gradients exceed noise, so many pairs
    cost little accuracy. Features and pairs take memory when they occur for the second time (rule:
    ``transforms/tokens.py``).

    Parameters
    ----------
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is refused before anything is learned.
    learning_rate : float, default=0.4
        Step size.
    noise : float, default=2.0
        Number of standard deviations that the sum of a pair's gradients must exceed before the pair gets a weight.
    settling : float, default=0.0
        Added to the inverse of the step size of a feature, per unit of its sum of squared gradients. Above 0, weights
        of frequent features settle.
    max_row : int, default=48
        Maximum number of features of a row with pairs; longer rows have no pairs.
    max_mb : int, default=128
        Maximum megabytes of weights. When they are used, further features and pairs are left out.
    bits : int, default=22
        At most 2**bits features have slots of their own; further features share slots by hashing.

    Examples
    --------
    >>> from onlineboost import FTRLProximal
    >>> from onlineboost.datasets import load_letter
    >>> from onlineboost.evaluate import progressive_error
    >>> X, y = load_letter()
    >>> round(progressive_error(FTRLProximal(), X, y), 3)
    0.125
    """

    prefers: ClassVar[Literal["weight", "sample"]] = "weight"
    strength: ClassVar[str] = "mean weight"
    several_classes: ClassVar[bool] = True

    _: KW_ONLY
    learning_rate: float = 0.4
    noise: float = 2.0
    settling: float = 0.0
    max_row: int = 48
    max_mb: int = 128
    bits: int = 22

    def committee(self, n_learners: int, n_features: int) -> FTRLState:
        check_between("learning_rate", self.learning_rate, 0, math.inf)
        if not isinstance(self.noise, numbers.Real) or not 0 <= float(self.noise) < math.inf:
            raise ParameterError("noise", self.noise, "a number of at least 0")
        if not isinstance(self.settling, numbers.Real) or not 0 <= float(self.settling) <= _MOST_SETTLING:
            raise ParameterError("settling", self.settling, f"a number from 0 to {_MOST_SETTLING:g}")
        check_whole("max_row", self.max_row, 1, _MAX_ROW)
        check_count("max_mb", self.max_mb)
        check_whole("bits", self.bits, 1, MAX_BITS)
        return self._of(n_learners, LEAST)

    def _of(self, n_learners: int, n_places: int) -> FTRLState:
        shape = 1 + n_places, 3, n_learners
        numbers = filled(0, shape, np.float32)
        return FTRLState(numbers, float(self.learning_rate), float(self.noise), float(self.settling))

    def transforms(self, n_features: int) -> Transforms:
        return (new_tokens(n_features, int(self.max_row)),)

    # ---- room

    def grow(self, committee: FTRLState, n_features: int) -> FTRLState:
        return committee

    def enlarged(self, committee: FTRLState, transforms: Transforms) -> tuple[FTRLState, Transforms]:
        (tokens,) = transforms
        assert isinstance(tokens, TokensState)
        if tokens.due[0] != 1:
            return committee, transforms
        n_places, n_learners = 2 * tokens.n_places, committee.numbers.shape[2]
        if n_places > _MAX_PLACES or n_places * (_BYTES + 12 * n_learners) > int(self.max_mb) << 20:
            tokens.due[0] = 2
            return committee, transforms
        return self._in(committee, n_places), (tokens.in_room(n_places),)

    def is_full(self, committee: FTRLState, transforms: Transforms) -> bool:
        (tokens,) = transforms
        return bool(tokens.clock[USED] == tokens.n_places)  # type: ignore[attr-defined]

    def _in(self, committee: FTRLState, n_places: int) -> FTRLState:
        larger = self._of(committee.numbers.shape[2], n_places)
        if not planning():
            larger.numbers[: len(committee.numbers)] = committee.numbers
        return larger

    def room(self, committee: FTRLState) -> tuple[int, ...]:
        return (len(committee.numbers) - 1,)

    def in_room(self, committee: FTRLState, room: Any) -> FTRLState:
        (given,) = room
        n_places = check_whole("room", given, LEAST, _MAX_PLACES)
        if n_places & (n_places - 1):
            raise ValueError("the room of the learners is not possible")
        return self._of(committee.numbers.shape[2], n_places)

    def transforms_in(self, transforms: Transforms, committee: FTRLState) -> Transforms:
        (tokens,) = transforms
        assert isinstance(tokens, TokensState)
        return (tokens.in_room(len(committee.numbers) - 1),)

    # ---- several learners

    def size(self, committee: FTRLState) -> int:
        return int(committee.numbers.shape[2])

    def further(self, committee: FTRLState, n_learners: int, n_features: int) -> FTRLState:
        return self._of(n_learners, len(committee.numbers) - 1)

    def apart(self, committee: FTRLState, first: int, last: int) -> FTRLState:
        return committee._replace(numbers=np.ascontiguousarray(committee.numbers[:, :, first:last]))

    def joined(self, parts: list[FTRLState], sizes: list[int]) -> FTRLState:
        return parts[0]._replace(numbers=np.concatenate([part.numbers for part in parts], axis=2))

    def separate(self, n_learners: int, n_features: int) -> bool:
        return True

    # ---- what was learned

    def slot_limit(self) -> int:
        return 1 << int(self.bits)

    def strengths(self, committee: FTRLState, n_learners: int) -> Floats | None:
        """The learners' mean weight."""
        mean: Floats = committee.numbers[1:, 0].mean(axis=1, dtype=np.float64)
        return mean
