"""The fused committee equals the slow transcription, and nothing that is accepted can break it."""

from __future__ import annotations

import numpy as np
import pytest
import reference
import scipy.sparse as sp

from onlineboost import DataError, Linear, OnlineBBM


@pytest.mark.parametrize("power_t", [0.5, 0.3])
@pytest.mark.parametrize(("loss", "tolerance"), [("squared", 1e-5), ("logistic", 2e-3)])
@pytest.mark.parametrize("n", [1, 2, 9, 17])
def test_fused_committee_equals_the_transcription(n, loss, tolerance, power_t, stream):
    """Learners of different importance of the examples, and so of different scales; every lane is compared."""
    X, y = stream[0][:150], stream[1][:150]
    model = OnlineBBM(Linear(loss, power_t=power_t), n, gamma=0.3)
    model.partial_fit(X[:0], y[:0], classes=[-1, 1])
    oracle = reference.Linear(n, loss, power_t=power_t)
    rounds = reference.OnlineBBM(n, 0.8)
    for row, label in zip(X, y.tolist(), strict=True):
        x = {j: value for j, value in enumerate(row.tolist()) if value}
        votes = [reference.sign(score) for score in oracle.predict(x)]
        model.partial_fit(row.reshape(1, -1), [label])
        oracle.learn(x, label, rounds.round(votes, label))
    node = model._fitted.root
    rows = [0, *(node.slots.find(np.arange(X.shape[1], dtype=np.int32)) + 1)]
    weights = node.committee.weights[rows]
    for i in range(n):
        expected = np.array([oracle.w[i].get(j, 0.0) for j in range(-1, X.shape[1])])
        scale = float(np.abs(expected).max())
        assert weights[:, 0, i] == pytest.approx(expected, rel=0, abs=tolerance * max(scale, 1.0))


EXTREMES = {
    "huge features": (lambda X: X * np.float32(1e16), 1.0),
    "tiny features": (lambda X: X * np.float32(1e-22), 1.0),
    "mixed": (lambda X: X * np.float32(10.0) ** np.arange(-20, 20, 4, dtype=np.float32), 1.0),
    "heavy": (lambda X: X, 1e18),
    "light": (lambda X: X, 1e-30),
    "tiny and light": (lambda X: X * np.float32(1e-18), 1e-6),
}


@pytest.mark.parametrize("learner", [Linear(), Linear("logistic"), Linear(power_t=1.0), Linear(power_t=0.0)], ids=repr)
@pytest.mark.parametrize("name", EXTREMES)
def test_what_is_accepted_leaves_finite_numbers(name, learner, stream):
    change, weight = EXTREMES[name]
    X, y = np.clip(change(stream[0]), -1e18, 1e18), stream[1]
    for model in (learner.clone(), OnlineBBM(learner, 101), OnlineBBM(learner, 201, 0.3)):
        scores = model.progressive_fit(X, y, sample_weight=np.full(len(y), weight))
        assert np.isfinite(scores).all()
        for field in model._fitted.root.committee[:4]:
            assert np.isfinite(field).all()


def test_dense_and_sparse_agree_on_numbers_that_vanish_in_float32(stream):
    X, y = stream[0].astype(np.float64), stream[1]
    X[::3, 2] = 1e-60
    dense, sparse = (OnlineBBM(n_estimators=5).progressive_fit(data, y) for data in (X, sp.csr_matrix(X)))
    assert np.array_equal(dense, sparse)


@pytest.mark.parametrize("column", [10, 2_000_000_000, -1])
def test_an_entry_outside_the_matrix_is_refused(column):
    indices = np.array([0, 1, column])
    X = sp.csr_matrix((np.ones(3), np.array([0, 1, 2]), np.array([0, 2, 3])), (2, 10))
    X.indices = indices
    with pytest.raises(DataError, match="columns begin at 0") as caught:
        Linear().fit(X, [0, 1])
    assert (caught.value.row, caught.value.column) == (1, column)


def test_sums_of_repeated_entries_are_checked():
    X = sp.csr_matrix((np.array([9e17, 9e17, 1.0]), np.array([0, 0, 0]), np.array([0, 2, 3])), (2, 1))
    with pytest.raises(DataError, match="at row 0, column 0"):
        Linear().fit(X, [0, 1])


@pytest.mark.parametrize("n", [5, 70])
def test_parts_of_a_committee_join_to_the_whole(n):
    """Also where the memory of a row has more lanes than there are learners: whole cache lines."""
    learner, rng = Linear(), np.random.default_rng(0)
    whole = learner.committee(n, 6)
    for array in whole[:3]:
        array[...] = rng.random(array.shape)
    for lanes in (whole.weights[:, :, n:], whole.scale[:, n:], whole.norm_sum[n:], whole.weight_sum[n:]):
        lanes[...] = 0
    cuts = [(0, 3), (3, n)] if n < 16 else [(0, 16), (16, 40), (40, 51), (51, n)]
    joined = learner.joined([learner.apart(whole, *cut) for cut in cuts], [b - a for a, b in cuts])
    copy = learner.joined([whole], [n])
    for first, last in cuts:
        part, size = learner.part(copy, first, last), last - first
        mine = slice(part.lane, part.lane + size)
        for array in (part.weights[:, :, mine], part.scale[:, mine], part.norm_sum[:size], part.weight_sum[:size]):
            array *= 2
        learner.put(copy, part, first, last)
    for mine, doubled, theirs in zip(joined[:3], copy[:3], whole[:3], strict=True):
        assert np.array_equal(mine, theirs)
        assert np.array_equal(doubled, 2 * theirs)
