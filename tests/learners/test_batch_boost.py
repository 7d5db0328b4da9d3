"""BatchBoost beside its slow twin, and what it promises by itself."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pairs
import pytest
import reference
import scipy.sparse as sp

import onlineboost
from onlineboost import BatchBoost, BatchBoostRegressor, OnlineBBM, ParameterError
from onlineboost.learners.batch.memory import BEGAN, KEPT, LENGTH
from onlineboost.readers import open_stream

SMALL = {"n_estimators": 4, "max_leaves": 6, "min_rows": 12}
GRIDS = [0.0, 1.0, 2.0, 3.0, 5.0, 8.0], [-2.0, -1.0, 0.0, 1.0, 4.0], [0.0, 1.0, 3.0]
EDGES = [[(a + b) / 2 for a, b in pairwise(grid)] for grid in GRIDS]


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


def test_gentle_trees_of_a_rare_label_equal_the_slow_ones():
    X, says, weight = stream(5)
    y = says > 1.6
    few = {"n_estimators": 3, "max_leaves": 30, "min_rows": 4}
    model = BatchBoost(**few, gentle=True)
    scores = model.progressive_fit(X, y, weight)
    slow = twin("classes", model, 2)
    slow.trees.gentle = True
    learns = with_replay(slow)
    for r in range(len(X)):
        assert scores[r] == pytest.approx(slow.scores(X[r].tolist())[0], abs=1e-5), r
        learns.learn(X[r].tolist(), float(y[r]), weight[r])
    assert y.mean() < 0.15
    assert abs(scores[300:] - BatchBoost(**few).progressive_fit(X, y, weight)[300:]).max() > 0.1


def test_gentle_trees_of_even_labels_are_those_of_others():
    X, says, _ = stream(6)
    y = says > np.quantile(says, 0.6)
    few, many = (BatchBoost(**SMALL, gentle=gentle).fit(X, y).decision_function(X) for gentle in (False, True))
    assert np.array_equal(few, many)


def test_several_classes_equal_the_slow_trees():
    X, says, weight = stream(1)
    y = np.digitize(says, [0.0, 0.8])
    y[:3] = 0, 1, 2
    model = BatchBoost(**SMALL)
    model.progressive_fit(X, y, weight)
    trees = model._fitted.root.committee.trees
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


def changing(rows: int = 1500) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose edges are made anew now and then; features that come late; three classes, the last one late."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(rows, 5)) * np.linspace(1, 9, rows)[:, None]
    X[:, 3] *= rng.random(rows) < 0.2
    X[:700, 4] = 0
    X[rng.random(X.shape) < 0.02] = np.nan
    known = np.nan_to_num(X)
    y = (known[:, 0] > known[:, 1]).astype(int) + (known[:, 4] > 5)
    return X, y


MODELS = {
    "two": lambda: BatchBoost(**SMALL, max_rows=300),
    "three": lambda: BatchBoost(**SMALL, max_rows=300),
    "numbers": lambda: BatchBoostRegressor(**SMALL, max_rows=300),
}


def rows_for(name: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = changing()
    return X, np.minimum(y, 1) if name == "two" else y if name == "three" else y + 0.1 * np.nan_to_num(X[:, 1])


def shown(model, X) -> np.ndarray:
    return model.predict(X) if isinstance(model, BatchBoostRegressor) else model.decision_function(X)


@pytest.mark.parametrize("name", MODELS)
def test_batches_files_and_pauses_change_nothing(name, tmp_path):
    X, y = rows_for(name)
    whole = MODELS[name]().fit(X, y)
    model, start, running = MODELS[name](), 0, 0
    for stop in [40, 65, 66, 128, 256, 710, 711, 714, 999, 1407, len(X)]:  # most of them are within a training
        model.partial_fit(X[start:stop], y[start:stop])
        start = stop
        running += int(model._fitted.root.committees[0].committee.memory.clock[LENGTH] > 0)
        model.save(tmp_path / "model")
        model = onlineboost.load(tmp_path / "model")
    assert running >= 5
    for at, one in enumerate((whole, model)):
        one.save(tmp_path / str(at))
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()
    assert np.array_equal(shown(model, X), shown(whole, X))


def test_single_rows_are_as_batches():
    X, y = rows_for("three")
    rows = [({str(j): float(v) for j, v in enumerate(x) if v}, int(label)) for x, label in zip(X, y, strict=True)]
    one, many = MODELS["three"](), MODELS["three"]()
    for x, label in rows[600:1100]:
        one.learn_one(x, label)
    many.fit(open_stream(rows[600:1100]))
    assert pairs.everything(one) == pairs.everything(many)


def test_the_last_rows_are_kept_as_bins():
    X, y = rows_for("two")
    memory = MODELS["two"]().fit(X, y)._fitted.root.committee.memory
    assert memory.clock[KEPT] == len(X) and len(memory.targets) == 310 and memory.codes.dtype == np.int8
    places = np.arange(len(X) - 310, len(X)) % 310
    assert np.array_equal(memory.targets[places], y[-310:])
    assert np.array_equal((memory.codes[:, places] == -128).sum(axis=0), np.isnan(X[-310:]).sum(axis=1))
    small = BatchBoost(max_rows=1 << 16, max_mb=1).fit(np.tile(X, (20, 40)), np.tile(y, 20) > 0)
    assert len(small._fitted.root.committee.memory.targets) < (1 << 20) // (3 * 200)


def test_columns_follow_new_edges():
    X, _ = changing()
    X = np.abs(np.nan_to_num(X[:, :1])) + 1
    committee = BatchBoost(**SMALL).fit(X, X[:, 0] > 3)._fitted.root.committee
    zero, codes = int(committee.bins.zero[0]), committee.memory.codes[0, : len(X)]
    far = codes - (np.searchsorted(committee.bins.edges[0], X[:, 0]) - zero)  # early rows were kept by other edges
    assert abs(far).mean() < 2 and np.corrcoef(codes, codes - far)[0, 1] > 0.98 and codes.max() > 40


def test_a_class_that_comes_late_is_known_after_its_training():
    X, y = rows_for("three")
    assert (y[:700] < 2).all() and (y[700:] == 2).any()
    model, third = MODELS["three"](), int(np.flatnonzero(y == 2)[0])
    model.partial_fit(X[:third], y[:third])
    assert model._fitted.root.n_classes == 2
    before = model.predict(X[:third])
    model.partial_fit(X[third : third + 1], y[third : third + 1])
    assert model._fitted.root.n_classes == 3 and np.array_equal(model.predict(X[:third]), before)
    model.partial_fit(X[third + 1 :], y[third + 1 :])
    assert np.mean(model.predict(X[700:]) == y[700:]) > 0.8 and set(model.predict(X)) == {0, 1, 2}


def test_explanations_add_up():
    for name in MODELS:
        X, y = rows_for(name)
        model = MODELS[name]().fit(X, y)
        found = model.explain(X[:50])
        sums = found.contributions.sum(axis=1) + found.bias
        assert np.allclose(sums, shown(model, X[:50]), atol=1e-5), name
        assert abs(found.contributions).max() > 0.1 and model._fitted.root.importances()


def test_sparse_and_dense_rows_are_the_same():
    X, y = rows_for("two")
    X = np.nan_to_num(X)
    dense, sparse = (MODELS["two"]().progressive_fit(M, y) for M in (X, sp.csr_matrix(X)))
    assert np.array_equal(dense, sparse)


def test_no_row_waits_for_a_training():
    """The pieces of work are divided among rows, so that none does more than a small part of it."""
    X, y = rows_for("two")
    model = BatchBoost(n_estimators=40, max_leaves=8).fit(X[:990], y[:990])
    committee, done = model._fitted.root.committee, []
    while committee.memory.clock[LENGTH] == 0:
        model.partial_fit(X[:1], y[:1])
    n = int(committee.memory.clock[LENGTH])
    for _ in range(n // 32 - 1):
        model.partial_fit(X[:1], y[:1])
        done.append(int(committee.training.clock[1]))
    assert done == sorted(done) and max(np.diff([0, *done])) <= 2 * math.ceil(40 / (n // 32))
    assert committee.memory.clock[BEGAN] and committee.trees.clock[0] == 40


@pytest.mark.parametrize(
    "wrong",
    [{"bins": 0}, {"bins": 128}, {"growth": 1.1}, {"learning_rate": 0}, {"max_leaves": 0}, {"max_mb": 0}],
    ids=str,
)
def test_wrong_parameters(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        BatchBoost(**wrong).fit(np.eye(2), [0, 1])


def test_they_are_not_boosted_once_more():
    with pytest.raises(ParameterError, match="boosted already"):
        OnlineBBM(BatchBoost(), 3).fit(np.eye(2), [0, 1])


@pytest.mark.parametrize("name", MODELS)
def test_a_file_without_the_memory_answers_and_fills_it_again(name, tmp_path):
    X, y = rows_for(name)
    model = MODELS[name]().fit(X[:1400], y[:1400])
    model.save(tmp_path / "with")
    model.save(tmp_path / "without", memory=False)
    found = onlineboost.load(tmp_path / "without")
    assert np.array_equal(shown(found, X), shown(model, X))
    assert model._fitted.root.n_kept == 310 and found._fitted.root.n_kept == 0
    assert (tmp_path / "without").stat().st_size < (tmp_path / "with").stat().st_size - 5 * 310
    trees = found._fitted.root.committees[0].committee.trees.numbers.copy()
    found.partial_fit(X[:299], y[:299])
    assert np.array_equal(found._fitted.root.committees[0].committee.trees.numbers, trees)
    found.partial_fit(X[299:320], y[299:320])
    assert not np.array_equal(found._fitted.root.committees[0].committee.trees.numbers, trees)


def test_there_are_as_many_rows_as_features_before_a_training():
    X, y = rows_for("two")
    wide = np.hstack([np.nan_to_num(X[:, :2])] * 100)
    committee = BatchBoost(**SMALL).fit(wide[:199], y[:199])._fitted.root.committee
    assert committee.memory.clock[LENGTH] == 0 and committee.trees.clock[0] == 0
    trained = BatchBoost(**SMALL).fit(wide[:260], y[:260])._fitted.root.committee
    assert trained.trees.clock[0] == 4 and trained.memory.clock[3] == 282
