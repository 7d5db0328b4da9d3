"""Committees of other libraries' classifiers, the real ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from river import compose, linear_model, naive_bayes, preprocessing, tree
from sklearn.linear_model import Perceptron, SGDClassifier, SGDRegressor
from sklearn.naive_bayes import BernoulliNB
from stubs import Scripted, ScriptedUnweighted

from onlineboost import AdaBoostOL, Copies, DataError, Linear, NotFittedError, OnlineBBM, OnlineMBBM, ParameterError
from onlineboost.datasets import load_letter


def error(model, X, y):
    return ((model.progressive_fit(X, y) >= 0) != (y > 0)).mean()


def test_river_trees_gain_from_boosting():
    X, y = load_letter()
    X, y = X[:1000], y[:1000]
    tree_alone = OnlineBBM(tree.HoeffdingTreeClassifier(grace_period=50), 1)
    boosted = OnlineBBM(tree.HoeffdingTreeClassifier(grace_period=50), 9, delivery="sample", random_state=0)
    assert error(boosted, X, y) < error(tree_alone, X, y)


class ScriptedWords(Scripted):
    def predict_one(self, x):
        return "yes" if x[self.index] > 0 else "no"


def test_river_gets_the_users_own_labels_and_weights():
    model = OnlineBBM(ScriptedWords(), 3)
    model.partial_fit([[1, 1, 1, 0], [-1, 1, -1, 1]], ["no", "yes"])
    taught = [entry for member in model._fitted.root.committee.members for log in member.log.values() for entry in log]
    assert {label for label, _ in taught} == {"no", "yes"}
    assert all(isinstance(weight, float) for _, weight in taught)


def test_pipeline_takes_dicts_as_they_are():
    model = AdaBoostOL(compose.Pipeline(preprocessing.OneHotEncoder(), naive_bayes.BernoulliNB()), 3)
    for _ in range(20):
        model.learn_one({"colour": "red", "shape": "round"}, "apple")
        model.learn_one({"colour": "yellow", "shape": "long"}, "banana")
    assert model.predict_one({"colour": "red", "shape": "round"}) == "apple"
    assert model.predict_one({"colour": "yellow", "shape": "long"}) == "banana"


@pytest.mark.parametrize("estimator", [SGDClassifier(loss="log_loss", random_state=0), Perceptron(), BernoulliNB()])
@pytest.mark.parametrize("sparse", [False, True])
def test_scikit_learn(estimator, sparse, stream):
    X, y = stream[0][:150], np.where(stream[1][:150] > 0, "up", "down")
    model = OnlineBBM(estimator, 3)
    data = sp.csr_matrix(X) if sparse else X
    assert model.fit(data, y).score(data, y) > 0.6
    assert set(model.predict(data)) == {"up", "down"}


class Numbers:
    """A weak learner that answers by numbers, whatever the labels are."""

    def learn_one(self, x, y):
        pass

    def predict_one(self, x):
        return 0.7


@pytest.mark.parametrize("booster", [OnlineBBM, OnlineMBBM])
def test_answers_that_are_no_labels_are_an_error(booster):
    model = booster(Numbers(), 3, delivery="sample")
    model.learn_one({"a": 1.0}, "no")  # it may be the label that is not known yet
    with pytest.raises(DataError, match=r"the weak learner answers 0.7: expected a label, one of 'no', 'yes', or None"):
        model.learn_one({"a": 2.0}, "yes")
    assert model.n_seen_ == 1


def test_weights_are_refused_where_the_learner_takes_none(stream):
    X, y = stream
    with pytest.raises(ParameterError, match="delivery='weight': expected 'sample' or 'auto'.*takes no weights"):
        OnlineBBM(ScriptedUnweighted(), 3, delivery="weight").fit(X, y)
    model = OnlineBBM(ScriptedUnweighted(), 3, random_state=0).fit(X, y)
    assert model._fitted.root.settings.sample


def test_auto_prefers_weights():
    assert Copies(linear_model.LogisticRegression()).prefers == "weight"
    assert Copies(naive_bayes.GaussianNB()).prefers == "sample"
    assert Copies(SGDClassifier()).prefers == "weight"


def test_real_votes_need_scores(stream):
    class Labeler:
        def partial_fit(self, X, y, sample_weight=None): ...
        def predict(self, X): ...

    with pytest.raises(ParameterError, match="votes='real': expected 'hard', since Labeler gives labels only"):
        OnlineBBM(Labeler(), 3, votes="real").fit(*stream)


def test_an_estimator_must_learn_online(stream):
    with pytest.raises(ParameterError, match="estimator=.*learn_one and predict_one"):
        OnlineBBM(object(), 3).fit(*stream)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (Linear, r"an object, not a class: Linear\(...\)"),
        (SGDRegressor(), "a classifier, not a regressor"),
        (linear_model.LinearRegression(), "a classifier, not a regressor"),
    ],
)
def test_what_cannot_be_a_weak_learner(estimator, message, stream):
    with pytest.raises(ParameterError, match=message):
        OnlineBBM(estimator, 3).fit(*stream)


def test_members_are_separate_and_the_given_estimator_is_not_touched(stream):
    given = SGDClassifier(loss="log_loss", random_state=0)
    model = OnlineBBM(given, 3).fit(*stream)
    assert not hasattr(given, "coef_")
    assert len({id(member) for member in model._fitted.root.committee.members}) == 3


def test_scikit_learn_needs_an_array_first():
    with pytest.raises(DataError, match="start with partial_fit on an array"):
        OnlineBBM(SGDClassifier(), 3).learn_one({"a": 1.0}, 1)


def test_scikit_learn_gets_fractions_after_whole_numbers():
    model = OnlineBBM(SGDClassifier(random_state=0), 3).fit(np.array([[0, 1], [1, 0]] * 9), [0, 1] * 9)
    assert model._fitted.root.committee.row({0: 0.9}, model._fitted.columns, False).tolist() == [[0.9, 0.0]]


def test_repeated_entries_of_a_sparse_row_are_summed(stream):
    seen = []

    class Spy(Scripted):
        def learn_one(self, x, y, w=None):
            seen.append(x)

    repeated = sp.csr_matrix((np.array([1.0, 2.0, 1.0]), np.array([0, 0, 0]), np.array([0, 2, 3])), (2, 3))
    OnlineBBM(Spy(), 1).fit(repeated, [0, 1])
    assert seen == [{0: 3.0}, {0: 1.0}]


def test_copies_of_a_committee_of_objects_are_refused(stream):
    with pytest.raises(ParameterError, match="expected a booster of compiled learners"):
        OnlineBBM(Copies(AdaBoostOL(Copies(Linear()), 3)), 3).fit(*stream)
    OnlineBBM(Copies(AdaBoostOL(Linear(), 3)), 3).fit(*stream)


def test_python_committees_are_pickled_not_saved(stream, tmp_path):
    model = OnlineBBM(SGDClassifier(), 3).fit(*stream)
    with pytest.raises(ParameterError, match="save other models with pickle"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_separate_copies_equal_the_fused_committee():
    """The same bits for any number of lanes, where the learners have met different scales of the features too."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6)) * np.exp(rng.normal(size=(60, 6)))
    X[rng.random(X.shape) < 0.3] = 0
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=60) > 0, 1, -1)
    weight = rng.choice([0.0, 0.3, 1.0, 2.5], size=60)
    for learner in (Linear(), Linear("logistic"), Linear(power_t=0.3)):
        for n, u in ((2, weight), (7, None), (8, weight), (9, None), (21, weight)):
            settings = {"votes": "real"} if n in (7, 21) else {"delivery": "sample", "random_state": 1}
            fused = OnlineBBM(learner, n, **settings).progressive_fit(X, y, u)
            separate = OnlineBBM(Copies(learner), n, **settings).progressive_fit(X, y, u)
            assert np.array_equal(fused, separate)


