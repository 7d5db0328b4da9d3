from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import onlineboost
from onlineboost import DataError, Linear, OnlineBBM
from onlineboost.data import arrays as batches
from onlineboost.data.arrays import check_features

numbers = st.one_of(st.just(0.0), st.floats(-10, 10, width=32))


@given(X=arrays(np.float64, st.tuples(st.integers(0, 6), st.integers(0, 5)), elements=numbers), step=st.integers(1, 9))
def test_dense_and_sparse_become_the_same_rows(X, step):
    y, weight = np.ones(len(X)), np.ones(len(X))
    source = check_features(X)
    source.step = step
    rows = []
    for batch in source.batches(y, weight):
        for start, stop in zip(batch.indptr, batch.indptr[1:], strict=False):
            rows.append((batch.indices[start:stop].tolist(), batch.values[start:stop].tolist()))
    nonzero = [np.flatnonzero(row.astype(np.float32)) for row in X]
    assert rows == [(at.tolist(), row[at].astype(np.float32).tolist()) for at, row in zip(nonzero, X, strict=True)]
    for sparse in check_features(sp.csr_matrix(X)).batches(y, weight):  # one batch, if there are rows
        assert sparse.indices.tolist() == [j for row, _ in rows for j in row]
        assert sparse.values.tolist() == [x for _, row in rows for x in row]


def test_unsorted_repeated_and_zero_entries_are_put_in_order():
    messy = sp.csr_matrix((np.array([2.0, 1.0, 0.0, 3.0]), np.array([1, 0, 2, 1]), np.array([0, 3, 4])), (2, 3))
    messy.indices[:2] = [1, 0]
    repeated = sp.csr_matrix((np.array([1.5, 0.5]), np.array([0, 0]), np.array([0, 2])), (1, 3))
    (batch,) = check_features(messy).batches(np.ones(2), np.ones(2))
    assert (batch.indices.tolist(), batch.values.tolist()) == ([0, 1, 1], [1.0, 2.0, 3.0])
    (batch,) = check_features(repeated).batches(np.ones(1), np.ones(1))
    assert (batch.indices.tolist(), batch.values.tolist()) == ([0], [2.0])


def test_a_sparse_matrix_with_room_to_spare():
    """SciPy allows more memory than entries; what lies beyond them is not data."""
    spare = sp.csr_matrix((np.array([1.0, 2.0]), np.array([0, 1]), np.array([0, 1, 2])), (2, 2))
    spare.data, spare.indices = np.array([1.0, 2.0, np.nan]), np.array([0, 1, -7], np.int32)
    (batch,) = check_features(spare).batches(np.ones(2), np.ones(2))
    assert (batch.indices.tolist(), batch.values.tolist()) == ([0, 1], [1.0, 2.0])
    spare.data = np.array([1.0, 0.0, np.nan])
    (batch,) = check_features(spare).batches(np.ones(2), np.ones(2))
    assert (batch.indptr.tolist(), batch.indices.tolist(), batch.values.tolist()) == ([0, 1, 1], [0], [1.0])


@pytest.mark.parametrize("indptr", [[0, 2, 5], [1, 2, 2], [0, 2, 1]])
def test_a_broken_sparse_matrix_is_refused(indptr):
    broken = sp.csr_matrix((np.ones(2), np.array([0, 1]), np.array([0, 1, 2])), (2, 2))
    broken.indptr = np.array(indptr, np.int32)
    with pytest.raises(DataError, match="not a valid sparse matrix"):
        Linear().fit(broken, [0, 1])


def test_input_is_not_changed(stream):
    X, y = stream[0].copy(), stream[1].copy()
    X.flags.writeable = y.flags.writeable = False
    OnlineBBM(n_estimators=3).fit(X, y)
    assert np.array_equal(X, stream[0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, bool, object])
