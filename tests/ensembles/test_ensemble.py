"""Stacked ensembles: the stack, parts that rest, slots that parts share, and the default, OnlineBoost."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import reference
from pairs import everything
from sklearn.linear_model import SGDClassifier
from test_adaptive import changing

import onlineboost
from conftest import houses
from onlineboost import (
    Adaptive,
    Alarm,
    ClassTree,
    FTRLProximal,
    Linear,
    MemoryWarning,
    NaiveBayes,
    OnlineBBM,
    OnlineBoost,
    ParameterError,
    Perceptron,
    SafeBoost,
    StackedEnsemble,
    Tree,
)
from onlineboost.compiled.block import Call
from onlineboost.datasets import load_letter
from onlineboost.engine import program
from onlineboost.engine.program import Program
from onlineboost.ensembles import restarting, resting
from onlineboost.ensembles.restarting import Restarting
from onlineboost.ensembles.stack import new_classes_work, new_scales, new_stack, stack_classes
from onlineboost.evaluate import progressive_error
from onlineboost.loop.heads import VoteHead
from onlineboost.loop.record import new_record


def noise(n: int = 1500, features: int = 70) -> tuple[np.ndarray, np.ndarray]:
    """Long rows, and labels of which the first feature says a little."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, features)).astype(np.float32)
    return X, np.where(X[:, 0] + 2 * rng.normal(size=n) > 0, 1, -1)


def test_the_stack_is_its_slow_twin():
    X, y = changing(1600, every=400)
    weight = np.random.default_rng(3).choice([0.25, 1.0, 3.0, 40.0], size=len(y))
    trees = OnlineBBM(Tree(3, grace_period=8), 5, head="stack")
    events: list[Alarm] = []
    models = [Linear(standardize=True), Restarting(trees, delta=0.1), Perceptron(), SafeBoost(Linear(), 6)]
    model = StackedEnsemble(models, random_state=4, on_drift=events.append)
    seeds = [trees.clone().set_params(random_state=5), SafeBoost(Linear(), 6, random_state=7)]
    slow_trees = reference.Restarting(seeds[0].clone, delta=0.1)
    parts = [Linear(standardize=True), slow_trees, Perceptron(), seeds[1]]
    slow = reference.Ensemble(parts, [False, True, False, True], 4)
    expected = [slow.progressive(*row) for row in zip(X, y, weight, strict=True)]
    np.testing.assert_allclose(model.progressive_fit(X, y, weight), expected, rtol=1e-6, atol=1e-9)
    assert [Alarm(t, None) for t in slow_trees.alarms] == events == model.alarms_
    assert events


class SteadyEnsemble(StackedEnsemble):
    def _stacks_steadily(self) -> bool:
        return True


def test_a_steady_stack_equals_the_slow_one():
    X, y = noise()
    y = np.where(X[:, 0] + X[:, 1] > np.quantile(X[:, 0] + X[:, 1], 0.9), 1, -1)  # rare
    weight = np.random.default_rng(0).choice([0.5, 1.0, 3.0], len(y))
    models = [Linear(), Perceptron(), Linear("logistic")]
    slow = reference.Ensemble([one.clone() for one in models], [False] * 3, 2, steady=True)
    expected = [slow.progressive(*row) for row in zip(X, y, weight, strict=True)]
    model, hasty = (kind(models, n_always_active=2, random_state=0) for kind in (SteadyEnsemble, StackedEnsemble))
    answers = model.progressive_fit(X, y, weight)
    np.testing.assert_allclose(answers, expected, rtol=1e-6, atol=1e-9)
    assert abs(hasty.progressive_fit(X, y, weight)[-100:] - answers[-100:]).max() > 1e-3


def resting_model() -> StackedEnsemble:
    costly = NaiveBayes(max_slots=16), Restarting(Perceptron(bits=4))
    return StackedEnsemble([Linear(), Perceptron(), *costly], n_always_active=2, random_state=0)


