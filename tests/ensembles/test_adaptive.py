"""Streams that change: ADWIN, learners that forget, and the model beside a fast learner."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import reference
from numba import njit
from pairs import everything

import onlineboost
from conftest import ROOT
from onlineboost import (
    AdaBoostOL,
    Adaptive,
    Alarm,
    Copies,
    DataError,
    Linear,
    NaiveBayes,
    OnlineBBM,
    ParameterError,
    Perceptron,
    SafeBoost,
    Stump,
    Tree,
)
from onlineboost.compiled import dispatch
from onlineboost.compiled.block import Call
from onlineboost.compiled.cache import cache_directory
from onlineboost.datasets import load_letter
from onlineboost.loop import adwin as drift

LEARNERS = [
    Linear("logistic", power_t=0.4, bins=8, crosses=True, bits=10),
    Perceptron(),
    NaiveBayes(),
    Stump(),
    Tree(6, grace_period=8, max_mb=1, max_slots=256, bins=64),
]


def changing(n: int = 3000, every: int = 700, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A linear rule that becomes its opposite time and again."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).astype(np.float32)
    y = np.where(X @ np.arange(1, 6) > 0, 1, -1) * np.where(np.arange(n) // every % 2, -1, 1)
    return X, y


def watched(mistakes: np.ndarray, delta: float) -> list[int]:
    """The examples of the compiled ADWIN's alarms."""
    windows = drift.new_windows(1)
    scores, ones, found = np.where(mistakes, -1.0, 1.0), np.ones(len(mistakes)), []
    examples, span, stop = np.zeros(1, np.int64), np.array([0, len(mistakes)]), np.zeros(1, np.int64)
    watch = Call(drift.watch_rows, span, windows, examples, scores, ones, ones, delta, True, stop)
    while watch.run():
        span[0] = stop[0]
        found.append(int(examples[0]))
    assert [example for example, _ in drift.alarms(windows)] == found[-drift.LOG :]
    return found


@pytest.mark.parametrize("delta", [0.9, 0.1, 0.002])
def test_adwin_is_that_of_the_paper(delta):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rates = np.repeat(rng.choice([0.05, 0.1, 0.3, 0.5], size=12), rng.integers(50, 900, size=12))
        mistakes = rng.random(len(rates)) < rates
        slow, expected = reference.Adwin(delta), []
        for t, mistake in enumerate(mistakes, 1):
            if slow.rose(bool(mistake)):
                expected.append(t)
                slow = reference.Adwin(delta)
        assert watched(mistakes, delta) == expected
        assert expected


def test_adwin_says_nothing_of_improvement_or_chance():
    rng = np.random.default_rng(0)
    falling = rng.random(20_000) < np.linspace(0.5, 0.01, 20_000)
    assert watched(falling, 0.002) == []
    assert sum(len(watched(rng.random(20_000) < 0.2, 0.002)) for _ in range(20)) <= 1


def test_adwin_sees_a_rise_soon():
    rng = np.random.default_rng(1)
    found = watched(rng.random(20_000) < np.where(np.arange(20_000) < 10_000, 0.1, 0.3), 0.002)
    assert 10_000 < found[0] < 10_400


@njit
def forget(committee, i):
    dispatch.forget(committee, i)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_a_learner_that_forgot_is_a_new_one(learner):
    """It goes on as one that joins the committee then. Bins come from the others, and scales of Newton."""
    X, y = changing(900, every=10_000)
    forgetful = OnlineBBM(learner, 3, random_state=0).fit(X[:600], y[:600])
    joined, as_before = copy.deepcopy(forgetful), copy.deepcopy(forgetful)
    node = joined._fitted.root
    one, committee = node.learner, node.committee
    parts = one.apart(committee, 0, 1), one.further(committee, 1, node.n_slots), one.apart(committee, 2, 3)
    node.committee = one.joined([*parts], [1, 1, 1])
    forget(forgetful._fitted.root.committee, 1)
    scores = [model.progressive_fit(X[600:], y[600:]) for model in (forgetful, joined, as_before)]
    assert np.array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])


class ForgottenState(NamedTuple):
    counts: np.ndarray


def count(state, i):
    state.counts[i] += 1


dispatch.register(dispatch.forget, ForgottenState, count)


@njit
def watch(state, committee, votes, answers, y):
    for t in range(len(y)):
        dispatch.watch(state, committee, votes[t], answers[t], y[t], t + 1)


