"""BatchBoost beside its slow twin, and what it promises by itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
import reference
import scipy.sparse as sp

from onlineboost import BatchBoost, BatchBoostRegressor, OnlineBBM, ParameterError
from onlineboost.learners.memory import BEGAN, KEPT, LENGTH

SMALL = {"n_estimators": 4, "max_leaves": 6, "min_rows": 12}
GRIDS = [0.0, 1.0, 2.0, 3.0, 5.0, 8.0], [-2.0, -1.0, 0.0, 1.0, 4.0], [0.0, 1.0, 3.0]
EDGES = [[(a + b) / 2 for a, b in zip(grid, grid[1:], strict=False)] for grid in GRIDS]


def stream(seed: int, rows: int = 420) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features on small grids, some missing; what they say, from -1 to 2; and weights."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.choice(grid, rows) for grid in GRIDS])
    X[:6] = [[grid[-1 - k % len(grid)] for grid in GRIDS] for k in range(6)]
    X[6:][rng.random((rows - 6, 3)) < 0.1] = np.nan
    known = np.where(np.isnan(X), 1.0, X)
    says = np.sin(known[:, 0]) + (known[:, 1] > 0) * (known[:, 2] > 0) + 0.3 * rng.normal(size=rows)
    return X, says, rng.choice([0.5, 1.0, 3.0], rows)


def twin(loss, model, classes: int) -> reference.BatchBoost:
    trees = reference.BatchTrees(
        EDGES, loss, model.n_estimators, model.learning_rate, model.max_leaves, float(model.l2)
    )
    return reference.BatchBoost(trees, classes if classes > 2 else 1, model.min_rows)


def with_replay(slow):
    """The rows before there are bins come to the trees in the order of a replay."""

    class Late:
        def learn(self, row, y, w, fresh=True):
            if not fresh or len(slow.rows) >= 64:
                slow.learn(row, y, w)

    return reference.Replay(Late(), 64)


@pytest.mark.parametrize("l2", [0.01, 3.0])
def test_two_classes_equal_the_slow_trees(l2):
    X, says, weight = stream(0)
    y = says > 0.5
    model = BatchBoost(**SMALL, l2=l2)
    scores = model.progressive_fit(X, y, weight)
    slow = twin("classes", model, 2)
    learns = with_replay(slow)
    for r in range(len(X)):
        assert scores[r] == pytest.approx(slow.scores(X[r].tolist())[0], abs=1e-5), r
        learns.learn(X[r].tolist(), float(y[r]), weight[r])
    assert abs(scores[300:]).max() > 1


def test_several_classes_equal_the_slow_trees():
    X, says, weight = stream(1)
    y = np.digitize(says, [0.0, 0.8])
    y[:3] = 0, 1, 2
    model = BatchBoost(**SMALL)
    model.progressive_fit(X, y, weight)
    trees = model.fitted.root.committee.trees
    slow = twin("classes", model, 3)
    learns = with_replay(slow)
    for r in range(len(X)):
        learns.learn(X[r].tolist(), float(y[r]), weight[r])
    assert trees.base == pytest.approx(slow.answering.base)
    values = [float(value) for value in trees.numbers[:12, :, 1].sum(axis=1)]
    assert len(slow.answering.trees) == 12
    for (_, root), mine in zip(slow.answering.trees, values, strict=True):
        assert leaves_of(root) == pytest.approx(mine - inner(trees, values.index(mine)), abs=1e-5)


def leaves_of(node) -> float:
    """The sum of the values of leaves."""
    return sum(map(leaves_of, node["children"])) if "children" in node else node["value"]


def inner(trees, tree: int) -> float:
    """The sum of the values of nodes that are no leaves."""
    return float(trees.numbers[tree, :, 1][trees.nodes[tree, :, 1] > np.arange(len(trees.nodes[tree]))].sum())


@pytest.mark.parametrize(("loss", "quantile", "slow_loss"), [("squared", 0.5, "squared"), ("quantile", 0.8, 0.8)])
def test_numbers_equal_the_slow_trees(loss, quantile, slow_loss):
    X, says, weight = stream(2)
    model = BatchBoostRegressor(loss, quantile=quantile, **SMALL)
    scores = model.progressive_fit(X, says, weight)
    slow = twin(slow_loss, model, 1)
    learns = with_replay(slow)
    learns.score = lambda row: slow.scores(row)[0]
    scaled = reference.TargetScaling(learns)
    for r in range(len(X)):
        assert scores[r] == pytest.approx(scaled.score(X[r].tolist()), abs=1e-4), r
        scaled.learn(X[r].tolist(), says[r], weight[r])
