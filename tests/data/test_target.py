from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import onlineboost
from onlineboost import ClassTree, DataError, Linear, OnlineBBM, OnlineBoost, OnlineMBBM, ParameterError
from onlineboost.data.classes import Classes
from onlineboost.readers import open_stream

X = np.array([[1.0, 0.5], [-1.0, 0.2], [0.3, -2.0], [-0.7, 1.0]] * 10)


@pytest.mark.parametrize(
    "pair", [(-1, 1), (0, 1), (False, True), (2, 7), ("ham", "spam"), (0.0, 1.0), (np.int8(3), np.int8(4)), ("", "x")]
)
def test_any_two_labels(pair):
    """The same run whatever the labels are called, and answers in the user's own; the first is -1, or 1 itself +1."""
    y = np.array([pair[i] for i in (1, 0, 1, 0)] * 10)
    model = OnlineBBM(n_estimators=3).fit(X, y)
    sign = 1 if pair[1] == 1 else -1
    same = OnlineBBM(n_estimators=3).fit(X, [sign, -sign, sign, -sign] * 10)
    assert np.array_equal(model.decision_function(X), sign * same.decision_function(X))
    assert set(model.predict(X)) <= set(pair)
    assert model.predict(X).dtype.kind == y.dtype.kind
    assert model.classes_.tolist() == list(pair)
    assert type(model.predict_one({0: 1.0})) is type(y[0].item())


def test_labels_one_by_one():
    model = Linear()
    assert model.predict_one({"a": 1.0}) is None
    model.learn_one({"a": 1.0}, True)
    assert model.classes_.tolist() == [True]
    model.learn_one({"a": -1.0}, False)
    assert model.classes_.tolist() == [False, True]
    assert model.predict_one({"a": 1.0}) is True


def test_first_of_unknown_labels_is_negative():
    labels = Classes()
    assert [labels.encode_one(label) for label in ("b", "a", "b", "c")] == [0.0, 1.0, 0.0, 2.0]


def test_one_label_needs_classes():
    with pytest.raises(DataError, match="y has one class"):
        Linear().fit(X, np.ones(40))
    with pytest.raises(DataError, match="if others come later, name all of them"):
        Linear().partial_fit(X, np.ones(40))
    model = Linear().partial_fit(X, np.ones(40), classes=[0, 1])
    assert model.classes_.tolist() == [0, 1]


def test_ids_are_no_classes():
    with pytest.raises(DataError, match="1,001 different labels .*, more than 1,000: is the label an id, or a number"):
        Linear().fit(np.ones((1001, 1)), np.arange(1001))
    with pytest.raises(DataError, match="y has fractions .* expected classes"):
        Linear().fit(X, np.arange(40) / 7)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, "a"] * 20, "y has 1, among words, at row 0: expected labels of one type"),
        (["a", "b", np.nan, "c"] * 10, "at row 2"),
        (np.array(["a", "b", None, "c"] * 10, object), "contains NaN or None at row 2"),
        (np.array([1, "a"] * 20, object), r"different types \(int, str\)"),
        ([1.0, 2.0, 3.0, np.nan] * 10, "contains NaN or None at row 3"),
        ([1.0, np.inf] * 20, "the label inf: expected finite numbers"),
    ],
)
def test_labels_that_are_none(y, message):
    with pytest.raises(DataError, match=message):
        Linear().fit(X, y)
    with pytest.raises(DataError, match="row|inf|types"):
        Linear().fit(X, ["a", "b", "c", "d"] * 10).partial_fit(X, y)
    with pytest.raises(DataError):
        list(open_stream(X, y=y))


def test_a_class_that_was_not_learned_cannot_be_scored():
    model = Linear().fit(X, ["a", "b", "c", "d"] * 10)
    with pytest.raises(DataError, match="the label 'z' at row 1: .* leave such rows out, or learn them first"):
        model.score(X[:2], ["a", "z"])
    with pytest.raises(DataError, match="a missing label at row 1"):
        model.score(X[:2], ["a", np.nan])


def bytes_of(model, folder) -> bytes:
    model.save(folder / "m")
    return (folder / "m").read_bytes()


