from __future__ import annotations

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from test_tree import KINDS, make_stream, slow_rows

import onlineboost
from onlineboost import ModelFileError, OnlineBBM, OnlineGradientBoost, ParameterError, RegressionTree, Tree
from onlineboost.learners.regression_tree import LEAVES


def numbers(X: np.ndarray, seed: int, n: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    known = np.nan_to_num(X)
    y = 1e3 + 3 * known[:, 0].clip(-3, 3) + known[:, 1] ** 2 + rng.normal(size=n)
    y[rng.integers(0, n, 5)] = 1e9  # outliers
    if seed % 2:  # the level changes, later the scale
        y[300:500] += 1e5
        y[500:] *= -50
    return y


@given(
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(KINDS),
    weights=st.sampled_from(["one", "whole", "any"]),
    depth=st.integers(1, 6),
    n_bins=st.sampled_from([0, 8, 16]),
    memory=st.sampled_from([0, 8, 64]),
    evidence=st.sampled_from([2.0, 8.0]),
    replay=st.sampled_from([0, 128]),
    leaves=st.sampled_from(LEAVES),
)
@settings(max_examples=25)
def test_every_answer_is_that_of_the_slow_tree(seed, kind, weights, depth, n_bins, memory, evidence, replay, leaves):
    X, _, weight = make_stream(seed, kind, weights)
    y = numbers(X, seed, len(X))
    choices = {"memory": memory, "min_split_gain": evidence, "replay": replay, "leaf_prediction": leaves}
    fast = RegressionTree(depth, bins=n_bins, max_slots=16, **choices)
    scores = fast.progressive_fit(X, y, weight)
    tree = reference.RegressionTree(depth, n_bins, 16, evidence, memory, 10.0, leaves)
    tree.bins.bound = 16
    slow = reference.TargetScaling(_Replayed(tree, replay))
    for r, (asked, learned) in enumerate(slow_rows(X, weight, 16)):
        assert scores[r] == slow.score(asked), r
        if weight[r] > 0:
            slow.learn(learned, y[r], weight[r])


class _Replayed(reference.Replay):
    def score(self, row):
        return self.learner.score(row)


def test_a_tree_finds_steps_and_missing_values():
    rng = np.random.default_rng(0)
    X = rng.random((4000, 3))
    X[rng.random(4000) < 0.3, 1] = np.nan
    y = np.where(np.isnan(X[:, 1]), 5.0, np.where(X[:, 0] > 0.3, 1.0, -1.0))
    model = RegressionTree(4).fit(X[:3000], y[:3000])
    assert model.score(X[3000:], y[3000:]) > 0.95


def test_a_leaf_that_remembers_little_follows_a_change():
    X = np.ones((600, 1))
    y = np.repeat([0.0, 4.0], 300) + np.random.default_rng(0).normal(size=600)
    short, long = (RegressionTree(2, memory=memory).fit(X, y).predict(X[:1])[0] for memory in (16, 0))
    assert abs(short - 4) < 1 < abs(long - 4)


def test_leaves_follow_lines_where_they_err_less():
    """Slopes that change their sign in the middle: a split, and a line on each side. Noise has no use for lines."""
    rng = np.random.default_rng(0)
    X = rng.random((4000, 1))
    noise = (X[:, 0] > 0.5) + rng.normal(size=4000)
    for y, better, worse in ((np.abs(X[:, 0] - 0.5), "linear", "mean"), (noise, "mean", "linear")):
        errors = {}
        for leaves in LEAVES:
            answers = RegressionTree(3, memory=8, smoothing=1, leaf_prediction=leaves).progressive_fit(X, y)
            errors[leaves] = np.mean((answers - y)[1000:] ** 2)
        assert errors[better] < 0.99 * errors[worse]
        assert errors["auto"] < (errors[better] + errors[worse]) / 2


@pytest.mark.parametrize("learner", [RegressionTree(2, max_features=0.5), Tree(2, max_features=0.5)], ids=repr)
def test_trees_apart_keep_their_features(learner):
    whole = learner.committee(5, 8)
    assert np.array_equal(learner.apart(whole, 2, 5).allowed, whole.allowed[2:5])
    assert not np.array_equal(whole.allowed[:3], whole.allowed[2:5])
    joined = learner.joined([learner.apart(whole, 0, 2), learner.apart(whole, 2, 5)], [2, 3])
    assert np.array_equal(joined.allowed, whole.allowed)


def test_little_memory_still_learns():
    """With one histogram for all leaves of a tree they wait for each other; the answers stay sensible."""
    rng = np.random.default_rng(0)
    X = rng.random((3000, 60))
    y = np.sin(6 * X[:, 0]) + X[:, 1]
    model = OnlineGradientBoost(RegressionTree(6, max_mb=1), 40).fit(X, y)
    assert model._fitted.root.parts[0].committee.scarce
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize(
    "wrong",
    [{"max_depth": 0}, {"max_depth": 21}, {"memory": -1}, {"min_split_gain": np.nan}, {"smoothing": -1},
     {"max_features": 0}, {"random_state": -1}, {"bins": 5}, {"leaf_prediction": "tree"}],
)  # fmt: skip
def test_wrong_parameters(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        RegressionTree(**wrong).fit(np.eye(3), [1.0, 2.0, 3.0])


def test_no_booster_of_classes_takes_it():
    with pytest.raises(ParameterError, match="OnlineGradientBoost"):
        OnlineBBM(RegressionTree()).fit(np.eye(2), [0, 1])


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("part0.committee.nodes", lambda a: a + 1),
        ("part0.committee.vote", lambda a: a * np.nan),
        ("part0.committee.used", lambda a: a + 2),
        ("part0.committee.line", lambda a: a + np.eye(7)[0] * 1e6),
        ("part0.committee.line", lambda a: a - np.eye(7)[1] * 1e6),
        ("scaling.units", lambda a: -abs(a)),
        ("record.clock", lambda a: a * 0 + 3),
    ],
)
def test_a_file_with_an_impossible_state_is_refused(field, change, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.random((500, 3))
    model = RegressionTree(3).fit(X, X[:, 0] > 0.5)
    whole = type(model._fitted.root).arrays

    def changed(node):
        arrays = whole(node)
        return arrays | {field: change(arrays[field].copy())}

    monkeypatch.setattr(type(model._fitted.root), "arrays", changed)
    model.save(tmp_path / "m")
    monkeypatch.undo()
    with pytest.raises(ModelFileError):
        onlineboost.load(tmp_path / "m")
