"""A forked child goes on with the models of its parent, whatever other threads of the parent were doing."""

from __future__ import annotations

import contextlib
import datetime
import os
import signal
import threading
import traceback
import warnings
from collections.abc import Callable

import numpy as np
import pytest

from onlineboost import Adaptive, ConflictError, ForkError, Linear, OnlineBBM, load
from onlineboost.readers import dicts, open_stream

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


def in_child(call: Callable[[], object]) -> str:
    """What a call returns in a forked child, or the error it raises, as text; the child is killed after 20 seconds."""
    ours, theirs = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.12 and later warn of forks beside threads
        child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(20)
            try:
                found = str(call())
            except Exception:
                found = traceback.format_exc().splitlines()[-1]
            os.write(theirs, found.encode())
        finally:
            os._exit(0)
    os.close(theirs)
    with open(ours, "rb") as pipe:
        found = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    assert status == 0, "the child waits for ever" if status == signal.SIGALRM else status
    return found


@contextlib.contextmanager
def held(*locks):
    """Another thread has locks."""
    inside, done = threading.Event(), threading.Event()

    def hold():
        with contextlib.ExitStack() as stack:
            for lock in locks:
                stack.enter_context(lock)
            inside.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait()
    try:
        yield
    finally:
        done.set()
        thread.join()


def made() -> OnlineBBM:
    model = OnlineBBM(n_estimators=3)
    for k in range(20):
        model.learn_one({"a": float(k % 5), "b": 1.0}, k % 2)
    return model


def learned(model) -> tuple[int, dict]:
    model.learn_one({"a": 1.0, "b": 2.0}, 1)
    return model.n_seen_, model.predict_proba_one({"a": 1.0})


@pytest.mark.parametrize("kind", ["reading", "turn", "pending"])
def test_locks_of_other_threads_are_free_in_a_child(kind):
    model, twin = made(), made()
    lock = model._fitted.lock
    with held({"reading": lock.reading, "turn": lock.turn(), "pending": model.pending.lock}[kind]):
        assert in_child(lambda: learned(model)) == str(learned(twin))
        assert in_child(lambda: model.tell(model.ask({"a": 1.0}), 1)) == "None"
    assert str(learned(model)) == str(learned(made()))  # and the parent goes on


def test_the_reader_of_dicts_is_free_in_a_child():
    class Word(str):
        """Left to the reader."""

    model, x = made(), {"a": 1.0, "day": datetime.date(2026, 1, 5), "word": Word("red")}
    expected = str(model.predict_proba_one(x))
    with held(dicts._LOCK):
        assert in_child(lambda: model.predict_proba_one(x)) == expected


def test_a_model_that_was_being_changed_says_so_in_a_child(tmp_path):
    model = made()
    model.save(tmp_path / "model")
    calls = [
        lambda: model.predict_one({"a": 1.0}),
        lambda: model.predict([{"a": 1.0}]),
        lambda: model.learn_one({"a": 1.0}, 1),
        lambda: model.save(tmp_path / "other"),
        lambda: in_child(lambda: model.predict_one({"a": 1.0})),
    ]
    with held(model._fitted.lock.turn(), model._fitted.lock.writing):
        for call in calls:
            found = in_child(call)
            assert "ForkError" in found and "load it from a file, or fork when nothing learns" in found
        assert in_child(lambda: learned(load(tmp_path / "model"))) == str(learned(made()))
    assert str(learned(model)) == str(learned(made()))


def test_a_writer_that_still_waits_has_changed_nothing():
    model = made()
    lock = model._fitted.lock
    with held(lock.reading):
        writer = threading.Thread(target=learned, args=(model,))
        writer.start()
        while lock.writer is None:
            pass
        assert in_child(lambda: learned(model)) == str(learned(made()))
    writer.join()


def test_a_callback_may_fork():
    """The child of a thread that learns may predict, as the thread itself."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = np.where(X[:, 0] > 0, 1, -1) * np.where(np.arange(3000) < 1500, 1, -1)
    found = []

    def drift(_):
        found.append(in_child(lambda: model.predict(X[:5]).size))
        found.append(in_child(lambda: model.partial_fit(X[:5], y[:5])))

    model = Adaptive(Linear(), on_drift=drift)
    model.fit(X, y)
    assert found[0] == "5" and ConflictError.__name__ in found[1]


def test_children_learn_with_several_threads(stream):
    X, y = np.tile(stream[0], (6, 1)), np.tile(stream[1], 6)

    def scores(model):
        return model.fit(X, y).decision_function(X).sum()

    model = OnlineBBM(n_estimators=20, n_jobs=2)
    expected = str(scores(model))
    with held(model._fitted.lock.reading):
        assert in_child(lambda: scores(model)) == expected


def test_a_stream_of_the_parent_is_refused(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("label,a\n" + "1,2\n0,3\n" * 5000)
    stream = open_stream(path)
    assert "open it here" in in_child(lambda: next(stream))
    assert in_child(stream.close) == "None"
    stream.close()
    assert issubclass(ForkError, RuntimeError)