def test_any_kind_of_number(dtype):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, size=(50, 4)), rng.integers(0, 2, size=50)
    expected = Linear().progressive_fit(X.astype(np.float32), y)
    assert np.array_equal(Linear().progressive_fit(X.astype(dtype), y), expected)
    assert np.array_equal(Linear().progressive_fit(np.asfortranarray(X.astype(dtype)), y), expected)
    assert np.array_equal(Linear().progressive_fit(X.tolist(), y.tolist()), expected)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0, "red"], [2.0, "blue"]], "'red' at row 0, column 1: expected a number"),
        ([[1.0, np.inf]], "inf at row 0, column 1"),
        ([[1.0, 2.0], [3.0]], "all rows equally long"),
        ([1.0, 2.0], r"X.reshape\(1, -1\)"),
        ({"a": 1.0}, "use learn_one"),
        (np.ones((2, 2)) * 1j, "Complex data not supported"),
        (np.zeros((2, 2), "M8[s]"), r"X is an array of datetime64\[s\]: expected numbers"),
        (np.zeros((0, 2)), "y has shape"),
    ],
)
def test_what_is_not_a_table_of_numbers(X, message):
    with pytest.raises(DataError, match=message):
        Linear().fit(X, [0, 1])


class Frame:
    """What a data frame looks like from here."""

    def __init__(self, table, columns):
        self.table, self.columns = table, columns

    def __array__(self, dtype=None, copy=None):
        return np.array(self.table, dtype)


def test_frames_keep_the_order_of_their_columns(tmp_path):
    rows = [[1.0, 2.0], [3.0, -1.0], [0.5, 1.0]]
    model = Linear().fit(Frame(rows, ["age", "income"]), [0, 1, 0])
    model.save(tmp_path / "m")
    for twin in (model, onlineboost.load(tmp_path / "m")):
        twin.predict(Frame(rows, ["age", "income"]))
        twin.predict(rows)
        with pytest.raises(DataError, match="must be in the same order"):
            twin.predict(Frame(rows, ["income", "age"]))


def test_a_bad_cell_of_a_frame_is_found():
    rows = np.array([[30, 1], [40, "?"]], object)
    with pytest.raises(DataError, match=r"'\?' at row 1, column 1"):
        Linear().fit(Frame(rows, ["age", "income"]), [0, 1])


def test_masked_values_are_not_learned():
    X = np.ma.masked_equal(np.eye(2), 1.0)
    with pytest.raises(DataError, match="masked values"):
        Linear().fit(X, [0, 1])


def test_large_sparse_input_is_learned_in_pieces(monkeypatch, stream):
    X, y = stream
    whole = OnlineBBM(n_estimators=3).progressive_fit(sp.csr_matrix(X), y)
    monkeypatch.setattr(batches, "_ROWS", 7)
    assert np.array_equal(OnlineBBM(n_estimators=3).progressive_fit(sp.csr_matrix(X), y), whole)


def test_large_input_is_converted_in_pieces(monkeypatch, stream):
    X, y = stream
    whole = OnlineBBM(n_estimators=3).progressive_fit(X, y)
    monkeypatch.setattr(batches, "_CHUNK", 37)
    assert np.array_equal(OnlineBBM(n_estimators=3).progressive_fit(X, y), whole)


def test_no_rows(stream):
    X, y = stream
    with pytest.raises(DataError, match="X has no rows"):
        Linear().fit(X[:0], y[:0])
    model = OnlineBBM(n_estimators=3).partial_fit(X[:0], y[:0], classes=[-1, 1])
    assert model.n_seen_ == 0
    assert model.decision_function(X[:0]).shape == (0,)
    assert model.predict(sp.csr_matrix(X)[:0]).shape == (0,)


def test_rows_without_features(stream):
    """Only the constant is left to learn from."""
    model = OnlineBBM(n_estimators=3).fit(np.zeros((20, 2)), [1, 1, 1, -1] * 5)
    assert (model.predict(np.zeros((3, 2))) == 1).all()
    with pytest.raises(DataError, match="a minimum of 1 is required"):
        Linear().fit(np.zeros((20, 0)), [1, 1, 1, -1] * 5)
