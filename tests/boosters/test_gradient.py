from __future__ import annotations

import math

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from onlineboost import ClassTree, DataError, LeastSquares, Linear, OnlineGradientBoost, ParameterError, RegressionTree
from onlineboost.boosters.gradient import LOSSES
from onlineboost.compiled import dispatch
from onlineboost.compiled.jit import njit

_lead, _round, _vote, _settle = dispatch.lead, dispatch.round, dispatch.vote, dispatch.settle


@njit
def one_round(state, h, e, z, p, t, first, carry):
    _lead(state, h, e, first, carry)
    _round(state, h, z, p, t, first, carry)


@njit
def voted(state, e):
    return _vote(state, e)


@njit
def settled(state, e, z):
    _settle(state, e, z)


def new_carry(number: int) -> np.ndarray:
    return np.array([number, 0.0, 0.0, 0.0])


@given(
    seed=st.integers(0, 10_000),
    loss=st.sampled_from(LOSSES),
    version=st.sampled_from(["span", "hull"]),
    radius=st.sampled_from([None, 0.7, 3.0]),
    cut=st.integers(0, 7),
)
@settings(max_examples=60)
def test_rounds_are_those_of_the_paper_in_any_groups(seed, loss, version, radius, cut):
    """Prediction, targets, weights and sigma are those of the slow twin; so they are if learners are divided."""
    radius = radius if version == "span" else None
    N, rng = 7, np.random.default_rng(seed)
    choices = {"loss": loss, "version": version, "radius": radius, "quantile": 0.8, "shrinkage": 0.5}
    booster = OnlineGradientBoost(n_estimators=N, **choices)
    state = booster._initial_state()
    slow = reference.GradientBoost(N, version, loss, 0.5, radius or math.inf, 0.8)
    for number in range(30):
        h = rng.normal(size=N).astype(np.float32).astype(float)
        z = float(rng.random() < 0.5) if loss == "logistic" else abs(rng.normal())
        e, p, t, carry = np.empty(N), np.empty(N), np.empty(N, np.float32), new_carry(number)
        wanted = slow.score(h)
        for first, last in ((0, cut), (cut, N)):
            mine = slice(first, last)
            one_round(state, h[mine].copy(), e[mine], z, p[mine], t[mine], first, carry)
        assert voted(state, e) == pytest.approx(wanted, rel=1e-12, abs=1e-12)
        targets, weights = slow.round(h, z)
        assert t == pytest.approx(np.float32(targets), rel=1e-6, abs=1e-6)
        assert p == pytest.approx(weights, rel=1e-12)
        if version == "span":
            assert state.sigma == pytest.approx(slow.sigma, abs=1e-12)


def test_chains_are_boosters_side_by_side():
    rng = np.random.default_rng(0)
    whole = OnlineGradientBoost(n_estimators=6, chains=2, shrinkage=0.5)
    alone = OnlineGradientBoost(n_estimators=3, shrinkage=0.5)
    h = rng.normal(size=6)
    e, p, t = np.empty(6), np.empty(6), np.empty(6, np.float32)
    one_round(whole._initial_state(), h, e, 1.5, p, t, 0, new_carry(0))
    halves = []
    for k in range(2):
        part, mine = alone._initial_state(), np.empty(3, np.float32)
        each = np.empty(3)
        one_round(part, h[3 * k : 3 * k + 3].copy(), each, 1.5, np.empty(3), mine, 0, new_carry(0))
        halves.append(voted(part, each))
        assert np.array_equal(mine, t[3 * k : 3 * k + 3])
    assert voted(whole._initial_state(), e) == pytest.approx(np.mean(halves))