def test_scikit_learn_is_told_the_classes_once():
    calls = []

    class Spy:
        def partial_fit(self, X, y, classes=None, sample_weight=None):
            calls.append(classes is not None)

        def predict(self, X):
            return np.ones(len(X))

    OnlineBBM(Spy(), 1).fit(np.eye(3), [0, 1, 0])
    assert calls == [True, False, False]


def test_river_gets_dicts():
    with pytest.raises(DataError, match="x is a list: expected a dict"):
        OnlineBBM(naive_bayes.GaussianNB(), 3).learn_one([1.0, 2.0], 0)


def test_not_fitted():
    with pytest.raises(NotFittedError, match="call fit, partial_fit or learn_one"):
        OnlineBBM().predict([[1.0]])


def test_copies_cross_the_columns_they_name(stream):
    """The names of columns reach the members."""
    X, y = stream
    named = pd.DataFrame(X, columns=list("abcdefghij"))
    crossed = OnlineBBM(Copies(Linear(crosses=[("a", "b")], bits=6)), 1).fit(named, y)
    alone = Linear(crosses=[("a", "b")], bits=6).fit(named, y)
    assert np.array_equal(crossed.predict(named), alone.predict(named))
    with pytest.raises(ParameterError, match="crosses='z'"):
        OnlineBBM(Copies(Linear(crosses=[("a", "z")])), 1).fit(named, y)
    one, two = OnlineBBM(Copies(Linear(crosses=[("a", "b")], bits=6)), 1), OnlineBBM(Copies(Linear()), 1)
    for row, label in zip(named.to_dict("records")[:50], y, strict=False):
        one.learn_one(row, label)
        two.learn_one(row, label)
    assert one.predict_one({"a": 3.0, "b": 3.0}) is not None
    member = one._fitted.root.committee.members[0]
    assert member.columns_not_met(["a", "b"]) == []
    assert member.committee.scale[1 : 1 + 64].any()  # the products come first


def test_a_member_that_fails_to_learn_has_not_started(stream):
    class Failing(SGDClassifier):
        def partial_fit(self, *arguments, **more):
            raise RuntimeError("not today")

    model = OnlineBBM(Failing(), 1)
    with pytest.raises(RuntimeError, match="not today"):
        model.fit(*stream)
    assert model.predict(stream[0][:2]).size == 2