@pytest.mark.parametrize("slots", [16, 128], ids=["full", "not full"])
def test_parts_rest_as_their_slow_twin(monkeypatch, slots):
    monkeypatch.setattr(resting, "LENGTH", 300)
    monkeypatch.setattr(resting, "LOOK_EVERY", 256)
    X, y = noise()
    models = [Linear(), Perceptron(), NaiveBayes(max_slots=slots), Perceptron(bits=4)]
    model = StackedEnsemble(models, n_always_active=2, random_state=0)
    slow = reference.Ensemble([one.clone() for one in models], [False] * 4, 2)
    expected, rests = [], []
    for x, label in zip(X, y, strict=True):
        expected.append(slow.progressive(x, label))
        slow.look(full=slots == 16, every=256, length=300)
        rests.append(slow.resting)
    answers, found = [], []
    for x, label in zip(X, y, strict=True):
        answers += model.progressive_fit(x[None], [label], classes=[-1, 1]).tolist()
        found.append(model.n_paused_ == 2)
    np.testing.assert_allclose(answers, expected, rtol=1e-6, atol=1e-9)
    assert found == rests
    assert sum(np.diff(found)) >= 3  # to rest, to a trial, to rest
    whole = model.clone()
    assert np.array_equal(whole.progressive_fit(X, y), answers)
    assert everything(whole) == everything(model)


def test_short_rows_and_parts_that_earn_do_not_rest():
    X, y = noise()
    assert not resting_model().fit(X[:, :60], y).n_paused_
    assert resting_model().fit(X, y).n_paused_ == 2
    crossed = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)  # nothing for linear learners
    X[:, :2] = np.sign(X[:, :2])
    trees = OnlineBBM(Tree(2, max_slots=64), 5, head="stack")
    assert not StackedEnsemble([Linear(), trees], n_always_active=1, random_state=0).fit(X, crossed).n_paused_


@pytest.mark.parametrize(
    ("short", "full", "loss", "rests"),
    [(True, True, 99.9, True), (True, True, 99.0, False), (True, False, 99.9, False), (False, True, 99.9, False)],
)
def test_parts_rest_on_short_rows_in_the_default_only(short, full, loss, rests):
    rest = resting.new_rest(short)
    rest.rows[:] = resting.LOOK_EVERY, 7 * resting.LOOK_EVERY
    assert not rest.decide(resting.LOOK_EVERY, loss, 100.0, full)
    assert bool(rest.clock[2]) == rests


@pytest.mark.parametrize("rows", [1, 100, 700])
def test_batches_files_and_copies_do_not_matter_where_parts_rest(monkeypatch, rows, tmp_path):
    monkeypatch.setattr(resting, "LENGTH", 300)
    X, y = noise()
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.5], size=len(y))
    whole, parts, pieces = resting_model(), resting_model(), []
    scores = whole.progressive_fit(X, y, weight)
    for start in range(0, len(y), rows):
        some = slice(start, start + rows)
        pieces.append(parts.progressive_fit(X[some], y[some], weight[some], classes=[-1, 1]))
        if start // rows % (5 if rows > 1 else 50) == 2:
            parts.decision_function(X[:50])  # changes nothing
            parts.save(tmp_path / "model")
            parts = pickle.loads(pickle.dumps(copy.deepcopy(onlineboost.load(tmp_path / "model"))))
    assert np.array_equal(np.concatenate(pieces), scores)
    for file, model in (("whole", whole), ("parts", parts)):
        model.save(tmp_path / file)
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "parts").read_bytes()


class ShortResting(StackedEnsemble):
    def _rests_on_short_rows(self) -> bool:
        return True


@pytest.mark.parametrize("features", [8, 40], ids=["slots for all", "slots run out in the midst"])
def test_threads_go_over_many_rows_where_no_part_can_begin_to_rest(monkeypatch, features):
    """A decision that is known beforehand is no reason for threads to wait for each other."""
    monkeypatch.setattr(resting, "LOOK_EVERY", 256)
    X, y = noise(2400, features)
    X[:1300, 8:] = 0
    costly = NaiveBayes(max_slots=16), Perceptron(bits=4)
    model = ShortResting([Linear(), Perceptron(), *costly], n_always_active=2, random_state=0)
    runs, taken, run, take_back = [], [], Program.run, program.take_back

    def noted(self, *span):
        if not self.has_slots:  # as those of replays
            runs.append(span)
        run(self, *span)

    monkeypatch.setattr(Program, "run", noted)
    monkeypatch.setattr(program, "take_back", lambda before: taken.append(before) or take_back(before))

    def learned(model):
        return [model.progressive_fit(X[some], y[some]).tolist() for some in (slice(1100), slice(1100, None))]

    scores = learned(model)
    rests, one = model.n_paused_, everything(model)
    assert len(runs) >= 2400 // 256 and not taken
    runs.clear()
    twin = model.clone()
    twin.n_jobs = 2
    assert learned(twin) == scores
    assert everything(twin) == one
    if features == 8:
        assert len(runs) == 2
    else:
        assert taken and max(stop - start for start, stop in runs) > 256
    assert (rests > 0) == (features == 40)


