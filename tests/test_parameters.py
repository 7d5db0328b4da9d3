from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from onlineboost import (
    AdaBoostOL,
    Copies,
    DataError,
    Linear,
    OnlineBBM,
    OSBoost,
    OSBoostOCP,
    ParameterError,
    PotentialBoost,
)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (OnlineBBM(gamma=0.5), "gamma=0.5: expected a number between 0 and 0.5, both excluded"),
        (OnlineBBM(gamma=0), "gamma=0"),
        (OnlineBBM(gamma=float("nan")), "gamma=nan"),
        (OnlineBBM(gamma="big"), "gamma='big'"),
        (OSBoost(gamma=-0.1), "gamma=-0.1"),
        (OSBoostOCP(gamma=1), "gamma=1"),
        (PotentialBoost(gamma=0.7), "gamma=0.7"),
        (OnlineBBM(n_estimators=0), "n_estimators=0: expected a whole number from 1 to 10,000"),
        (AdaBoostOL(n_estimators=2.5), "n_estimators=2.5"),
        (AdaBoostOL(n_estimators=True), "n_estimators=True"),
        (PotentialBoost(n_estimators=10**9), "n_estimators=1000000000: expected a whole number from 1 to 10,000"),
        (OnlineBBM(delivery="post"), "delivery='post': expected one of 'auto', 'weight', 'sample'"),
        (OnlineBBM(votes="soft"), "votes='soft': expected one of 'hard', 'real'"),
        (OnlineBBM(normalizer="max"), "normalizer='max'"),
        (OnlineBBM(coin=0.3), "coin=0.3"),
        (AdaBoostOL(expert="best"), "expert='best': expected one of 'vote', 'random', 'last'"),
        (AdaBoostOL(random_state=-1), "random_state=-1"),
        (AdaBoostOL(random_state="seed"), "random_state='seed'"),
        (PotentialBoost(terminal="quadratic"), "terminal='quadratic': expected one of zero-one"),
        (PotentialBoost(terminal=lambda s: s), "terminal=.*non-increasing"),
        (PotentialBoost(terminal=np.ones(3)), "terminal=.*22 values"),
        (OnlineBBM(Linear("hinge")), "loss='hinge': expected one of 'squared', 'logistic'"),
        (OnlineBBM(Linear(learning_rate=0)), "learning_rate=0: expected a finite number above 0"),
        (Linear(power_t=2), "power_t=2"),
    ],
)
def test_a_bad_parameter_is_named(model, message, stream):
    with pytest.raises(ParameterError, match=message):
        model.fit(*stream)
    with pytest.raises(ParameterError, match=message):
        model.learn_one({"a": 1.0}, 1)
    assert model.predict_one({"a": 1.0}) is None


def test_a_bad_parameter_leaves_a_trained_model_as_it_was(stream):
    model = OnlineBBM(n_estimators=3).fit(*stream)
    before = model.decision_function(stream[0])
    with pytest.raises(ParameterError):
        model.set_params(gamma=3).fit(*stream)
    assert np.array_equal(model.decision_function(stream[0]), before)


def test_parameters_are_scikit_learns():
    model = OnlineBBM(Linear(learning_rate=0.1), 5, gamma=0.2)
    assert model.get_params()["estimator__learning_rate"] == 0.1
    assert repr(model) == "OnlineBBM(estimator=Linear(learning_rate=0.1), n_estimators=5, gamma=0.2)"
    assert repr(model.set_params(estimator__learning_rate=0.3, gamma=0.1)) == (
        "OnlineBBM(estimator=Linear(learning_rate=0.3), n_estimators=5)"
    )
    with pytest.raises(ParameterError, match="expected estimator to be an estimator, but it is None"):
        OnlineBBM().set_params(estimator__learning_rate=0.1)
    with pytest.raises(ParameterError, match="depth=3: expected one of the parameters estimator, n_estimators"):
        model.set_params(depth=3)
    for copy in (clone(model), model.clone()):
        assert repr(copy) == repr(model)
        assert copy is not model and copy.estimator is not model.estimator
    assert repr(Copies(Linear()).clone()) == "Copies(estimator=Linear())"


def test_scikit_learns_tools_work(stream):
    X, y = stream
    pipeline = make_pipeline(StandardScaler(), OnlineBBM(n_estimators=3))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.7
    search = GridSearchCV(OnlineBBM(n_estimators=3), {"gamma": [0.05, 0.2], "estimator": [Linear()]}, cv=2).fit(X, y)
    assert search.best_estimator_.score(X, y) > 0.7


def test_score_checks_its_labels(stream):
    X, y = stream
    model = OnlineBBM(n_estimators=3).fit(X, y)
    for labels in (y[:5], y[:, None], y.astype(str), y + 7):
        with pytest.raises(DataError):
            model.score(X, labels)
    with pytest.raises(DataError, match="0 everywhere"):
        model.score(X, y, sample_weight=np.zeros(len(y)))


def test_any_source_of_randomness(stream):
    for seed in (0, np.int64(7), np.random.default_rng(1), np.random.RandomState(1), None):
        OnlineBBM(n_estimators=3, delivery="sample", random_state=seed).fit(*stream)
    first, second = (OnlineBBM(n_estimators=9, delivery="sample").progressive_fit(*stream) for _ in range(2))
    assert not np.array_equal(first, second)