@given(seed=st.integers(0, 10_000), loss=st.sampled_from(LOSSES))
@settings(max_examples=30)
def test_rates_are_weighed_as_by_the_slow_twin(seed, loss):
    """And one chain is good, the other noise: the weight goes to the good one."""
    N, rng = 8, np.random.default_rng(seed)
    state = OnlineGradientBoost(n_estimators=N, loss=loss, quantile=0.8)._initial_state()
    grid = (14, 50) if loss in ("absolute", "quantile") else (4, 14)
    slow = reference.WeighedChains(N, [1 - math.exp(-c / 4) for c in grid], loss, 0.8)
    good = int(rng.integers(2))
    for number in range(60):
        z = float(rng.random() < 0.5) if loss == "logistic" else 1 + abs(rng.normal())
        h = np.append(np.repeat(0.3 * z, 3), 0.0)[[0, 1, 2, 3] * 2]
        h[[3, 7]] += 4 * rng.normal(size=2) * [good == 1, good == 0]
        h = h.astype(np.float32).astype(float)
        e, p, t = np.empty(N), np.empty(N), np.empty(N, np.float32)
        one_round(state, h, e, z, p, t, 0, new_carry(number))
        assert voted(state, e) == pytest.approx(slow.score(h), rel=1e-9, abs=1e-9)
        settled(state, e, z)
        slow.settle(h, z)
    assert state.shares == pytest.approx(slow.hedge.weights(), abs=1e-9)
    assert loss != "squared" or state.shares[good] > 0.6


def test_weights_are_equal_again_when_all_regrets_are_negative():
    state = OnlineGradientBoost(n_estimators=4)._initial_state()
    state.regret[:], state.most[:] = -5.0, 1.0
    settled(state, np.zeros(4), 0.0)
    assert state.shares.tolist() == [0.5, 0.5]


def test_weighed_rates_are_near_the_best_rate():
    X, f, rng = make(7)
    for noise in (0.1, 2.0):
        y = f + noise * rng.normal(size=4000)

        def error(shrinkage, y=y):
            answers = OnlineGradientBoost(RegressionTree(4), shrinkage=shrinkage).progressive_fit(X, y)
            return float(np.mean((y - answers) ** 2))

        best, *_, worst = sorted(error(rate) for rate in (0.1, 0.3, 1.0))
        assert error(None) < 1.2 * best < worst


@njit
def boosted_losses(state, X, z, T):
    """Half squared errors of a booster over learners of {w.x: |w| <= 1} by projected gradient descent."""
    N, d = state.eta.size, X.shape[1]
    W, h, e, p, t = np.zeros((N, d)), np.empty(N), np.empty(N), np.empty(N), np.empty(N, np.float32)
    carry, total = np.zeros(4), 0.0
    for r in range(T):
        for i in range(N):
            h[i] = (W[i] * X[r]).sum()
        carry[:] = 0
        carry[0] = r
        _lead(state, h, e, 0, carry)
        total += 0.5 * (z[r] - _vote(state, e)) ** 2
        _round(state, h, z[r], p, t, 0, carry)
        for i in range(N):
            # The loss shown to learner i is linear, -t h / 2, of slope at most 1; the diameter of the ball is 2.
            W[i] += 2 / math.sqrt(r + 1.0) * (t[i] / 2) * X[r]
            size = math.sqrt((W[i] ** 2).sum())
            if size > 1:
                W[i] /= size
    return total


def linear_stream(T: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Rows with |x| <= 1, targets within [-1, 1], and the loss of the best w with |w| <= 1."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(T, 3))
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1)
    z = np.clip(X @ [0.9, -0.3, 0.1] + 0.1 * rng.normal(size=T), -1, 1)
    w = np.linalg.lstsq(X, z, rcond=None)[0]
    assert np.linalg.norm(w) <= 1
    return X, z, float(0.5 * np.sum((z - X @ w) ** 2))


def regret_of_learners(T: int) -> float:
    """Of projected gradient descent with steps D / (G sqrt t): 3/2 D G sqrt(T), D = 2 and G = 1 (Zinkevich 2003)."""
    return 3 * math.sqrt(T)


def test_regret_of_the_hull_version():
    """Theorem 2: at most 8 beta D^2 T / N + L R(T), for beta = 1, D = 1 and L = 2."""
    T, N = 20_000, 400
    X, z, best = linear_stream(T)
    state = OnlineGradientBoost(n_estimators=N, version="hull")._initial_state()
    bound = 8 * T / N + 2 * regret_of_learners(T)
    nothing = 0.5 * float(z @ z) - best  # the regret of always answering 0
    assert boosted_losses(state, X, z, T) - best <= bound < nothing