def test_rows_that_parts_do_not_see_cost_nothing(monkeypatch):
    X, y = noise()
    model = resting_model().fit(X[:400], y[:400])
    assert model.n_paused_ == 2

    def run(*_):
        raise AssertionError("a part that rests was run")

    monkeypatch.setattr(restarting.RestartCommittee, "add", run)
    model.partial_fit(X[400:], y[400:]).predict(X)


def test_alarms_have_the_example_of_the_stream_after_a_rest(monkeypatch):
    monkeypatch.setattr(resting, "LENGTH", 300)
    X, y = noise()
    model, clocks = resting_model(), []
    for start in range(0, 900, 50):
        model.partial_fit(X[start : start + 50], y[start : start + 50])
        clocks.append(int(model._fitted.root.parts[3].clock.examples[0]))
    assert clocks == [50, 100, 150, *[192] * 6, 500, 550, 600, 650, *[684] * 5]


def slots_of(model) -> list[int]:
    return [id(part.leaves[0].slots.used) for part in model._fitted.root.parts]


def test_parts_share_their_slots(tmp_path):
    models = [Linear(), Linear(standardize=True), NaiveBayes(), Tree(3), Linear(bits=10)]
    model = StackedEnsemble(models)
    for k in range(20):
        model.learn_one({f"f{k * 3 % 40 + j}": 1.0 + j for j in range(5)}, k % 2)
    model.save(tmp_path / "m")
    for one in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model)), onlineboost.load(tmp_path / "m")):
        a, b, c, d, e = slots_of(one)
        assert a == b and c == d and len({a, c, e}) == 3
    for k in range(200):
        model.learn_one({f"g{k}": 1.0}, k % 2)
    a, b, c, d, e = slots_of(model)
    assert a == b and c == d
    assert len({part.n_slots for part in model._fitted.root.parts}) == 1


def test_a_failure_to_make_room_leaves_all_parts_as_they_were(monkeypatch, tmp_path):
    model = StackedEnsemble([Linear(), OnlineBBM(Perceptron(), 3), Linear(standardize=True), NaiveBayes()])
    for k in range(20):
        model.learn_one({"a": k % 3, "b": 1.0}, k % 2)
    grow, calls = Linear.grow, []

    def no_memory(*arguments):
        calls.append(1)
        if len(calls) == 2:
            raise MemoryError
        return grow(*arguments)

    expected = everything(model)
    with monkeypatch.context() as patched:
        patched.setattr(Linear, "grow", no_memory)
        with pytest.raises(MemoryError):
            model.learn_one({f"new {k}": 1.0 for k in range(40)}, 1)
    assert everything(model) == expected
    model.save(tmp_path / "m")
    assert onlineboost.load(tmp_path / "m").decision_one({"a": 1.0}) == model.decision_one({"a": 1.0})


def test_what_parts_earn_is_the_margin():
    X, y = changing(every=10_000)
    model = StackedEnsemble([Linear(), OnlineBBM(Tree(3), 5, head="stack"), NaiveBayes()], random_state=0).fit(X, y)
    scales, stack = model._fitted.root.scales, model._fitted.root.stack
    report = model.report()
    earns, weights = report.columns["gain"][0], report.columns["weight"][0]
    assert earns.argmax() in (0, 1)
    assert np.array_equal(weights, stack.weights[:-1])
    np.testing.assert_allclose(earns, scales.earned[:-1] / scales.earned[-1])
    answers = model.decision_function(X[-200:])
    assert np.sign(earns.sum()) == np.sign((answers * y[-200:]).mean()) == 1
    errors = [np.mean(y != one.predict(X)) for one in (Linear().fit(X, y),)]
    assert abs(report.columns["error alone"][0][0] - errors[0]) < 0.1
    text = str(report)
    assert text.startswith("StackedEnsemble, 3 members, 3,000 examples\nmember")
    assert "The ensemble " in text and "Linear()" in text
    X, y = noise()
    assert "NaiveBayes(max_slots=16) (paused)" in str(resting_model().fit(X, y).report())
    assert "2 members are paused" in resting_model().fit(X, y).verdict()


