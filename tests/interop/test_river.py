"""Every estimator, through River's own checks and tools."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from itertools import islice

import numpy as np
import pandas as pd
import polars as pl
import pytest
from estimators import ESTIMATORS
from river import (
    base,
    checks,
    compose,
    datasets,
    drift,
    evaluate,
    imblearn,
    linear_model,
    metrics,
    model_selection,
    multiclass,
    preprocessing,
    tree,
)

from onlineboost import LeastSquares, Linear, OnlineBBM
from onlineboost.evaluate import progressive_error, progressive_val_score
from onlineboost.readers import open_stream

ROWS = 8  # of each stream, unless ONLINEBOOST_TEST_RIVER is set (make river)


@pytest.fixture(scope="module", autouse=True)
def frozen():
    """River's checks collect garbage time and again: what was there before is left out, a second each time."""
    gc.collect()
    gc.freeze()


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.filterwarnings("ignore")
def test_check_estimator(name, monkeypatch):
    model = ESTIMATORS[name]
    assert isinstance(
        model, base.MiniBatchRegressor if model._sklearn_type == "regressor" else base.MiniBatchClassifier
    )
    assert not model._unit_test_skips()
    whole = checks._yield_datasets

    def short(model, scale=1):
        return (list(islice(dataset, ROWS * scale)) for dataset in whole(model, scale))

    if not os.environ.get("ONLINEBOOST_TEST_RIVER"):
        monkeypatch.setattr(checks, "_yield_datasets", short)
    checks.check_estimator(model)


@pytest.mark.parametrize("order", ["import river.base, onlineboost", "import onlineboost, river.base"])
def test_membership_whatever_is_imported_first(order):
    program = f"{order}; print(isinstance(onlineboost.Linear(), river.base.Classifier))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "True\n"


def test_progressive_validation_with_and_without_delay():
    rows = [*datasets.Phishing().take(300)]
    model = preprocessing.StandardScaler() | OnlineBBM(n_estimators=3)
    assert evaluate.progressive_val_score(rows, model.clone(), metrics.Accuracy()).get() > 0.8
    late = evaluate.progressive_val_score(rows, model.clone(), metrics.LogLoss(), moment=None, delay=20)
    assert 0 < late.get() < 0.7


def test_wrappers_take_our_models():
    rows = [*datasets.ImageSegments().take(200)]
    each = multiclass.OneVsRestClassifier(Linear())
    assert evaluate.progressive_val_score(rows, each, metrics.Accuracy()).get() > 0.3
    sampled = imblearn.RandomUnderSampler(Linear(), desired_dist={True: 0.5, False: 0.5}, seed=0)
    assert evaluate.progressive_val_score(datasets.Phishing().take(200), sampled, metrics.Accuracy()).get() > 0.6
    again = drift.DriftRetrainingClassifier(Linear(), drift.binary.DDM())
    assert evaluate.progressive_val_score(datasets.Phishing().take(200), again, metrics.Accuracy()).get() > 0.6
    best = model_selection.GreedyRegressor([LeastSquares(), LeastSquares(0.9)])
    assert evaluate.progressive_val_score(datasets.TrumpApproval().take(200), best, metrics.MAE()).get() < 20


def test_clone_with_new_parameters_and_with_what_was_learned():
    model = OnlineBBM(n_estimators=3)
    for x, y in datasets.Phishing().take(50):
        model.learn_one(x, y)
    fresh, copy = model.clone({"n_estimators": 5, "seed": 7}), model.clone(include_attributes=True)
    assert (fresh.n_estimators, fresh.random_state, fresh._fitted) == (5, 7, None)
    assert copy.predict_proba_one(x) == model.predict_proba_one(x)
    model.learn_one(x, not y)
    assert copy.n_seen_ == 50
    with pytest.raises(ValueError, match="use clone"):
        model.mutate({"n_estimators": 9})


