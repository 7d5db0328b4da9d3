from __future__ import annotations

import copy

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from onlineboost import LeastSquares, Linear, OnlineBBM, ParameterError
from onlineboost.data.batch import Batch
from onlineboost.readers import open_stream
from onlineboost.transforms.chain import transformed
from onlineboost.transforms.standardize import new_standardize

values = st.floats(-100, 100, width=32).filter(bool)
rows = st.lists(st.dictionaries(st.integers(0, 5), values, max_size=6), max_size=60)


def batch_of(rows: list[dict[int, float]], weight: list[float] | None = None) -> Batch:
    indptr = np.cumsum([0, *map(len, rows)])
    indices = np.array([f for row in rows for f in row], np.int32)
    x = np.array([x for row in rows for x in row.values()], np.float32)
    return Batch(indptr, indices, x, np.ones(len(rows)), np.ones(len(rows)) if weight is None else np.array(weight))


def as_dicts(batch: Batch) -> list[dict[int, float]]:
    spans = zip(batch.indptr[:-1], batch.indptr[1:], strict=True)
    return [dict(zip(batch.indices[a:b].tolist(), batch.values[a:b].tolist(), strict=True)) for a, b in spans]


@given(rows, st.lists(st.sampled_from([0.0, 1.0, 2.5]), min_size=60, max_size=60), st.booleans())
@settings(max_examples=100)
def test_it_equals_the_slow_one(rows, weight, centering):
    """Bit for bit, also with rows of weight 0, which teach nothing."""
    slow = reference.Standardizer(centering)
    expected = []
    for row, w in zip(rows, weight, strict=False):
        expected.append(slow.see(row))
        if w > 0:
            slow.learn(row)
    state = new_standardize(6, centering)
    found = transformed(state, batch_of(rows, weight[: len(rows)]), True)
    assert as_dicts(found) == expected
    assert [list(row) for row in as_dicts(found)] == [list(row) for row in expected]
    assert state.centred[: state.counts[0]].tolist() == slow.centered


@given(rows)
def test_prediction_changes_nothing_and_sees_what_learning_would(rows):
    state = new_standardize(6)
    transformed(state, batch_of(rows), True)
    before = copy.deepcopy(state)
    row = batch_of([{0: 3.0, 4: -2.0}])
    predicted = transformed(state, row, False)
    assert all(np.array_equal(a, b) for a, b in zip(before, state, strict=True))
    learned = transformed(state, row, True)
    assert all(np.array_equal(a, b) for a, b in zip(predicted, learned, strict=True))


def test_a_feature_that_grows_with_the_stream_may_leave_its_range():
    rng, single = np.random.default_rng(1), lambda x: float(np.float32(x))
    grown = [single(1000 * np.log1p(k)) for k in range(1, 2951)]
    others = [{1: single(rng.lognormal()), 2: single(rng.random() + 1), 3: 3000.0 - k} for k in range(2950)]
    rows = [{0: x} | row for x, row in zip(grown, others, strict=True)]
    rows += [{0: 5e4, 1: 1e3, 2: 9.0, 3: 1e4}, {0: 8000.0, 1: 1e3, 2: 9.0, 3: 1e4}]
    weight = np.ones(len(rows))
    weight[-2] = 0
    slow, state = (
        reference.Standardizer(centering=False, follows=True),
        new_standardize(4, centering=False, follows=True),
    )
    expected = []
    for row, w in zip(rows, weight, strict=True):
        expected.append(slow.see(row))
        if w > 0:
            slow.learn(row)
    found = as_dicts(transformed(state, batch_of(rows, weight), True))
    assert found == expected
    assert found[-2][0] == pytest.approx(grown[-1] + (grown[-1] - grown[0]) / 2)
    assert found[-1][0] == 8000 and found[-1][3] < 3001


def test_it_does_what_it_is_for():
    """Dense features are centered and tamed, indicators stay as they are, sparse rows stay sparse."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(3000):
        row = {0: 1000 + rng.normal(), 1: rng.normal() if rng.random() < 0.9 else 0.0, 2 + int(rng.integers(50)): 1.0}
        rows.append({f: x for f, x in row.items() if x})
    found = as_dicts(transformed(new_standardize(60), batch_of(rows), True))
    late = found[1000:]
    dense = np.array([row[0] for row in late])
    assert abs(dense.mean()) < 0.1
    assert 0.9 < dense.std() < 1.1
    assert np.abs(dense).max() < 4
    assert {x for row in late for f, x in row.items() if f >= 2} == {1.0}
    assert max(map(len, late)) <= 3


@pytest.mark.parametrize("model", [Linear(standardize=True), Linear("logistic", standardize=True), LeastSquares()])
def test_linear_learners_do_not_extrapolate(model):
    rng = np.random.default_rng(0)
    X = np.column_stack([16_000 + np.arange(3000), rng.normal(size=3000)])
    model.fit(X, X[:, 1] + rng.normal(size=3000) > 0)
    later = np.column_stack([np.linspace(20_000, 90_000, 50), rng.normal(size=50)])
    last = np.column_stack([np.full(50, X[-1, 0]), later[:, 1]])
    assert np.array_equal(model.scores(later), model.scores(last))


def test_a_feature_that_becomes_rare_is_left_alone_again():
    state = new_standardize(2)
    transformed(state, batch_of([{0: 5.0, 1: 1.0}] * 10), True)
    assert sorted(state.centred[: state.counts[0]]) == [0, 1]
    transformed(state, batch_of([{1: 1.0}] * 11), True)
    assert state.centred[: state.counts[0]].tolist() == [1]


def test_growing_changes_nothing():
    small, large = new_standardize(2), new_standardize(16)
    batch = batch_of([{0: 1.0, 1: 2.0}, {1: 5.0}, {0: -3.0}])
    for state in (small, large):
        transformed(state, batch, True)
    small = small.grown(9)
    assert all(np.array_equal(a, b) for a, b in zip(small, large, strict=True))


def test_a_feature_twice_in_a_row_is_harmless():
    batch = Batch(
        np.array([0, 3]), np.array([0, 0, 0], np.int32), np.array([1, 2, 3], np.float32), np.ones(1), np.ones(1)
    )
    state = new_standardize(1)
    for _ in range(20):
        found = transformed(state, batch, True)
    assert np.isfinite(found.values).all()


def test_it_helps_linear_learners_on_real_letters():
    from onlineboost.datasets import load_letter

    X, y = load_letter()

    def error(learner) -> float:
        return float(((learner.progressive_fit(X, y) >= 0) != (y > 0)).mean())

    assert error(Linear(standardize=True)) < 0.93 * error(Linear())
    assert error(OnlineBBM(Linear(standardize=True))) < 0.93 * error(OnlineBBM())


def test_it_must_be_switched_on_or_off():
    with pytest.raises(ParameterError, match="standardize='yes': expected True or False"):
        Linear(standardize="yes").fit(open_stream([({"a": 1}, 1)]))