@pytest.mark.parametrize("seed", range(5))
def test_learners_forget_when_answers_became_worse_too(seed):
    rng = np.random.default_rng(seed)
    n, T, delta = 3, 12_000, 0.05

    def rises() -> np.ndarray:
        """Chances of a mistake that change some times."""
        return np.repeat(rng.choice([0.1, 0.2, 0.4], size=6), T // 6)

    answers_rise = np.repeat([0.1, 0.4, 0.2, 0.2, 0.4, 0.1], T // 6)
    chances = np.stack([answers_rise, rises(), np.maximum(answers_rise, rises()), answers_rise], axis=1)
    votes = np.where(rng.random(chances.shape) < chances, -1.0, 1.0)  # y is 1
    windows, last = [reference.Adwin(delta / (n + 1)) for _ in range(n + 1)], [0] * (n + 1)
    expected, lonely = [], 0
    for t in range(1, T + 1):
        for k in range(n + 1):
            if windows[k].rose(bool(votes[t - 1, k] < 0)):
                last[k] = t
        for i in range(n):
            if t % 32 == 0 and last[i] and last[n] and abs(last[i] - last[n]) <= 1024:
                expected.append((t, i))
                windows[i], last[i] = reference.Adwin(delta / (n + 1)), 0
            lonely += last[i] == t
    state, committee = drift.new_watch(n, delta), ForgottenState(np.zeros(n, np.int64))
    watch(state, committee, np.ascontiguousarray(votes[:, :n]), votes[:, n].copy(), np.ones(T))
    assert drift.alarms(state) == expected
    assert committee.counts.tolist() == [sum(i == k for _, i in expected) for k in range(n)]
    assert expected
    assert lonely


def test_each_learner_is_watched_by_itself():
    X, y = changing(4000, every=2000)
    model = Adaptive(OnlineBBM(Tree(3), 5, delivery="weight"), reset="learners").fit(X, y)
    assert {alarm.learner for alarm in model.alarms_} == set(range(5))
    assert all(2000 < alarm.example < 2500 and alarm.example % drift.BLOCK == 0 for alarm in model.alarms_[:5])
    assert [alarm.example for alarm in model.alarms_] == sorted(alarm.example for alarm in model.alarms_)


@pytest.mark.parametrize(
    "model", [OnlineBBM(Tree(3, grace_period=8), 5, random_state=1), SafeBoost(Linear(), 6), NaiveBayes()], ids=repr
)
def test_adaptive_is_its_slow_twin(model):
    X, y = changing(1600, every=400)
    weight = np.random.default_rng(3).choice([0.25, 1.0, 3.0], size=len(y))
    compare(model, X, y, weight)


def compare(model, X, y, weight, least: int = 3) -> None:
    events: list[Alarm] = []
    adaptive = Adaptive(model, delta=0.1, on_drift=events.append)
    part = reference.Restarting(model.clone, delta=0.1)
    fast = Linear(standardize=True, learning_rate=32.0)
    slow = reference.Ensemble([part, fast], [isinstance(model, SafeBoost), False], 2)
    expected = [slow.progressive(*row) for row in zip(X, y, weight, strict=True)]
    np.testing.assert_allclose(adaptive.progressive_fit(X, y, weight), expected, rtol=1e-6, atol=1e-9)
    assert [Alarm(t, None) for t in part.alarms] == events == adaptive.alarms_
    assert len(events) >= least
    assert adaptive.n_seen_ == len(y)


@pytest.mark.parametrize("reset", ["all", "learners"])
@pytest.mark.parametrize("rows", [1, 100, 1024, 1500])
def test_batches_and_files_do_not_matter_where_there_are_alarms(reset, rows, tmp_path):
    """Promises 1 and 2, with a model that starts anew in the midst of a batch."""
    X, y = changing()
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.5], size=len(y))

    def new(events: list[Alarm]) -> Adaptive:
        return Adaptive(AdaBoostOL(Tree(3), 5, random_state=2), reset=reset, delta=0.05, on_drift=events.append)

    events: list[Alarm] = []
    whole, parts = new(events), new([])
    scores = whole.progressive_fit(X, y, weight)
    pieces = []
    for start in range(0, len(y), rows):
        pieces.append(
            parts.progressive_fit(
                X[start : start + rows], y[start : start + rows], weight[start : start + rows], classes=[-1, 1]
            )
        )
        if start == 1500 // rows * rows:
            parts.decision_function(X[:50])  # changes nothing
            parts.save(tmp_path / "model")
            parts = onlineboost.load(tmp_path / "model")
    assert np.array_equal(np.concatenate(pieces), scores)
    assert parts.alarms_ == whole.alarms_ == events
    assert events
    for file, model in (("whole", whole), ("parts", parts)):
        model.save(tmp_path / file)
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "parts").read_bytes()


