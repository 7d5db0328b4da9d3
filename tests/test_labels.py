"""Labels and scores by one rule, whatever the rows come from and in whatever batches."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from river.linear_model import LogisticRegression

from onlineboost import AdaBoostOLPlus, DataError, Linear, OnlineBBM, OnlineMBBM, ParameterError
from onlineboost.evaluate import Threshold, progressive_error
from onlineboost.readers import open_stream


@pytest.mark.parametrize("size", [1, 7, 50])
@pytest.mark.parametrize("lag", [0, 2])
def test_all_labels_but_the_positive_one_are_one_label(size, lag):
    """In any batches, though the second negative label gives both another name."""
    rows = [({"a": k % 7}, ("no", "no", "yes", "maybe")[k % 4]) for k in range(50)]
    models = [OnlineBBM(n_estimators=3, lag=lag) for _ in range(2)]
    scores = [
        model.progressive_fit(open_stream(rows, positive="yes", batch_size=most))
        for model, most in zip(models, (size, 1000), strict=True)
    ]
    assert np.array_equal(*scores)
    assert models[0].classes_.tolist() == ["not yes", "yes"]
    assert models[0].decision_function([{"a": 3}]) == models[1].decision_function([{"a": 3}])


def test_signs_are_those_of_the_larger_label():
    """Also where it came first: of arrays, streams and single rows, before and after learning."""
    rows = [({"x": 1.0}, "spam"), ({"x": -1.0}, "ham")] * 50
    model = Linear()
    scores = model.progressive_fit(open_stream(rows))
    assert (scores[-2:] > 0).tolist() == [True, False]
    assert model.decision_one({"x": 1.0}) == model.decision_function([{"x": 1.0}])[0] > 0
    assert model.probabilities(scores)[-2] > 0.5 > model.probabilities(scores)[-1]
    assert model.predict_proba([{"x": 1.0}])[0, 1] > 0.5


def test_weights_for_other_labels_change_nothing():
    model = OnlineBBM(n_estimators=3, class_weight={"a": 2})
    ticket = model.ask({"x": 1.0})
    with pytest.raises(DataError, match="class_weight has words, but the labels are numbers"):
        model.tell(ticket, 1)
    model.tell(ticket, "a")
    assert model.n_seen_ == 1
    with pytest.raises(DataError, match="class_weight"):
        model.fit(np.eye(4), [0, 1, 0, 1])
    assert model.classes_.tolist() == ["a"]


def test_a_row_that_cannot_be_asked_leaves_nothing():
    model = OnlineBBM(n_estimators=3)
    with pytest.raises(DataError, match="expected"):
        model.ask({"x": object()})
    assert model._fitted is None


def test_frames_are_read_as_the_stream_was():
    """Columns that are categories, one by one and many at a time."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"zip": rng.integers(0, 5, 200), "size": rng.normal(size=200)})
    y = np.where(frame["zip"] == 2, "a", "b")
    models = [Linear().fit(open_stream(frame, y=y, categorical=["zip"])) for _ in range(2)]
    records = frame.to_dict("records")
    assert models[0].predict_many(frame).tolist() == [models[0].predict_one(row) for row in records]
    models[0].learn_many(frame, y)
    for row, label in zip(records, y, strict=True):
        models[1].learn_one(row, label)
    chances = [model.predict_proba_many(frame).to_numpy() for model in models]
    assert np.array_equal(*chances)
    assert [*models[0].explain(frame)[0]] == ["zip", "size"]


def test_a_class_met_with_weight_0_only():
    """It has a place among the scores, the lowest."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = Linear().fit(X, np.where(X[:, 0] > 0, "a", "b"))
    model.partial_fit(X[:2], ["a", "c"], sample_weight=[1, 0])
    scores = model.scores(X)
    assert scores.shape == model.decision_function(X).shape == (60, 3)
    assert np.array_equal(model.probabilities(scores)[:, 2], np.zeros(60))
    assert [*model.predict_proba_one({0: 1.0})] == ["a", "b", "c"]
    assert model.predict_proba(X).argmax(axis=1).max() == 1


def test_accuracy_is_that_of_the_answers():
    """Also where all scores are the same."""
    X, y = np.zeros((8, 2)), np.array(["b", "a", "c", "a"] * 2)
    model = Linear().partial_fit(X, y, classes=["a", "b", "c"], sample_weight=np.zeros(8))
    assert model.score(X, y) == np.mean(model.predict(X) == y) == 0.5


def test_importances_are_those_of_the_columns():
    """The last labels are named beside them."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = OnlineBBM(n_estimators=3, lag=2).fit(X, X[:, 0] > 0)
    assert model.feature_importances_.shape == (2,)
    assert len(model.importances()) > 2


@pytest.mark.parametrize("labels", [(0, 1), (1, 2), ("no", "yes"), (5, 6, 7)])
def test_rivers_learners_of_two_labels_learn_true_and_false(labels):
    X = np.random.default_rng(0).normal(size=(150, 2))
    y = np.array(labels)[np.digitize(X[:, 0], [0.0, 0.7][: len(labels) - 1])]
    model = OnlineBBM(LogisticRegression(), 2, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.8
    with pytest.raises(ParameterError, match="a multiclass learner"):
        OnlineMBBM(LogisticRegression(), 2).fit(X, y)
    with pytest.raises(ParameterError, match="estimator=LogisticRegression"):
        model.explain(X)


@pytest.mark.parametrize("seed", range(5))
def test_a_higher_score_is_never_less_likely(seed):
    """Also where few rows have taught the opposite."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 2)), rng.integers(0, 2, 30)
    model = AdaBoostOLPlus(n_estimators=3, random_state=seed).fit(X, y)
    scores, chances = model.decision_function(X), model.predict_proba(X)[:, 1]
    assert (np.diff(chances[np.argsort(scores, kind="stable")]) >= 0).all()


@pytest.mark.parametrize(
    ("scores", "y", "message"),
    [
        ([0.1, 0.2], [True], "expected one of each per row"),
        ([0.1, np.nan], [0, 1], "the score of row 1 is NaN"),
        ([0.1, 0.2], ["no", "yes"], "such as y == 'yes'"),
    ],
)
def test_rows_that_a_threshold_cannot_be_chosen_from(scores, y, message):
    with pytest.raises(DataError, match=message):
        Threshold().update(scores, y)


def test_what_is_for_two_labels_says_so():
    with pytest.raises(ParameterError, match="a probability is a threshold already"):
        Threshold().choose(0.2)
    with pytest.raises(ParameterError, match="such as 'macro-f1'"):
        progressive_error(Linear(), np.eye(3), [0, 1, 2], metric="f1")


def test_frames_with_two_columns_of_one_name():
    frame = pd.DataFrame(np.eye(3), columns=["a", "a", "b"])
    with pytest.raises(DataError, match="two columns of the same name"):
        Linear().fit(frame, [0, 1, 0])
