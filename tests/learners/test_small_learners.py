"""NaiveBayes, Newton and Perceptron beside their slow twins."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from onlineboost import Linear, NaiveBayes, Newton, OnlineBBM, ParameterError, Perceptron
from onlineboost.datasets import load_letter


def make_rows(seed: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), rng.integers(-2, 3, n), np.where(rng.random(n) < 0.2, 1, 0), np.ones(n)])
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=n) > 0, 1, -1)
    return X.astype(np.float32), y, rng.choice([0.0, 0.5, 1.0, 3.0], n)


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


@pytest.mark.parametrize("steady", [False, True])
def test_newton_equals_the_slow_one(steady):
    """Scales from .01 to 4,000, of which two leave their range; a feature that is often 0; and one that comes late."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(3000, 7)) * [1, 10, 100, 0.01, 1, 1, 1]).astype(np.float32)
    X[1000:, 2] *= 40
    X[0, 5] = 3000
    X[::3, 4], X[:2000, 6] = 0, 0
    y = np.where(X @ [1, 0.1, 0.01, 50, 1, -1, 2] + 0.3 * rng.normal(size=3000) > 0, 1, -1)
    weight = rng.choice([0.2, 1, 5.0], size=3000)
    slow, expected = reference.Newton(7, steady), []
    for x, label, w in zip(X.astype(float), y, weight, strict=True):
        expected.append(slow.predict(x))
        slow.learn(x, label, w)
    scores = Newton(steady=steady).progressive_fit(X, y, weight)
    np.testing.assert_allclose(scores, np.clip(expected, -50, 50), rtol=1e-4, atol=1e-4)
    assert np.mean((scores[-500:] >= 0) != (y[-500:] > 0)) < 0.05


def test_steady_newton_learns_rare_labels_for_longer():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(16_000, 30)).astype(np.float32)
    y = np.where(rng.random(16_000) < 1 / (1 + np.exp(4 - 0.3 * X[:, :9].sum(axis=1))), 1, -1)
    losses = []
    for steady in (False, True):
        model = Newton(steady=steady).fit(X[:12_000], y[:12_000])
        losses.append(np.logaddexp(0, -y[12_000:] * model.decision_function(X[12_000:])).mean())
    assert losses[1] < 0.95 * losses[0]


def test_newton_forgets_no_more_than_it_can():
    """A feature that is almost always 0 is learned as well after many rows without it as after few."""
    rng = np.random.default_rng(0)
    X = np.zeros((60_000, 2), np.float32)
    X[:, 0] = rng.normal(size=60_000)
    X[50:100, 1] = X[-50:, 1] = 1
    y = np.where((X[:, 1] > 0) | (X[:, 0] > 3), 1, -1)
    model = Newton().fit(X[:100], y[:100])
    model.partial_fit(X[100:-50], y[100:-50])
    assert np.isfinite(model._fitted.root.committee.inverse).all()
    assert np.diagonal(model._fitted.root.committee.inverse[0]).max() < 2e6
    assert (model.progressive_fit(X[-50:], y[-50:])[5:] > 0).all()


def test_newton_knows_which_of_two_rising_prices_is_higher():
    rng = np.random.default_rng(4)
    level = 100 + np.cumsum(rng.normal(0.05, 0.3, size=8000))
    X = np.stack([level + rng.normal(size=8000), level + rng.normal(size=8000)], axis=1)
    y = np.where(X[:, 0] > X[:, 1], 1, -1)
    scores = {type(m).__name__: m.progressive_fit(X, y)[-2000:] for m in (Newton(), Linear(standardize=True))}
    errors = {name: np.mean((found >= 0) != (y[-2000:] > 0)) for name, found in scores.items()}
    assert errors["Newton"] < 0.03 < 0.2 < errors["Linear"]


def test_newton_forgives_a_first_value_far_from_the_others():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    y = np.where(X @ [1, -2, 1] > 0, 1, -1)
    errors = []
    for factor in (1, 1e3, 1e6):
        X[0] *= factor
        errors.append(np.mean((Newton().progressive_fit(X, y)[200:] >= 0) != (y[200:] > 0)))
        X[0] /= factor
    assert max(errors) < 0.03


def test_newton_starts_again_where_no_digits_are_left():
    X = np.array([[1.0, 2.0], [2.0, 1.0]] * 20)
    model = Newton().fit(X, [-1, 1] * 20)
    state = model._fitted.root.committee
    state.inverse[0] *= -1  # no longer an inverse of anything
    model.partial_fit(X[:1], [-1])
    assert np.array_equal(state.inverse[0], 100 * np.eye(65)) and not state.weights.any()
    X = np.array([[1e-18], [1e18]] * 200)
    scores = OnlineBBM(Newton(), 3).progressive_fit(X, [-1, 1] * 200, np.tile([1e15, 1e-15], 200))
    assert np.isfinite(scores).all()


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


def test_new_words_keep_what_was_learned():
    model = Perceptron()
    model.learn_one({"a": 1.0}, 1)
    before = model._fitted.root.committee.weights[:2].copy()
    model.learn_one({f"w{k}": 0.0 for k in range(100)}, model.predict_one({}))
    assert np.array_equal(model._fitted.root.committee.weights[:2], before) and before.any()
