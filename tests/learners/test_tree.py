from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import reference
import scipy.sparse as sp
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import onlineboost
from onlineboost import NaiveBayes, OnlineBBM, ParameterError, Stump, Tree
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
    y = np.where((X[:, 0] > 0.2) ^ (X[:, 1] > 0) ^ (rng.random(n) < 0.1), 1, -1)
    return X, y


@given(
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(["dense", "zeros"]),
    depth=st.integers(1, 6),
    n_bins=st.sampled_from([4, 16, 32]),
    tie=st.sampled_from([0.0, 0.1, 0.4]),
    evidence=st.sampled_from([0, 2, 5]),
    leaves=st.sampled_from(["adaptive", "majority"]),
    grace=st.sampled_from([1, 5, 32]),
    weights=st.sampled_from(["one", "whole", "any"]),
    max_nodes=st.sampled_from([0, 5]),
    slots=st.sampled_from([3, 8]),
)
@settings(max_examples=60, phases=[Phase.generate])
def test_a_tree_equals_the_slow_one(seed, kind, depth, n_bins, tie, evidence, leaves, grace, weights, max_nodes, slots):
    """Every score, bit for bit: with ties, constants, copies, late features, shared slots, zeros and weights."""
    X, y = make_rows(seed, 700, kind)
    rng = np.random.default_rng(seed)
    weight = {"one": np.ones(700), "whole": rng.integers(0, 4, 700) * 1.0, "any": rng.random(700)}[weights]
    tree = Tree(
        depth,
        leaves=leaves,
        bins=n_bins,
        tie=tie,
        evidence=evidence,
        grace=grace,
        max_nodes=max_nodes,
        max_slots=slots,
    )
    scores = tree.progressive_fit(X, y, weight)
    slow = reference.Tree(depth, slots, n_bins, grace, 0.05, tie, max_nodes or 1 << 20, evidence, leaves == "adaptive")
    for r in range(700):
        row = {j: float(x) for j, x in enumerate(X[r]) if x}
        assert scores[r] == slow.score(row), r
        if weight[r] > 0:
            slow.learn(row, y[r], weight[r])
    assert tree.fitted.machine.committee.used[0, 0] == slow.nodes


@given(
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(["dense", "zeros"]),
    n_bins=st.sampled_from([4, 16, 32]),
    grace=st.sampled_from([1, 5, 32]),
    weights=st.sampled_from(["one", "whole", "any"]),
    slots=st.sampled_from([3, 8]),
)
@settings(max_examples=40, phases=[Phase.generate])
def test_a_stump_equals_the_slow_one(seed, kind, n_bins, grace, weights, slots):
    X, y = make_rows(seed, 500, kind)
    rng = np.random.default_rng(seed)
    weight = {"one": np.ones(500), "whole": rng.integers(0, 4, 500) * 1.0, "any": rng.random(500)}[weights]
    scores = Stump(bins=n_bins, grace=grace, max_slots=slots).progressive_fit(X, y, weight)
    slow = reference.Stump(slots, n_bins, grace)
    for r in range(500):
        row = {j: float(x) for j, x in enumerate(X[r]) if x}
        assert scores[r] == slow.score(row), r
        if weight[r] > 0:
            slow.learn(row, y[r], weight[r])


def test_it_splits_and_learns_what_no_line_can():
    X, y = make_rows(0, 4000, "dense")
    tree = Tree(4)
    wrong = (tree.progressive_fit(X, y) >= 0) != (y > 0)
    assert wrong[2000:].mean() < 0.2
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
        ({"tie": -1}, "tie=-1: expected"),
        ({"max_nodes": -1}, "max_nodes=-1: expected"),
        (
            {"max_mb": 1, "max_slots": 100_000},
            "max_mb=1: expected at least 13, one histogram per tree and slot; or fewer trees",
        ),
        ({"features": 0}, "features=0: expected a number above 0, at most 1"),
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


def test_memory_is_bounded_and_leaves_take_turns():
    """15 rows of histograms for a tree of depth 12: it grows as large as with room for all."""
    X, y = make_rows(6, 30_000, "dense")
    X = np.tile(X, (1, 100))[:, :520]
    tight = Tree(12, max_mb=1).fit(X, y)
    committee = tight.fitted.machine.committee
    assert committee.histograms.nbytes <= 1 << 20
    assert committee.rows == (1 << 20) // (520 * 16 * 8)
    assert committee.used[0, 0] > 8 * committee.rows == 120
    assert sorted(committee.free[0, : committee.rows - committee.used[0, 1]].tolist() + held(committee)) == [
        *range(committee.rows)
    ]


def held(committee) -> list[int]:
    """The rows of histograms that leaves have."""
    rows = committee.nodes[0, : committee.used[0, 0], 3]
    return rows[rows >= 0].tolist()


def test_nodes_are_bounded_whatever_the_length():
    X, y = make_rows(7, 5000, "dense")
    model = OnlineBBM(Tree(10, max_nodes=31), 3, random_state=0).fit(X, y)
    assert model.fitted.machine.committee.used[:2, 0].tolist() == [31, 31]


