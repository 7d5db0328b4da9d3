"""Labels that are rare: metrics of the positive label, and thresholds learned on the way."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from onlineboost import Linear, OnlineBBM, ParameterError
from onlineboost.data.classes import Classes
from onlineboost.evaluate import Measurement, Threshold, progressive_error
from onlineboost.evaluate.metrics.confusion import Confusion, cost
from onlineboost.evaluate.threshold import Cutoff, Rule
from onlineboost.evaluate.training import Training
from onlineboost.readers import open_stream
from onlineboost.tuning import tune


def rows(n: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores with ties, whether rows are positive, and weights."""
    rng = np.random.default_rng(3)
    positive = rng.random(n) < 0.15
    return np.round(rng.normal(size=n) + 1.2 * positive - 1, 1), positive, rng.choice([0.5, 1.0, 2.0], size=n)


@pytest.mark.parametrize("turned", [False, True])
def test_metrics_of_the_positive_label_are_those_of_scikit_learn(turned):
    scores, positive, weight = rows()
    by_place = (-scores, np.where(positive, 0.0, 1.0)) if turned else (scores, np.where(positive, 1.0, -1.0))
    measured = Measurement()
    for part in (slice(0, 90), slice(90, 400)):
        measured.update(*(one[part] for one in by_place), weight[part])
    found = measured.values(turned)
    answers = scores > 0 if turned else scores >= 0  # a score of 0 is for place 1
    kinds = {
        "f1": metrics.f1_score, "mcc": metrics.matthews_corrcoef, "precision": metrics.precision_score,
        "recall": metrics.recall_score,
    }  # fmt: skip
    for name, function in kinds.items():
        assert found[name] == pytest.approx(function(positive, answers, sample_weight=weight))
    average = metrics.average_precision_score(positive, scores, sample_weight=weight)
    assert found["pr-auc"] == pytest.approx(average)


def test_more_than_two_labels_have_no_positive_one():
    measured = Measurement()
    measured.update(np.eye(3), np.array([0.0, 1.0, 2.0]), np.ones(3))
    assert not any(measured.values()[name] for name in ("f1", "mcc", "pr-auc", "precision", "recall"))


def test_a_threshold_changes_the_answers_only():
    scores, positive, weight = rows()
    y = np.where(positive, 1.0, -1.0)
    plain, cut = Measurement(), Measurement()
    plain.update(scores, y, weight)
    cut.update(scores, y, weight, answers=np.where(scores >= -1, 1.0, -1.0))
    assert cut.values()["recall"] > plain.values()["recall"]
    assert cut.values()["recall"] == pytest.approx(metrics.recall_score(positive, scores >= -1, sample_weight=weight))
    assert all(cut.values()[name] == plain.values()[name] for name in ("auc", "pr-auc"))


@pytest.mark.parametrize(("first", "second"), [("a", "b"), ("b", "a"), (1, 2), (2, 1), ("no", "yes"), ("yes", "no")])
def test_the_positive_label_does_not_depend_on_the_order_of_rows(first, second):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.array([first if rare else second for rare in X[:, 0] > 1])
    model = OnlineBBM(Linear(standardize=True), 3, random_state=0, lag=1)
    scores, larger = model.clone().progressive_fit(X, y), max(first, second)
    answers, wanted = scores >= 0, y == larger
    error = np.mean(answers != wanted)
    assert progressive_error(model, X, y) == pytest.approx(error)
    assert tune([model], X, y).best.error == pytest.approx(error, abs=0.02)  # which names the classes in their order
    assert progressive_error(model, X, y, "f1") == pytest.approx(metrics.f1_score(wanted, answers))
    stream = progressive_error(model, open_stream(X, y=y, batch_size=70), metric="f1")
    assert stream == pytest.approx(metrics.f1_score(wanted, answers))
    assert progressive_error(model, X, y, "pr-auc") == pytest.approx(metrics.average_precision_score(wanted, scores))


# ---- thresholds