def test_the_report_shows_the_stack_that_answers():
    """The light one answers while its loss is the smaller, though no part rests."""
    X, y = changing(every=10_000)
    model = StackedEnsemble([Linear(standardize=True), Perceptron()], n_always_active=1).fit(X[:, ::-1], y)
    node = model._fitted.root
    node.stack.loss[0], node.light.loss[0] = 2.0, 1.0
    weights = model.report().columns["weight"][0]
    assert weights[0] == node.light.weights[0] and weights[1] == 0
    before = model.decision_function(X[:50])
    node.stack.weights[:] = 7
    assert np.array_equal(model.decision_function(X[:50]), before)
    node.stack.loss[0] = 0.5
    assert model.report().columns["weight"][0].tolist() == [7, 7]


def test_features_matter_by_what_their_parts_earn():
    """A part that earns less than nothing has no say."""
    X, y = changing(every=10_000)
    model = StackedEnsemble([Linear(), Linear(standardize=True)]).fit(X, y)
    node = model._fitted.root
    node.scales.earned[:2] = 1.0, -5.0
    names = model._fitted.columns.names
    alone = node.parts[0].strengths(names)
    total = sum(abs(strength) for _, _, strength in alone)
    expected = sorted(((name, abs(strength) / total) for name, _, strength in alone), key=lambda one: -one[1])
    assert [(name, pytest.approx(strength)) for name, _, strength in node.strengths(names)] == expected


def test_a_feature_that_parts_number_differently_is_one(monkeypatch):
    """Parts that rested have met features in another order."""
    X, y = changing(100)
    node = StackedEnsemble([Linear(), Perceptron()]).fit(X, y)._fitted.root
    node.scales.earned[:2] = 1.0
    monkeypatch.setattr(node.parts[0], "strengths", lambda names: [("a", 0, 3.0), ("b", 1, -1.0)])
    monkeypatch.setattr(node.parts[1], "strengths", lambda names: [("b", 0, 1.0)])
    assert node.strengths({}) == [("b", 1, 0.625), ("a", 0, 0.375)]


def test_every_alarm_is_told_to_the_nearest_listener():
    X, y = changing()
    outer: list[Alarm] = []
    inner: list[Alarm] = []
    parts = [
        Linear(),
        Restarting(Perceptron(), delta=0.5, on_drift=inner.append),
        Adaptive(Perceptron(), delta=0.5),
        Restarting(Linear(), delta=0.5),
    ]
    model = StackedEnsemble(parts, on_drift=outer.append).fit(X, y)
    nodes = model._fitted.root.parts
    assert inner == nodes[1].alarms() and inner
    assert sorted(outer) == sorted([*nodes[2].alarms(), *nodes[3].alarms()])
    assert nodes[2].alarms() and model.n_alarms_ == len(inner) + len(outer)


def test_an_interrupt_between_two_counters_does_no_harm(monkeypatch):
    X, y = noise()
    model = resting_model().fit(X[:50], y[:50])
    with monkeypatch.context() as patched:
        patched.setattr(resting.Rest, "decide", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[50:300], y[50:300])
    learned = model.n_seen_
    model.partial_fit(X[300:], y[300:])  # it once went round for ever
    assert model.n_seen_ == learned + len(y) - 300


def test_zeros_and_missing_values_do_not_make_rows_long():
    """However they are brought, whichever part stands first."""
    X, y = noise(300)
    X[:, 50:], X[::2, 0] = 0, np.nan
    models = [Adaptive(Linear()), NaiveBayes(max_slots=16), Perceptron(bits=4)]
    arrays, dicts = (StackedEnsemble(models, n_always_active=1, random_state=0) for _ in range(2))
    arrays.fit(X, y)
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        dicts.learn_one({str(j): value if value == value else None for j, value in enumerate(x)}, label)
    assert arrays._fitted.root.rest.rows.tolist() == dicts._fitted.root.rest.rows.tolist()
    assert not arrays.n_paused_ and not dicts.n_paused_


def test_models_within_models_are_saved_as_deep_as_they_are_loaded(tmp_path):
    X, y = changing(100)
    model = OnlineBBM(Linear(), 3)
    for _ in range(8):
        model = StackedEnsemble([model])
    model.fit(X, y).save(tmp_path / "m")
    assert np.array_equal(onlineboost.load(tmp_path / "m").decision_function(X), model.decision_function(X))
    for _ in range(4):
        model = StackedEnsemble([model])
    with pytest.raises(ParameterError, match="at most 12 levels"):
        model.fit(X, y).save(tmp_path / "n")


