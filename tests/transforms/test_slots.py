from __future__ import annotations

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from onlineboost import Linear, Tree
from onlineboost.data.batch import Batch, cut
from onlineboost.transforms.slots import new_slots, size_for

IDS = [*range(12), 500, 511, 512, 513, 9999, (1 << 31) - 1, (1 << 31) - 2, 1 << 30, *range(1 << 20, (1 << 20) + 40)]
entries = st.tuples(st.sampled_from(IDS), st.sampled_from([1.0, -2.5, 0.0, np.nan, 3.0]))
rows = st.lists(st.tuples(st.lists(entries, max_size=8), st.sampled_from([0.0, 1.0, 1.0, 2.0])), max_size=30)


def batch_of(rows):
    sizes = [len(row) for row, _ in rows]
    pairs = [pair for row, _ in rows for pair in row]
    return Batch(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.array([id for id, _ in pairs], np.int32),
        np.array([x for _, x in pairs], np.float32),
        np.ones(len(rows)),
        np.array([weight for _, weight in rows]),
    )


def listed(batch):
    spans = zip(batch.indptr, batch.indptr[1:], strict=False)
    return [
        [(i, str(x)) for i, x in zip(batch.indices[a:b].tolist(), batch.values[a:b].tolist(), strict=True)]
        for a, b in spans
    ]


@given(rows=rows, bound=st.sampled_from([1, 3, 17, 18, 1000]), step=st.integers(1, 30), missing=st.booleans())
def test_slots_equal_the_transcription(rows, bound, step, missing):
    slow, slots, whole = reference.Slots(bound), new_slots(bound), new_slots(bound)
    batch = batch_of(rows)
    _, whole = whole.apply(batch, True, missing)
    for start in range(0, len(rows), step):
        part = cut(batch, start, min(start + step, len(rows)))
        asked, unchanged = slots.apply(part, False, missing)
        expected = [slow.row(row, False, missing) for row, _ in rows[start : start + step]]
        assert listed(asked) == [[(slot, str(x)) for slot, x in row] for row in expected]
        assert unchanged.used[0] == len(slow.slots)
        learned, slots = slots.apply(part, True, missing)
        expected = [slow.row(row, weight > 0, missing) for row, weight in rows[start : start + step]]
        assert listed(learned) == [[(slot, str(x)) for slot, x in row] for row in expected]
    assert slots.ids().tolist() == list(slow.slots)
    assert all(np.array_equal(a, b) for a, b in zip(slots, whole, strict=True))
    slots.check()


@given(n=st.integers(0, 40), spread=st.sampled_from([1, 7, 1 << 22]))
def test_slots_that_are_taken_back_leave_no_trace(n, spread):
    ids = (np.arange(40, dtype=np.int64) * spread % (1 << 31)).astype(np.int32)
    first, rest = ([([(int(id), 1.0)], 1.0) for id in part] for part in (ids[:n], ids[n:]))
    _, slots = new_slots(1 << 18).apply(batch_of(first), True, False)
    before = slots.near.copy(), slots.table.copy()
    slots.apply(batch_of(rest), True, False)  # what is learnt in vain may have larger arrays of its own
    slots.forget(n)
    assert np.array_equal(slots.near, before[0]) and np.array_equal(slots.table, before[1])
    assert slots.used[0] == n
    slots.check()


def test_many_slots():
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 1 << 31, 50_000).astype(np.int32)
    batch = Batch(np.arange(50_001), ids, np.ones(50_000, np.float32), np.ones(50_000), np.ones(50_000))
    found, slots = new_slots(1 << 18).apply(batch, True, False)
    _, order = np.unique(ids, return_index=True)
    assert np.array_equal(slots.ids(), ids[np.sort(order)])
    assert np.array_equal(slots.ids()[found.indices], ids)
    assert np.array_equal(slots.find(ids), found.indices)
    assert slots.table.size == size_for(len(order)) and slots.near.size == 2 * slots.table.size
    slots.check()


def test_small_and_large_ids_by_turns():
    ids = np.arange(6000, dtype=np.int32)
    ids[1::2] += 1 << 20
    batch = Batch(np.arange(6001), ids, np.ones(6000, np.float32), np.ones(6000), np.ones(6000))
    found, slots = new_slots(1 << 18).apply(batch, True, False)
    assert np.array_equal(slots.ids(), ids) and np.array_equal(found.indices, np.arange(6000))
    slots.check()


@pytest.mark.parametrize("case", ["alike", "out of order", "a missing value", "a zero", "another feature", "longer"])
def test_rows_with_the_same_features(case):
    """Each row is the same as if it came alone."""
    rng = np.random.default_rng(0)
    ids = np.tile(np.array([3, 1 << 20, 7] if case == "out of order" else [3, 7, 1 << 20], np.int32), 400)
    values, indptr = rng.normal(size=1200).astype(np.float32), np.arange(0, 1201, 3)
    if case in ("a missing value", "a zero"):
        values[901] = 0 if case == "a zero" else np.nan
    if case == "another feature":
        ids[901] = 8
    if case == "longer":
        indptr[300] += 1
    whole = Batch(indptr, ids, values, rng.integers(0, 2, 400).astype(np.float64), np.ones(400))
    if case == "longer":
        whole.indices[899:902] = 3, 7, 9
    model, twin = Linear(), Linear()
    for _ in range(2):
        together = model.learn(whole)
        alone = np.concatenate([twin.learn(cut(whole, k, k + 1)) for k in range(400)])
        assert np.array_equal(together, alone)
    one, other = model._fitted.root, twin._fitted.root
    assert all(np.array_equal(a, b) for a, b in zip(one.slots, other.slots, strict=True))
    assert np.array_equal(one.committee.numbers, other.committee.numbers)


def test_room_that_cannot_be_had_leaves_the_model_as_it_was(stream, monkeypatch):
    X, y = stream
    model = Linear().fit(X[:, :4], y)
    twin = Linear().fit(X[:, :4], y)

    def fail(*_):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(Linear, "grow", fail)
        with pytest.raises(MemoryError):
            model.learn_one({f"new {k}": 1.0 for k in range(100)}, 1)
    for one in (model, twin):
        one.learn_one({"another": 2.0, 0: 1.0}, 1)
    assert all(np.array_equal(a, b) for a, b in zip(model._fitted.root.slots, twin._fitted.root.slots, strict=True))
    assert np.array_equal(model.decision_function(X[:, :4]), twin.decision_function(X[:, :4]))


def test_the_bound_is_that_of_the_learner():
    assert Linear(bits=10).slot_limit() == 1024
    assert Tree(3, max_slots=33).slot_limit() == 33
    model = Tree(3, max_slots=2, grace_period=8)
    for k in range(300):
        model.learn_one({f"n{k % 5}": 1.0 + k % 2, "always": k % 3}, k % 2)
    assert model._fitted.root.slots.used[0] == 2
