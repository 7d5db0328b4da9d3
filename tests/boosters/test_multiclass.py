"""Boosters of learners that vote for classes: Online MBBM and AdaBoost.OLM equal their literal transcriptions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import reference
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from stubs import Scripted, ScriptedClasses, make_votes, numbered

from onlineboost import AdaBoostOLM, ClassTree, Copies, DataError, Linear, OnlineBBM, OnlineMBBM, ParameterError
from onlineboost.boosters.shared.plurality import largest_weights, new_die, weigh
from onlineboost.theory import mbbm_phi0, phi0

LETTERS = np.array([*"abcdefgh"])
BOOSTERS = {
    "mbbm": (
        lambda n, g, d: OnlineMBBM(ScriptedClasses(), n, g, delivery=d, random_state=5),
        lambda n, k, g: reference.OnlineMBBM(n, k, g),
    ),
    **{
        f"olm-{expert}": (
            lambda n, g, d, e=expert: AdaBoostOLM(ScriptedClasses(), n, delivery=d, expert=e, random_state=5),
            lambda n, k, g, e=expert: reference.AdaBoostOLM(n, k, e, seed=5),
        )
        for expert in ("vote", "random", "last")
    },
}


def class_votes(n, k, rounds, skill, likeness, seed):
    """Votes that are right with probability skill, else for any class; the last class comes late."""
    rng = np.random.default_rng(seed)
    known = np.where(np.arange(rounds) < rounds // 2, max(2, k - 1), k)[:, None]
    y = rng.integers(0, 1 << 30, rounds) % known[:, 0]
    y[:k], y[rounds // 2] = np.arange(k) % known[:k, 0], k - 1
    any_class = rng.integers(0, 1 << 30, (rounds, n)) % known
    H = np.where(rng.random((rounds, n)) < skill, y[:, None], any_class)
    H = np.where(rng.random((rounds, n)) < likeness, H[:, :1], H)
    H[rounds // 2] = np.minimum(H[rounds // 2], max(2, k - 1) - 1)
    return H, y


@pytest.mark.parametrize("delivery", ["weight", "sample"])
@pytest.mark.parametrize(("name", "n", "k"), [(name, n, k) for name in BOOSTERS for n, k in [(1, 3), (5, 2), (6, 4)]])
@settings(max_examples=5, phases=[Phase.generate])
@given(data=st.data())
def test_equals_the_pseudo_code(name, n, k, delivery, data):
    """Scores, weights and draws of every round, also after a class has come; sums are taken in another order: 1e-12."""
    make, make_reference = BOOSTERS[name]
    gamma, skill = data.draw(st.sampled_from([0.02, 0.1, 0.3, 0.8])), data.draw(st.floats(0, 1))
    likeness, rounds = data.draw(st.sampled_from([0.0, 0.5, 0.95])), 40
    H, y = class_votes(n, k, rounds, skill, likeness, data.draw(st.integers(0, 10_000)))
    model = make(n, gamma, delivery)
    parts = [model.progressive_fit(numbered(H[:20]), LETTERS[y[:20]])]
    parts.append(model.progressive_fit(numbered(H)[20:], LETTERS[y[20:]]))
    scores = [row for part in parts for row in part]
    logs = [member.log for member in model._fitted.root.committee.members]
    met, oracle = 2, make_reference(n, 2, gamma)
    for t in range(rounds):
        place, known = int(y[t]), met
        if place >= met:
            met = oracle.k = place + 1
        h = [vote if vote < met else 0 for vote in H[t].tolist()]  # nobody knows a class before it is met
        expected = oracle.scores(h)
        if met == 2:
            assert np.ravel(scores[t])[min(1, np.size(scores[t]) - 1)] == pytest.approx(expected[1] - expected[0])
        else:
            assert scores[t][:known] == pytest.approx(expected[:known], rel=1e-12, abs=2e-9)  # ties
            assert np.isneginf(scores[t][known:]).all()
        for i, p in enumerate(oracle.round(h, place)):
            taught, label = logs[i].get(t, []), LETTERS[place]
            assert -1e-12 <= p <= 1 + 1e-12
            if delivery == "sample":
                assert taught == [(label, None)] * int(reference.draw(5, t, i, p))
            elif p > 1e-12:
                assert taught == [(label, pytest.approx(p, rel=1e-12, abs=1e-12))]
    if name != "mbbm":
        assert model.alphas_ == pytest.approx(oracle.alpha, abs=1e-12) and (np.abs(model.alphas_) <= 2).all()


@pytest.mark.parametrize("n", [1, 2, 9, 20])
@pytest.mark.parametrize("delivery", ["weight", "sample"])
def test_two_classes_are_online_bbm(n, delivery):
    """Votes and weights of Online BBM with the coin 1/2 + gamma/2, whose weights are divided by the largest of all."""
    H, y = make_votes(n, 60, 0.6, 0.3, n)
    common = {"delivery": delivery, "random_state": 5}
    binary = OnlineBBM(Scripted(), n, 0.3, coin=0.65, normalizer="mode", **common)
    many = OnlineMBBM(Scripted(), n, 0.3, **common)
    assert np.array_equal(binary.progressive_fit(numbered(H), y), many.progressive_fit(numbered(H), y))
    members = [model._fitted.root.committee.members for model in (binary, many)]
    for one, other in zip(*members, strict=True):
        if delivery == "sample":
            assert one.log == other.log
        else:
            for t in range(60):
                ours, theirs = (sum(w for _, w in member.log.get(t, [])) for member in (one, other))
                assert ours == pytest.approx(theirs, rel=1e-11, abs=1e-13)
    assert np.allclose(binary.edges_, many.edges_, atol=1e-12)


def costs(die, n, s, y):
    """The chance to lose for each next vote, by the product."""
    k, N = s.size, die.factorial.size - 1
    memory = np.empty(k, np.int64), np.empty(k, np.int64), np.empty((2, N + 1))
    return weigh(die, s, y, n, -1.0, *memory)


@pytest.mark.parametrize(("k", "n", "gamma"), [(2, 12, 0.1), (3, 9, 0.3), (5, 6, 0.1), (80, 4, 0.2), (150, 3, 0.5)])
def test_weights_are_those_of_the_recursion(k, n, gamma):
    """More than 64 rivals are a product of two powers."""
    die, rng = new_die(n, k, gamma), np.random.default_rng(k)
    for _ in range(40):
        i = int(rng.integers(1, n + 1))
        s, y = np.bincount(rng.integers(0, min(k, 4), i - 1), minlength=k).astype(float), int(rng.integers(k))
        literal = reference.class_costs(n - i, s.astype(int).tolist(), y, gamma)
        weight, after = costs(die, n - i, s, y)
        assert weight == pytest.approx(sum(cost - literal[y] for cost in literal), abs=1e-13 * k * k)
        assert 1 - after == pytest.approx(literal[y], abs=1e-13)


@pytest.mark.parametrize(("k", "n"), [(2, 9), (3, 9), (4, 7), (5, 4)])
@pytest.mark.parametrize("gamma", [0.02, 0.3, 0.7])
def test_no_weight_is_above_1(k, n, gamma):
    """The divisor is the largest weight over all votes, found where rivals are equal or one apart."""
    found = largest_weights(new_die(n, k, gamma), n)
    assert found == pytest.approx([reference.largest_class_weight(n - i, k, gamma) for i in range(1, n + 1)])


def test_mistakes_are_the_potential_and_the_deficits():
    """T phi_N(0), plus for each learner its costs less those of the die: for any votes. A tie is a mistake."""
    N, k, gamma, T = 7, 4, 0.2, 300
    H, y = class_votes(N, k, T, 0.4, 0.3, 0)
    die, mistakes = new_die(N, k, gamma), 0
    total = T * reference.die_potential(N, (0,) * (k - 1), gamma)
    for h, place in zip(H.tolist(), y.tolist(), strict=True):
        s = np.zeros(k)
        for i in range(1, N + 1):
            literal = reference.class_costs(N - i, s.astype(int).tolist(), place, gamma)
            weight, after = costs(die, N - i, s, place)
            s[h[i - 1]] += 1
            total += literal[h[i - 1]] - (1 - after) - die.q * weight
        mistakes += s[place] <= max(np.delete(s, place))
    assert total == pytest.approx(mistakes, abs=1e-9)


@pytest.mark.parametrize(("k", "gamma", "n"), [(3, 0.4, 15), (6, 0.3, 25), (2, 0.3, 11)])
def test_learners_with_their_edge_keep_the_bound(k, gamma, n):
    """Independent learners, right with (1 - gamma) / k + gamma, err phi_N(0) T times, up to chance."""
    T, rng = 4000, np.random.default_rng(k)
    y = rng.integers(0, k, T)
    y[:k] = np.arange(k)
    H = np.where(rng.random((T, n)) < gamma, y[:, None], rng.integers(0, k, (T, n)))
    model = OnlineMBBM(ScriptedClasses(), n, gamma, random_state=0)
    model.progressive_fit(numbered(H), LETTERS[y], classes=LETTERS[:k])
    mistakes = model._fitted.root.record.totals[1]
    expected = mbbm_phi0(n, k, gamma)
    assert expected <= (k - 1) * math.exp(-(gamma**2) * n / 2)
    assert abs(mistakes - expected * T) <= 4 * math.sqrt(expected * T)
    assert model.edges_ == pytest.approx(gamma, abs=0.25)


def test_the_potential_obeys_its_bound():
    """At most (k - 1) exp(-gamma^2 N / 2), and a chance, for any size."""
    for n, k, gamma in itertools.product((1, 5, 40, 149), (2, 3, 26, 1000), (0.05, 0.4)):
        found = mbbm_phi0(n, k, gamma)
        assert 0 <= found <= min(1 + 1e-12, (k - 1) * math.exp(-(gamma**2) * n / 2) + 1e-12)
        if k == 2:
            assert found == pytest.approx(phi0(n, gamma, 0.5 + gamma / 2), abs=1e-12)


def test_classifiers_of_other_libraries_vote_for_classes():
    from river.naive_bayes import GaussianNB
    from sklearn.linear_model import SGDClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    y = np.array([*"dabc"])[(X[:, 0] > 0) + 2 * (X[:, 1] > 0)]
    for make, learner in itertools.product((OnlineMBBM, AdaBoostOLM), (GaussianNB(), Copies(GaussianNB()))):
        model, one = make(learner, 5, random_state=0).fit(X, y), make(learner, 5, random_state=0)
        for row, label in zip(X, y, strict=True):
            one.learn_one(dict(enumerate(row.tolist())), str(label))
        assert model.classes_.tolist() == ["a", "b", "c", "d"] and model.score(X, y) > 0.75
        assert np.allclose(model.predict_proba(X).sum(axis=1), 1)
        assert np.array_equal(model.edges_, one.edges_)
        assert one.predict_one(dict(enumerate(X[0].tolist()))) == model.predict(X[:1])[0]
    forms = OnlineMBBM(SGDClassifier(random_state=0), 3, random_state=0)
    forms.partial_fit(X, y, classes=["a", "b", "c", "d"])
    assert forms.score(X, y) > 0.6
    before = forms.n_seen_
    with pytest.raises(DataError, match=r"scikit-learn's learners need all labels at the start: .*classes="):
        forms.partial_fit(X[:2], ["e", "a"])
    assert forms.n_seen_ == before


def test_learners_of_two_labels_are_refused():
    X, y = np.eye(3), [*"abc"]
    for wrong in (Linear(), Copies(Linear()), OnlineBBM()):
        with pytest.raises(ParameterError, match="votes for classes: ClassTree"):
            OnlineMBBM(wrong).fit(X, y)
    with pytest.raises(ParameterError, match="a binary learner, such as Tree; ClassTree is for OnlineMBBM"):
        OnlineBBM(ClassTree()).fit(X, y)
    with pytest.raises(ParameterError, match="n_estimators=150"):
        OnlineMBBM(n_estimators=150).fit(X, y)
    with pytest.raises(ParameterError, match="gamma=1"):
        OnlineMBBM(gamma=1.0).fit(X, y)
    with pytest.raises(ParameterError, match="expert='best'"):
        AdaBoostOLM(expert="best").fit(X, y)
