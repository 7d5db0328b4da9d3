"""Numbers as targets: the promises, intervals, outliers, and error messages, for every kind of regressor."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
import reference
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import onlineboost
from conftest import houses
from onlineboost import (
    DataError,
    LeastSquares,
    Linear,
    NotFittedError,
    OnlineBoostRegressor,
    OnlineClassifier,
    OnlineGradientBoost,
    OnlineRegressor,
    ParameterError,
    RegressionTree,
)
from onlineboost.data.arrays import check_features
from onlineboost.regressor import r2

MODELS = {
    "tree": lambda: RegressionTree(4),
    "least squares": lambda: LeastSquares(0.99),
    "span": lambda: OnlineGradientBoost(RegressionTree(4, max_features=0.6), 12, chains=3, radius=20.0),
    "hull": lambda: OnlineGradientBoost(RegressionTree(3), 5, version="hull"),
    "poisson": lambda: OnlineGradientBoost(RegressionTree(3), 5, loss="poisson"),
    "linear": lambda: OnlineGradientBoost(Linear(standardize=True), 33),
    "boosted least squares": lambda: OnlineGradientBoost(LeastSquares(0.99), 4),
    "ensemble": lambda: OnlineBoostRegressor(random_state=0),
}
every_model = pytest.mark.parametrize("kind", MODELS)


@pytest.fixture(scope="module")
def rows():
    """Rows with zeros and missing values, and targets above 0."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(700, 6)).astype(np.float32)
    X[rng.random(X.shape) < 0.2] = 0
    X[rng.random(X.shape) < 0.05] = np.nan
    known = np.nan_to_num(X)
    y = np.abs(known @ rng.normal(size=6) + np.sin(3 * known[:, 0]) + 5 + 0.1 * rng.normal(size=700))
    return X, y, rng.choice([0.0, 0.5, 1.0, 2.5], size=700)


def everything(model) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in model._fitted.root.trimmed().arrays().items()}


@every_model
@settings(max_examples=6)
@given(cuts=st.sets(st.integers(0, 700), max_size=6), few=st.sets(st.integers(0, 40), max_size=4), sparse=st.booleans())
def test_batching_does_not_change_a_bit(kind, rows, cuts, few, sparse):
    X, y, weight = rows
    whole, parts = MODELS[kind](), MODELS[kind]()
    answers = whole.progressive_fit(X, y, weight)
    pieces = []
    for start, stop in pairwise([0, *sorted(cuts | few), 700]):
        part = sp.csr_matrix(X[start:stop]) if sparse else X[start:stop]
        pieces.append(parts.progressive_fit(part, y[start:stop], weight[start:stop]))
    assert np.array_equal(np.concatenate(pieces), answers)
    assert everything(parts) == everything(whole)


@every_model
def test_one_by_one_equals_batches(kind, rows):
    X, y, weight = np.nan_to_num(rows[0][:300]), *(array[:300] for array in rows[1:])
    batch, single = MODELS[kind](), MODELS[kind]()
    answers, alone = batch.progressive_fit(X, y, weight), []
    for x, number, w in zip(X, y, weight, strict=True):
        features = dict(enumerate(x.tolist()))
        alone.append(single.predict_one(features) if single._fitted is not None else answers[0])
        single.learn_one(features, number, float(w))
    assert np.array_equal(alone, answers)
    assert everything(single) == everything(batch)


RESUME = """
import sys, numpy as np, onlineboost
X, y, weight = (np.load(sys.argv[1])[name] for name in ("X", "y", "weight"))
for model in sys.argv[2:]:
    twin, at = onlineboost.load(model), int(model.split()[-1])
    np.save(model + ".npy", twin.progressive_fit(X[at:], y[at:], weight[at:]))
    twin.save(model + ".after")
"""


def test_resume_in_another_process_is_exact(rows, tmp_path):
    """Also while rows are held back (7) and before there are bins (40)."""
    X, y, weight = rows
    np.savez(tmp_path / "rows.npz", X=X, y=y, weight=weight)
    files = {(kind, at): str(tmp_path / f"{kind} {at}") for kind in MODELS for at in (7, 40, 300)}
    for (kind, at), file in files.items():
        MODELS[kind]().fit(X[:at], y[:at], weight[:at]).save(file)
    subprocess.run([sys.executable, "-c", RESUME, str(tmp_path / "rows.npz"), *files.values()], check=True)
    wholes = {kind: make() for kind, make in MODELS.items()}
    answers = {kind: whole.progressive_fit(X, y, weight) for kind, whole in wholes.items()}
    for (kind, at), file in files.items():
        assert np.array_equal(np.load(f"{file}.npy"), answers[kind][at:]), (kind, at)
        assert everything(onlineboost.load(f"{file}.after")) == everything(wholes[kind]), (kind, at)