def test_a_hashed_stream_touches_little_memory(tmp_path):
    """1,024 slots of which 8 are in use: memory that is not written to does not count, nor when it is saved."""
    script = """
import sys
import numpy as np
from onlineboost import OnlineBBM, Tree
from onlineboost.readers import open_stream
X = np.random.default_rng(0).normal(size=(3000, 8)); y = np.sign(X[:, 0] * X[:, 1])
def memory():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
OnlineBBM(Tree(8), 2, random_state=0).fit(open_stream(X, y=y)).save(sys.argv[1])
before = memory()
model = OnlineBBM(Tree(8), 21, random_state=0).fit(open_stream(X, y=y))
model.save(sys.argv[1])
print(model.fitted.machine.committee.histograms.nbytes, memory() - before)
"""
    if not Path("/proc/self/statm").exists():
        pytest.skip("needs Linux, to measure the memory of a process")
    command = [sys.executable, "-c", script, str(tmp_path / "model")]
    reserved, used = map(int, subprocess.run(command, capture_output=True, check=True, text=True).stdout.split())
    assert reserved > 600e6
    assert used < 150e6


def test_a_forked_process_has_trees_of_its_own():
    X, y = make_rows(16, 600, "dense")
    model = Tree(3).fit(open_stream(X[:500], y=y[:500]))
    before = model.fitted.machine.committee.histograms.copy()
    with warnings.catch_warnings(action="ignore"):  # newer Pythons warn of forks in processes with threads
        child = os.fork()
    if child == 0:
        model.fitted.machine.committee.histograms[...] = 7
        os._exit(0)
    os.waitpid(child, 0)
    assert np.array_equal(model.fitted.machine.committee.histograms, before)


def test_a_tree_of_some_features_splits_by_them_alone():
    X, y = make_rows(9, 4000, "dense")
    committee = OnlineBBM(Tree(4, features=0.5), 15, random_state=0).fit(X, y).fitted.machine.committee
    assert 0.3 < committee.allowed.mean() < 0.7
    assert len({row.tobytes() for row in committee.allowed}) > 10
    for tree in range(15):
        slots = committee.nodes[tree, : committee.used[tree, 0], 0]
        assert committee.allowed[tree, slots[slots >= 0]].all()


def test_the_features_that_gain_are_named():
    X, y = make_rows(10, 4000, "dense")
    shares = Tree(4).strengths(Tree(4).fit(X, y).fitted.machine.committee, 1)
    assert shares.sum() == pytest.approx(1)
    assert set(np.argsort(-shares)[:2].tolist()) <= {0, 1, 3}  # the label is made of 0 and 1; 3 is a copy of 0


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
    tree = Tree(1, leaves="adaptive").fit(X, y)
    state = tree.fitted.machine.committee
    assert state.used[0, 0] == 3
    state.histograms[...] *= 8192  # as if each had come so often
    state.since[0, :, :3] *= 8192
    before = state.since[0, 1:3, :2].sum(axis=1)
    assert (before**2 / state.since[0, 1:3, 2] > 1 << 23).any()
    tree.partial_fit(X[:400], y[:400])
    after = state.since[0, 1:3, :2].sum(axis=1)
    assert (after < 0.6 * before).any()
    assert (after**2 / state.since[0, 1:3, 2] < 1 << 24).all()


def test_stumps_count_any_number_of_examples():
    X, y = make_rows(12, 1000, "dense")
    stump = Stump().fit(X, y)
    stump.fitted.machine.committee.histograms[...] += 1 << 30
    before = stump.fitted.machine.committee.histograms.copy()
    stump.partial_fit(X[:200], y[:200])
    assert (stump.fitted.machine.committee.histograms - before).sum() > 500


def test_leaves_that_wait_for_histograms_answer_by_their_majority():
    """A scarce tree: leaves without a row must not look into another's histograms."""
    X, y = make_rows(13, 6000, "dense")
    X = np.tile(X, (1, 100))[:, :520]
    tree = Tree(12, max_mb=1).fit(X, y)
    committee = tree.fitted.machine.committee
    leaves = [n for n in range(committee.used[0, 0]) if committee.nodes[0, n, 0] < 0 and committee.nodes[0, n, 3] < 0]
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
    for learner in (Tree(1, evidence=1e9), NaiveBayes()):
        scores = learner.progressive_fit(X, y)
        assert np.isfinite(scores).all() and (np.abs(scores) <= 1).all()
        assert (scores[300:] != 0).mean() > 0.9


def test_stumps_of_some_features_differ():
    X, y = make_rows(14, 3000, "dense")
    model = OnlineBBM(Stump(features=0.4), 15, random_state=0).fit(X, y)
    choices = model.fitted.machine.committee.choice[:, 0]
    assert len(set(choices.tolist())) > 2
    assert all(model.fitted.machine.committee.allowed[i, slot] for i, slot in enumerate(choices) if slot >= 0)


@pytest.mark.parametrize("name", ["bins", "max_slots", "max_nodes", "max_depth", "grace"])
def test_numbers_of_numpy_are_numbers(name):
    X, y = make_rows(15, 300, "dense")
    value = {"bins": 8, "max_slots": 8, "max_nodes": 7, "max_depth": 2, "grace": 8}[name]
    whole, other = Tree(**{name: value}), Tree(**{name: np.int64(value)})
    assert np.array_equal(whole.progressive_fit(X, y), other.progressive_fit(X, y))
    for wrong in (16.5, True, "8", np.array([4, 8])):
        with pytest.raises(ParameterError, match=name):
            Tree(**{name: wrong}).fit(X, y)
