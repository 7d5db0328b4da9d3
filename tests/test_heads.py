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
from onlineboost.evaluate.metrics import Calibration

BOOSTERS = [OnlineBBM, AdaBoostOL, AdaBoostOLPlus, OSBoost, OSBoostOCP, PotentialBoost, SafeBoost, DefensiveBoost]


def measured(model) -> Calibration:
    """Probabilities on the last quarter, after the rest was learnt."""
    X, y = load_letter()
    model.fit(X[:15_000], y[:15_000])
    calibration = Calibration()
    calibration.update(model.predict_proba(X[15_000:])[:, 1], y[15_000:], np.ones(5_000))
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
    platt = model._machine.head.platt
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


def test_files_of_older_formats_have_no_probabilities():
    from pathlib import Path

    model = onlineboost.load(Path(__file__).parent / "saved/format2-bbm.safetensors")
    with pytest.raises(NotFittedError, match="kept no probabilities"):
        model.predict_proba(np.zeros((1, model.n_features_in_)))


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
        (SafeBoost(gammas=()), "n_estimators"),
    ],
)
def test_wrong_parameters_say_what_is_expected(model, words):
    with pytest.raises(ParameterError, match=words):
        model.fit([[1.0], [2.0]], [-1, 1])