def test_regret_of_the_span_version():
    """Theorem 1, for f of norm 1: at most (1 - eta)^N D0 + 3 eta beta B^2 T + L R(T) + 2 L B sqrt(T), with L = 2 B."""
    T, N, eta, B = 40_000, 400, 0.01, 1.0
    X, z, best = linear_stream(T)
    state = OnlineGradientBoost(n_estimators=N, shrinkage=eta, radius=B)._initial_state()
    nothing = 0.5 * float(z @ z) - best
    bound = (1 - eta) ** N * nothing + 3 * eta * B**2 * T + 2 * B * regret_of_learners(T) + 4 * B**2 * math.sqrt(T)
    assert boosted_losses(state, X, z, T) - best <= bound < nothing


def make(seed: int, n: int = 4000) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    return X, np.sin(6 * X[:, 0]) + X[:, 1], rng


@pytest.mark.parametrize("estimator", [None, RegressionTree(3), Linear(), LeastSquares()])
def test_boosting_learns(estimator):
    X, f, _ = make(0)
    model = OnlineGradientBoost(estimator).fit(X[:3000], f[:3000])
    assert model.score(X[3000:], f[3000:]) > (0.95 if estimator is None or "Tree" in repr(estimator) else 0.4)


def test_boosting_is_better_than_its_learner():
    X, f, rng = make(1)
    y = f + 0.1 * rng.normal(size=4000)
    alone, boosted = (m.progressive_fit(X, y) for m in (RegressionTree(2), OnlineGradientBoost(RegressionTree(2))))
    assert np.mean((y - boosted)[1000:] ** 2) < 0.6 * np.mean((y - alone)[1000:] ** 2)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_quantiles(quantile):
    X, f, rng = make(2, 8000)
    y = f + rng.exponential(size=8000)
    answers = OnlineGradientBoost(RegressionTree(4), 60, loss="quantile", quantile=quantile).progressive_fit(X, y)
    assert abs(np.mean(y[4000:] <= answers[4000:]) - quantile) < 0.03
    assert np.mean(np.abs(answers[4000:] - (f - np.log(1 - quantile))[4000:])) < 0.3


def test_robust_losses_ignore_outliers():
    X, f, rng = make(3)
    y = f + 100 * (rng.random(4000) < 0.05)
    errors = {
        loss: np.mean(np.abs(OnlineGradientBoost(loss=loss).fit(X, y).predict(X) - f))
        for loss in ("squared", "huber", "absolute")
    }
    assert max(errors["huber"], errors["absolute"]) < 0.5 * errors["squared"]


def test_logistic_answers_are_probabilities():
    X, _, rng = make(4)
    chance = np.where(X[:, 0] > 0.5, 0.9, 0.2)
    y = (rng.random(4000) < chance).astype(float)
    model = OnlineGradientBoost(RegressionTree(3), loss="logistic").fit(X, y)
    found = model.predict(X)
    assert ((found > 0) & (found < 1)).all()
    assert np.mean(np.abs(found - chance)) < 0.1


def test_poisson_answers_are_rates_whatever_their_size():
    for size in (0.5, 2000.0):
        X, _, rng = make(5)
        rate = size * np.where(X[:, 0] > 0.5, 3.0, 1.0)
        model = OnlineGradientBoost(RegressionTree(3), loss="poisson").fit(X, rng.poisson(rate))
        found = model.predict(X)
        assert (found > 0).all()
        assert np.mean(np.abs(found / rate - 1)) < 0.25


@pytest.mark.parametrize(("loss", "y"), [("logistic", 1.5), ("poisson", -1.0)])
def test_targets_that_a_loss_cannot_take(loss, y):
    with pytest.raises(DataError, match=rf"y has {y:g} at row 1: expected a number"):
        OnlineGradientBoost(loss=loss).fit(np.eye(2), [0.5, y])


@pytest.mark.parametrize(
    "wrong",
    [{"loss": "hinge"}, {"version": "cone"}, {"shrinkage": 0}, {"quantile": 1}, {"chains": 3}, {"radius": -1},
     {"n_estimators": 0}, {"estimator": "tree"}],
)  # fmt: skip
def test_wrong_parameters(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        OnlineGradientBoost(**wrong).fit(np.eye(3), [1.0, 2.0, 3.0])


def test_a_learner_of_classes_learns_no_numbers():
    with pytest.raises(ParameterError, match="a regression learner"):
        OnlineGradientBoost(ClassTree(3), 3).fit(np.eye(3), [0.5, 1.5, 2.5])