def test_probabilities_sum_to_one_from_the_first_label_on():
    model = Linear()
    assert model.predict_proba_one({"a": 1.0}) == {}
    model.learn_one({"a": 1.0}, "red")
    assert model.predict_proba_one({"a": 1.0}) == {"red": 1.0}
    model.learn_one({"a": 2.0}, "blue")
    assert sum(model.predict_proba_one({"a": 1.0}).values()) == pytest.approx(1)


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_mini_batches_are_rows_one_by_one(library):
    """The columns of a batch may differ from those of the last; words and gaps are read."""
    rng = np.random.default_rng(0)
    columns = {"a": rng.normal(size=40), "colour": ["red", "blue", None, "red"] * 10, "b": rng.normal(size=40)}
    y = rng.integers(0, 3, 40).tolist()
    one, many = Linear(), Linear()
    for names in (["a", "colour"], ["b"], ["b", "a"]):
        part = {name: columns[name] for name in names}
        for k in range(40):
            one.learn_one({name: values[k] for name, values in part.items()}, y[k])
        many.learn_many(library.DataFrame(part), library.Series(y))
    frame = library.DataFrame(columns)
    rows = [{name: values[k] for name, values in columns.items()} for k in range(40)]
    assert [*many.predict_many(frame)] == [one.predict_one(x) for x in rows]
    chances = many.predict_proba_many(frame)
    assert isinstance(chances, library.DataFrame)
    expected = [[*one.predict_proba_one(x).values()] for x in rows]
    assert np.array_equal(np.asarray(chances), np.array(expected))


def test_the_order_of_features_does_not_matter():
    """The same bits, also for rows that are long, and for a row at a time."""
    rng = np.random.default_rng(0)
    models = [OnlineBBM(n_estimators=3), OnlineBBM(n_estimators=3)]
    for _ in range(60):
        x = {f"w{k}": float(rng.normal()) for k in rng.integers(0, 300, 100)}
        turned = dict(sorted(x.items(), key=lambda pair: rng.random()))
        y = bool(rng.integers(2))
        assert models[0].predict_proba_one(x) == models[1].predict_proba_one(turned)
        models[0].learn_one(x, y)
        models[1].learn_one(turned, y)


def test_a_pipeline_has_names():
    assert [*(preprocessing.StandardScaler() | Linear()).steps] == ["StandardScaler", "Linear"]
    assert isinstance(Linear() | compose.Discard("x"), compose.Pipeline)


def test_a_river_learner_gets_the_same_names_from_dicts_and_frames():
    rows = [*datasets.Phishing().take(60)]
    frame, y = pd.DataFrame([x for x, _ in rows]), pd.Series([label for _, label in rows])
    make = lambda: OnlineBBM(linear_model.LogisticRegression(), 2, random_state=0)
    one, many, fitted = make(), make(), make().fit(frame, y)
    for x, label in rows:
        one.learn_one(x, label)
    for start in (0, 25):
        many.learn_many(frame[start : 25 if not start else 60], y[start : 25 if not start else 60])
    expected = [one.predict_proba_one(x)[True] for x, _ in rows]
    assert len(set(expected)) > 1
    assert [many.predict_proba_one(x)[True] for x, _ in rows] == expected
    assert many.predict_proba_many(frame)[True].tolist() == expected
    assert many.predict_many(frame).tolist() == [one.predict_one(x) for x, _ in rows]
    assert [fitted.predict_one(x) for x, _ in rows] == fitted.predict(frame).tolist()


def test_a_river_learner_may_answer_one_of_several_negative_labels():
    rows = [({"a": float(k % 5)}, "yes" if k % 5 > 2 else "no" if k < 40 else "maybe") for k in range(80)]
    model = OnlineBBM(tree.HoeffdingTreeClassifier(grace_period=5), 2, random_state=0)
    for page in open_stream(rows, positive="yes", batch_size=20):
        model.learn(page)
    assert model.predict_one({"a": 4.0}) == "yes"


def test_progressive_val_score_has_rivers_arguments():
    """A name gives the value, River's metric the metric; the model given learns."""
    rows = [*islice(datasets.Phishing(), 200)]
    ours, theirs, both = (Linear() for _ in range(3))
    error = progressive_val_score(rows, ours, "error")
    found = progressive_val_score(rows, both, metrics.Accuracy())
    expected = evaluate.progressive_val_score(rows, theirs, metrics.Accuracy())
    assert ours.n_seen_ == both.n_seen_ == 200
    assert found.get() == expected.get() == pytest.approx(1 - error, abs=1 / 200)  # River leaves out the first row
    late = progressive_error(Linear(), open_stream(rows), delay=50)
    assert progressive_val_score(rows, Linear(), "error", delay=50) == late != error
    found = progressive_val_score(rows, Linear(), metrics.Accuracy(), delay=50)
    assert found.get() == evaluate.progressive_val_score(rows, Linear(), metrics.Accuracy(), delay=50).get()
