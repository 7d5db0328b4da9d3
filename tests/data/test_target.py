from __future__ import annotations

import numpy as np
import pytest

from onlineboost import DataError, Linear, OnlineBBM
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
    assert [labels.encode_one(label) for label in ("b", "a", "b", "c")] == [-1.0, 1.0, -1.0, 2.0]


def test_one_label_needs_classes():
    with pytest.raises(DataError, match="y has one class"):
        Linear().fit(X, np.ones(40))
    with pytest.raises(DataError, match="if others come later, name all of them"):
        Linear().partial_fit(X, np.ones(40))
    model = Linear().partial_fit(X, np.ones(40), classes=[0, 1])
    assert model.classes_.tolist() == [0, 1]


def test_ids_are_no_classes():
    with pytest.raises(DataError, match="more than 1,000 different labels .* is it an id"):
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


def test_a_class_that_was_not_learnt_cannot_be_scored():
    model = Linear().fit(X, ["a", "b", "c", "d"] * 10)
    with pytest.raises(DataError, match="the label 'z' at row 1: .* leave such rows out, or learn them first"):
        model.score(X[:2], ["a", "z"])
    with pytest.raises(DataError, match="a missing label at row 1"):
        model.score(X[:2], ["a", np.nan])


def test_classes_that_come_with_nearly_every_row_are_questioned():
    model = Linear()
    for k in range(99):
        model.learn_one({0: 1.0}, k)
    with pytest.warns(UserWarning, match="100 classes after 99 examples: is the label an id"):
        model.learn_one({0: 1.0}, 99)


def test_classes_cannot_change():
    model = Linear().partial_fit(X, [0, 1] * 20)
    model.partial_fit(X, [0, 1] * 20, classes=[0, 1])
    with pytest.raises(DataError, match="expected 0, 1, as in training"):
        model.partial_fit(X, [0, 2] * 20, classes=[0, 2])
    assert model.fit(X, [0, 2] * 20).classes_.tolist() == [0, 2]


def test_labels_met_one_by_one_may_be_declared_later():
    model = Linear()
    model.learn_one({"a": 1.0}, 1)
    model.fitted.target.declare([0, 1])
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
    assert labels.decode(np.zeros(1)).tolist() == ["yes"]
    model = Linear().partial_fit(np.zeros((0, 1)), [], classes=[0, 1])
    assert model.predict_one({0: 1.0}) == model.predict([[1.0]])[0] == 1


def test_strings_are_not_numbers():
    model = Linear().fit(X, [0, 1] * 20)
    with pytest.raises(DataError, match="the labels are '1', '0': expected one of 0, 1"):
        model.partial_fit(X, ["1", "0"] * 20)


def test_labels_larger_than_any_integer_of_numpy():
    target = Classes(0, 10**30)
    assert target.decode(np.array([1.0, -1.0])).tolist() == [10**30, 0]
    assert target.decode(np.array([])).dtype == object
