"""Every estimator, through scikit-learn's own checks and tools."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from estimators import ESTIMATORS, public_estimators
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.inspection import PartialDependenceDisplay, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import check_dataframe_column_names_consistency, check_estimator

from onlineboost import Binner, LeastSquares, Linear, OnlineBBM, Tree
from onlineboost.interop.sklearn import EXPECTED_FAILURES

# Class weights of 1000 against 0.0001 on 50 rows. Weights of rows go to the weak learners (as does sample_weight, bit
# for bit: test_class_weights.py); boosters that learn themselves, by the mistakes of learners and experts, count rows.
_REASON = {"check_class_weight_classifiers": "learns its trust in learners from rows, whatever their own weights"}
HEAVY = dict.fromkeys(("AdaBoostOL", "AdaBoostOLM", "AdaBoostOLPlus", "DefensiveBoost"), _REASON)
# Steps of River's logistic regression are in proportion to weights: a step of 1000 turns all that it had learned.
HEAVY["OnlineBBM over an object"] = {"check_class_weight_classifiers": "the weak learner's own: steps without a bound"}


def test_every_estimator_is_checked():
    assert public_estimators() <= {name.partition(" ")[0] for name in ESTIMATORS}


@pytest.mark.parametrize("name", [*ESTIMATORS, "Binner"])
@pytest.mark.filterwarnings("ignore")
def test_check_estimator(name):
    model = Binner() if name == "Binner" else ESTIMATORS[name]
    expected = {} if name == "Binner" else EXPECTED_FAILURES | HEAVY.get(name, {})
    found = check_estimator(model, expected_failed_checks=expected, on_skip=None, on_fail=None)
    problems = [f"{one['check_name']}: {one['exception']}" for one in found if one["status"] == "failed"]
    assert not problems
    assert sum(one["status"] == "passed" for one in found) > 40


@pytest.mark.parametrize("model", [Linear(), LeastSquares()], ids=repr)
def test_columns_of_data_frames(model):
    """Renamed, missing and reordered columns; not among the checks of ``check_estimator``."""
    check_dataframe_column_names_consistency(repr(model), model)


def test_kinds():
    assert is_classifier(OnlineBBM())
    assert is_regressor(LeastSquares())
    with pytest.raises(NotFittedError, match="has learned nothing yet"):
        OnlineBBM().predict([[1.0]])


def test_pipelines_searches_and_processes(stream):
    X, y = stream
    pipe = make_pipeline(StandardScaler(), OnlineBBM(n_estimators=3))
    search = GridSearchCV(pipe, {"onlinebbm__n_estimators": [1, 3]}, cv=2, n_jobs=2).fit(X, y)
    assert search.best_score_ > 0.6
    assert cross_val_score(Linear(), X, y, cv=2).mean() > 0.6


def test_column_transformer(stream):
    X, y = stream
    frame = pd.DataFrame({"a": X[:, 8], "colour": np.where(y > 0, "red", "blue")})
    columns = make_column_transformer((StandardScaler(), ["a"]), (OneHotEncoder(), ["colour"]))
    assert make_pipeline(columns, Linear()).fit(frame, y).score(frame, y) > 0.95


def test_calibration_and_inspection(stream):
    X, y = stream
    model = CalibratedClassifierCV(Linear(), cv=2).fit(X, y)
    assert model.predict_proba(X).shape == (len(y), 2)
    fitted = Linear().fit(X, y)
    found = permutation_importance(fitted, X, y, n_repeats=2, random_state=0)
    assert found.importances_mean.max() > 0
    display = PartialDependenceDisplay.from_estimator(fitted, X, [9], grid_resolution=5)
    assert display.axes_.size == 1


def test_metadata_routing(stream):
    X, y = stream
    weight = np.where(y > 0, 2.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False), Linear().set_fit_request(sample_weight=True)
        )
        routed = pipe.fit(X, y, sample_weight=weight).decision_function(X)
        assert clone(pipe[-1]).get_metadata_routing().fit.requests == {"sample_weight": True}
    scaled = StandardScaler().fit_transform(X)
    assert np.array_equal(routed, Linear().fit(scaled, y, weight).decision_function(scaled))


def test_probabilities_agree_with_the_answers(stream):
    """Also where the calibration of scores would be on the other side, and in ties."""
    X, y = stream
    y = np.where(np.arange(len(y)) % 10 == 0, y, -1)  # few positives: Platt's scaling moves the middle
    for model in (OnlineBBM(Tree(3), 4, random_state=0), OnlineBBM(n_estimators=2), Linear()):
        model.fit(X, y)
        labels = model.predict(X)
        assert np.array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], labels)
        assert np.array_equal(model.classes_[(model.decision_function(X) > 0).astype(int)], labels)
        assert np.allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


def test_html_shows_parameters():
    assert "n_estimators" in OnlineBBM(n_estimators=7)._repr_html_()


def test_a_column_of_labels_is_taken_with_a_warning(stream):
    X, y = stream
    with pytest.warns(DataConversionWarning):
        model = Linear().fit(X, y.reshape(-1, 1))
    assert np.array_equal(model.decision_function(X), Linear().fit(X, y).decision_function(X))


def test_a_subclass_of_a_booster_works(stream):
    X, y = stream

    class Mine(OnlineBBM):
        pass

    model = clone(Mine(n_estimators=3)).fit(X, y)
    assert np.array_equal(model.predict(X), OnlineBBM(n_estimators=3).fit(X, y).predict(X))


def test_labels_that_are_missing():
    with pytest.raises(ValueError, match="Input y contains NaN"):
        Linear().fit([[1.0], [2.0], [3.0]], [0.0, 1.0, np.nan])


def test_logistic_regression_agrees_on_the_order_of_classes(stream):
    X, y = stream
    words = np.where(y > 0, "Yes", "no")
    assert Linear().fit(X, words).classes_.tolist() == ["no", "Yes"]
    other = np.where(y > 0, "spam", "ham")
    assert Linear().fit(X, other).classes_.tolist() == LogisticRegression().fit(X, other).classes_.tolist()