@every_model
def test_predict_is_pure_and_copies_go_on_alike(kind, rows):
    X, y, _ = rows
    model = MODELS[kind]().fit(X[:200], y[:200])
    before = everything(model)
    first = model.predict(X)
    model.predict_one({0: 1.0})
    model.score(X, y)
    assert np.array_equal(model.predict(X), first)
    assert everything(model) == before
    twins = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    answers = model.progressive_fit(X[200:], y[200:])
    for twin in twins:
        assert np.array_equal(twin.progressive_fit(X[200:], y[200:]), answers)


@every_model
def test_answers_are_given_before_the_target_is_used(kind, rows):
    X, y, _ = rows
    for at in (0, 3, 16, 17, 100):
        model, twin = MODELS[kind](), MODELS[kind]()
        changed = y.copy()
        changed[at:] += 3
        assert np.array_equal(model.progressive_fit(X, y)[: at + 1], twin.progressive_fit(X, changed)[: at + 1])


@pytest.mark.parametrize("kind", ["span", "boosted least squares", "linear", "ensemble"])
def test_threads_give_the_same_bits(kind):
    rng = np.random.default_rng(0)
    X = rng.random((6000, 5))
    y = np.sin(6 * X[:, 0]) + X[:, 1]
    alone, threads = MODELS[kind](), MODELS[kind]().set_params(n_jobs=3)
    for start in range(0, 6000, 2000):
        part = slice(start, start + 2000)
        assert np.array_equal(alone.progressive_fit(X[part], y[part]), threads.progressive_fit(X[part], y[part]))
    assert everything(alone) == everything(threads)


@every_model
def test_targets_may_come_later(kind, rows):
    """Told at once, a ticket is a row that was learned."""
    X, y, _ = rows
    model, twin = (MODELS[kind]().fit(X[:150], y[:150]) for _ in range(2))
    for k in range(150, 170):
        (ticket,) = model.ask(X[k : k + 1])
        assert ticket.prediction == twin.predict(X[k : k + 1])[0]
        model.tell(ticket, y[k])
        twin.partial_fit(X[k : k + 1], y[k : k + 1])
    if kind != "ensemble":  # its stack computes the answer given then from the units of y: a digit is lost
        assert everything(model) == everything(twin)
    assert np.allclose(model.predict(X), twin.predict(X))


# ---- intervals


