"""Contributions of features: they add up, and are what the definitions in ``docs/explanations.md`` say."""

from __future__ import annotations

from itertools import combinations
from math import comb, log

import numpy as np
import pairs
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone

from onlineboost import (
    AdaBoostOLM,
    ClassTree,
    Linear,
    NaiveBayes,
    OnlineBBM,
    OnlineBoostRegressor,
    OnlineGradientBoost,
    OnlineMBBM,
    Perceptron,
    StackedEnsemble,
    Stump,
    Tree,
    load,
)
from onlineboost.boosters import adaboost_olm
from onlineboost.boosters.base import Booster
from onlineboost.errors import DataError, ParameterError
from onlineboost.loop.explaining import credit_in_turn
from onlineboost.readers import open_stream

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 6)).astype(np.float32)
X[RNG.random(X.shape) < 0.2] = 0
Y = np.where(X[:, 0] * X[:, 1] + X[:, 2] > 0, 1, -1)


def check_sums(model, rows, scores=None) -> None:
    why = model.explain(rows)
    scores = model.decision_function(rows) if scores is None else scores
    np.testing.assert_array_equal(why.score, scores)
    np.testing.assert_allclose(why.contributions.sum(axis=1) + why.bias, scores, rtol=0, atol=1e-6)


# Every booster and every learner once: the parts of an explanation are compiled for each by itself.
@pytest.mark.parametrize(
    ("booster", "learner"),
    [(booster, learner) for booster, learner in pairs.L if learner == "linear" or booster == "bbm"],
)
def test_contributions_add_up_to_the_score_and_change_nothing(booster, learner):
    model = pairs.make(booster, learner).fit(X, Y)
    before = pairs.everything(model)
    check_sums(model, X[:50])
    assert pairs.everything(model) == before
    why = model.explain(X[:50])
    assert np.abs(why.contributions).sum() > 0
    # a bias that took all, or contributions that cancel, would add up as well
    assert np.abs(why.contributions).max() <= 6 * max(np.abs(why.score).max(), 1)


def test_a_linear_learner_is_explained_by_weights_times_values():
    model = Linear("logistic").fit(X, Y)
    weights = model._fitted.root.committee.weights[:, 0, 0].astype(float)
    slots = model._fitted.root.slots.find(np.arange(6, dtype=np.int32))
    why = model.explain(X[:20])
    np.testing.assert_allclose(why.contributions, weights[1 + slots] * X[:20], atol=1e-6)
    np.testing.assert_allclose(why.bias, weights[0], atol=1e-5)


def test_a_bounded_vote_shrinks_all_terms_alike():
    model = Linear(learning_rate=8.0).fit(X, Y)
    weights = model._fitted.root.committee.weights[:, 0, 0].astype(float)
    slots = model._fitted.root.slots.find(np.arange(6, dtype=np.int32))
    raw = X @ weights[1 + slots] + weights[0]
    assert (np.abs(raw) > 1.5).any()
    shrunk = weights[1 + slots] * X / np.maximum(np.abs(raw), 1)[:, None]
    np.testing.assert_allclose(model.explain(X).contributions, shrunk, atol=1e-5)


def test_a_hard_vote_is_shared():
    model = OnlineBBM(Linear(), 3).fit(X, Y)
    weights = model._fitted.root.committee.weights[:, 0, :3].astype(float)
    slots = model._fitted.root.slots.find(np.arange(6, dtype=np.int32))
    row, expected = X[7].astype(float), np.zeros(6)
    for i in range(3):
        terms = np.append(weights[1 + slots, i] * row, weights[0, i])
        vote, whole = np.sign(terms.sum()), np.abs(terms).sum()
        shares = np.where(terms * vote < 0, terms / whole, 0)
        towards = terms * vote > 0
        shares[towards] = (vote - shares.sum()) * np.abs(terms[towards]) / np.abs(terms[towards]).sum()
        expected += shares[:6]
    np.testing.assert_allclose(model.explain(X[7:8]).contributions[0], expected, atol=1e-5)


def test_the_term_of_a_product_belongs_to_both_in_halves():
    model = Linear(crosses=[(0, 1)], learning_rate=0.1).fit(X, Y)
    plain = Linear(learning_rate=0.1).fit(np.column_stack([X, X[:, 0] * X[:, 1]]), Y)
    with_product, apart = (
        model.explain(X[:50]).contributions,
        plain.explain(np.column_stack([X, X[:, 0] * X[:, 1]])[:50]).contributions,
    )
    np.testing.assert_allclose(with_product[:, :2], apart[:, :2] + apart[:, 6:] / 2, atol=1e-5)
    np.testing.assert_allclose(with_product[:, 2:], apart[:, 2:6], atol=1e-5)