def test_the_report_can_be_drawn(tmp_path):
    X, y = changing(500)
    StackedEnsemble([Linear(), NaiveBayes()]).fit(X, y).report().plot(tmp_path / "parts.svg")
    assert (tmp_path / "parts.svg").read_text().count("<!-- NaiveBayes() -->") == 1


def test_scores_of_heads_are_log_odds():
    X, y = changing(300)
    for model in (OnlineBBM(n_estimators=3), OnlineBBM(n_estimators=3, head="stack"), SafeBoost(n_estimators=6)):
        node = model.fit(X, y)._fitted.root
        assert node.gives_odds == (not isinstance(node.head, VoteHead))
    assert StackedEnsemble([Linear()]).fit(X, y)._fitted.root.gives_odds


def test_probabilities_are_calibrated():
    X, y = load_letter()
    model = StackedEnsemble([Linear(standardize=True), OnlineBBM(Tree(5), 11, head="stack")], random_state=0)
    chances = 1 / (1 + np.exp(-model.progressive_fit(X, y)))
    bins = (chances * 10).astype(int).clip(0, 9)
    gaps = [abs(chances[bins == k].mean() - (y[bins == k] > 0).mean()) * (bins == k).mean() for k in range(10)]
    assert sum(gaps) < 0.01
    assert np.array_equal(model.predict_proba(X[:500])[:, 1] >= 0.5, model.predict(X[:500]) > 0)


def test_huge_weights_leave_finite_numbers():
    X, y = changing(400)
    weight = np.where(np.arange(400) % 50 == 7, 1e15, 1.0)
    scores = StackedEnsemble([Linear(), Perceptron(), NaiveBayes()]).progressive_fit(X, y, weight)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("effort", ["low", "normal", "high"])
def test_every_effort_of_the_default_is_a_list_of_models(effort):
    model = OnlineBoost(effort, random_state=0)
    parts, node = model._parts(), model._new_node(0)
    assert len(node.parts) == len(parts) > model._n_light() == 5
    assert sum(isinstance(part, Restarting) for part in parts) == 1
    assert model.clone().effort == effort


@pytest.mark.parametrize("effort", ["low", "normal", "high"])
def test_the_parts_of_the_default_share_its_memory(effort):
    model = OnlineBoost(effort, max_mb=1024)
    for parts, classes in ((model._parts(), 1), (model._parts_for_classes(), 64)):
        learners = [part._base_learner() for part in parts]
        trees = [learner.max_mb for learner in learners if isinstance(learner, Tree)]
        pairs = [learner.max_mb for learner in learners if isinstance(learner, FTRLProximal)]
        assert 0 < sum(trees) * classes <= 512 and pairs == [256]


def test_parts_have_the_seeds_that_they_have_without_pairs():
    with_pairs, without = (OnlineBoost(pairs=pairs, random_state=7)._new_node(0) for pairs in (True, False))
    seeds = [[part.settings.seed for part in node.parts] for node in (with_pairs, without)]
    assert [*seeds[0][:4], *seeds[0][5:]] == seeds[1]


def test_the_default_is_better_than_its_parts_and_follows_changes(tmp_path):
    X, y = load_letter()
    turned = np.where(np.arange(len(y)) < 10_000, y, -y)
    model = OnlineBoost(random_state=0)
    scores = model.progressive_fit(X, turned)
    error = np.mean((scores >= 0) != (turned > 0))
    assert error < model.report().columns["error alone"][0].min()
    assert error < 0.11  # .071 without the change
    assert model.n_alarms_ == 1
    model.save(tmp_path / "m")
    loaded = onlineboost.load(tmp_path / "m")
    assert np.array_equal(loaded.decision_function(X[:500]), model.decision_function(X[:500]))
    assert loaded.alarms_ == model.alarms_


