"""Python objects as weak learners with more than two classes: one against the rest, as compiled learners do it."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from river.naive_bayes import GaussianNB
from sklearn.linear_model import SGDClassifier
from test_classes import by_hand

from onlineboost import AdaBoostOL, Copies, Linear, OnlineBBM
from onlineboost.readers import open_stream

LEARNERS = {
    "copies": lambda: Copies(Linear()),
    "river": GaussianNB,
    "sklearn": lambda: SGDClassifier(loss="log_loss", random_state=0),
}
every_learner = pytest.mark.parametrize("kind", LEARNERS)


def model(kind: str, **more) -> OnlineBBM:
    return OnlineBBM(LEARNERS[kind](), 2, random_state=0, **{"head": "stack"} | more)


@pytest.fixture(scope="module")
def rows():
    """Four classes by two features; the fourth comes late."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(130, 4)).astype(np.float32)
    y = np.array(["b", "d", "a", "c"])[(X[:, 0] > 0) + 2 * (X[:, 1] > 0.2)]
    y[:60][y[:60] == "c"] = "a"
    return X, y


@every_learner
def test_one_against_the_rest_by_hand(kind, rows):
    X, y = rows
    order = [*dict.fromkeys(y.tolist())]  # scikit-learn's learners sort labels: those that come first are the smaller
    y = np.array(sorted(order))[[order.index(label) for label in y.tolist()]]
    whole = model(kind)
    scores = whole.progressive_fit(X, y)
    places = whole._fitted.target.encode(y)
    births = [int(np.argmax(places == k)) for k in range(4)]
    expected = by_hand(model(kind), X, places, births)
    assert scores.shape == (130, 4) and births[2] < births[3]
    assert np.array_equal(scores[births[2] :], expected[births[2] :])


@pytest.mark.parametrize(("kind", "head"), [("copies", "stack"), ("river", "vote"), ("sklearn", "vote")])
def test_batches_copies_and_single_rows_do_not_matter(kind, head, rows):
    X, y = rows
    whole, parts, last = model(kind, head=head), model(kind, head=head), None
    scores = whole.progressive_fit(X, y)
    for step, (start, stop) in enumerate(pairwise([0, 20, 50, 70, 90, 130])):
        if step == 3:
            for row, label in zip(X[start:stop].tolist(), y[start:stop].tolist(), strict=True):
                parts.learn_one(dict(enumerate(row)), label)
            continue
        last = parts.progressive_fit(X[start:stop], y[start:stop])
        parts = pickle.loads(pickle.dumps(copy.deepcopy(parts)))
        parts.predict(X[:20])  # changes nothing
    assert np.array_equal(last, scores[90:])
    assert np.array_equal(parts.decision_function(X), whole.decision_function(X))
    assert np.array_equal(parts.predict_proba(X), whole.predict_proba(X))
    assert np.array_equal(parts.edges_, whole.edges_) and parts.n_seen_ == 130


def test_answers(rows):
    X, y = rows
    fitted = model("river").fit(X, y)
    assert fitted.classes_.tolist() == ["a", "b", "c", "d"]
    chances = fitted.predict_proba(X)
    assert np.allclose(chances.sum(axis=1), 1) and (chances >= 0).all()
    assert np.array_equal(fitted.classes_[chances.argmax(axis=1)], fitted.predict(X))
    assert fitted.score(X, y) > 0.7
    one = fitted.predict_proba_one(dict(enumerate(X[7].tolist())))
    assert [one[label] for label in fitted.classes_] == pytest.approx(chances[7].tolist())
    assert fitted.predict_one(dict(enumerate(X[7].tolist()))) == fitted.predict(X[7:8])[0]
    assert "2 learners" in str(fitted.report())


def test_two_labels_are_one_committee_until_a_third_has_weight(rows):
    X, y = rows
    first = [*dict.fromkeys(y.tolist())][:2]
    weight = np.isin(y, first).astype(float)
    binary = model("river").fit(X, y, weight)
    assert type(binary._fitted.root).__name__ == "ObjectCommittee" and set(binary.predict(X)) == set(first)
    alone = model("river").fit(X[weight > 0], y[weight > 0])
    assert np.array_equal(binary.scores(X)[:, 1], alone.scores(X))


def test_classes_that_are_named_begin_at_once(rows):
    X, y = rows
    named = model("sklearn", head="vote").partial_fit(X[:3], ["a", "b", "a"], classes=["a", "b", "c", "d"])
    assert named.predict_proba(X[:5]).shape == (5, 4)
    named.partial_fit(X[3:9], y[3:9])
    assert named.n_seen_ == 9


def test_streams_and_other_boosters(rows):
    X, y = rows
    frame, boosters = pd.DataFrame(X, columns=[*"pqrs"]), [AdaBoostOL(GaussianNB(), 2, random_state=0) for _ in "12"]
    for booster, size in zip(boosters, (70, 33), strict=True):
        for page in open_stream(frame, y=y, batch_size=size):
            booster.learn(page)
    assert np.array_equal(*(booster.predict_proba(frame) for booster in boosters))
    assert np.mean(boosters[0].predict(frame) == y) > 0.55


def test_names_reach_every_class(rows):
    X, y = rows
    crossed = OnlineBBM(Copies(Linear(bins=4, crosses=[("p", "late")])), 2, random_state=0)
    crossed.partial_fit(pd.DataFrame(X[:30], columns=[*"pqrs"]).rename(columns={"s": "late"}), y[:30])
    nodes = [member for part in crossed._fitted.root.parts for member in part.committee.nodes]
    names = crossed._fitted.columns.names
    assert len(nodes) == 6 and all(one.names == nodes[0].names for one in nodes) and names
    crossed.learn_one({"p": 1.0, "q": 1.0, "new": 2.0}, "a")
    assert all(len(one.names) == len(nodes[0].names) > len(names) - 1 for one in nodes)
    assert "new" in crossed._fitted.columns.names.values()
