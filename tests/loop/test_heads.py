"""Heads, probabilities and the boosters that need no tuning."""

from __future__ import annotations

import math

import numpy as np
import pytest
import reference
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import onlineboost
from onlineboost import (
    AdaBoostOL,
    AdaBoostOLPlus,
    DefensiveBoost,
    Linear,
    NotFittedError,
    OnlineBBM,
    OSBoost,
    OSBoostOCP,
    ParameterError,
    PotentialBoost,
    SafeBoost,
    Tree,
)
from onlineboost.boosters import defensive
from onlineboost.datasets import load_letter
from onlineboost.diagnostics.verdict import verdict
from onlineboost.engine import objects
from onlineboost.evaluate.metrics import Calibration
from onlineboost.loop import heads
from onlineboost.loop.record import Record

BOOSTERS = [OnlineBBM, AdaBoostOL, AdaBoostOLPlus, OSBoost, OSBoostOCP, PotentialBoost, SafeBoost, DefensiveBoost]


def measured(model) -> Calibration:
    """Probabilities on the last quarter, after the rest was learned."""
    X, y = load_letter()
    model.fit(X[:15_000], y[:15_000])
    calibration = Calibration()
    calibration.update(model.predict_proba(X[15_000:])[:, 1], y[15_000:] > 0, np.ones(5_000))
    return calibration


@pytest.mark.parametrize("booster", BOOSTERS)
def test_every_booster_gives_probabilities(booster):
    """Better than the share of the labels (log loss .693), and not far from what comes true."""
    found = measured(booster(Tree(3), random_state=0))
    assert found.log_loss < 0.45
    assert found.error < 0.08


@pytest.mark.parametrize("learner", [Linear(standardize=True), Tree(3), Tree(5)])
def test_the_stack_has_better_probabilities_than_the_scaled_vote(learner):
    vote, stack = (measured(OnlineBBM(learner.clone(), head=head, random_state=0)) for head in ("vote", "stack"))
    assert stack.log_loss < vote.log_loss
    assert stack.error < 0.045  # of 5,000 examples in 15 bins, most of which is chance


def test_the_stack_makes_fewer_mistakes_with_trees():
    X, y = load_letter()

    def error(head: str) -> float:
        return float(((OnlineBBM(Tree(3), head=head, random_state=0).progressive_fit(X, y) >= 0) != (y > 0)).mean())

    assert error("stack") < 0.95 * error("vote")


def test_platts_scaling_is_nearly_the_best_there_is():
    """Newton's steps in one pass, beside scikit-learn's fit to the same scores."""
    X, y = load_letter()
    model = OSBoost(Tree(3), random_state=0)
    scores = model.progressive_fit(X, y)
    platt = model._fitted.root.head.platt
    best = LogisticRegression(C=1e6).fit(scores[:, None], y)

    def loss(a: float, c: float) -> float:
        return float(np.logaddexp(0, -y * (a * scores + c)).mean())

    assert loss(*platt) < loss(best.coef_[0, 0], best.intercept_[0]) + 0.003


def test_probabilities_of_dicts_and_rows_agree():
    X, y = load_letter()
    model = SafeBoost(Tree(2), 9, random_state=0).fit(X[:2000], y[:2000])
    rows = model.predict_proba(X[:5])
    assert np.allclose(rows.sum(axis=1), 1)
    for x, row in zip(X[:5], rows, strict=True):
        one = model.predict_proba_one(dict(enumerate(x.tolist())))
        assert [one[label] for label in model.classes_] == row.tolist()
    assert ((rows[:, 1] >= 0.5) == (model.decision_function(X[:5]) >= 0)).all()
    assert OnlineBBM().predict_proba_one({"a": 1.0}) == {}
    with pytest.raises(NotFittedError):
        OnlineBBM().predict_proba(X)


