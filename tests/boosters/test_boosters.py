"""Every algorithm equals its literal transcription in reference.py, for weights and for sampling."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from rounds import voted
from stubs import Scripted, make_votes, numbered

from onlineboost import (
    AdaBoostOL,
    AdaBoostOLPlus,
    Copies,
    Linear,
    OnlineBBM,
    OSBoost,
    OSBoostOCP,
    PotentialBoost,
    SafeBoost,
)

SIZES = [1, 2, 3, 21, 64, 201]


def coin(gamma: float, delivery: str) -> float:
    return 0.5 + (gamma if delivery == "weight" else gamma / 2)


POTENTIALS = {
    "zero-one": lambda s: float(s <= 0),
    "hinge": lambda s: max(0.0, 1.0 - s),
    "fair-ties": lambda s: (float(s < 0) + float(s <= 0)) / 2,
    "logistic": lambda s: float(np.logaddexp(0, -s) / np.log(2)),
}

# name -> (the product's booster, the reference, whether weights are equal to the last bit, as test_coin.py proves)
ALGORITHMS = {
    "bbm": (
        lambda n, g, d: OnlineBBM(Scripted(), n, g, delivery=d, random_state=5),
        lambda n, g, d: reference.OnlineBBM(n, coin(g, d)),
        True,
    ),
    "bbm-mode": (
        lambda n, g, d: OnlineBBM(Scripted(), n, g, delivery=d, normalizer="mode", random_state=5),
        lambda n, g, d: reference.OnlineBBM(n, coin(g, d), "mode"),
        True,
    ),
    **{
        f"potential-{name}": (
            lambda n, g, d, name=name: PotentialBoost(Scripted(), n, g, terminal=name, delivery=d, random_state=5),
            lambda n, g, d, terminal=terminal: reference.PotentialBoost(n, coin(g, d), terminal),
            False,
        )
        for name, terminal in POTENTIALS.items()
    },
    **{
        f"adaboost-{expert}": (
            lambda n, g, d, e=expert: AdaBoostOL(Scripted(), n, delivery=d, expert=e, random_state=5),
            lambda n, g, d, e=expert: reference.AdaBoostOL(n, e, seed=5),
            False,
        )
        for expert in ("vote", "random", "last")
    },
    "osboost": (
        lambda n, g, d: OSBoost(Scripted(), n, g, delivery=d, random_state=5),
        lambda n, g, d: reference.OSBoost(n, g),
        False,
    ),
    "bbm-stack": (
        lambda n, g, d: OnlineBBM(Scripted(), n, g, delivery=d, head="stack", random_state=5),
        lambda n, g, d: reference.Stacked(reference.OnlineBBM(n, coin(g, d)), n),
        True,
    ),
    "adaboost-plus": (
        lambda n, g, d: AdaBoostOLPlus(Scripted(), n, delivery=d, random_state=5),
        lambda n, g, d: reference.AdaBoostOLPlus(n),
        False,
    ),
    "safe": (
        lambda n, g, d: SafeBoost(Scripted(), max(n, 3), delivery=d, random_state=5),
        lambda n, g, d: reference.SafeBoost(max(n, 3), [coin(gamma, d) for gamma in (0.05, 0.15, 0.4)]),
        True,
    ),
    "ocp": (
        lambda n, g, d: OSBoostOCP(Scripted(), n, g, delivery=d, random_state=5),
        lambda n, g, d: reference.OSBoostOCP(n, g),
        False,
    ),
    "ocp-authors": (
        lambda n, g, d: OSBoostOCP(Scripted(), n, g, delivery=d, as_authors=True, random_state=5),
        lambda n, g, d: reference.OSBoostOCP(n, g, as_authors=True),
        False,
    ),
}


CASES = [
    (name, n, delivery)
    for name in ALGORITHMS
    for n in SIZES
    for delivery in ("weight", "sample")
    if (name, n) != ("bbm-mode", 201) and (name != "safe" or n > 2)
    if delivery == "weight" or name == "bbm" or n in (3, 21)  # draws know nothing of the algorithm
]
CASES.append(("safe", 192, "weight"))  # votes are counted by 64: each group has just so many


@pytest.mark.parametrize(("name", "n", "delivery"), CASES)
@settings(max_examples=6, phases=[Phase.generate])
@given(data=st.data())
def test_equals_the_pseudo_code(name, n, delivery, data):
    make, make_reference, exact = ALGORITHMS[name]
    gamma = data.draw(st.sampled_from([0.02, 0.1, 0.3, 0.49]))
    skill = data.draw(st.floats(0, 1))
    likeness = data.draw(st.sampled_from([0.0, 0.5, 0.95]))
    rounds = 40 if n < 20 else 20 if n < 60 else 12 if n < 190 else 6
    H, labels = make_votes(n, rounds, skill, likeness, data.draw(st.integers(0, 10_000)))
    y = labels.tolist()
    model, oracle = make(n, gamma, delivery), make_reference(n, gamma, delivery)

    scores = model.progressive_fit(numbered(H), y)

    logs = [member.log for member in model._fitted.root.committee.members]
    for t in range(rounds):
        h = H[t].tolist()
        expected = oracle.score(h)
        assert reference.sign(scores[t]) == reference.sign(expected) or abs(expected) < 1e-12
        assert scores[t] == pytest.approx(expected, rel=1e-12, abs=1e-12)
        for i, p in enumerate(oracle.round(h, y[t])):
            taught = logs[i].get(t, [])
            if delivery == "sample":
                assert taught == [(y[t], None)] * int(reference.draw(5, t, i, p))
            elif p > 1e-300:
                assert taught == [(y[t], pytest.approx(p, rel=2.3e-16 if exact else 1e-12, abs=0))]
            else:
                assert all(weight <= 1e-299 for _, weight in taught)


@given(n=st.sampled_from([1, 2, 3, 21, 64]), seed=st.integers(0, 10_000), gamma=st.floats(0.01, 0.49))
def test_real_votes_without_normalizer_equal_the_formula(n, seed, gamma):
    """Real votes, coin 1/2 + gamma, raw binomial weights: what Vowpal Wabbit does, without its overflow."""
    rng = np.random.default_rng(seed)
    H, y = rng.uniform(-1, 1, size=(10, n)), np.where(rng.random(10) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    model = OnlineBBM(Scripted(), n, gamma, delivery="weight", votes="real", normalizer="none")
    model.progressive_fit(numbered(H), y)
    oracle = reference.OnlineBBM(n, 0.5 + gamma, "none")
    logs = [member.log for member in model._fitted.root.committee.members]
    for t in range(10):
        votes = [2 * ((1 + x) / 2) - 1 for x in H[t]]  # as they come through a probability
        for i, p in enumerate(oracle.round(votes, y[t])):
            assert logs[i].get(t, []) == ([(y[t], pytest.approx(p, rel=1e-15))] if p > 1e-300 else [])


def test_potential_recursion_equals_the_closed_form_of_bbm():
    for n in (1, 2, 10, 51, 500):
        for gamma in (0.01, 0.1, 0.45):
            closed = OnlineBBM(n_estimators=n, gamma=gamma).initial_state(n, False, 0)
            general = PotentialBoost(n_estimators=n, gamma=gamma).initial_state(n, False, 0)
            for i in range(n):
                k = np.arange(closed.low[i], closed.high[i] + 1)
                found, expected = general.table[general.start[i] + k], closed.table[closed.start[i] + k]
                np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300)


def test_exponential_potential_has_its_closed_form_at_any_size():
    """Its weights are e^(-eta s): each vote that was right divides them by b / q. They span a thousand decades here."""
    n, b = 2001, 0.9
    state = PotentialBoost(terminal="exponential", n_estimators=n, coin=b).initial_state(n, False, 0)
    row = state.table[state.start[n - 1] + state.low[n - 1] :][:n][::-1]  # the last learner's, by votes that were right
    assert row[:300] == pytest.approx((1 / 9) ** np.arange(300), rel=1e-10)


def test_user_potential_as_function_and_as_values_agree(stream):
    X, y = stream
    cost = lambda s: np.exp(-s / 4)
    by_function = PotentialBoost(terminal=cost, n_estimators=9).progressive_fit(X, y)
    by_values = PotentialBoost(terminal=cost(np.arange(-9.0, 10, 2)), n_estimators=9).progressive_fit(X, y)
    assert np.array_equal(by_function, by_values)


@pytest.mark.parametrize("n", [9_999, 10_000])
def test_ten_thousand_learners(n):
    """No overflow, no NaN: probabilities in [0, 1] whose maximum is 1 for every learner."""
    state = OnlineBBM(n_estimators=n).initial_state(n, True, 0)
    assert np.isfinite(state.table).all() and state.table.min() >= 0
    largest = np.maximum.reduceat(state.table, state.start + state.low)
    assert np.array_equal(largest, np.ones(n))


@pytest.mark.parametrize("n", [1, 2, 21, 64])
def test_exponential_potential_equals_the_recursion(n):
    for b in (0.51, 0.6, 0.9):
        eta = np.log(b / (1 - b)) / 2
        state = PotentialBoost(terminal="exponential", n_estimators=n, coin=b).initial_state(n, False, 0)
        for (i, s), weight in reference.potential_weights(n, b, lambda s, eta=eta: float(np.exp(-eta * s))).items():
            k = n // 2 - (s + i - 1) // 2
            assert state.table[state.start[i - 1] + k] == pytest.approx(weight, rel=1e-11)


def test_votes_beyond_one_never_weigh_more_than_one():
    """Real votes may lead where hard ones cannot; the nearest state that can be reached stands in."""
    for n, b in ((21, 0.6), (101, 0.8), (501, 0.95)):
        table = OnlineBBM(n_estimators=n, votes="real", coin=b).initial_state(n, False, 0).table
        assert np.isfinite(table).all() and table.min() >= 0 and table.max() == 1


def test_hedge_survives_any_number_of_mistakes():
    state = AdaBoostOL(n_estimators=3).initial_state(3, False, 0)
    state.mistakes[:] = 0, 5_000, 10**9
    state.alpha[:] = 1.0, -2.0, 0.5
    assert voted(AdaBoostOL, state, np.ones(3)) == 1.0


def test_first_learner_sees_every_example():
    for gamma in (0.05, 0.3, 0.45):
        model = OnlineBBM(n_estimators=51, gamma=gamma)
        table = model.initial_state(51, True, 0)
        assert table.table[table.start[0] + 25] == 1.0
        assert table.low[0] == table.high[0] == 25


def test_sampling_is_unbiased():
    """The mean of 20,000 draws lies within 4.5 standard errors of p; fixed seed, false alarm below 4e-5 in all."""
    from onlineboost.compiled.draws import count

    for i, mean in enumerate((0.03, 0.5, 0.97, 1.0, 2.25)):
        draws = np.array([count(1, t, i, mean) for t in range(20_000)])
        fraction = mean - np.floor(mean)
        assert abs(draws.mean() - mean) <= 4.5 * np.sqrt(fraction * (1 - fraction) / 20_000)


@pytest.mark.parametrize("delivery", ["weight", "sample"])
def test_edges_are_what_the_weights_say(delivery):
    """Of each learner: the sum of weight, label and vote over the sum of weights, before any sampling."""
    H, y = make_votes(7, 60, 0.7, 0.3, 1)
    weight = np.linspace(0, 2, 60)
    model = OnlineBBM(Scripted(), 7, 0.1, delivery=delivery, random_state=5)
    model.progressive_fit(numbered(H), y, weight)
    oracle = reference.OnlineBBM(7, coin(0.1, delivery))
    p = np.array([oracle.round(h.tolist(), label) for h, label in zip(H, y, strict=True)]) * weight[:, None]
    assert model.edges_ == pytest.approx((p * y[:, None] * H).sum(axis=0) / p.sum(axis=0))


def test_compiled_learners_have_the_edges_of_copies(stream):
    X, y = stream
    for make in (lambda learner: OnlineBBM(learner, 1), lambda learner: AdaBoostOL(learner, 1)):
        assert make(Linear()).fit(X, y).edges_ == pytest.approx(make(Copies(Linear())).fit(X, y).edges_)
