"""NaiveBayes and Perceptron beside their slow twins."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from onlineboost import NaiveBayes, OnlineBBM, ParameterError, Perceptron
from onlineboost.datasets import load_letter


def make_rows(seed: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), rng.integers(-2, 3, n), np.where(rng.random(n) < 0.2, 1, 0), np.ones(n)])
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=n) > 0, 1, -1)
    return X.astype(np.float32), y, rng.choice([0.0, 0.5, 1.0, 3.0], n)


@given(seed=st.integers(0, 1000), bins=st.sampled_from([4, 16]), slots=st.sampled_from([4, 9]))
@settings(max_examples=8, phases=[Phase.generate])
def test_naive_bayes_equals_the_slow_one(seed, bins, slots):
    X, y, weight = make_rows(seed, 260)
    scores = NaiveBayes(bins=bins, smoothing=0.5, max_slots=slots).progressive_fit(X, y, weight)
    slow = reference.NaiveBayes(slots, bins, 0.5)
    for r in range(len(y)):
        row = {j: float(x) for j, x in enumerate(X[r]) if x}
        assert scores[r] == pytest.approx(slow.score(row), abs=2e-7), r  # votes are float32
        if weight[r] > 0:
            slow.learn(row, y[r], weight[r])


@given(seed=st.integers(0, 1000))
@settings(max_examples=10, phases=[Phase.generate])
def test_a_perceptron_equals_the_slow_one(seed):
    X, y, weight = make_rows(seed, 200)
    scores = Perceptron().progressive_fit(X, y, weight)
    slow = reference.Perceptron()
    for r in range(len(y)):
        row = {j: float(x) for j, x in enumerate(X[r]) if x}
        assert scores[r] == slow.score(row), r
        if weight[r] > 0:
            slow.learn(row, y[r], weight[r])


@pytest.mark.parametrize("learner", [NaiveBayes(), Perceptron(), Perceptron(standardize=True)])
def test_boosting_pays_on_real_letters(learner):
    X, y = load_letter()

    def error(model) -> float:
        return float(((model.progressive_fit(X, y) >= 0) != (y > 0)).mean())

    assert error(OnlineBBM(learner, random_state=0)) < 0.95 * error(learner.clone())


def test_wrong_parameters_are_named():
    with pytest.raises(ParameterError, match="smoothing"):
        NaiveBayes(smoothing=0).fit([[1.0], [2.0]], [-1, 1])
    with pytest.raises(ParameterError, match="standardize"):
        Perceptron(standardize="yes").fit([[1.0], [2.0]], [-1, 1])  # type: ignore[arg-type]


def test_a_perceptron_stays_finite():
    rng = np.random.default_rng(0)
    X = rng.choice([-1e18, 1e18], (600, 5))
    y = rng.choice([-1, 1], 600)
    for learner in (Perceptron(), Perceptron(standardize=True)):
        assert np.isfinite(learner.progressive_fit(X, y, np.full(600, 1e18))).all()


def test_naive_bayes_stays_finite():
    X, y, _ = make_rows(0, 600)
    scores = NaiveBayes(smoothing=2e-9).progressive_fit(np.tile(X, 40), y, np.full(600, 1e18))
    assert np.isfinite(scores).all()


def test_new_words_keep_what_was_learnt():
    model = Perceptron()
    model.learn_one({"a": 1.0}, 1)
    before = model.fitted.machine.committee.weights[:2].copy()
    model.learn_one({f"w{k}": 0.0 for k in range(100)}, model.predict_one({}))
    assert np.array_equal(model.fitted.machine.committee.weights[:2], before) and before.any()
