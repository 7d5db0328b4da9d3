"""More than two classes: one machine for each against the rest, from the row where the class is first met."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
from sklearn.metrics import log_loss

import onlineboost
from onlineboost import (
    AdaBoostOL,
    Adaptive,
    DataError,
    Linear,
    NaiveBayes,
    OnlineBBM,
    Pending,
    Restarting,
    SafeBoost,
    StackedEnsemble,
    Tree,
)
from onlineboost.evaluate import progressive_score

MODELS = {
    "linear": lambda: OnlineBBM(Linear(standardize=True), 5, random_state=0),
    "trees": lambda: OnlineBBM(Tree(3, replay=64), 4, head="stack", random_state=0),
    "safe": lambda: SafeBoost(Tree(2, replay=64), 6, random_state=0),
    "experts": lambda: AdaBoostOL(NaiveBayes(), 3, random_state=0),
    "alone": lambda: Linear(),
    "restarting": lambda: Restarting(OnlineBBM(Tree(2, replay=64), 3, random_state=0), delta=0.5),
    "stacked": lambda: StackedEnsemble(
        [Linear(standardize=True), OnlineBBM(Tree(3, replay=64), 4), NaiveBayes()], n_always=1, random_state=0
    ),
    "adaptive": lambda: Adaptive(OnlineBBM(Tree(2, replay=64), 3, random_state=0)),
}


@pytest.fixture(scope="module")
def rows():
    """Four classes by two features; the fourth comes late."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(900, 6)).astype(np.float32)
    X[:300, 4] = 0  # a feature that comes late
    y = np.array(["b", "d", "a", "c"])[(X[:, 0] > 0) + 2 * (X[:, 1] > 0.2)]
    late = (y == "c") & (np.arange(900) < 400)
    y[late] = "a"
    return X, y


def bits(model, tmp_path):
    model.save(tmp_path / "bits")
    return (tmp_path / "bits").read_bytes()


@pytest.mark.parametrize("kind", MODELS)
def test_batches_do_not_matter(kind, rows, tmp_path):
    """Nor do saving, copying, threads and single rows; and classes begin where they are first met, in ``fit`` too."""
    X, y = rows
    whole = MODELS[kind]()
    scores = whole.progressive_fit(X, y)
    assert scores.shape == (900, 4) and np.isneginf(scores[:100, 3]).all() and np.isfinite(scores[500:]).all()
    fitted = MODELS[kind]().fit(X, y)
    parts, pieces = MODELS[kind](), []
    ends = [0, 3, 10, 130, 395, 470, 471, 700, 900]
    for step, (start, stop) in enumerate(pairwise(ends)):
        if step == 1:
            for row, label in zip(X[start:stop].tolist(), y[start:stop].tolist(), strict=True):
                parts.learn_one(dict(enumerate(row)), label)
            continue
        if step == 5 and "n_jobs" in parts.get_params():
            parts.set_params(n_jobs=2)
        pieces.append(parts.progressive_fit(X[start:stop], y[start:stop]))
        parts.save(tmp_path / "model")
        parts = pickle.loads(pickle.dumps(copy.deepcopy(onlineboost.load(tmp_path / "model"))))
        parts.predict(X[:20])  # changes nothing
    assert bits(whole, tmp_path) == bits(fitted, tmp_path) == bits(parts, tmp_path)
    late = pieces[-1]
    assert np.array_equal(late, scores[700:])
    one = np.array([parts.decision_one(dict(enumerate(row))) for row in X[:30].tolist()])
    assert np.array_equal(one, whole.decision_function(X[:30]))
    assert [parts.predict_one(dict(enumerate(row))) for row in X[:30].tolist()] == whole.predict(X[:30]).tolist()


@pytest.mark.parametrize("kind", MODELS)
def test_answers(kind, rows):
    X, y = rows
    model = MODELS[kind]().fit(X, y)
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    chances, scores = model.predict_proba(X), model.decision_function(X)
    assert chances.shape == scores.shape == (900, 4)
    assert np.allclose(chances.sum(axis=1), 1) and (chances >= 0).all()
    assert np.array_equal(model.classes_[chances.argmax(axis=1)], model.predict(X))
    assert np.array_equal(model.classes_[scores.argmax(axis=1)], model.predict(X))
    assert model.score(X, y) == np.mean(model.predict(X) == y)
    known = model.predict_proba_one(dict(enumerate(X[7].tolist())))
    assert [known[label] for label in model.classes_] == pytest.approx(chances[7].tolist())
    error = progressive_score(MODELS[kind](), X, y)
    assert error < 0.5 and error < 1 - max(np.mean(y == label) for label in "abcd")


def by_hand(model, X, codes, rows_of_birth):
    """One against the rest, literally: a model for each class; the first two are one until the third comes.

    Returns the log odds of all classes for each row.
    """
    seed = model.get_params()["random_state"]
    third = rows_of_birth[2]
    scores = np.full((len(X), len(rows_of_birth)), -np.inf)
    for k, birth in enumerate(rows_of_birth):
        sign = 1 if k else -1
        labels = np.where(codes == k, 1, -1) * sign
        single = model.clone().set_params(random_state=seed + k if k > 1 else seed)
        start = birth if k > 1 else 0
        scores[start:, k] = sign * single.progressive_fit(X[start:], labels[start:], classes=[-1, 1])
        if k < 2:  # the same until the third class came
            assert set(codes[:third]) == {0, 1}
    return scores