def changing(n: int = 12_000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.random((n, 5))
    noise = np.where(np.arange(n) < n // 2, 0.3, 0.6)
    return X, np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2] + noise * rng.normal(size=n)


@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
def test_intervals_cover_what_they_promise_also_after_the_noise_doubles(coverage):
    X, y = changing()
    _, low, high = OnlineBoostRegressor().progressive_interval(X, y, coverage=coverage)
    inside = (low <= y) & (y <= high)
    for half in (inside[:6000], inside[6000:]):
        assert abs(half.mean() - coverage) < 0.02
    assert abs(np.mean(y < low) - np.mean(y > high)) < 0.02
    assert np.mean((high - low)[9000:]) > 1.6 * np.mean((high - low)[3000:6000])


def test_intervals_are_wider_where_noise_is():
    rng = np.random.default_rng(0)
    X = rng.random((8000, 3))
    y = X[:, 0] + np.where(X[:, 1] > 0.5, 1.0, 0.1) * rng.normal(size=8000)
    low, high = OnlineBoostRegressor().fit(X, y).predict_interval(X)
    assert np.median((high - low)[X[:, 1] > 0.5]) > 3 * np.median((high - low)[X[:, 1] <= 0.5])


def test_intervals_are_nested_around_the_answer():
    X, y = changing(2000)
    model = OnlineBoostRegressor().fit(X, y)
    answers, before = model.predict(X), None
    for coverage in (0.5, 0.8, 0.9, 0.95, 0.99):
        low, high = model.predict_interval(X, coverage)
        assert ((low <= answers) & (answers <= high)).all()
        if before is not None:
            assert ((low <= before[0]) & (before[1] <= high)).all()
        before = low, high
    low, high = model.predict_interval(X, (0.05, 0.975))
    assert np.array_equal(low, model.predict_interval(X, 0.9)[0])
    assert np.array_equal(high, model.predict_interval(X, 0.95)[1])


@pytest.mark.parametrize(
    ("coverage", "message"),
    [
        (0.85, "one of 0.5, 0.8, 0.9, 0.95, 0.99"),
        ("wide", "one of"),
        ((0.95, 0.05), "quantiles that do not cross: 0.95 is not below 0.05"),
        ((0.05, 0.05), "cross"),
        ((-0.1, 0.9), "between 0 and 1"),
        ((0.2, 0.9), "one of 0.25, 0.1"),
    ],
)
def test_coverages_that_are_none(coverage, message):
    X, y = changing(100)
    model = OnlineBoostRegressor().fit(X, y)
    with pytest.raises(ParameterError, match=message):
        model.predict_interval(X, coverage)


# ---- a model that answers long after its last label


def test_later_rows_in_time_order_are_answered_sensibly():
    """A date, whose values are beyond any that were learned, must not lead linear parts astray."""
    X, y = houses(10_000, 80, 1)
    model = OnlineBoostRegressor().fit(X[:5000], y[:5000])
    low, high = model.predict_interval(X[5000:])
    assert model.score(X[5000:], y[5000:]) > 0.75
    assert np.mean((low <= y[5000:]) & (y[5000:] <= high)) > 0.7
    assert np.abs(model.explain(X[9000:]).contributions[:, 0]).max() < 1.5 * np.std(y)  # of the dearest houses
    assert (model.weights_ >= 0).all()


@pytest.mark.parametrize("n", [3, 7])
def test_the_stack_equals_the_slow_one(n):
    """With 7 parts, the last two answer with logarithms."""
    from onlineboost.compiled.block import Call
    from onlineboost.ensembles.regression import new_number_stack, new_spread, stack_numbers
    from onlineboost.loop.target_scaling import LOG, new_scaling

    rng = np.random.default_rng(2)
    t = np.cumsum(rng.normal(size=300)) / 5
    scores = np.array([t + 0.3 * rng.normal(size=300), -t, *rng.normal(size=(n - 2, 300))])
    weight = rng.choice([0.0, 0.5, 2.0], size=300)
    middle, typical, errors = np.empty(300), np.empty(300), np.zeros(300)
    stack, slow, logs = new_number_stack(n), reference.NumberStack(n), new_scaling(LOG)
    logs.units[:] = 0.0, 0.5
    centers = rng.normal(size=(2, 300))
    rows = np.array([0, 300]), scores, t, weight, np.empty((300, 1)), centers[0], middle, typical, errors
    states = new_scaling(), stack, new_spread(), logs, centers[1], 5
    Call(stack_numbers, *rows, states, True, False, np.empty(n + 1))()
    for r in range(300):
        x = scores[:, r].copy()
        x[2] += x[1]  # the third part learns what the second one leaves
        if n == 7:
            x[5:] = np.exp(centers[1, r] + 0.5 * np.cumsum(x[5:])) - centers[0, r]
        assert middle[r] == pytest.approx(slow.answer(x), abs=1e-9)
        if weight[r] > 0:
            slow.learn(x, t[r], weight[r])
    assert stack.weights == pytest.approx(slow.w, abs=1e-9) and (slow.w[:n] == -1 / n).any()


# ---- the logarithm of targets


def prices(n: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    X = rng.random((n, 4))
    return X, 1e5 * np.exp(3 * X[:, 0] + X[:, 1] + (X[:, 2] > 0.5) + 0.1 * rng.normal(size=n))


def test_prices_are_learned_by_their_logarithm():
    X, y = prices()
    errors = {}
    for target in ("identity", "auto", "log"):
        model = OnlineBoostRegressor(target=target, memory=False)
        answers, low, high = model.progressive_interval(X, y)
        errors[target] = np.mean((answers - y)[200:] ** 2)
        assert 0.88 < np.mean((low <= y) & (y <= high)) < 0.92
        found = model.explain(X[:9])
        assert found.score == pytest.approx(model.predict(X[:9]))
        assert np.abs(found.contributions[:, 0]).max() > np.abs(found.contributions[:, 3]).max()
    assert max(errors["auto"], errors["log"]) < 0.7 * errors["identity"]
    assert "of the logarithm" in str(OnlineBoostRegressor().fit(X, y).report())


def test_a_model_of_logarithms_is_that_of_targets_in_logarithms():
    X, y = prices(600)
    found, plain = OnlineBoostRegressor(target="log"), OnlineBoostRegressor(target="identity")
    assert found.progressive_fit(X, y) == pytest.approx(np.exp(plain.progressive_fit(X, np.log(y))))


@pytest.mark.parametrize(
    "change", [lambda y: y - 1e9, lambda y: y + 1e9, lambda y: np.where(np.arange(y.size) == 3, 0, y)]
)
def test_targets_that_have_no_logarithm_or_hardly_differ_in_it_are_learned_as_they_are(change):
    X, y = prices(300)
    found = OnlineBoostRegressor().progressive_interval(X, change(y))
    assert np.array_equal(found, OnlineBoostRegressor(target="identity").progressive_interval(X, change(y)))


def test_later_targets_may_be_any_numbers():
    X, y = prices()
    spoiled = y.copy()
    spoiled[1000:1020] = -1e4
    plain, found = (OnlineBoostRegressor().progressive_fit(X, target) for target in (y, spoiled))
    assert r2(y[1300:], found[1300:]) > r2(y[1300:], plain[1300:]) - 0.05
    with pytest.raises(DataError, match=r"y has -10000 at row 1000: expected a number above 0.*target='auto'"):
        OnlineBoostRegressor(target="log").fit(X, spoiled)
    with pytest.raises(ParameterError, match="target"):
        OnlineBoostRegressor(target="sqrt").fit(X, y)


def test_a_trend_goes_on_after_the_last_label():
    rng = np.random.default_rng(5)
    X = np.column_stack([np.linspace(10, 20, 9000), rng.random(9000)])
    y = np.exp(0.1 * X[:, 0] + 3 * X[:, 1] + 0.05 * rng.normal(size=9000))
    errors, covered = [], []
    for target in ("identity", "auto"):
        model = OnlineBoostRegressor(target=target).fit(X[:6000], y[:6000])
        low, high = model.predict_interval(X[6000:])
        errors.append(np.mean((model.predict(X[6000:]) - y[6000:]) ** 2))
        covered.append(np.mean((low <= y[6000:]) & (y[6000:] <= high)))
    assert errors[1] < 0.3 * errors[0]
    assert covered[1] > covered[0] + 0.2


# ---- what no single row can do


def smooth(n: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.random((n, 4))
    return X, 10 * np.sin(3 * X[:, 0] * X[:, 1]) + 5 * X[:, 2] + rng.normal(size=n)


def test_unit_and_offset_of_the_target_do_not_matter():
    X, y = smooth()
    for scale, offset, target in ((1e9, 0.0, "auto"), (1e-9, 0.0, "auto"), (1.0, 1e6, "identity")):
        plain = OnlineBoostRegressor(target=target).progressive_fit(X, y)
        other = OnlineBoostRegressor(target=target).progressive_fit(X, scale * y + offset)
        assert np.allclose((other - offset)[16:] / scale, plain[16:], rtol=0, atol=0.3)


@pytest.mark.parametrize("at", [3, 20, 2000])
def test_one_target_ruins_nothing(at):
    X, y = smooth()
    spoiled = y.copy()
    spoiled[at] = 1e12
    others = np.arange(4000) > 100
    others[at] = False
    plain, found = (OnlineBoostRegressor().progressive_fit(X, target) for target in (y, spoiled))
    assert r2(y[others], found[others]) > r2(y[others], plain[others]) - 0.05


@pytest.mark.parametrize("change", [lambda y: y + 1e6, lambda y: y * 1e4])
def test_a_lasting_change_is_followed(change):
    X, y = smooth()
    y[2000:] = change(y[2000:])
    found = OnlineBoostRegressor().progressive_fit(X, y)
    assert np.isfinite(found).all()
    assert r2(y[3000:], found[3000:]) > 0.7


@every_model
def test_a_constant_target_is_answered_exactly(kind):
    X = np.random.default_rng(0).random((300, 3))
    answers = MODELS[kind]().progressive_fit(X, np.full(300, 7.25))
    assert answers[1:] == pytest.approx(7.25)


def test_a_target_that_begins_to_vary():
    X, y = smooth()
    y[:500] = 3.0
    found = OnlineBoostRegressor().progressive_fit(X, y)
    assert np.isfinite(found).all()
    assert r2(y[2000:], found[2000:]) > 0.6


# ---- the class


def test_numbers_are_no_labels():
    model = OnlineBoostRegressor()
    assert isinstance(model, OnlineRegressor)
    assert not isinstance(model, OnlineClassifier)
    assert not hasattr(model, "predict_proba")


def test_scikit_learn_knows_a_regressor():
    from sklearn.base import is_classifier, is_regressor
    from sklearn.model_selection import cross_val_score

    X, y = smooth(600)
    assert is_regressor(OnlineBoostRegressor())
    assert not is_classifier(OnlineBoostRegressor())
    assert cross_val_score(OnlineGradientBoost(RegressionTree(4)), X, y, cv=3).min() > 0.5


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1.0, np.nan, 2.0], "y has nan at row 1: expected a finite number"),
        ([1.0, 2.0, np.inf], "y has inf at row 2: expected a finite number"),
        ([1.0, -1e19, 2.0], "y has -1e\\+19 at row 1"),
        (["a", "b", "c"], "y has values that are no numbers"),
        ([1.0, 2.0], "y has shape"),
        (None, "requires y to be passed"),
    ],
)
def test_targets_that_are_none(y, message):
    model = OnlineBoostRegressor()
    with pytest.raises(DataError, match=message):
        model.fit(np.eye(3), y)
    assert model._fitted is None


