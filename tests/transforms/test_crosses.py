from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import reference
import scipy.sparse as sp
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import onlineboost
from onlineboost import Binner, DataError, Linear, NotFittedError, OnlineBBM, ParameterError, Perceptron
from onlineboost.data.arrays import check_features
from onlineboost.data.batch import cut
from onlineboost.datasets import load_letter
from onlineboost.readers import open_stream
from onlineboost.transforms.chain import output_names, transformed
from onlineboost.transforms.crosses import CrossesState, name_columns, new_crosses


def make_rows(seed: int, n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Dense, discrete, constant, sparse, rare and late columns."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n, 7), np.float32)
    X[:, 0] = rng.normal(size=n)
    X[:, 1] = rng.integers(0, 40, n)
    X[:, 2] = 5
    X[:, 3] = np.where(rng.random(n) < 0.13, rng.normal(size=n), 0)
    X[:, 4] = np.where(rng.random(n) < 0.03, 1e12, 0)
    X[150:, 5] = rng.normal(size=n - 150)
    X[:, 6] = rng.choice([0, 1], n)
    return X, np.where(X[:, 0] * (X[:, 1] - 20) > 0, 1, -1)


PAIRS = [True, False, [(0, 1)], [(0, 1), (1, 6), (3, 3), (5, 2)]]


def twin_of(bins: int, crosses: Any, bits: int) -> reference.Features:
    column = {} if isinstance(crosses, bool) else {j: j + 1 for pair in crosses for j in pair}
    pairs = None if crosses is True else set() if crosses is False else {frozenset((a + 1, b + 1)) for a, b in crosses}
    return reference.Features(bins, column, pairs, bits)


@given(
    seed=st.integers(0, 1000),
    bins=st.sampled_from([0, 4, 16]),
    crosses=st.sampled_from(PAIRS),
    bits=st.sampled_from([1, 4, 18]),
)
@settings(max_examples=36, phases=[Phase.generate])
def test_rows_are_shown_as_the_slow_one_shows_them(seed, bins, crosses, bits):
    X, y = make_rows(seed, 400)
    X[200:, 1] *= 30  # beyond the range so far
    weight = np.random.default_rng(seed).integers(0, 3, len(y)).astype(float)
    slow = twin_of(bins, crosses, bits)
    states = Linear(bins=bins, crosses=crosses, bits=bits).transforms(7)
    for state in states:
        if isinstance(state, CrossesState):
            name_columns(state, crosses, {j: str(j) for j in range(7)})
    (rows,) = check_features(sp.csr_matrix(X)).batches(y.astype(float), weight)
    done = 0
    while done < len(y):
        out = cut(rows, done, len(y))
        for state in states:
            out = transformed(state, out, True)
        for r in range(out.y.size):
            row = {j: float(x) for j, x in enumerate(X[done + r]) if x}
            there = slice(out.indptr[r], out.indptr[r + 1])
            found = list(zip(out.indices[there].tolist(), out.values[there].tolist(), strict=True))
            assert found == [(f, float(np.float32(x))) for f, x in slow.show(row)], done + r
            if weight[done + r] > 0:
                slow.learn(row)
        done += out.y.size
        for state in states[:1] if bins else ():
            state.settle(np.empty((0, 3, 0), np.float32), 0)


@given(seed=st.integers(0, 1000), bins=st.sampled_from([4, 16]), crosses=st.sampled_from(PAIRS[1:]))
@settings(max_examples=12, phases=[Phase.generate])
@pytest.mark.filterwarnings("ignore::onlineboost.RangeWarning")
def test_weights_follow_new_bins(seed, bins, crosses):
    X, y = make_rows(seed, 400)
    X[200:, 1] *= 30
    scores = Linear(bins=bins, crosses=crosses, bits=10).progressive_fit(X, y)
    slow, linear = twin_of(bins, crosses, 10), reference.Linear(1)
    slots, kept = reference.Slots(1 << 10), []
    slow.column = {}
    for r, x in enumerate(X.tolist()):
        row = dict(slots.row(list(enumerate(x)), True, False))
        slow.column |= {slots.slots[j]: j + 1 for pair in crosses or () for j in pair if j in slots.slots}
        shown = dict(slow.show(row))
        assert scores[r] == pytest.approx(linear.predict(shown)[0], abs=2e-4), r
        linear.learn(shown, y[r], [1.0])
        slow.learn(row, linear)
        kept.append(row)
        if r == 63:  # the first rows once more, now that there are bins
            for k in sorted(range(64), key=lambda k: reference.uniform(64, k, 0)):
                linear.learn(dict(slow.show(kept[k])), y[k], [1.0])


def test_bins_and_crosses_matter_more_than_boosting():
    """Theory 0.8: letter .28 -> .195 -> .105, where boosting linear learners does next to nothing."""
    X, y = load_letter()

    def error(model) -> float:
        return float(((model.progressive_fit(X, y) >= 0) != (y > 0)).mean())

    assert error(Linear()) > 0.3
    assert error(Linear(bins=16)) < 0.2
    assert error(Linear(bins=16, crosses=True)) < 0.11
    assert error(Linear(standardize=True, crosses=True)) < 0.2


def test_a_product_is_learned_by_nothing_else():
    """Classes by the sign of a product: no line, and with the pair of columns nearly all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 6))
    y = np.sign(X[:, 2] * X[:, 4])

    def error(model) -> float:
        return float(((model.progressive_fit(X, y) >= 0) != (y > 0))[2000:].mean())

    assert error(Linear()) > 0.4
    assert error(Linear(crosses=[(2, 4)])) < 0.1
    assert error(Linear(crosses=[(2, 3)])) > 0.4


def streamed(n: int = 3000) -> list[dict]:
    rng = np.random.default_rng(1)
    rows = []
    for _ in range(n):
        row = {"city": rng.choice(["Rome", "Oslo", "Bern"]), "job": rng.choice(["cook", "poet"]), "x": rng.normal()}
        rows.append(row | {"label": int((row["city"] == "Rome") == (row["job"] == "cook"))})
    return rows


@pytest.mark.parametrize("size", [1, 77, 4096])
def test_columns_of_words_are_crossed_by_name(size):
    """ "city" stands for all its words; names come with the stream, whatever its batches."""
    rows = streamed(1500 if size == 1 else 3000)
    right = (np.array([row["label"] for row in rows]) > 0)[500:]
    model = Linear(crosses=[("city", "job")])
    scores = model.progressive_fit(open_stream(rows, batch_size=size))
    assert ((scores >= 0)[500:] != right).mean() < 0.02
    assert ((Linear(crosses=[("city", "x")]).progressive_fit(open_stream(rows)) >= 0)[500:] != right).mean() > 0.3
    assert model.predict_one({"city": "Rome", "job": "poet"}) == 0


def test_dicts_learned_one_by_one_are_crossed_by_name():
    model = Linear(crosses=[("city", "job")])
    rows = streamed(1200)
    wrong = 0
    for number, row in enumerate(rows):
        x = {name: value for name, value in row.items() if name != "label"}
        wrong += number >= 600 and model.predict_one(x) != row["label"]
        model.learn_one(x, row["label"])
    assert wrong < 12


def test_a_model_with_crosses_goes_on_after_loading(tmp_path):
    rows = streamed()
    kept = OnlineBBM(Linear(bins=8, crosses=[("city", "job")]), 3)
    whole = kept.clone()
    kept.partial_fit(open_stream(rows[:1000]))
    kept.save(tmp_path / "model")
    loaded = onlineboost.load(tmp_path / "model")
    loaded.partial_fit(open_stream(rows[1000:], like=loaded))
    whole.partial_fit(open_stream(rows[:1000])).partial_fit(open_stream(rows[1000:], like=whole))
    later = open_stream(rows, like=whole), open_stream(rows, like=loaded)
    assert np.array_equal(whole.decision_function(later[0]), loaded.decision_function(later[1]))


def test_what_is_shown_has_names():
    X, y = make_rows(0)
    model = Linear(bins=4, crosses=True, bits=12).fit(X, y)
    names = output_names(model._fitted.root.transforms, {0: "height", 4: "rare"})
    products = 1 << 12
    assert [names[products + 1 + b].startswith("height in (") for b in range(4)] == [True] * 4
    assert names[products + 4].endswith("inf]")
    assert any(" and rare" in name for name in names.values())
    assert names[products + 4 * 5] == "rare"


def test_a_binner_shows_what_linear_sees():
    X, y = make_rows(1, 600)
    X[0] = 0.1  # features are met in the order of columns
    binner = Binner(8, crosses=[(0, 1)], bits=5).fit(X[:60])
    assert binner.transform(X[:5]).nnz == 0
    table = binner.partial_fit(X[60:]).transform(X[300:])
    inside = Linear(bins=8, crosses=[(0, 1)], bits=5).fit(X, y)._fitted.root.transforms
    batch = next(iter(check_features(X[300:]).batches(y[300:], y[300:])))
    seen = transformed(inside[1], transformed(inside[0], batch, False), False)
    assert np.array_equal(table.indices, seen.indices) and np.array_equal(table.data, seen.values)
    names = binner.get_feature_names_out()
    assert len(names) == table.shape[1] and any(name.startswith("1 in (") for name in names)
    with pytest.raises(DataError, match="expecting 7 features as input"):
        binner.transform(X[:, :3])
    with pytest.raises(NotFittedError):
        Binner().transform(X)
    with pytest.raises(ParameterError, match="power of two"):
        Binner(3).fit(X)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"bins": 5}, "power of two"),
        ({"bins": True}, "power of two"),
        ({"bins": 16, "standardize": True}, "False with bins, for which scales do not matter"),
        ({"crosses": "age"}, "pairs of columns"),
        ({"crosses": [("a",)]}, "pairs of columns"),
        ({"crosses": ["ab"]}, "pairs of columns"),
        ({"crosses": [(1.5, 2)]}, "pairs of columns"),
        ({"bits": 0}, "from 1 to 30"),
    ],
)
def test_wrong_parameters_say_what_is_expected(wrong, words):
    with pytest.raises(ParameterError, match=words):
        Linear(**wrong).fit([[1.0], [2.0]], [-1, 1])


def test_batches_may_be_any_size():
    """Crossed rows are made some at a time, and that changes nothing."""
    X, y = make_rows(3, 900)
    wide = np.tile(X, 30)
    whole, parts = Linear(crosses=True), Linear(crosses=True)
    scores = whole.progressive_fit(wide, y)
    pieces = [parts.progressive_fit(wide[s : s + 7], y[s : s + 7], classes=[-1, 1]) for s in range(0, 900, 7)]
    assert np.array_equal(scores, np.concatenate(pieces))


@pytest.mark.filterwarnings("ignore::onlineboost.RangeWarning")
def test_batches_may_be_any_size_where_edges_move():
    """Rows so long that their products are made some at a time: edges move when all of them were learned."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 400)).astype(np.float32)
    X[64:] = X[64:] * 3 + 2
    y = rng.integers(0, 2, 150)
    models = [Linear("logistic", bins=8, crosses=True, bits=12) for _ in range(2)]
    scores = models[0].progressive_fit(X, y)
    pieces = [models[1].progressive_fit(X[s : s + 10], y[s : s + 10], classes=[0, 1]) for s in range(0, 150, 10)]
    assert np.array_equal(scores, np.concatenate(pieces))


def test_refused_rows_leave_everything_as_it_was():
    """Promise 5 with crosses: one row too long among good ones, for arrays, streams, dicts and a fresh fit."""
    good = sp.csr_matrix(np.eye(3, 5000, dtype=np.float32))
    bad = sp.vstack([good, sp.csr_matrix(np.ones((1, 5000), np.float32))]).tocsr()
    for options in ({}, {"standardize": True}):
        model = Linear(crosses=True, **options).fit(good, [-1, 1, 1])
        before = pickle.dumps(model._fitted.root)
        for learn in (model.partial_fit, model.fit):
            with pytest.raises(DataError, match="5,000 features"):
                learn(bad, [-1, 1, 1, 1])
            assert pickle.dumps(model._fitted.root) == before
    model = Linear(crosses=True)
    model.learn_one({"a": 1.0}, 1)
    with pytest.raises(DataError, match="5,000 features"):
        model.learn_one({f"f{k}": 1.0 for k in range(5000)}, 1)
    assert model.n_features_in_ == 1


def test_words_met_one_by_one_are_crossed_in_a_model_that_began_with_a_stream():
    rows = streamed(2000)
    by_stream = Linear(crosses=[("city", "job")]).partial_fit(open_stream(rows[:1000]))
    one_by_one = Linear(crosses=[("city", "job")]).partial_fit(open_stream(rows[:1000]))
    new = [row | {"city": f"new {row['city']}"} for row in rows[1000:]]
    by_stream.partial_fit(open_stream(new, like=by_stream))
    for row in new:
        one_by_one.learn_one({name: value for name, value in row.items() if name != "label"}, row["label"])
    x = {"city": "new Rome", "job": "poet", "x": 0.3}
    assert by_stream.decision_one(x) == one_by_one.decision_one(x)
    assert by_stream.predict_one(x) == 0


def test_crosses_by_number_in_libsvm_and_batches(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    y = np.sign(X[:, 1] * X[:, 3])
    text = "".join(f"{int(label)} 1:{a} 3:{b} 7:1\n" for label, a, b in zip(y, X[:, 1], X[:, 3], strict=True))
    (tmp_path / "data.libsvm").write_text(text)
    model = Linear(crosses=[(1, 3)])
    scores = model.progressive_fit(open_stream(tmp_path / "data.libsvm"))
    assert ((scores >= 0) != (y > 0))[1500:].mean() < 0.1
    assert model.columns_not_met() == []


def test_namespaces_are_crossed(tmp_path):
    lines = [f"{row['label'] * 2 - 1} |city {row['city']} |job {row['job']}\n" for row in streamed()]
    (tmp_path / "data.vw").write_text("".join(lines))
    scores = Linear(crosses=[("city", "job")]).progressive_fit(open_stream(tmp_path / "data.vw"))
    right = np.array([line.startswith("1") for line in lines])
    assert ((scores >= 0) != right)[500:].mean() < 0.02


def test_columns_that_nobody_has_are_refused_or_told():
    X, y = make_rows(0)
    for wrong in ([(0, 99)], [("age", 0)], [(-1, 0)]):
        with pytest.raises(ParameterError, match="columns of X"):
            Linear(crosses=wrong).fit(X, y)
    model = Linear(crosses=[("citi", "job")]).fit(open_stream(streamed(200)))
    assert model.columns_not_met() == ["citi"]


def test_parameters_that_are_set_later_do_not_touch_what_was_learned():
    """``set_params`` takes effect at the next fit; until then the model goes on as it was made."""
    for later in ({"bins": 0}, {"bins": 256}, {"crosses": [("a", f"b{k}") for k in range(20)]}, {"standardize": True}):
        model, twin = Linear(bins=4, crosses=[("w1", "w2")]), Linear(bins=4, crosses=[("w1", "w2")])
        for number in range(200):
            for each in (model, twin):
                each.learn_one({"w1": 1.0, f"w{number}": 2.0, "x": float(number % 7)}, number % 2)
        model.set_params(**later)
        for number in range(200, 1200):
            for each in (model, twin):
                each.learn_one({f"w{number}": 2.0, "x": float(number % 7)}, number % 2)
        assert model.decision_one({"w1": 1.0, "x": 3.0}) == twin.decision_one({"w1": 1.0, "x": 3.0})
    boosted = OnlineBBM(Linear(), 3)
    boosted.learn_one({"a": 1.0}, 1)
    boosted.set_params(estimator=Perceptron())
    boosted.learn_one({f"w{number}": 1.0 for number in range(500)}, 0)
    assert boosted.n_features_in_ == 501


def test_too_many_numbers_are_refused():
    with pytest.raises(ParameterError, match="more than 2\\^31"):
        Linear(bins=256, crosses=True, bits=30).committee(1, 1 << 30)


def test_products_are_kept_within_bounds():
    X = np.array([[1e18, 1e18], [-1e18, 1e18]] * 3, np.float32)
    state = new_crosses(2, 0, True, 4)
    out = transformed(state, next(iter(check_features(X).batches(np.ones(6), np.ones(6)))), True)
    assert np.abs(out.values).max() <= 1.0001e18
    assert np.isfinite(Linear(crosses=True).progressive_fit(X, [1, -1] * 3)).all()


def test_bins_are_named_by_their_edges():
    X = np.tile(np.array([[1.0], [2.0], [3.0]], np.float32), (100, 1))
    model = Linear(bins=4).fit(X, np.tile([-1, 1, 1], 100))
    names = output_names(model._fitted.root.transforms, {0: "x"})
    state = model._fitted.root.transforms[0]
    for value in (1.0, 2.0, 3.0):
        row = transformed(state, next(iter(check_features([[value]]).batches(np.ones(1), np.ones(1)))), False)
        if row.indices.size:
            low, high = names[int(row.indices[0])].removeprefix("x in (").removesuffix("]").split(", ")
            assert float(low) < value <= float(high)


def test_growing_dicts_keep_their_columns():
    model = Linear(crosses=[("a", "b")])
    for number in range(300):
        sign = 1 if number % 2 else -1
        model.learn_one({"a": 1.0, "b": float(sign), f"new{number}": 1.0}, sign)
    node = model._fitted.root
    slots = {name: slot for slot, name in node.names_met(model._fitted.columns.names).items()}
    column = node.transforms[0].column
    assert len(slots) == 302 and column[slots["a"]] == 1 and column[slots["b"]] == 2 and column[slots["new9"]] == 0


def test_a_binner_is_a_parameterised_object():
    from sklearn.base import clone

    X, _ = make_rows(2)
    binner = Binner(4).fit(X)
    assert set(binner.get_params()) == {"bins", "crosses", "bits"}
    assert repr(binner) == "Binner(bins=4)"
    for copy in (binner.clone(), clone(binner)):
        with pytest.raises(NotFittedError):
            copy.transform(X)
    assert binner.transform(X[:0]).shape == (0, 7 * 5)
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    named = Binner(4).fit(frame)
    with pytest.raises(DataError, match="'b' as column 0: expected 'a'"):
        named.transform(frame[list("bacdefg")])
    assert Binner(4).partial_fit(X).transform(X).nnz == binner.transform(X).nnz
    with pytest.raises(DataError, match="in 1 row"):
        Binner(4).fit(X[:0])