def test_one_against_the_rest_by_hand(rows):
    X, y = rows
    X = X.copy()
    X[:300, 4] = 0.5  # or the models that begin late would meet the features in another order
    model = MODELS["trees"]()
    scores = model.progressive_fit(X, y)
    codes = model.fitted.target.places(model.fitted.target.encode(y))
    births = [int(np.argmax(codes == k)) for k in range(4)]
    expected = by_hand(MODELS["trees"](), X, codes, births)
    third = births[2]
    assert np.array_equal(scores[third:], expected[third:])
    assert np.array_equal(scores[:third, 1] > 0, expected[:third, 1] > 0)


def test_two_labels_are_as_before_until_the_third(rows, tmp_path):
    X, y = rows
    two = np.where(y < "c", "a", "c")
    assert bits(MODELS["trees"]().fit(X, two), tmp_path) == bits(
        MODELS["trees"]().partial_fit(X, two, classes=["a", "c"]), tmp_path
    )
    weight = np.where(y == "c", 0.0, 1.0)
    skipped = MODELS["trees"]().fit(X, y, weight)  # a class whose rows have no weight begins nowhere
    chances = skipped.predict_proba(X[:5])
    one = skipped.predict_proba_one(dict(enumerate(X[0].tolist())))
    assert [one[label] for label in "abcd"] == pytest.approx(chances[0].tolist())
    first = [*dict.fromkeys(y.tolist())][:2]
    binary = MODELS["trees"]().fit(X, y, np.isin(y, first).astype(float))
    assert binary.decision_function(X).shape == (900, 4) and set(binary.predict(X)) == set(first)
    chances, known = binary.predict_proba(X), np.isin(binary.classes_, first)
    assert np.array_equal(chances[:, known].sum(axis=1), np.ones(900)) and not chances[:, ~known].any()
    chances = skipped.predict_proba(X[:5])
    assert skipped.classes_[2] == "c" and not chances[:, 2].any() and np.allclose(chances.sum(axis=1), 1)


def test_classes_that_are_named_begin_at_once(rows, tmp_path):
    X, y = rows
    model = MODELS["linear"]().partial_fit(X[:5], ["b", "b", "b", "a", "b"], classes=["a", "b", "c", "d"])
    assert model.predict_proba(X[:5]).shape == (5, 4)
    model.partial_fit(X[5:], y[5:])
    other = MODELS["linear"]().fit(X, y)
    assert bits(model, tmp_path) != bits(other, tmp_path)
    with pytest.raises(DataError, match="classes are 'a', 'b': expected 'a', 'b', 'c', 'd'"):
        model.partial_fit(X[:5], y[:5], classes=["a", "b"])


def test_probabilities_are_calibrated(rows):
    """The sharpness is learnt: better than none, on rows to come."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 5)).astype(np.float32)
    y = (X[:, :3] + 0.7 * rng.normal(size=(4000, 3))).argmax(axis=1)
    model = OnlineBBM(Linear(), 11).fit(X[:3000], y[:3000])
    scores = model.decision_function(X[3000:])
    plain = np.exp(scores - scores.max(axis=1, keepdims=True))
    plain /= plain.sum(axis=1, keepdims=True)
    assert log_loss(y[3000:], model.predict_proba(X[3000:])) < log_loss(y[3000:], plain)


@pytest.mark.parametrize("votes", ["now", "then"])
def test_tickets_over_classes(votes, rows):
    """At once, a ticket told is a row learnt; a label may be that of a new class, also for tickets given before it."""
    X, y = rows
    dicts = [dict(enumerate(row)) for row in X.tolist()]
    model, other = MODELS["stacked"](), MODELS["stacked"]()
    model.pending = Pending(votes=votes)
    for x, label in zip(dicts[:300], y[:300].tolist(), strict=True):
        model.tell(model.ask(x), label)
        other.learn_one(x, label)
    assert np.array_equal(model.decision_function(X[:50]), other.decision_function(X[:50]))
    tickets = [model.ask(x) for x in dicts[300:340]]
    assert {ticket.answer for ticket in tickets} <= {"a", "b", "d"}
    assert all(1 / 3 < ticket.probability <= 1 for ticket in tickets)
    model.tell(tickets[5], "e")
    model.tell(tickets[:5], y[300:305].tolist())
    assert model.classes_.tolist() == ["a", "b", "d", "e"] and len(model.pending) == 34


def test_alarms_of_classes(rows):
    X, y = rows
    told = []
    model = Restarting(OnlineBBM(Tree(2, replay=64), 3, random_state=0), delta=0.5, on_drift=told.append)
    turned = np.where(np.arange(900) > 600, np.roll(["a", "b", "c", "d"], 1)[np.searchsorted(list("abcd"), y)], y)
    model.fit(X, turned)
    assert told and model.n_alarms_ == len(model.alarms_) == len(told)
