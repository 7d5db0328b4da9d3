"""Simulated: weak learners that are right with given probabilities, to compare a booster with the theory.

They read the label from the row: a row is (label, row number from 1 on), as made by ``simulated_stream``. Whether
learner i is right on row t depends on (seed, t, i) only, so predicting twice gives the same votes.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.draws import uniform
from onlineboost.compiled.jit import f32, hot, lean
from onlineboost.data.batch import Batch, Floats, Floats32
from onlineboost.errors import ParameterError
from onlineboost.learners.base import Learner
from onlineboost.parameters import check_between, check_count

MOST_ROWS = 1 << 24  # float32 holds whole numbers up to this


class SimulatedState(NamedTuple):
    right: Floats  # [learners] the probability of being right
    guesses: int
    seed: int


class SimulatedWork(NamedTuple):
    nothing: int


def workspace(state: SimulatedState, longest: int) -> SimulatedWork:
    return SimulatedWork(0)


@hot
def predict(state: SimulatedState, work: SimulatedWork, batch: Batch, r: int, h: Floats32) -> None:
    label, row = f32(0), 0
    for j in range(batch.indptr[r], batch.indptr[r + 1]):
        if batch.indices[j] == 0:
            label = batch.values[j]
        elif batch.indices[j] == 1:
            row = int(batch.values[j])
    if row < 1 or abs(label) != 1:
        label = f32(0)  # not a row of simulated_stream: no opinion
    for i in range(state.right.size):
        chance = 0.5 if row <= state.guesses else state.right[i]
        h[i] = label if uniform(state.seed, row, i) < chance else -label


@hot
def learn(
    state: SimulatedState, work: SimulatedWork, batch: Batch, r: int, h: Floats32, t: Floats32, p: Floats
) -> None:
    pass


@lean
def forget(state: SimulatedState, i: int) -> None:
    """Nothing to do: these learners do not learn."""


@dataclass(eq=False, repr=False)
class Simulated(Learner, state=SimulatedState, workspace=workspace, predict=predict, learn=learn, forget=forget):
    """Simulated learners that are right with a given probability, independently of each other; they do not learn.

    Parameters
    ----------
    edge : float or sequence of float, default=0.1
        A learner is right with probability 1/2 + edge; one number for all, or one for each learner.
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is refused before anything is learned.
    guesses : int, default=0
        Number of rows at the start of the stream on which the learners guess.
    seed : int, default=0
        Random seed.

    Examples
    --------
    >>> from onlineboost import OnlineBBM, theory
    >>> X, y = theory.simulated_stream(50_000)
    >>> model = OnlineBBM(theory.Simulated(0.05), n_estimators=51, gamma=0.1, delivery="sample", random_state=0)
    >>> float((model.progressive_fit(X, y) * y <= 0).mean().round(4)), round(theory.phi0(51, 0.1), 4)
    (0.2355, 0.2359)
    """

    prefers: ClassVar[Literal["weight", "sample"]] = "weight"
    axes: ClassVar[dict[str, int]] = {"right": 0}

    edge: float | Sequence[float] = 0.1
    _: KW_ONLY
    guesses: int = 0
    seed: int = 0

    def committee(self, n_learners: int, n_features: int) -> SimulatedState:
        expected = f"a number from -1/2 to 1/2, or {n_learners} of them"
        try:
            edges = np.asarray(self.edge, float)
        except (TypeError, ValueError):
            raise ParameterError("edge", self.edge, expected) from None
        if edges.shape not in ((), (n_learners,)) or not (np.abs(edges) <= 0.5).all():
            raise ParameterError("edge", self.edge, expected)
        for name in ("guesses", "seed"):
            _check_number(name, getattr(self, name))
        return SimulatedState(np.broadcast_to(0.5 + edges, (n_learners,)).copy(), int(self.guesses), int(self.seed))

    def grow(self, committee: Any, n_features: int) -> Any:
        return committee


def simulated_stream(n_examples: int, seed: int = 0) -> tuple[Floats32, NDArray[np.int64]]:
    """Rows for ``Simulated``; the labels are fair coins.

    Parameters
    ----------
    n_examples : int
        Number of examples T.
    seed : int, default=0
        Random seed.

    Returns
    -------
    X : array of shape (n_examples, 2)
        Rows for ``Simulated``.
    y : array of shape (n_examples,)
        Labels, -1 or +1.

    Examples
    --------
    >>> X, y = simulated_stream(3)
    >>> X.tolist(), y.tolist()
    ([[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]], [1, 1, 1])
    """
    check_count("n_examples", n_examples)
    if n_examples > MOST_ROWS:
        raise ParameterError("n_examples", n_examples, f"at most {MOST_ROWS:,}")
    _check_number("seed", seed)
    y = np.random.default_rng(int(seed)).choice([-1, 1], n_examples)
    return np.column_stack([y, np.arange(1, n_examples + 1)]).astype(np.float32), y


def independent_learners(gamma: float, seed: int = 0) -> Simulated:
    """The first construction of Theorem 3: learners that are right with probability 1/2 + 2 gamma.

    With probability 1 - delta they have edge gamma and excess loss ln(1/delta) / (2 gamma), and no booster is better
    than their majority.

    Parameters
    ----------
    gamma : float
        Edge of the weak learners, above 0 and below 1/4.
    seed : int, default=0
        Random seed.

    Returns
    -------
    Simulated
        The learners.

    Examples
    --------
    >>> independent_learners(0.05).edge
    0.1
    """
    check_between("gamma", gamma, 0, 0.25)
    return Simulated(2 * gamma, seed=seed)


def two_phase_learners(gamma: float, excess: float, seed: int = 0) -> Simulated:
    """The second construction of Theorem 3: learners that guess on the first S / (4 gamma) rows.

    Then they are right with probability 1/2 + 2 gamma. If S >= ln(1/delta) / gamma, they have edge gamma and excess
    loss S with probability 1 - delta, and no booster is better than guessing on these rows.

    Parameters
    ----------
    gamma : float
        Edge of the weak learners, above 0 and below 1/4.
    excess : float
        Excess loss S of the weak learners, in examples.
    seed : int, default=0
        Random seed.

    Returns
    -------
    Simulated
        The learners.

    Examples
    --------
    >>> two_phase_learners(0.05, 59.9).guesses
    299
    """
    check_between("gamma", gamma, 0, 0.25)
    check_between("excess", excess, 0, math.inf)
    return Simulated(2 * gamma, guesses=min(int(excess / (4 * gamma)), MOST_ROWS), seed=seed)


def _check_number(name: str, value: object) -> None:
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or not 0 <= int(value) < 1 << 63:
        raise ParameterError(name, value, "a whole number of at least 0, below 2^63")