def test_naive_bayes_is_explained_by_its_log_odds():
    model = NaiveBayes(bins=8).fit(X, Y)
    state = model._fitted.root.committee
    why, total = model.explain(X[:20]), state.totals[:, 0]
    odds = 2 * np.arctanh(why.score)
    link = why.score / odds
    prior = log((total[1] + 1) / (total[0] + 1))
    np.testing.assert_allclose(why.contributions.sum(axis=1) / link, odds - prior, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(why.bias / link, prior, atol=1e-4)


def shapley(value, n: int) -> np.ndarray:
    """Exact Shapley values of a game, by all subsets."""
    found = np.zeros(n)
    for j in range(n):
        others = [k for k in range(n) if k != j]
        for size in range(n):
            for some in combinations(others, size):
                found[j] += (value({*some, j}) - value({*some})) / (n * comb(n - 1, size))
    return found


def test_a_tree_of_one_split_has_shapley_values():
    model = Tree(1, leaf_prediction="majority").fit(X, Y)
    state = model._fitted.root.committee
    assert state.used[0, 0] == 3
    ids = model._fitted.root.slots.ids()
    column, weight = int(ids[state.nodes[0, 0, 0] - 1]), state.weight[0, 1:3]
    mean = (weight[:, 1] - weight[:, 0]).sum() / weight.sum()
    for row in X[:5]:
        vote = float(model.decision_function(row[None])[0])
        expected = shapley(lambda some, vote=vote: vote if column in some else mean, 6)
        np.testing.assert_allclose(model.explain(row[None]).contributions[0], expected, atol=1e-6)
    np.testing.assert_allclose(model.explain(X[:5]).bias, mean, atol=1e-6)


def test_linear_learners_and_products_have_shapley_values():
    """Against a row of zeros; where scores are not bounded."""
    model = Linear("logistic", crosses=[(0, 1), (1, 2)]).fit(X[:, :4], Y)
    for row in X[20:23, :4]:

        def value(some, row=row):
            kept = np.where([j in some for j in range(4)], row, 0)
            return float(model.decision_function(kept[None])[0])

        np.testing.assert_allclose(model.explain(row[None]).contributions[0], shapley(value, 4), atol=1e-5)


def test_a_path_through_a_tree_is_credited_split_by_split():
    model = Tree(3, leaf_prediction="majority").fit(X, Y)
    state, ids = model._fitted.root.committee, model._fitted.root.slots.ids()

    def weights(node):
        child = state.nodes[0, node, 2]
        return state.weight[0, node] if not state.nodes[0, node, 0] else weights(child) + weights(child + 1)

    def mean(node):
        a, b = weights(node)
        return (b - a) / (a + b)

    for row in X[:10]:
        node, expected = 0, np.zeros(6)
        while state.nodes[0, node, 0]:
            column = ids[state.nodes[0, node, 0] - 1]
            after = state.nodes[0, node, 2] + int(row[column] > state.threshold[0, node])
            expected[column] += mean(after) - mean(node)
            node = after
        np.testing.assert_allclose(model.explain(row[None]).contributions[0], expected, atol=1e-6)


def test_batches_files_and_formats_of_the_same_rows_give_the_same(tmp_path):
    model = pairs.make("stacked", "tree").fit(X, Y)
    whole = model.explain(X[:40])
    ones = np.concatenate([model.explain(X[r : r + 1]).contributions for r in range(40)])
    np.testing.assert_array_equal(whole.contributions, ones)
    model.save(tmp_path / "a.model")
    np.testing.assert_array_equal(load(tmp_path / "a.model").explain(X[:40]).contributions, whole.contributions)
    sparse = model.explain(csr_matrix(X[:40]))
    for r in range(40):
        assert sparse[r] == pytest.approx(whole[r], abs=1e-12)
    one = model.explain_one({str(j): float(x) for j, x in enumerate(X[0])})
    assert one == pytest.approx(whole[0], abs=1e-12)
    assert one.bias + sum(one.values()) == pytest.approx(one.score, abs=1e-9)


def test_many_classes_have_a_set_of_contributions_each():
    labels = np.array(["b", "a", "c"])[np.digitize(X[:, 2], [-0.5, 0.5])]
    for model in (OnlineBBM(Linear(), 5, random_state=3), StackedEnsemble([Linear(standardize=True), Perceptron()])):
        model.fit(X, labels)
        check_sums(model, X[:30])
        why = model.explain(X[:30])
        assert why.contributions.shape == (30, 6, 3)
        assert list(why[0]) == ["a", "b", "c"]
        assert np.abs(why.contributions).mean(axis=(0, 2)).argmax() == 2


CLASS_VOTES = {
    "alone": ClassTree(3),
    "majorities": ClassTree(3, leaf_prediction="majority"),
    "mbbm": OnlineMBBM(ClassTree(3), 5, random_state=0),
    "olm": AdaBoostOLM(ClassTree(3), 5, random_state=0),
    "olm, last expert": AdaBoostOLM(ClassTree(3), 5, expert="last", random_state=0),
    "olm, random expert": AdaBoostOLM(ClassTree(3), 5, expert="random", random_state=0),
}


@pytest.mark.parametrize("kind", CLASS_VOTES)
def test_votes_for_classes_add_up_to_the_score_of_each_class(kind):
    labels = np.array(["b", "a", "c"])[np.digitize(X[:, 2], [-0.5, 0.5])]
    model = clone(CLASS_VOTES[kind]).fit(X, labels)
    check_sums(model, X[:50])
    found = np.abs(model.explain(X[:50]).contributions)
    assert found.shape == (50, 6, 3)
    assert found.mean(axis=(0, 2)).argmax() == 2
    two = clone(CLASS_VOTES[kind]).fit(X, Y)
    check_sums(two, X[:50])
    assert two.explain(X[:50]).contributions.shape == (50, 6)


@pytest.mark.parametrize("expert", ["vote", "random", "last"])
def test_the_learners_of_adaboost_olm_share_the_score_of_each_class(expert):
    """Slopes times votes add up to the score, less that of votes that say nothing."""
    rng, n, k = np.random.default_rng(1), 7, 4
    state = AdaBoostOLM(ClassTree(), n, expert=expert, random_state=0).initial_state(n, False, 0)
    state.alpha[:], state.mistakes[:] = rng.uniform(0.1, 2, n), rng.integers(0, 4, n)
    for _ in range(20):
        h = np.concatenate([rng.permutation(k), rng.integers(0, k, n - k)]).astype(float)
        sums = np.cumsum(np.eye(k)[h.astype(int)] * state.alpha[:, None], axis=0)
        e, slopes, scores = sums.argmax(axis=1).astype(float), np.empty((n, k)), sums[-1].copy()
        adaboost_olm.credit(state, h, e, slopes, True)
        adaboost_olm.vote(state, e, scores)
        shares = (slopes * ((h[:, None] == np.arange(k)) - 1 / k)).sum(axis=0)
        even = scores.sum() / k
        told = np.abs(shares - (scores - even)) < 1e-9
        assert told.mean() > 0.7 if expert != "last" else told.all()  # a first expert has no learner against a class
        assert np.abs(slopes).max() <= 2 * max(1, np.abs(scores).max())


def shared_by_hand(terms: np.ndarray, amount: float) -> np.ndarray:
    """Terms against a decision count by their share of all, those for it share the rest in proportion."""
    sign, whole = np.sign(amount), np.abs(terms).sum()
    shares = np.where(terms * sign < 0, terms / whole, 0)
    towards = terms * sign > 0
    if not towards.any():
        return np.zeros(terms.size)
    shares[towards] = (sign - shares.sum()) * np.abs(terms[towards]) / np.abs(terms[towards]).sum()
    return shares * abs(amount)


def test_a_vote_for_a_class_is_shared_among_the_splits_of_its_path():
    labels = np.digitize(X[:, 2] + X[:, 0] / 2, [-0.5, 0.5])
    model = ClassTree(3, leaf_prediction="majority").fit(X, labels)
    state, ids = model._fitted.root.committee, model._fitted.root.slots.ids()
    order = [model._fitted.target.labels.index(label) for label in model.classes_]
    assert state.used[0, 0] > 5

    def weights(node):
        child = state.nodes[0, node, 2]
        return state.weight[0, node] if not state.nodes[0, node, 0] else weights(child) + weights(child + 1)

    def shares(node):
        return (weights(node) / weights(node).sum())[order]

    for row in X[:20]:
        node, columns, terms = 0, [], [shares(0) - 1 / 3]
        while state.nodes[0, node, 0]:
            columns.append(ids[state.nodes[0, node, 0] - 1])
            after = state.nodes[0, node, 2] + int(row[columns[-1]] > state.threshold[0, node])
            terms.append(shares(after) - shares(node))
            node = after
        expected = np.zeros((6, 3))
        for c in range(3):
            amount = 2 / 3 if c == shares(node).argmax() else -1 / 3
            np.add.at(expected[:, c], columns, shared_by_hand(np.array(terms)[:, c], amount)[1:])
        np.testing.assert_allclose(model.explain(row[None]).contributions[0], expected, atol=1e-9)


def test_the_values_of_naive_bayes_count_in_turn():
    """A leaf that votes by naive Bayes: each value adds what it changes in the chances of the classes."""
    labels = np.digitize(X[:, 2], [-0.5, 0.5])
    model = ClassTree(1, min_split_gain=1e9).fit(X, labels)
    state, slots = model._fitted.root.committee, model._fitted.root.slots
    wrong = state.wrong[0, 0]
    assert state.used[0, 0] == 1 and wrong[1] < wrong[0]
    order = [model._fitted.target.labels.index(label) for label in model.classes_]
    why, since = model.explain(X[:20]), state.since[0, 0, 2:]
    only = np.zeros((20, 6))
    only[:, 2] = X[:20, 2]
    assert np.abs(model.explain(only).contributions[:, 2]).sum() > 0
    for r, row in enumerate(X[:20]):
        met = slots.find(np.flatnonzero(row).astype(np.int32))
        edges, zero = state.bins.edges, state.bins.zero
        chance, terms, columns = since + 1, [(since + 1) / (since + 1).sum() - 1 / 3], []
        before = chance / chance.sum()
        for slot in met.tolist():
            column = int(slots.ids()[slot])
            code = int(np.searchsorted(edges[slot], row[column]))
            if code == zero[slot]:
                continue
            chance = chance * (state.histograms[0, code, slot] + 0.1) / (since + 0.2)
            terms.append(chance / chance.sum() - before)
            before, columns = chance / chance.sum(), [*columns, column]
        expected = np.zeros((6, 3))
        for c in range(3):
            amount = 2 / 3 if c == before.argmax() else -1 / 3
            np.add.at(expected[:, c], columns, shared_by_hand(np.array(terms)[:, c], amount)[1:])
        np.testing.assert_allclose(why.contributions[r], expected[:, order], atol=1e-6)


def test_numbers_are_explained_in_their_own_units():
    y = 100 + 10 * X[:, 2]
    for model in (OnlineBoostRegressor(random_state=0), OnlineGradientBoost(n_estimators=5)):
        model.fit(X, y)
        check_sums(model, X[:30], model.predict(X[:30]))
        assert np.abs(model.explain(X).contributions).mean(axis=0).argmax() == 2
    young = OnlineGradientBoost(n_estimators=5).fit(X[:5], y[:5]).explain(X[:3])
    assert young.contributions.any() == 0
    assert young.bias.tolist() == young.score.tolist()


@pytest.mark.parametrize("loss", ["logistic", "poisson"])
def test_a_link_keeps_the_sum(loss):
    y = (X[:, 2] > 0).astype(float)
    model = OnlineGradientBoost(n_estimators=5, loss=loss).fit(X, y)
    check_sums(model, X[:30], model.predict(X[:30]))
    assert np.abs(model.explain(X).contributions).mean(axis=0).argmax() == 2


def test_categories_and_missing_values_have_names_and_belong_to_their_columns():
    rows = [({"size": k % 5, "colour": ("red", "blue", None)[k % 3]}, int(k % 3 == 0)) for k in range(300)]
    model = Linear().fit(open_stream(rows))
    why = model.explain([x for x, _ in rows[:3]])
    assert {"colour=red", "colour=blue", "colour="} <= set(why.names)
    assert max(why[0], key=why[0].get) == "colour=red"
    one = model.explain_one(rows[0][0])
    assert set(one) <= {"size", "colour"}
    assert one["colour"] == pytest.approx(why[0]["colour=red"])
    frame = pd.DataFrame([x for x, _ in rows[:3]])
    by_column = model.explain(frame)
    assert by_column.names == ["size", "colour"]
    np.testing.assert_allclose(by_column.contributions.sum(axis=1) + by_column.bias, why.score, atol=1e-6)
    table = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
    assert Tree(3).fit(table, Y).explain(table[:9]).contributions.shape == (9, 6)


def test_the_parts_of_a_date_belong_to_its_column():
    days = pd.date_range("2024-01-01", periods=400, freq="7h")
    frame = pd.DataFrame({"sold": days, "size": RNG.random(400), "sold.size": RNG.choice(["s", "l"], 400)})
    y = (days.month % 2 == 0).astype(int)
    model = Linear().fit(frame, y)
    why = model.explain(frame)
    assert why.names == [*frame] and {*model.importances()} == {*frame}
    assert model.feature_importances_.sum() == pytest.approx(1)
    np.testing.assert_allclose(why.contributions.sum(axis=1) + why.bias, why.score, atol=1e-6)
    assert {*model.explain_one({"sold": days[9], "size": 0.5})} <= {"sold", "size"}
    read = Linear().fit(open_stream(frame, y=y))
    assert read.explain(frame).names == [*frame]
    of_stream = read.explain(open_stream(frame, like=read, labels="ignored"))
    assert {name.partition("=")[0] for name in of_stream.names} == {*frame}
    assert of_stream[5]["sold"] == pytest.approx(why[5]["sold"], abs=1e-6)


def test_a_booster_without_credit_is_explained_learner_by_learner():
    model = pairs.make("plus", "linear").fit(X, Y)
    state = model._fitted.root.booster
    h, e, slopes = np.array([1.0, -1, 1, 1, -1]), np.zeros(5), np.zeros(5)
    type(model)._kernels.lead.py_func(state, h, e, 0, carry := np.zeros(4))
    assert carry[2] == e[-1]
    credit_in_turn(state, h, e, slopes, True)
    kernels, none = type(model)._kernels, np.zeros(5)
    kernels.lead.py_func(state, np.zeros(5), none, 0, np.zeros(4))
    assert (slopes * h).sum() == pytest.approx(kernels.vote(state, e) - kernels.vote(state, none))
    assert Booster.__init_subclass__.__kwdefaults__["credit"] is credit_in_turn


def test_python_objects_are_refused_in_clear_words():
    model = pairs.make("bbm", "river")
    model.learn_one({"a": 1.0}, 1)
    with pytest.raises(ParameterError, match="a compiled learner such as Linear or Tree"):
        model.explain_one({"a": 1.0})


def test_what_is_printed_and_drawn(tmp_path):
    why = Linear().fit(X, Y).explain(X[:7])
    text = str(why)
    assert text.startswith("row 0: score ")
    assert "bias" in text
    assert "and 2 rows more" in text
    assert why[0].brief(2).count(";") == 1
    why.plot(tmp_path / "why.svg", row=3)
    assert (tmp_path / "why.svg").read_text().startswith("<?xml")
    with pytest.raises(ParameterError, match="ends in .png, .svg or .pdf"):
        why.plot(tmp_path / "why.txt")
    with pytest.raises(IndexError, match="expected one of 7"):
        why[7]
    empty = Linear().fit(X, Y).explain(X[:0])
    assert empty.contributions.shape == (0, 6)
    large = Linear().fit(csr_matrix(X), Y).explain(csr_matrix(X[:3]))
    object.__setattr__(large, "names", range(1 << 28))
    with pytest.raises(DataError, match="too large"):
        _ = large.contributions


@pytest.mark.parametrize("learner", [*pairs.COMPILED])
def test_importances_are_shares_of_columns(learner):
    model = pairs.make("bbm", learner).fit(X, Y)
    shares = model.feature_importances_
    assert shares.shape == (6,)
    assert (shares >= 0).all()
    assert shares.sum() == pytest.approx(1)
    assert shares[:3].sum() > 0.5
    assert next(iter(model.importances())) == str(shares.argmax())


def test_importances_of_ensembles_streams_and_classes():
    model = pairs.make("stacked", "tree").fit(X, Y)
    assert model.feature_importances_.argmax() == 2
    labels = np.array(["b", "a", "c"])[np.digitize(X[:, 2], [-0.5, 0.5])]
    assert OnlineBBM(Linear(), 5, random_state=3).fit(X, labels).feature_importances_.argmax() == 2
    assert OnlineBoostRegressor(random_state=0).fit(X, X[:, 2]).feature_importances_.argmax() == 2
    rows = [({"size": k % 5, "colour": "red" if k % 2 else "blue"}, k % 2) for k in range(200)]
    named = Linear().fit(open_stream(rows))
    assert [*named.importances()][-1] == "size"
    assert named.feature_importances_.size == named.n_features_in_ == 3
    assert Stump().fit(X[:3], Y[:3] * [1, -1, 1]).feature_importances_.tolist() == [0] * 6