@pytest.mark.parametrize("kind", [OnlineBoost, Linear, OnlineBBM, OnlineMBBM, ClassTree])
def test_more_labels_than_max_classes_are_refused_before_anything_is_learned(kind, tmp_path):
    rows, ids = np.random.default_rng(0).normal(size=(202, 3)), np.arange(202) % 101
    advice = "is the label an id, or a number to predict.*another label.*OnlineBoostRegressor.*a larger max_classes"
    with pytest.raises(DataError, match=f"y has 101 different labels .*, more than 100: {advice}"):
        kind().fit(rows, ids)
    with pytest.raises(DataError, match=r"\('0x', '1x', .*more than 100: is the label an id\?"):
        kind().fit(rows, [f"{k}x" for k in ids])
    model = kind(max_classes=4)
    with pytest.raises(DataError, match="more than 4"):
        model.partial_fit(rows[:9], np.arange(9) % 3, classes=range(5))
    with pytest.raises(DataError, match="more than 4"):
        list(map(model.learn, open_stream(rows, y=ids % 5)))
    assert model._fitted is None
    model.partial_fit(rows[:80], ids[:80] % 4)
    before = bytes_of(model, tmp_path)
    for refused in (
        lambda: model.partial_fit(rows, ids % 5),
        lambda: model.partial_fit(rows[:9], ids[:9] % 2, classes=range(5)),
        lambda: model.learn_one({0: 1.0}, 4),
        lambda: model.learn_many(pd.DataFrame(rows[:9]), ids[:9]),
        lambda: model.learn(next(open_stream(rows, y=ids % 5, like=model))),
    ):
        with pytest.raises(DataError, match="y has [59] different labels .*, more than 4: .* a larger max_classes"):
            refused()
        assert bytes_of(model, tmp_path) == before
    model.set_params(max_classes=5).learn_one({0: 1.0}, 4)  # takes effect at once
    assert len(model.classes_) == 5
    model.save(tmp_path / "five")
    five = onlineboost.load(tmp_path / "five")
    assert five.max_classes == 5 and five.set_params(max_classes=2).partial_fit(rows, ids % 5).n_seen_ == 81 + 202
    with pytest.raises(DataError, match="more than 2"):
        five.learn_one({0: 1.0}, 5)


def test_tickets_with_labels_beyond_max_classes():
    model = Linear(max_classes=3).fit(X, [0, 1] * 20)
    tickets = [model.ask({0: 1.0}) for _ in range(2)]
    with pytest.raises(DataError, match="y has 4 different labels .* more than 3"):
        model.tell(tickets, [2, 3])
    assert len(model.pending) == 2 and len(model.classes_) == 2


@pytest.mark.parametrize("wrong", [1, 1001, 2.5, None, "many"])
def test_max_classes_that_make_no_sense(wrong):
    with pytest.raises(ParameterError, match="max_classes=.*a whole number from 2 to 1,000"):
        Linear(max_classes=wrong).fit(X, [0, 1] * 20)
    with pytest.raises(ParameterError, match="100 within a OnlineBBM: give max_classes to the OnlineBBM itself"):
        OnlineBBM(Linear(max_classes=7)).fit(X, [0, 1] * 20)


def test_classes_cannot_change():
    model = Linear().partial_fit(X, [0, 1] * 20)
    model.partial_fit(X, [0, 1] * 20, classes=[0, 1])
    with pytest.raises(DataError, match="expected 0, 1, as in training"):
        model.partial_fit(X, [0, 2] * 20, classes=[0, 2])
    assert model.fit(X, [0, 2] * 20).classes_.tolist() == [0, 2]


def test_labels_met_one_by_one_may_be_declared_later():
    model = Linear()
    model.learn_one({"a": 1.0}, 1)
    model._fitted.target.declare([0, 1])
    assert model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("y", [[0, 1.0] * 19 + [float("nan"), 1], ["a", None] * 20, [[1], [1, 2]] * 20])
def test_labels_that_make_no_sense(y):
    with pytest.raises(DataError, match="label"):
        Linear().fit(X, y)


def test_a_label_is_one_value():
    with pytest.raises(DataError, match="the label is a list: expected one value"):
        Linear().learn_one({"a": 1.0}, [1])


def test_zero_is_positive():
    labels = Classes()
    labels.declare(["no", "yes"])
    assert labels.decode(np.zeros((1, 1))).tolist() == ["yes"]
    model = Linear().partial_fit(np.zeros((0, 1)), [], classes=[0, 1])
    assert model.predict_one({0: 1.0}) == model.predict([[1.0]])[0] == 1


def test_strings_are_not_numbers():
    model = Linear().fit(X, [0, 1] * 20)
    with pytest.raises(DataError, match="the labels are '1', '0': expected one of 0, 1"):
        model.partial_fit(X, ["1", "0"] * 20)


def test_labels_larger_than_any_integer_of_numpy():
    target = Classes(0, 10**30)
    assert target.decode(np.array([[1.0], [-1.0]])).tolist() == [10**30, 0]
    assert target.decode(np.empty((0, 1))).dtype == object
