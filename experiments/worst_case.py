"""The worst-case learners of a booster among those with a given edge: found by a linear program, then run."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

from onlineboost import Learner, theory
from onlineboost.boosters.osboost import smooth_constants
from onlineboost.compiled.draws import uniform


class ScriptedState(NamedTuple):
    right: np.ndarray  # [learners, learners] the probability of being right, by how many earlier learners are
    seed: int


class ScriptedWork(NamedTuple):
    nothing: int


def workspace(state, longest):
    return ScriptedWork(0)


def predict(state, work, batch, r, h):
    first = batch.indptr[r]
    label, row, before = batch.values[first], int(batch.values[first + 1]), 0
    for i in range(state.right.shape[0]):
        right = uniform(state.seed, row, i) < state.right[i, before]
        h[i] = label if right else -label
        before += right


def learn(state, work, batch, r, h, t, p):
    pass


@dataclass(eq=False, repr=False)
class Scripted(Learner, state=ScriptedState, workspace=workspace, predict=predict, learn=learn):
    """Learner i is right with probability ``right[i, c]`` if c earlier learners are. Rows as for ``Simulated``."""

    prefers = "weight"

    right: Any = None
    _: KW_ONLY
    seed: int = 0

    def committee(self, n_learners, n_features):
        return ScriptedState(self.right, self.seed)

    def grow(self, committee, n_features):
        return committee


def worst_learners(weights: np.ndarray, edge: float) -> tuple[float, np.ndarray]:
    """The largest error of a majority vote over learners with w.z = edge ||w||_1, and these learners' probabilities.

    ``weights[i, c]`` is learner i's weight (i from 0) if c earlier learners are right. The linear program is over the
    shares of examples on which c of the first i learners are right, and learner i is right or wrong.
    """
    N = len(weights)
    i, c = np.tril_indices(N)
    state = np.arange(i.size)
    from_right, from_wrong = (i > 0) & (c > 0), (i > 0) & (c < i)
    entries = [
        (1.0, state, state),
        (1.0, state, i.size + state),
        (-1.0, state[from_right], place(i[from_right] - 1, c[from_right] - 1)),
        (-1.0, state[from_wrong], i.size + place(i[from_wrong] - 1, c[from_wrong])),
    ]
    values, rows, columns = (
        np.concatenate(part) for part in zip(*((np.full(r.size, v), r, k) for v, r, k in entries), strict=True)
    )
    flow = csr_matrix((values, (rows, columns)), (i.size, 2 * i.size))
    w = weights[i, c]
    losses = np.concatenate([(edge - 1) * w, (edge + 1) * w])
    contract = csr_matrix((losses, (np.tile(i, 2), np.arange(2 * i.size))), (N, 2 * i.size))
    errs = np.concatenate([2 * (c + 1) <= N, 2 * c <= N]) & np.tile(i == N - 1, 2)
    start = (state == 0).astype(float)
    found = linprog(-1.0 * errs, contract, np.zeros(N), flow, start, method="highs-ipm")
    right = np.full((N, N), 0.5)
    shares = np.maximum(found.x, 0).reshape(2, -1)
    right[i, c] = np.where(shares.sum(axis=0) > 1e-12, shares[0] / np.maximum(shares.sum(axis=0), 1e-12), 0.5)
    return -found.fun, right


def place(i: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The index of the state (i, c) among those of ``tril_indices``."""
    return i * (i + 1) // 2 + c


def bbm_weights(N: int, gamma: float, coin: Any) -> np.ndarray:
    """Online BBM's weight of learner i (from 0) if c earlier learners are right."""
    return np.array(
        [[theory.weight(i + 1, 2 * c - i, N, gamma, coin) if c <= i else 0.0 for c in range(N)] for i in range(N)]
    )


def smooth_weights(N: int, gamma: float) -> np.ndarray:
    """OSBoost's weights, in the same form."""
    theta, log_base = smooth_constants(gamma)
    i, c = np.indices((N, N))
    return np.minimum(np.exp(log_base * (2 * c - i - i * theta)), 1.0)