def test_every_alarm_is_told_once_whatever_the_batches(tmp_path):
    """More than the log remembers; and a listener that came after loading."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 2)).astype(np.float32)
    y = np.where(X[:, 0] > 0, 1, -1) * np.where(np.arange(len(X)) // 200 % 2, -1, 1)
    found = []
    for rows in (len(y), 5_000):
        events: list[Alarm] = []
        model = Adaptive(NaiveBayes(), delta=0.9, on_drift=events.append)
        for start in range(0, len(y), rows):
            model.partial_fit(X[start : start + rows], y[start : start + rows])
        assert len(events) == model.n_alarms_ > drift.LOG
        assert events[-drift.LOG :] == model.alarms_
        found.append(events)
    assert found[0] == found[1]
    model.save(tmp_path / "m")
    later: list[Alarm] = []
    loaded = onlineboost.load(tmp_path / "m").set_params(on_drift=later.append)
    loaded.partial_fit(X[:5000], y[:5000])
    assert len(later) == loaded.n_alarms_ - model.n_alarms_ > 0


def test_a_seed_that_was_drawn_is_kept_when_the_model_starts_anew(tmp_path):
    X, y = changing()
    model = Adaptive(OnlineBBM(Tree(3), 5, delivery="sample"), delta=0.05).partial_fit(X[:400], y[:400])
    model.save(tmp_path / "m")
    loaded = onlineboost.load(tmp_path / "m")
    assert np.array_equal(model.progressive_fit(X[400:], y[400:]), loaded.progressive_fit(X[400:], y[400:]))
    assert model.n_alarms_ == loaded.n_alarms_ > 0


def test_dicts_with_new_features_and_alarms():
    """A model that starts anew knows all features that were ever met."""
    X, y = changing(2000)
    model, columns = Adaptive(OnlineBBM(Linear(), 5), delta=0.1), Adaptive(OnlineBBM(Linear(), 5), delta=0.1)
    for t, (x, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        model.learn_one({"c": x[0], f"new{t % 40}": 1.0, "a": x[1], "b": x[2]}, label)
    assert model.n_alarms_ >= 1
    assert model.n_features_in_ == 43
    scores = columns.progressive_fit(X, y)
    assert columns.n_alarms_ and np.isfinite(scores).all()


def test_named_crosses_survive_an_alarm():
    pd = pytest.importorskip("pandas")
    X, y = changing(2000)
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = Adaptive(OnlineBBM(Linear(crosses=[("a", "b")], bits=8), 5), delta=0.1)
    model.fit(frame, y)
    assert model.n_alarms_ >= 1
    assert model.columns_not_met() == []
    assert (model._fitted.root.committees[0].transforms[0].column > 0).sum() == 2


def test_it_follows_changes_and_costs_next_to_nothing_without():
    X, y = load_letter()

    def error(model, labels) -> float:
        return float(((model.progressive_fit(X, labels) >= 0) != (labels > 0)).mean())

    turned = np.where(np.arange(len(y)) < 10_000, y, -y)
    for reset in ("all", "learners"):
        model = OnlineBBM(Tree(5), random_state=0)
        assert error(Adaptive(model, reset=reset), turned) < 0.6 * error(model.clone(), turned)
        assert error(Adaptive(model, reset=reset), y) < error(model.clone(), y) + 0.003


def test_probabilities_of_an_adaptive_model():
    X, y = changing(every=1000)
    model = Adaptive(OnlineBBM(Tree(3), 5, random_state=0)).fit(X, y)
    chances = model.predict_proba(X[-500:])[:, 1]
    assert np.array_equal(chances >= 0.5, model.predict(X[-500:]) > 0)
    loss = -np.log(np.where(y[-500:] > 0, chances, 1 - chances)).mean()
    assert loss < 0.45


def test_what_is_inside_can_be_asked():
    X, y = changing()
    model = Adaptive(OnlineBBM(Tree(3), 5, random_state=0), delta=0.05).fit(X, y)
    assert model.n_alarms_ > 1
    assert f"Concept drift: {model.n_alarms_} alarms, the last after" in model.verdict()
    assert "The model without the fast learner, since then: Boosting" in model.verdict()
    inside = model.estimator_
    assert inside.n_seen_ == 3000 - model.alarms_[-1].example
    assert str(model.report()) == str(inside.report())
    assert model.n_features_seen() == 5
    assert "No drift alarms. Boosting" in Adaptive(OnlineBBM(n_estimators=5)).fit(*load_letter()).verdict()
    assert Adaptive(OnlineBBM(n_estimators=5), reset="none").fit(X, y).verdict().startswith("Boosting")
    alone = Adaptive(Tree(3), delta=0.05).fit(X[:1000], y[:1000])
    assert alone.verdict() == f"Concept drift: 1 alarm, the last after {alone.alarms_[0].example} examples."
    with pytest.raises(ParameterError, match="a single learner has no report"):
        alone.report()


def test_rows_too_long_for_the_fast_learner():
    with pytest.raises(DataError, match="too many to cross all pairs"):
        Adaptive(NaiveBayes(), fast=Linear(crosses=True)).fit(np.ones((2, 5000)), [0, 1])


OUTSIDE = """
import numpy as np
from mine import Plain
from onlineboost import Adaptive, OnlineBBM
X, y = np.eye(4), [0, 1, 0, 1]
OnlineBBM(Plain(), 3).fit(X, y)
"""
INSIDE = (
    OUTSIDE.replace("mine import Plain", "onlineboost import Linear as Plain")
    + """