@pytest.mark.parametrize("y", [np.nan, "many", None, -np.inf])
def test_a_single_target_that_is_none(y):
    with pytest.raises(DataError, match="the target is"):
        RegressionTree().learn_one({"x": 1.0}, y)


def test_score_is_r2():
    X, y = smooth(500)
    model = LeastSquares().fit(X, y)
    rest = np.sum((y - model.predict(X)) ** 2)
    assert model.score(X, y) == pytest.approx(1 - rest / np.sum((y - y.mean()) ** 2))
    with pytest.raises(DataError, match="sample_weight is 0 everywhere"):
        model.score(X, y, np.zeros(500))
    with pytest.raises(NotFittedError):
        LeastSquares().predict(X)


def test_batches_carry_numbers():
    X, y = smooth(300)
    (batch,) = check_features(X).batches(y, np.ones(300))
    by_batch, by_array = RegressionTree(), RegressionTree()
    assert np.array_equal(by_batch.learn(batch), by_array.progressive_fit(X, y))
    assert np.array_equal(by_batch.predict(batch), by_array.predict(X))
    with pytest.raises(DataError, match="y has nan at row 3"):
        by_batch.learn(batch._replace(y=np.where(np.arange(300) == 3, np.nan, y)))


def test_edges_are_the_share_that_a_learner_explains():
    X, y = smooth()
    edges = OnlineGradientBoost(n_estimators=5, shrinkage=0.5).fit(X, y).edges_
    assert edges[0] > 0.5
    assert (np.abs(edges) <= 1).all()
    assert (edges[1:] < edges[0]).all()


