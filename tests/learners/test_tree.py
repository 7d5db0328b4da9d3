from __future__ import annotations

import copy
import os
import pickle
import warnings
from collections.abc import Iterator

import numpy as np
import pytest
import reference
import scipy.sparse as sp
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import onlineboost
from onlineboost import ClassTree, NaiveBayes, OnlineBBM, ParameterError, Stump, Tree
from onlineboost.compiled.jit import njit
from onlineboost.data.hashing import feature_id
from onlineboost.learners.splits import most_gain
from onlineboost.readers import open_stream


def make_rows(seed: int, n: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Columns of every kind: continuous, few values, constant, copied, sparse, late; labels by two of them."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n, 8), np.float32)
    X[:, 0] = rng.normal(size=n)
    X[:, 1] = rng.integers(-2, 3, n)
    X[:, 2] = 7
    X[:, 3] = X[:, 0]
    X[:, 4] = np.where(rng.random(n) < 0.1, rng.normal(size=n), 0)
    X[200:, 5] = rng.integers(-1, 2, max(0, n - 200))
    X[:, 6] = rng.exponential(size=n) * 1e6
    X[:, 7] = np.where(rng.random(n) < 0.5, np.round(rng.normal(size=n), 1), 0)
    if kind == "zeros":
        X[rng.random(X.shape) < 0.5] = 0
    if kind == "moving":
        X[n // 2 :, [0, 6]] = 50 * X[n // 2 :, [0, 6]] + 100
    y = np.where((X[:, 0] > 0.2) ^ (X[:, 1] > 0) ^ (rng.random(n) < 0.1), 1, -1)
    return X, y


KINDS = ["dense", "zeros", "moving", "missing"]


def make_stream(seed: int, kind: str, weights: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = 700
    X, y = make_rows(seed, n, kind)
    rng = np.random.default_rng(seed)
    if kind == "missing":
        X[rng.random(X.shape) < 0.2] = np.nan
    return X, y, {"one": np.ones(n), "whole": rng.integers(0, 4, n) * 1.0, "any": rng.random(n)}[weights]


def slow_rows(X: np.ndarray, weight: np.ndarray, bound: int) -> Iterator[tuple[dict, dict]]:
    """Each row by slot, as it is asked and as it is learned. A missing value is also an indicator."""
    slots = reference.Slots(bound)
    for row, w in zip(X.tolist(), weight, strict=True):
        entries = [entry for j, x in enumerate(row) for entry in entries_of(j, x)]
        asked, learned = (dict(slots.row(entries, learns, missing=True)) for learns in (False, w > 0))
        yield asked, learned


def assert_same(scores, slow, X, y, weight, slots: int, replay: int, within: float = 0.0) -> None:
    """Every score is that of the slow learner, which learns each row after it was asked."""
    slow.bins.bound = slots
    replayed = reference.Replay(slow, replay)
    for r, (asked, learned) in enumerate(slow_rows(X, weight, slots)):
        assert abs(scores[r] - slow.score(asked)) <= within, r
        if weight[r] > 0:
            replayed.learn(learned, y[r], weight[r])


def entries_of(j: int, x: float) -> list[tuple[int, float]]:
    return [(j, x), (feature_id(f"{j}="), 1.0)] if np.isnan(x) else [(j, x)]


@given(
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(KINDS),
    depth=st.integers(1, 6),
    n_bins=st.sampled_from([0, 4, 16, 32]),
    tie=st.sampled_from([0.0, 0.1, 0.4]),
    evidence=st.sampled_from([0, 2, 5]),
    leaves=st.sampled_from(["adaptive", "majority"]),
    grace=st.sampled_from([1, 5, 32]),
    weights=st.sampled_from(["one", "whole", "any"]),
    max_nodes=st.sampled_from([0, 5]),
    slots=st.sampled_from([3, 20]),
    replay=st.sampled_from([0, 100, 512]),
)
@settings(max_examples=30, phases=[Phase.generate])
@pytest.mark.filterwarnings("ignore::onlineboost.RangeWarning")
def test_a_tree_equals_the_slow_one(
    seed, kind, depth, n_bins, tie, evidence, leaves, grace, weights, max_nodes, slots, replay
):
    """Every score, bit for bit: ties, late and moving features, shared slots, zeros, missing values, weights."""
    X, y, weight = make_stream(seed, kind, weights)
    tree = Tree(
        depth,
        leaf_prediction=leaves,
        bins=n_bins,
        tau=tie,
        min_split_gain=evidence,
        grace_period=grace,
        max_nodes=max_nodes,
        max_slots=slots,
        replay=replay,
    )
    scores = tree.progressive_fit(X, y, weight)
    slow = reference.Tree(depth, n_bins, grace, 0.05, tie, max_nodes or 1 << 20, evidence, leaves == "adaptive")
    assert_same(scores, slow, X, y, weight, slots, replay)
    assert tree._fitted.root.committee.used[0, 0] == slow.nodes


@given(
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(KINDS),
    depth=st.integers(1, 6),
    n_bins=st.sampled_from([0, 4, 16]),
    evidence=st.sampled_from([0, 1, 2]),
    leaves=st.sampled_from(["adaptive", "majority"]),
    grace=st.sampled_from([1, 5, 32]),
    weights=st.sampled_from(["one", "whole", "any"]),
    slots=st.sampled_from([3, 20]),
    replay=st.sampled_from([0, 100, 512]),
)
@settings(max_examples=14, phases=[Phase.generate])
@pytest.mark.filterwarnings("ignore::onlineboost.RangeWarning")
def test_a_class_tree_equals_the_slow_one(seed, kind, depth, n_bins, evidence, leaves, grace, weights, slots, replay):
    """Every vote, also while classes come: the third after 100 rows, the fourth after 400."""
    X, y, weight = make_stream(seed, kind, weights)
    y = np.where(y > 0, 1, 0) + 2 * (np.nan_to_num(X[:, 7]) > 0.3)
    y = np.where(np.arange(700) < 100, y % 2, np.where(np.arange(700) < 400, np.minimum(y, 2), y))
    tree = ClassTree(
        depth,
        leaf_prediction=leaves,
        bins=n_bins,
        min_split_gain=evidence,
        grace_period=grace,
        max_slots=slots,
        replay=replay,
    )
    tree.partial_fit(X[:0], y[:0], classes=[0, 1])
    scores = tree.progressive_fit(X, y, weight)
    slow = reference.ClassTree(depth, n_bins, grace, 1 << 20, evidence, leaves == "adaptive")
    slow.bins.bound = slots
    replayed = reference.Replay(slow, replay)
    for r, (asked, learned) in enumerate(slow_rows(X, weight, slots)):
        if weight[r] > 0 and y[r] >= slow.classes:
            slow.take(int(y[r]) + 1)
        assert scores[r].argmax() == slow.score(asked), r
        if weight[r] > 0:
            replayed.learn(learned, y[r], weight[r])
    assert tree._fitted.root.committee.used[0, 0] == slow.nodes


@given(
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(KINDS),
    n_bins=st.sampled_from([0, 4, 16, 32]),
    grace=st.sampled_from([1, 5, 32]),
    weights=st.sampled_from(["one", "whole", "any"]),
    slots=st.sampled_from([3, 20]),
    replay=st.sampled_from([0, 100, 512]),
)
@settings(max_examples=14, phases=[Phase.generate])
@pytest.mark.filterwarnings("ignore::onlineboost.RangeWarning")
def test_a_stump_equals_the_slow_one(seed, kind, n_bins, grace, weights, slots, replay):
    X, y, weight = make_stream(seed, kind, weights)
    scores = Stump(bins=n_bins, grace_period=grace, max_slots=slots, replay=replay).progressive_fit(X, y, weight)
    slow = reference.Stump(n_bins, grace)
    assert_same(scores, slow, X, y, weight, slots, replay)


@given(
    seed=st.integers(0, 1000),
    kind=st.sampled_from(KINDS),
    bins=st.sampled_from([0, 4, 16]),
    slots=st.sampled_from([2, 20]),
    replay=st.sampled_from([0, 100, 512]),
)
@settings(max_examples=14, phases=[Phase.generate])
@pytest.mark.filterwarnings("ignore::onlineboost.RangeWarning")
def test_naive_bayes_equals_the_slow_one(seed, kind, bins, slots, replay):
    X, y, weight = make_stream(seed, kind, "any")
    scores = NaiveBayes(bins=bins, smoothing=0.5, max_slots=slots, replay=replay).progressive_fit(X, y, weight)
    slow = reference.NaiveBayes(bins, 0.5)
    assert_same(scores, slow, X, y, weight, slots, replay, within=1e-6)  # votes are float32


def test_it_splits_and_learns_what_no_line_can():
    X, y = make_rows(0, 4000, "dense")
    tree = Tree(4)
    wrong = (tree.progressive_fit(X, y) >= 0) != (y > 0)
    assert wrong[2000:].mean() < 0.25
    line = (onlineboost.Linear().progressive_fit(X, y) >= 0) != (y > 0)
    assert line[2000:].mean() > 0.35


def test_boosting_pays_on_real_letters():
    from onlineboost.datasets import load_letter

    X, y = load_letter()

    def error(model) -> float:
        return float(((model.progressive_fit(X, y) >= 0) != (y > 0)).mean())

    assert error(OnlineBBM(Tree(3), random_state=0)) < 0.8 * error(Tree(3))
    assert error(OnlineBBM(Stump(), random_state=0)) < 0.95 * error(Stump())


def test_sparse_and_dense_rows_are_the_same():
    X, y = make_rows(3, 900, "zeros")
    dense, sparse = (OnlineBBM(Tree(4), 5, random_state=0).progressive_fit(M, y) for M in (X, sp.csr_matrix(X)))
    assert np.array_equal(dense, sparse)


@given(st.tuples(*[st.one_of(st.integers(0, 40), st.floats(0, 1e6), st.just(1e-7))] * 4))
def test_no_split_gains_more_than_its_bound(counts):
    left_a, left_b, right_a, right_b = map(float, counts)
    a, b = left_a + right_a, left_b + right_b
    bound = split_bound(left_a, left_b, a, b)
    if left_a + left_b > 0 and a - left_a + (b - left_b) > 0 and not np.isnan(bound):
        parts = reference.bits(left_a, left_b) + reference.bits(a - left_a, b - left_b)
        assert (reference.bits(a, b) - parts) / (a + b) <= bound


def test_the_bound_is_near_a_small_gain():
    """Else nothing is saved: of two shares of 48 % and 52 %, the gain is within 2 % of the bound."""
    gain = 1 - reference.bits(480.0, 520.0) / 1000
    assert gain < split_bound(480.0, 520.0, 1000.0, 1000.0) < 1.02 * gain
    assert split_bound(-1e-9, 520.0, 1000.0, 1000.0) == np.inf  # by rounding: nothing is known


@njit
def split_bound(left_a: float, left_b: float, a: float, b: float) -> float:
    return most_gain(left_a, left_b, a, b)


def test_words_and_missing_values_are_split_by():
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(3000):
        size = None if rng.random() < 0.3 else float(rng.normal())
        rows.append({"size": size, "colour": rng.choice(["red", "blue", "green"]), "noise": float(rng.normal())})
        rows[-1]["label"] = int(size is None or rows[-1]["colour"] == "red")
    model = Tree(3)
    wrong = (model.progressive_fit(open_stream(rows)) >= 0) != (np.array([row["label"] for row in rows]) > 0)
    assert wrong[1500:].mean() < 0.02


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_depth": 0}, "max_depth=0: expected a whole number from 1 to"),
        ({"max_depth": 21}, "max_depth=21: expected at most 20"),
        ({"bins": 10}, "bins=10: expected a power of two from 4 to 256"),
        ({"delta": 0}, "delta=0: expected"),
        ({"tau": -1}, "tau=-1: expected"),
        ({"max_nodes": -1}, "max_nodes=-1: expected"),
        ({"max_features": 0}, "max_features=0: expected a number above 0, at most 1"),
    ],
)
def test_parameters_are_checked(options, message):
    with pytest.raises(ParameterError, match=message):
        Tree(**options).partial_fit(np.ones((1, 200_000), np.float32), [1], classes=[0, 1])


def test_a_model_of_trees_is_small_on_disk_and_goes_on_exactly(tmp_path):
    X, y = make_rows(5, 2000, "zeros")
    whole = OnlineBBM(Tree(5), 5, random_state=0).fit(X, y)
    part = OnlineBBM(Tree(5), 5, random_state=0).fit(X[:900], y[:900])
    part.save(tmp_path / "m")
    twin = onlineboost.load(tmp_path / "m").partial_fit(X[900:], y[900:])
    assert np.array_equal(twin.decision_function(X), whole.decision_function(X))
    assert (tmp_path / "m").stat().st_size < 1_000_000


@pytest.mark.parametrize("learner", [Tree(3), ClassTree(3)])
def test_files_have_histograms_by_slot(learner, tmp_path):
    """In memory they are by bin: bins that few features have take none. Files are those of before."""
    X, y = make_rows(7, 300, "zeros")
    model = learner.fit(X, y)
    state = model._fitted.root.trimmed().committee
    rows, bins, slots, counts = state.histograms.shape
    saved = state.saved()["histograms"]
    assert saved.shape == (rows * slots, bins, counts) and rows > 1
    for row in range(rows):
        for slot in range(slots):
            np.testing.assert_array_equal(saved[row * slots + slot], state.histograms[row, :, slot])
    model.save(tmp_path / "m")
    twin = onlineboost.load(tmp_path / "m")._fitted.root.committee
    np.testing.assert_array_equal(twin.histograms, state.histograms)
    assert state.histograms.any()


def test_memory_is_bounded_and_leaves_take_turns():
    """A dozen rows of histograms for a tree of depth 12: it grows as large as with room for all."""
    X, y = make_rows(6, 30_000, "dense")
    X = np.tile(X, (1, 100))[:, :520]
    tight = Tree(12, max_mb=1).fit(X, y)
    committee = tight._fitted.root.committee
    assert committee.histograms.nbytes <= 1 << 20
    assert committee.most_rows == (1 << 20) // (committee.gains.size * 16 * 8) == committee.free.size
    assert committee.start.tolist() == [0, committee.free.size]
    assert committee.used[0, 0] > 8 * committee.most_rows
    free = committee.free[: committee.free.size - committee.used[0, 1]].tolist()
    assert sorted(free + held(committee)) == [*range(committee.free.size)]


def test_memory_stays_bounded_when_features_come_late():
    """A tree that had histograms for many leaves gives some up for new features; any batches, the same tree."""
    X, y = make_rows(8, 6000, "dense")
    X = np.concatenate([X, np.zeros((6000, 512), np.float32)], axis=1)
    X[3000:, 8:] = np.random.default_rng(1).normal(size=(3000, 512))
    trees = [Tree(8, max_mb=1, bins=16), Tree(8, max_mb=1, bins=16)]
    trees[0].fit(X, y)
    assert trees[0]._fitted.root.committee.most_rows < 16
    for start in range(0, 6000, 37):
        trees[1].partial_fit(X[start : start + 37], y[start : start + 37], classes=[-1, 1])
    arrays = [tree._fitted.root.trimmed().arrays() for tree in trees]
    assert all(np.array_equal(arrays[0][name], arrays[1][name], equal_nan=True) for name in arrays[0])


def held(committee) -> list[int]:
    """The rows of histograms that leaves have."""
    rows = committee.nodes[0, : committee.used[0, 0], 3]
    return (rows[rows > 0] - 1).tolist()


def test_nodes_are_bounded_whatever_the_length():
    X, y = make_rows(7, 5000, "dense")
    model = OnlineBBM(Tree(10, max_nodes=31), 3, random_state=0).fit(X, y)
    assert model._fitted.root.committee.used[:2, 0].tolist() == [31, 31]


def test_room_is_taken_as_it_is_needed():
    """1,024 slots and 256 leaves are possible, few are in use: a model of ten features is small, and so is a copy."""
    X, y = make_rows(1, 3000, "dense")
    model = OnlineBBM(Tree(8), random_state=0).fit(open_stream(X, y=y))
    assert len(pickle.dumps(model)) < 3e6
    assert sum(array.nbytes for array in copy.deepcopy(model)._fitted.root.arrays().values()) < 3e6


def test_a_forked_process_has_trees_of_its_own():
    X, y = make_rows(16, 600, "dense")
    model = Tree(3).fit(open_stream(X[:500], y=y[:500]))
    before = model._fitted.root.committee.histograms.copy()
    with warnings.catch_warnings(action="ignore"):  # newer Pythons warn of forks in processes with threads
        child = os.fork()
    if child == 0:
        model._fitted.root.committee.histograms[...] = 7
        os._exit(0)
    os.waitpid(child, 0)
    assert np.array_equal(model._fitted.root.committee.histograms, before)


def test_a_tree_of_some_features_splits_by_them_alone():
    X, y = make_rows(9, 4000, "dense")
    committee = OnlineBBM(Tree(4, max_features=0.5), 15, random_state=0).fit(X, y)._fitted.root.committee
    assert 0.3 < committee.allowed.mean() < 0.7
    assert len({row.tobytes() for row in committee.allowed}) > 10
    for tree in range(15):
        slots = committee.nodes[tree, : committee.used[tree, 0], 0]
        assert committee.allowed[tree, slots[slots > 0] - 1].all()


def test_the_features_that_gain_are_named():
    X, y = make_rows(10, 4000, "dense")
    shares = Tree(4).strengths(Tree(4).fit(X, y)._fitted.root.committee, 1)
    assert shares.sum() == pytest.approx(1)
    assert np.argsort(-shares)[0] in {0, 1, 3}  # the label is made of 0 and 1; 3 is a copy of 0


@pytest.mark.parametrize("learner", [Stump(), Tree(1), Tree(3), NaiveBayes(), OnlineBBM(Tree(2), 5, random_state=0)])
def test_rows_of_zeros_are_examples_too(learner):
    """The label is the feature: half of the rows show nothing, and that says it all."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (3000, 1)).astype(np.float32)
    wrong = (learner.progressive_fit(X, 2 * X[:, 0] - 1) >= 0) != (X[:, 0] > 0)
    assert wrong[1000:].mean() < 0.01


def test_counts_go_on_beyond_what_a_float32_can_count():
    """After very many examples, a leaf forgets half of them rather than the new ones."""
    X, y = make_rows(11, 3000, "dense")
    tree = Tree(1, leaf_prediction="adaptive").fit(X, y)
    state = tree._fitted.root.committee
    assert state.used[0, 0] == 3
    state.histograms[...] *= 8192  # as if each had come so often
    state.since[0, :, :3] *= 8192
    state.since[0, :, 3] = 1e9  # a try is due
    before = state.since[0, 1:3, :2].sum(axis=1)
    assert (before**2 / state.since[0, 1:3, 2] > 1 << 23).any()
    tree.partial_fit(X[:400], y[:400])
    after = state.since[0, 1:3, :2].sum(axis=1)
    assert (after < 0.6 * before).any()
    assert (after**2 / state.since[0, 1:3, 2] < 1 << 24).all()


def test_stumps_count_any_number_of_examples():
    X, y = make_rows(12, 1000, "dense")
    stump = Stump().fit(X, y)
    stump._fitted.root.committee.histograms[...] += 1 << 30
    before = stump._fitted.root.committee.histograms.copy()
    stump.partial_fit(X[:200], y[:200])
    assert (stump._fitted.root.committee.histograms - before).sum() > 500


def test_leaves_that_wait_for_histograms_answer_by_their_majority():
    """A scarce tree: leaves without a row must not look into another's histograms."""
    X, y = make_rows(13, 6000, "dense")
    X = np.tile(X, (1, 100))[:, :520]
    tree = Tree(12, max_mb=1).fit(X, y)
    committee = tree._fitted.root.committee
    leaves = [n for n in range(committee.used[0, 0]) if committee.nodes[0, n, 0] == 0 == committee.nodes[0, n, 3]]
    assert leaves
    committee.wrong[0, leaves] = [5.0, 1.0]  # Bayes was better, while there were histograms
    expected = committee.weight[0, leaves]
    scores = tree.decision_function(X)
    majorities = ((expected[:, 1] - expected[:, 0]) / expected.sum(axis=1)).astype(np.float32)
    assert set(majorities.tolist()) & set(scores.tolist())


def test_bayes_over_very_many_features_neither_vanishes_nor_overflows():
    rng = np.random.default_rng(3)
    X = rng.integers(1, 4, (600, 900)).astype(np.float32)
    y = np.where(X[:, :5].sum(axis=1) > 10, 1, -1)
    for learner in (Tree(1, min_split_gain=1e9), NaiveBayes()):
        scores = learner.progressive_fit(X, y)
        assert np.isfinite(scores).all() and (np.abs(scores) <= 1).all()
        assert (scores[300:] != 0).mean() > 0.9


def test_stumps_of_some_features_differ():
    X, y = make_rows(14, 3000, "dense")
    model = OnlineBBM(Stump(max_features=0.4), 15, random_state=0).fit(X, y)
    choices = model._fitted.root.committee.choice[:, 0]
    assert len(set(choices.tolist())) > 2
    assert all(model._fitted.root.committee.allowed[i, slot] for i, slot in enumerate(choices) if slot >= 0)


@pytest.mark.parametrize("name", ["bins", "max_slots", "max_nodes", "max_depth", "grace_period"])
def test_numbers_of_numpy_are_numbers(name):
    X, y = make_rows(15, 300, "dense")
    value = {"bins": 8, "max_slots": 8, "max_nodes": 7, "max_depth": 2, "grace_period": 8}[name]
    whole, other = Tree(**{name: value}), Tree(**{name: np.int64(value)})
    assert np.array_equal(whole.progressive_fit(X, y), other.progressive_fit(X, y))
    for wrong in (16.5, True, "8", np.array([4, 8])):
        with pytest.raises(ParameterError, match=name):
            Tree(**{name: wrong}).fit(X, y)
