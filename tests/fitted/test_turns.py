"""Threads that learn take turns: each row is learned once, and the file is that of the rows in that order."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from onlineboost import (
    Adaptive,
    ConflictError,
    Linear,
    NaiveBayes,
    OnlineBBM,
    OnlineBoostRegressor,
    Pending,
    Tree,
    load,
)
from onlineboost.fitted.fitted import Fitted
from onlineboost.fitted.lock import SharedLock
from onlineboost.readers import open_stream

MODELS = {
    "tree": lambda: OnlineBBM(Tree(3, grace_period=8), 5, random_state=0),
    "bayes": lambda: OnlineBBM(NaiveBayes(), 3, random_state=0),
    "lags": lambda: OnlineBBM(Linear(), 5, random_state=0, lag=2, class_weight="balanced"),
    "adaptive": lambda: Adaptive(OnlineBBM(Tree(3, grace_period=8), 4, random_state=0), delta=0.9),
    "numbers": lambda: OnlineBoostRegressor(random_state=0),
}


def row(k: int) -> dict[str, float]:
    return {"a": float(k % 7), "b": float(k % 3), f"n{k // 3}": 1.0}


def label(k: int) -> str:
    """New ones come all along."""
    return f"k{k % min(2 + k // 20, 6)}"


def at_once(*calls: Callable[[], object]) -> None:
    """Each call in a thread of its own; all begin together."""
    problems: list[BaseException] = []
    ready = threading.Barrier(len(calls))

    def run(call: Callable[[], object]) -> None:
        ready.wait()
        try:
            call()
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    if problems:
        raise problems[0]


@pytest.mark.parametrize("name", MODELS)
def test_rows_of_several_threads_are_a_stream(name, monkeypatch, tmp_path):
    """From the first row on, which makes the states of the model."""
    turns, learn_one = [], Fitted.learn_one

    def noted(self, *example):
        learn_one(self, *example)
        turns.append(example)

    monkeypatch.setattr(Fitted, "learn_one", noted)
    model, again = MODELS[name](), MODELS[name]()
    rows = [(row(k), float(k % 9) if name == "numbers" else label(k)) for k in range(60)]
    at_once(*(lambda part=rows[k::3]: [model.learn_one(*example) for example in part] for k in range(3)))
    assert model.n_seen_ == len(turns) == 60
    for example in turns.copy():
        again.learn_one(*example)
    model.save(tmp_path / "model")
    again.save(tmp_path / "again")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "again").read_bytes()
    load(tmp_path / "model")


def test_all_ways_to_learn_take_turns(tmp_path):
    model = MODELS["bayes"]()

    def tables():
        for k in range(0, 40, 4):
            model.partial_fit([row(j) for j in range(k, k + 4)], [*"xy", label(k), label(k + 1)])

    def frames():
        for k in range(0, 40, 4):
            model.learn_many(pd.DataFrame([row(j) for j in range(k, k + 4)]).fillna(0), [label(k), *"uvw"])

    def tickets():
        for k in range(40):
            model.tell(model.ask(row(k)), label(k))

    def dicts():
        for k in range(40):
            model.learn_one(row(k), label(3 * k))

    at_once(tables, frames, tickets, dicts)
    assert model.n_seen_ == 160
    assert set(model.classes_) == {*"uvwxy", *(f"k{k}" for k in range(5))}
    assert not len(model.pending)
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").predict_proba_one(row(1)) == model.predict_proba_one(row(1))


def test_frames_with_new_labels_are_learned_by_two_threads():
    """A frame is read within the turn: labels get their codes one after the other."""
    frame = pd.DataFrame({"a": ["x", "y"] * 3, "b": np.arange(6.0)})
    for _ in range(5):
        model = OnlineBBM(NaiveBayes(), 3)
        for page in open_stream([({"a": "x", "b": 1.0}, "u"), ({"a": "y", "b": 2.0}, "v")]):
            model.learn(page)
        calls = [lambda y=y, model=model: model.partial_fit(frame, list(y)) for y in ("uvwxyz", "uvzyxw", "vuyzwx")]
        at_once(*calls)
        assert model.n_seen_ == 20 and model.classes_.tolist() == [*"uvwxyz"]


def test_a_model_is_fitted_by_one_thread_at_a_time(stream):
    """Of two that start over, one is first, and the other has the last word."""
    X, y = stream
    alone = [OnlineBBM(n_estimators=3).fit(X[part], y[part]) for part in (slice(200), slice(200, 400))]
    model = OnlineBBM(n_estimators=3)
    at_once(lambda: model.fit(X[:200], y[:200]), lambda: model.fit(X[200:], y[200:]))
    scores = [one.decision_function(X) for one in (model, *alone)]
    assert np.array_equal(scores[0], scores[1]) or np.array_equal(scores[0], scores[2])


def test_expired_tickets_are_learned_once():
    model = OnlineBBM(n_estimators=3)
    model.pending = Pending(max_pending=1, on_expire=("label", "late"))
    model.learn_one({"a": 1.0}, "here")
    at_once(*(lambda: [model.ask({"a": 1.0}) for _ in range(20)] for _ in range(3)))
    assert len(model.pending) == 1 and model.n_seen_ == 60


def test_code_that_makes_rows_may_learn():
    """Pages of a stream are read outside of turns."""
    model = OnlineBBM(n_estimators=3)

    def rows():
        for k in range(4):
            model.learn_one(row(k), k % 2)
            yield row(k), k % 2

    thread = threading.Thread(target=lambda: model.partial_fit(open_stream(rows())), daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive() and model.n_seen_ == 8


def test_learning_within_a_turn_is_an_error(monkeypatch):
    """A warning that is shown in Python code may call the model."""
    model = Linear().fit(np.eye(4), [0, 1, 0, 1])

    def learn_again(fitted: Fitted) -> None:
        model.learn_one({"0": 1.0}, 1)

    monkeypatch.setattr(Fitted, "warn", learn_again)
    with pytest.raises(ConflictError, match="may predict, but not learn"):
        model.partial_fit(np.eye(4), [0, 1, 0, 1])


def test_an_interrupted_reader_is_forgotten():
    """Ctrl-C while a prediction waits for a learner: the next learner must not wait for it."""
    lock = SharedLock()
    writing, done = threading.Event(), threading.Event()

    def write() -> None:
        with lock.turn(), lock.writing:
            writing.set()
            done.wait(10)

    writer = threading.Thread(target=write)
    writer.start()
    assert writing.wait(10)
    me = threading.get_ident()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever an interrupted test before has left
    threading.Timer(0.2, signal.pthread_kill, (me, signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt), lock.reading:
        pass
    done.set()
    writer.join(10)
    assert not writer.is_alive() and not lock.readers and not lock.waiting


def test_predictions_are_let_in_while_a_batch_is_learned():
    """Many times, and the model is the same as without."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 20)).astype(np.float32)
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    alone, model = (OnlineBBM(Tree(5), 11, random_state=0).fit(X[:100], y[:100]) for _ in range(2))
    alone.partial_fit(X, y)
    learner = threading.Thread(target=model.partial_fit, args=(X, y))
    seen = set()
    learner.start()
    while learner.is_alive():
        model.predict(X[:1])
        seen.add(model.n_seen_)
    learner.join()
    assert len(seen) > 5
    assert np.array_equal(model.scores(X[:50]), alone.scores(X[:50]))