def test_classes_are_refused():
    from onlineboost.readers import open_stream

    with pytest.raises(DataError, match="expected numbers"):
        OnlineBoostRegressor().fit(open_stream([({"x": 1.0}, "a"), ({"x": 2.0}, "b")] * 20))


def test_the_report_has_weights_and_errors_of_the_parts(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    y = 100 * (X[:, 0] + 2 * X[:, 1]) + rng.normal(size=1500)  # linear: trees err more
    model = OnlineBoostRegressor()
    answers = model.progressive_fit(X, y)
    report = model.report()
    assert report.n_examples == 1500 and len(report.names) == 6 and report.names[1] == "LeastSquares()"
    weights, excess = report.columns["weight"][0], report.columns["excess alone"][0]
    assert np.array_equal(weights, model.weights_) and weights[1] > weights[3]
    alone = RegressionTree(7, memory=8, min_split_gain=32.0, max_features=0.5, random_state=3, max_mb=512)
    trees = OnlineGradientBoost(alone, 40, chains=2, shrinkage=0.5)
    errors = [np.mean((found - y)[-500:] ** 2) for found in (trees.progressive_fit(X, y), answers)]
    assert excess[4] == pytest.approx(np.sqrt(errors[0] - errors[1]), rel=0.3) and excess[1] < excess[4] / 5
    said = float(re.search(r"Mean absolute error of about the last 500 examples: (\S+)\.", str(report))[1])
    mean = 0.0
    for k, error in enumerate(np.abs(answers - y)[16:]):  # the first rows are held back
        mean += max(1 / (k + 17), 0.002) * (error - mean)
    assert said == pytest.approx(mean, rel=0.3)
    report.plot(tmp_path / "report.svg")