@given(seed=st.integers(0, 1000), n=st.sampled_from([1, 3]))
@settings(max_examples=20, phases=[Phase.generate])
def test_defensive_boosting_equals_its_formulas(seed, n):
    rng = np.random.default_rng(seed)
    state, slow = DefensiveBoost().initial_state(n, False, 0), reference.DefensiveBoost()
    for _ in range(60):
        h, y = rng.uniform(-1, 1, n), float(rng.choice([-1, 1]))
        assert defensive.vote(state, h) == pytest.approx(slow.score(h.tolist()), abs=1e-12)
        p = np.empty(n)
        defensive.round(state, h, y, p)
        assert p == pytest.approx(slow.round(h.tolist(), y), abs=1e-12)


def test_safe_boosting_is_safe_and_better():
    """At most 2 % above the base learner with linear learners; far below with trees, and below any single gamma."""
    X, y = load_letter()

    def error(model) -> float:
        return float(((model.progressive_fit(X, y) >= 0) != (y > 0)).mean())

    assert error(SafeBoost(Linear(), random_state=0)) < 1.02 * error(Linear())
    safe = error(SafeBoost(Tree(3), 63, random_state=0))
    assert safe < 0.6 * error(Tree(3))
    assert all(safe < error(OnlineBBM(Tree(3), 63, gamma, random_state=0)) for gamma in (0.05, 0.1, 0.2, 0.3))


def test_one_expert_that_knows_is_found():
    """Two groups of learners that err always, and a base learner that never does: it is followed."""
    from onlineboost import theory

    X, y = theory.simulated_stream(5000)
    edges = [0.5] + [-0.5] * 8
    scores = SafeBoost(theory.Simulated(edges), 9, random_state=0).progressive_fit(X, y)
    assert ((scores >= 0) != (y > 0))[200:].mean() < 0.01


def test_hedge_does_not_overflow():
    """Regrets of millions of rounds: weights are finite, and the best expert has nearly all."""
    from onlineboost.boosters import adaboost_ol_plus

    state = AdaBoostOLPlus().initial_state(3, False, 0)
    state.regret[:] = 3e6, 1e6, -5e5
    state.size[:] = 4e6
    state.alpha[:] = 1, -2, 0
    assert adaboost_ol_plus.vote(state, np.array([1.0, 1.0, 1.0])) == pytest.approx(1, abs=1e-9)
    assert math.isfinite(adaboost_ol_plus.vote(state, np.array([-1.0, 1.0, 1.0])))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (OnlineBBM(head="top"), "head='top': expected one of 'vote', 'stack'"),  # type: ignore[arg-type]
        (SafeBoost(n_estimators=2), "at least 3"),
        (SafeBoost(gammas=(0.1, 0.7)), "gammas=0.7"),
        (SafeBoost(gammas=()), "gammas=()"),
    ],
)
def test_wrong_parameters_say_what_is_expected(model, words):
    with pytest.raises(ParameterError, match=words):
        model.fit([[1.0], [2.0]], [-1, 1])


@pytest.mark.parametrize("seed", range(4))
def test_a_stack_counts_weights_limits_votes_and_forgets(seed):
    """Beside its slow twin: votes beyond 8, weights, and bins that have seen more than they remember."""
    rng = np.random.default_rng(seed)
    head, slow = heads.new_stack(5), reference.Stacked(None, 5)
    for _ in range(400):
        h = rng.normal(scale=rng.choice([1.0, 12.0]), size=8).astype(np.float32)  # there is room for blocks of lanes
        y, weight = float(rng.choice([-1, 1])), float(rng.choice([0.1, 1.0, 7.0, 3e4]))
        votes = h[:5].tolist()
        assert objects._asked(head, 0.0, h) == pytest.approx(slow.score(votes), rel=1e-6, abs=1e-9)
        objects._corrected(head, 0.0, h, y, weight)
        slow.learn(votes, y, weight)
    assert max(weight for weight, *_ in slow.bins.values()) > 5e4


def test_platts_scaling_counts_weights():
    rng = np.random.default_rng(0)
    head, slow = heads.new_head("vote", 1), reference.Platt()
    for _ in range(300):
        score, weight = float(rng.normal(scale=3)), float(rng.choice([0.1, 1.0, 20.0]))
        y = 1.0 if rng.random() < 1 / (1 + np.exp(-score)) else -1.0
        objects._corrected(head, score, np.zeros(1, np.float32), y, weight)
        slow.learn(score, y, weight)
        assert np.allclose(head.platt, slow.w, rtol=1e-6, atol=1e-9)