Adaptive(OnlineBBM(Plain(), 3), reset="learners").fit(X, y)
"""
)


def test_learners_from_outside_leave_nothing_in_the_cache(tmp_path):
    """What is compiled for them would name their classes, which other programs do not have."""
    page = (ROOT / "docs/write-your-own-learner.md").read_text()
    lines = [line[4:] for line in page.splitlines() if line.startswith((">>> ", "... "))]
    start, stop = (next(k for k, line in enumerate(lines) if word in line) for word in ("import", "progressive_error"))
    (tmp_path / "mine.py").write_text("\n".join(lines[start:stop]).replace("OnlineBBM, ", ""))
    for script in (OUTSIDE, INSIDE):
        path = [str(tmp_path)] if script is OUTSIDE else []
        environment = {**os.environ, "ONLINEBOOST_QUIET": "1"}
        environment["PYTHONPATH"] = os.pathsep.join([*path, *sys.path])
        found = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
        assert found.returncode == 0, found.stderr[-1500:]
    caches = list(Path(cache_directory()).glob("onlineboost.*"))
    assert caches and not any(b"mine" in path.read_bytes() for path in caches if b"PlainState" in path.read_bytes())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"reset": "some"}, "reset"),
        ({"delta": 0}, "delta"),
        ({"on_drift": 3}, "on_drift"),
        ({"fast": OnlineBBM()}, "fast"),
        ({"fast": Linear(crosses=[("a", "b")])}, "crosses='a'"),
        ({"estimator": "tree"}, "estimator"),
        ({"estimator": Adaptive()}, "does not adapt itself"),
        ({"estimator": OnlineBBM(Copies(Linear()))}, "compiled learners"),
        ({"estimator": OnlineBBM(gamma=3.0)}, "gamma"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(ParameterError, match=message):
        Adaptive(**parameters).fit([[0.0], [1.0]], [0, 1])


def test_what_is_inside_is_a_copy():
    """It once shared the names, and read beyond its arrays when the model had learned more of them."""
    model = Adaptive(OnlineBBM(n_estimators=3))
    for k in range(50):
        model.learn_one({"a": k % 3, "b": 1.0}, k % 2)
    inside = model.estimator_
    before = inside.decision_one({"a": 1.0})
    for k in range(300):
        model.learn_one({f"new {k}": 1.0}, k % 2)
    assert inside.decision_one({"a": 1.0, "new 299": 5.0}) == before
    inside.learn_one({"other": 1.0}, 1)
    assert (inside.n_features_in_, model.n_features_in_) == (3, 302)


def test_a_failure_to_make_room_leaves_the_model_as_it_was(monkeypatch, tmp_path):
    model = Adaptive(OnlineBBM(Perceptron(), 3))
    for k in range(20):
        model.learn_one({"a": k % 3, "b": 1.0}, k % 2)

    def no_memory(*_):
        raise MemoryError

    expected = everything(model)
    with monkeypatch.context() as patched:
        patched.setattr(Linear, "grow", no_memory)  # of the fast learner, after the model was asked
        with pytest.raises(MemoryError):
            model.learn_one({f"new {k}": 1.0 for k in range(40)}, 1)
    assert everything(model) == expected
    model.save(tmp_path / "m")
    assert onlineboost.load(tmp_path / "m").decision_one({"a": 1.0}) == model.decision_one({"a": 1.0})


def test_a_verdict_leaves_the_programs_of_the_model_alone():
    """Of three classes; it once made nodes forget their programs, which then wrote beyond arrays that had grown."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 40))
    y = np.argmax(X[:, :3], axis=1)
    scores = []
    for asked in (False, True):
        model = Adaptive(OnlineBBM(Tree(3, max_slots=64), 3, random_state=0))
        model.partial_fit([{f"x{j}": row[j] for j in range(4)} for row in X[:300]], y[:300])
        if asked:
            assert model.verdict()
        model.partial_fit([{f"x{j}": row[j] for j in range(40)} for row in X[300:]], y[300:])
        scores.append(model.scores([{f"x{j}": row[j] for j in range(40)} for row in X[:50]]))
    assert np.array_equal(*scores)