def slow(scores, positive, weight, loss) -> float:
    """The least loss over all thresholds."""
    found = []
    for at in [*np.unique(scores), math.inf]:
        answers = scores >= at
        tp, fp = weight[answers & positive].sum(), weight[answers & ~positive].sum()
        found.append(loss(tp, fp, weight[positive].sum() - tp))
    return min(found)


@pytest.mark.parametrize("turned", [False, True])
def test_the_threshold_is_the_best_one(turned):
    scores, positive, weight = (one[:60] for one in rows())  # fewer than are halved
    threshold = Threshold()
    threshold.update(-scores if turned else scores, ~positive if turned else positive, weight, turned)
    losses = {
        "f1": lambda tp, fp, fn: -2 * tp / (2 * tp + fp + fn),
        "cost": lambda tp, fp, fn: 7 * fn + 2 * fp,
    }
    for rule, loss in losses.items():
        answers = scores >= threshold.choose(rule, turned, fn=7, fp=2)
        tp, fp = weight[answers & positive].sum(), weight[answers & ~positive].sum()
        found = loss(tp, fp, weight[positive].sum() - tp)
        assert found == pytest.approx(slow(scores, positive, weight, loss))
    at = threshold.choose("recall=0.7", turned)
    assert metrics.recall_score(positive, scores >= at, sample_weight=weight) >= 0.7
    assert metrics.recall_score(positive, scores >= at + 0.15, sample_weight=weight) < 0.7


@given(st.lists(st.integers(0, 400), max_size=5), st.booleans())
def test_batches_and_saving_do_not_matter(cuts, turned):
    scores, positive, weight = rows()
    weight = weight / 3
    whole, parts = Threshold(Rule.parsed("f1")), Threshold(Rule.parsed("f1"))
    whole.update(scores, positive, weight, turned)
    for start, stop in zip([0, *sorted(cuts)], [*sorted(cuts), 400], strict=True):
        parts.update(scores[start:stop], positive[start:stop], weight[start:stop], turned)
        parts = Threshold.from_json(json.loads(json.dumps(parts.as_json())))
    assert parts.as_json() == whole.as_json()
    assert whole.now is not None and len(whole.marks) == 9


def test_answers_on_the_way_are_by_what_was_known_before():
    scores, positive, weight = rows()
    threshold, table = Threshold(Rule.parsed("recall=0.9")), np.zeros((2, 2))
    threshold.update(scores, positive, weight)
    for start, stop in ((0, 64), (64, 128), (128, 256), (256, 400)):
        before, at = Threshold(), 0.0
        before.update(scores[: max(start - 1, 0)], positive[: max(start - 1, 0)], weight[: max(start - 1, 0)])
        if start:  # with the last row before it is halved
            one = Threshold()
            one.update(scores[start - 1 : start], positive[start - 1 : start], weight[start - 1 : start])
            before.counts = before.counts + one.counts
            at = before.choose("recall=0.9")
        part = slice(start, stop)
        np.add.at(table, (positive[part].astype(int), (scores[part] >= at).astype(int)), weight[part])
    assert np.array_equal(threshold.table, table)


@pytest.mark.parametrize(
    "given", ["f2", "recall", "recall=0", "recall=1.1", "1", 0, 1.5, "cost=3", "f1=1", "nan", None]
)
def test_rules_that_make_no_sense(given):
    with pytest.raises(
        ParameterError, match="threshold=.*a probability above 0 and below 1, 'f1', 'cost', or 'recall=0.9'"
    ):
        Rule.parsed(given)