def test_experts_of_safe_boosting_are_weighed_as_they_should_in_the_long_run():
    """Hedge over several thousand rounds, where exponents are large."""
    from stubs import Scripted, make_votes, numbered

    H, y = make_votes(9, 3000, 0.6, 0.3, seed=4)
    H[:, 0] = np.where(np.random.default_rng(0).random(len(y)) < 0.62, y, -y)
    slow = reference.SafeBoost(9, [0.5 + gamma for gamma in (0.05, 0.15, 0.4)])
    expected = []
    for votes, label in zip(H.tolist(), y.tolist(), strict=True):
        expected.append(slow.score(votes))
        slow.round(votes, label)
    model = SafeBoost(Scripted(), 9, delivery="weight")
    np.testing.assert_allclose(model.progressive_fit(numbered(H), y), expected, rtol=1e-5, atol=1e-9)
    shares = model._fitted.root.head.shares
    np.testing.assert_allclose(shares, slow.hedge.weights(), rtol=1e-6, atol=1e-12)
    assert np.sort(shares)[-2] > 1e-9  # not one expert alone


@pytest.mark.parametrize("unit", [0.01, 4.0, 1e6])
def test_the_verdict_does_not_depend_on_the_unit_of_weights(unit):
    clock, edges, weights = np.array([1000]), np.array([500.0, 90]), np.array([1000.0, 300])
    totals = np.array([1000.0, 0, 60, 20, 80])
    squared = totals * [1, 1, 1, 1, unit]
    plain, scaled = (
        verdict(Record(clock, edges * u, weights * u, found * u), OnlineBBM(), None)
        for u, found in ((1.0, totals), (unit, squared))
    )
    assert plain == scaled
    assert "4.0 points over its base learner (95 %: +2.3 to +5.7 points)" in plain


def test_the_verdict_knows_with_what_it_compares():
    X, y = load_letter()
    X, y = X[:3000], y[:3000]

    def said(model) -> str:
        return model.fit(X, y).verdict()

    assert "its base learner" in said(SafeBoost(Tree(3), 9, random_state=0))
    assert "its first learner, which gets part of each example's weight," in said(AdaBoostOL(Tree(3), 5))
    assert said(DefensiveBoost(Tree(3))) == said(OnlineBBM(n_estimators=1)) == "Only one learner: nothing to compare."
    useless = X[:, :1] * 0
    assert SafeBoost(Tree(2), 9).fit(useless, y).verdict().endswith("try deeper trees, or other features.")
    assert "a lower gamma" in OnlineBBM(Tree(2), 3).fit(useless, y).verdict()
    assert AdaBoostOL(Tree(2), 3).fit(useless, y).verdict().count("try SafeBoost") == 1
    assert "trees, or bins and crosses" in OnlineBBM(Linear(), 3).fit(useless, y).verdict()


def test_probabilities_of_a_label_that_was_not_met():
    model = OnlineBBM(n_estimators=3)
    for _ in range(50):
        model.learn_one({"a": 1.0}, "no")
    ((label, chance),) = model.predict_proba_one({"a": 1.0}).items()
    assert label == model.predict_one({"a": 1.0}) == "no"
    assert chance > 0.5


@pytest.mark.parametrize("gammas", [0.1, None, (), (0.1,) * 51])
def test_gammas_are_checked_by_name(gammas):
    with pytest.raises(ParameterError, match="gammas=.*1 to 50 numbers"):
        SafeBoost(gammas=gammas).fit([[0.0], [1.0]], [0, 1])


def test_parameters_come_back_as_they_were(tmp_path):
    model = SafeBoost(n_estimators=9, random_state=0).fit(*load_letter())
    model.save(tmp_path / "m")
    assert repr(onlineboost.load(tmp_path / "m")) == repr(model)