def test_two_rising_prices():
    """The label is whether a > b, while both leave every range that they had: linear learners know it."""
    rng = np.random.default_rng(0)
    level = 100 + np.cumsum(rng.normal(0.05, 0.3, size=10_000))
    X = np.stack([level + rng.normal(size=10_000), level + rng.normal(size=10_000)], axis=1)
    y = np.where(X[:, 0] > X[:, 1], 1, -1)
    scores = OnlineBoost(random_state=0).progressive_fit(X, y)
    assert np.mean((scores[-2000:] >= 0) != (y[-2000:] > 0)) < 0.05


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: StackedEnsemble([]), "a list of 1 to 50 models"),
        (lambda: StackedEnsemble(Linear()), "a list of 1 to 50 models"),
        (lambda: StackedEnsemble([SGDClassifier()]), "boosters and learners of onlineboost"),
        (lambda: StackedEnsemble([Linear(), OnlineBBM(SGDClassifier(loss="log_loss"))]), "models of compiled learners"),
        (lambda: StackedEnsemble([Linear()], n_always_active=2), "n_always_active"),
        (lambda: StackedEnsemble([Linear()], on_drift=3), "on_drift"),
        (lambda: OnlineBoost("most"), "effort"),
        (lambda: Restarting("tree"), "estimator"),
        (lambda: Restarting(Adaptive()), "compiled learners"),
        (lambda: Restarting(Linear(), reset="none"), "reset"),
    ],
)
def test_parameters_are_checked(model, message):
    with pytest.raises(ParameterError, match=message):
        model().fit([[0.0], [1.0]], [0, 1])


def test_a_model_that_starts_over_can_be_asked():
    X, y = changing()
    model = Restarting(OnlineBBM(Tree(3), 5, random_state=0), delta=0.05).fit(X, y)
    assert model.n_alarms_ > 1 and model.n_seen_ == 3000
    assert model.estimator_.n_seen_ == 3000 - model.alarms_[-1].example
    assert "The model, since then: Boosting" in model.verdict()
    assert str(model.report()) == str(model.estimator_.report())
    assert progressive_error(Restarting(Linear(), delta=0.05), X, y) < 0.5


def test_votes_for_classes_are_no_log_odds():
    with pytest.raises(ParameterError, match="models with log odds"):
        StackedEnsemble([ClassTree(3)]).fit(np.eye(3), [0, 1, 2])


def test_later_rows_in_time_order_are_answered_sensibly():
    """An id and a date, whose values are beyond any that were learned, must not lead linear parts astray."""
    X, y = houses(10_000, 40, 2)
    y /= np.exp(0.06 * X[:, 0] / 365)
    dear, with_id = y > np.median(y), np.column_stack([900_000 + np.arange(10_000), X])
    found, plain = (
        OnlineBoost("low", random_state=0).fit(x[:5000], dear[:5000]).score(x[5000:], dear[5000:])
        for x in (with_id, X[:, 1:])
    )
    assert found > plain - 0.01


def test_extreme_weights_of_several_classes_leave_answers_finite():
    """The factor of the stack overflows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 6)) * [1, 10, 1e-3, 1e6, 1, 1]
    score = X[:, 0] + 0.3 * rng.normal(size=800)
    y = np.digitize(score, np.quantile(score, [0.2, 0.4, 0.6, 0.8]))
    model = OnlineBoost(random_state=0).fit(X, y, np.full(800, 1e18))
    assert np.isfinite(model.predict_proba(X[:200])).all()


@pytest.mark.parametrize("seed", range(4))
def test_extreme_weights_leave_the_stack_of_classes_bounded(seed):
    """Where one class is certain there is no curvature, and one heavy example would move the weights by 1e17."""
    rng, n, rows, classes = np.random.default_rng(seed), 2, 400, 5
    weight, y = 10.0 ** rng.uniform(-300, 18, rows), rng.integers(0, classes, rows).astype(float)
    scores, answers = rng.choice([-6.0, 6.0], (n, rows, classes)), np.empty((rows, classes))
    stack, light, scales, record = new_stack(n, n), new_stack(1), new_scales(n), new_record(n)
    states = stack, light, scales, record
    Call(
        stack_classes,
        np.array([0, rows]),
        scores,
        y,
        weight,
        answers,
        *states,
        True,
        False,
        new_classes_work(n, classes),
    )()
    assert np.isfinite(answers).all()
    assert np.abs(stack.weights).max() <= 1e3 and np.abs(light.weights).max() <= 1e3


def test_a_given_limit_of_memory_is_said_once_when_it_is_reached():
    X = np.random.default_rng(0).normal(size=(6000, 60))
    y = X[:, :3].sum(axis=1) > 0
    small, large = (OnlineBoost("low", max_mb=mb, pairs=False, random_state=0) for mb in (1, None))
    with pytest.warns(MemoryWarning, match="max_mb=1") as caught:
        small.fit(X, y).partial_fit(X, y)
    assert len(caught) == 1
    large.fit(X, y).partial_fit(X, y)  # nothing is said
    assert 100_000 < small.n_bytes() < large.n_bytes() < 50_000_000