def test_costs_that_make_no_sense():
    for costs in ((0, 0), (-1, 1), (math.nan, 1), (1, "2")):
        with pytest.raises(ParameterError, match="cost="):
            Rule.parsed("cost", *costs)
    assert cost(Confusion(np.array([[90.0, 4], [2, 4]])), 10, 1) == 0.24
    assert Threshold().choose("f1") is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rule", ["f2", None, 1, 1]), ("rule", [None, 7, 1, 1]), ("counts", [[9999, 1, 1]]), ("counts", [[1, -1, 1]]),
        ("counts", [[1, 1]]), ("rows", -1), ("rows", 3), ("table", [[1, 2]]), ("now", "x"), ("now", math.inf),
        ("marks", []),
    ],
)  # fmt: skip
def test_thresholds_of_files_that_cannot_be(name, value):
    scores, positive, weight = rows()
    threshold = Threshold(Rule.parsed("f1"))
    threshold.update(scores, positive, weight)
    with pytest.raises((ValueError, TypeError, KeyError)):
        Threshold.from_json(threshold.as_json() | {name: value})


def test_thresholds_of_model_files_that_cannot_be():
    assert [Cutoff.restored(cut.describe()) for cut in (Cutoff(0.2, True), Cutoff(-7.5, False))] == [
        (0.2, True),
        (-7.5, False),
    ]
    for wrong in ({"at": 1.5, "of": "probability"}, {"at": math.nan, "of": "score"}, {"at": 0.1, "of": "x"}, {}, 0.2):
        with pytest.raises((ValueError, TypeError, KeyError)):
            Cutoff.restored(wrong)


def test_the_positive_label_of_a_training_is_the_larger_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    rare = X[:, 0] + rng.normal(size=600) > 2
    found = []
    for labels in (("z", "a"), ("a", "z")):  # the positive one is rare, or frequent
        y = np.where(rare, *labels)
        training = Training(OnlineBBM(Linear(standardize=True), 5, random_state=0), None)
        training.threshold.rule = Rule.parsed("recall=0.9")
        for page in open_stream(X, y=y, batch_size=130):
            training.learn(page)
        fitted = training.model._fitted
        answers = positive(training.cutoff, fitted, training.model.scores(X)[:, None])[:, 0]
        assert isinstance(fitted.target, Classes)
        assert np.mean(answers[y == "z"]) > 0.85
        found.append(training.threshold.share(fitted.target.turned))
    assert found[0] == pytest.approx(rare.mean()) and found[1] == pytest.approx(1 - rare.mean())


def positive(cut, fitted, scores):
    """Which rows are answered with the positive label."""
    return (cut.signs(fitted, scores) > 0) != fitted.target.turned


@pytest.mark.parametrize("labels", [("z", "a"), ("a", "z")])
def test_a_probability_is_a_score_at_each_power_of_two(labels):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = np.where(X[:, 0] + rng.normal(size=600) > 1, *labels)
    table, at, model = np.zeros((2, 2)), None, OnlineBBM(Linear(standardize=True), 5, random_state=0)
    for page in open_stream(X, y=y, batch_size=1):
        [score], [place], rows = model.learn(page), page.batch.y, int(table.sum())
        fitted = model._fitted
        answer = score >= 0 if at is None else (score > -at if fitted.target.turned else score >= at)
        table[int(place), int(answer)] += 1
        if (rows + 1).bit_count() == 1 and table.sum(axis=1).all():
            at = Cutoff(0.3, True).score(fitted)
    scores = 10 * rng.normal(size=(200, 1))
    by_score = positive(Cutoff(Cutoff(0.3, True).score(fitted), False), fitted, scores)
    assert (
        by_score.any() and np.array_equal(by_score, positive(Cutoff(0.3, True), fitted, scores)) and not by_score.all()
    )
    for pages in (1, 7, 600):
        training = Training(OnlineBBM(Linear(standardize=True), 5, random_state=0), None)
        training.threshold.rule = Rule.parsed(0.3)
        for page in open_stream(X, y=y, batch_size=pages):
            training.learn(page)
        assert training.threshold.table.tolist() == table.tolist()


def test_a_threshold_beyond_all_numbers_is_an_error_of_ours():
    model = Linear().fit(np.eye(4), [0, 1, 0, 1])
    for threshold in (10**400, -(10**400)):
        with pytest.raises(ParameterError, match="a probability above 0 and below 1"):
            model.predict(np.eye(4), threshold=threshold)
