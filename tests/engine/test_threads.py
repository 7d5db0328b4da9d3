"""One thread learns, any number predict: no crash, and every answer is that of a state the model went through."""

from __future__ import annotations

import signal
import sys
import threading

import joblib
import numpy as np
import pytest
from sklearn.inspection import permutation_importance

from onlineboost import (
    Adaptive,
    ConflictError,
    Copies,
    DefensiveBoost,
    Linear,
    NaiveBayes,
    OnlineBBM,
    Perceptron,
    SafeBoost,
    Stump,
    Tree,
    load,
)
from onlineboost.engine.program import run_batch
from onlineboost.ensembles.restarting import Restarting
from onlineboost.fitted.dicts import named_row
from onlineboost.storage import model_file

MODELS = {
    "linear": lambda: OnlineBBM(n_estimators=5),
    "standardized": lambda: OnlineBBM(Linear(standardize=True), 5),
    "crossed": lambda: Linear(crosses=True, bits=8),
    "perceptron": lambda: OnlineBBM(Perceptron(), 5, random_state=0),
    "bayes": lambda: SafeBoost(NaiveBayes(max_slots=64), 9, random_state=0),
    "stump": lambda: OnlineBBM(Stump(grace_period=4, max_slots=64), 5, random_state=0),
    "tree": lambda: DefensiveBoost(Tree(3, grace_period=4, max_slots=64), 5, random_state=0),
    "stack": lambda: OnlineBBM(n_estimators=5, head="stack"),
    "adaptive": lambda: Adaptive(OnlineBBM(Tree(3, grace_period=4, max_slots=64), 5, random_state=0), delta=0.9),
    "copies": lambda: OnlineBBM(Copies(Linear()), 3),
}
ROWS, NEW = 110, 40


def row(k: int) -> tuple[dict[str, float], int]:
    """Every row brings forty names that were never met."""
    return {"a": float(k % 7 - 3), "b": float(k % 5)} | {f"{k}-{j}": 1.0 + k % 3 for j in range(NEW)}, int(k % 7 > 2)


# With the names of some of these rows the arrays grow to the next power of two.
PROBE = {"a": 1.0, "b": 2.0} | {f"{k}-{j}": 1.0 for k in (1, 3, 6, 12, 25, 51, 102) for j in range(0, NEW, 4)}


def answers_while(learn, ask, threads: int = 3) -> list[float]:
    """What is answered by several threads while another learns."""
    done = threading.Event()
    found: list[list[float]] = [[] for _ in range(threads)]
    problems: list[BaseException] = []

    def predict(mine: list[float]) -> None:
        try:
            while not done.is_set():
                mine.append(ask())
        except BaseException as problem:
            problems.append(problem)

    workers = [threading.Thread(target=predict, args=(mine,)) for mine in found]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for worker in workers:
            worker.start()
        learn()
    finally:
        done.set()
        for worker in workers:
            worker.join()
        sys.setswitchinterval(interval)
    assert not problems
    return [answer for mine in found for answer in mine]


@pytest.mark.parametrize("name", MODELS)
def test_one_thread_learns_new_names_while_others_predict(name):
    steps = MODELS[name]()
    states = []
    for k in range(ROWS):
        steps.learn_one(*row(k))
        states.append(steps.decision_one(PROBE))
    model = MODELS[name]()
    model.learn_one(*row(0))
    found = answers_while(lambda: [model.learn_one(*row(k)) for k in range(1, ROWS)], lambda: model.decision_one(PROBE))
    assert set(found) <= set(states)
    assert len(set(found)) > 1
    assert model.decision_one(PROBE) == states[-1]


@pytest.mark.parametrize("name", ["linear", "stack", "tree"])
def test_probabilities_are_those_of_one_state(name):
    """Scores and what makes probabilities of them are read together."""
    steps, model, states = MODELS[name](), MODELS[name](), []
    for k in range(ROWS):
        steps.learn_one(*row(k))
        states.append(steps.predict_proba_one(PROBE).get(1))
    for k in range(4):  # then both labels are known
        model.learn_one(*row(k))
    found = answers_while(
        lambda: [model.learn_one(*row(k)) for k in range(4, ROWS)], lambda: model.predict_proba_one(PROBE)[1]
    )
    assert set(found) <= set(states)


def test_batches_are_learned_while_others_predict(stream):
    X, y = stream
    parts = [slice(k, k + 10) for k in range(0, 400, 10)]

    def make():
        return SafeBoost(Tree(3, grace_period=8), 9, random_state=0)

    steps, states = make(), []
    for part in parts:
        steps.partial_fit(X[part], y[part], classes=[-1, 1])
        states.append(tuple(steps.decision_function(X[:3]).tolist()))
    model = make().partial_fit(X[parts[0]], y[parts[0]], classes=[-1, 1])
    found = answers_while(
        lambda: [model.partial_fit(X[part], y[part]) for part in parts[1:]],
        lambda: tuple(model.decision_function(X[:3]).tolist()),
    )
    assert set(found) <= set(states)


def test_models_start_over_while_others_predict():
    """Alarms come on two threads that learn; each answer is that of one state."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3))
    y = np.where(X[:, 0] > 0, 1, -1) * np.where(np.arange(6000) // 1500 % 2, 1, -1)
    parts = [slice(k, k + 250) for k in range(0, 6000, 250)]

    def make():
        return Adaptive(OnlineBBM(Linear(), 4), delta=0.5, n_jobs=2).partial_fit(X[:50], y[:50])

    steps, states = make(), set()
    states.add(tuple(steps.decision_function(X[:3]).tolist()))
    for part in parts:
        states.add(tuple(steps.partial_fit(X[part], y[part]).decision_function(X[:3]).tolist()))
    model = make()
    found = answers_while(
        lambda: [model.partial_fit(X[part], y[part]) for part in parts],
        lambda: tuple(model.decision_function(X[:3]).tolist()),
    )
    assert set(found) <= states and model.n_alarms_ == steps.n_alarms_ > 0


def test_the_model_inside_is_that_of_one_state():
    """Its arrays are taken and copied together: room for new names replaces some of them."""
    model, found = Restarting(Linear()), []
    for k in range(5):
        model.learn_one(*row(k))
    fitted = model._fitted
    with fitted.lock.turn(), fitted.lock.writing:
        thread = threading.Thread(target=lambda: found.append(model.estimator_))
        thread.start()
        while thread.is_alive() and not fitted.lock.waiting:
            pass
        for k in range(5, 30):
            example, _ = named_row(row(k)[0], fitted.columns, True)
            run_batch(fitted.root, example, True)
    thread.join()
    assert found[0].decision_one(PROBE) == model.estimator_.decision_one(PROBE)


def test_many_predict_at_the_same_time():
    """Two threads are within the model at once: neither waits for the other."""
    model = OnlineBBM(n_estimators=3).fit(np.eye(4), [0, 1, 0, 1])
    inside = threading.Barrier(2, timeout=10)

    def ask():
        with model._fitted.lock.reading:
            inside.wait()

    other = threading.Thread(target=ask)
    other.start()
    ask()
    other.join()


def test_a_callback_may_ask_the_model_that_is_learning():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3))
    y = np.where(X[:, 0] > 0, 1, -1) * np.where(np.arange(6000) < 3000, 1, -1)
    asked = []
    model = Adaptive(Linear(), on_drift=lambda alarm: asked.append(model.predict(X[:5])))
    model.fit(X, y)
    assert asked


def test_a_callback_that_learns_is_refused():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3))
    y = np.where(X[:, 0] > 0, 1, -1) * np.where(np.arange(6000) < 3000, 1, -1)
    model = Adaptive(Linear(), on_drift=lambda alarm: model.partial_fit(X[:5], y[:5]))
    with pytest.raises(ConflictError, match="may predict, but not learn"):
        model.fit(X, y)
    model.partial_fit(X[:5], y[:5])  # and nothing stays locked


class Stop(BaseException):
    """An interrupt."""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers that send signals")
def test_an_interrupt_leaves_nothing_locked():
    """Ctrl-C at any place in learning or predicting: the next call does not hang."""
    model, armed = OnlineBBM(n_estimators=3), threading.Event()
    model.learn_one({"a": 1.0, "b": 1.0}, 1)  # compiled before
    model.learn_one({"a": 1.0, "b": 0.0}, 1)
    model.predict_one({"a": 1.0})

    def stop(*signal_and_frame):
        if armed.is_set():
            armed.clear()
            raise Stop

    old = signal.signal(signal.SIGALRM, stop)
    rng, stopped = np.random.default_rng(0), 0
    try:
        for _ in range(400):
            try:
                armed.set()
                signal.setitimer(signal.ITIMER_REAL, float(rng.uniform(2e-5, 4e-4)))
                for k in range(50):
                    model.learn_one({"a": 1.0, "b": float(k % 3)}, k % 2)
                    model.predict_one({"a": 1.0})
                armed.clear()
            except Stop:
                stopped += 1
    finally:
        armed.clear()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert stopped > 50
    for learning in (threading.Thread(target=model.learn_one, args=({"a": 1.0}, 1), daemon=True) for _ in range(2)):
        model.predict_one({"a": 1.0})
        learning.start()
        learning.join(10)
        assert not learning.is_alive()
    model.learn_one({"a": 1.0}, 1)


@pytest.mark.parametrize("name", [name for name in MODELS if name != "crossed"])
def test_read_only_models_predict_and_go_on(name, stream, tmp_path):
    """Arrays of a memory map cannot be written: what is loaded so predicts, and even learns, with the same bits."""
    X, y = stream
    model = MODELS[name]().fit(X[:300], y[:300])
    joblib.dump(model, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    assert np.array_equal(mapped.decision_function(X), model.decision_function(X))
    assert np.array_equal(mapped.progressive_fit(X[300:], y[300:]), model.progressive_fit(X[300:], y[300:]))


def test_read_only_rows_are_learned(stream):
    X, y = stream[0].copy(), stream[1].copy()
    X.flags.writeable = y.flags.writeable = False
    assert np.array_equal(OnlineBBM().progressive_fit(X, y), OnlineBBM().progressive_fit(*stream))


def test_permutation_importance_in_two_processes(stream):
    """joblib hands large arrays to its workers as read-only memory maps; so large are those of a tree."""
    X, y = stream
    model = OnlineBBM(Tree(5), 5, random_state=0).fit(X, y)
    alone, two = (permutation_importance(model, X, y, n_repeats=2, random_state=0, n_jobs=n) for n in (1, 2))
    assert np.array_equal(alone.importances, two.importances)


def test_learning_goes_on_while_a_model_is_written(stream, tmp_path, monkeypatch):
    model = OnlineBBM(n_estimators=3).fit(*stream)
    expected = model.decision_function(stream[0])
    finished = []

    def slow(path, content):
        thread = threading.Thread(target=model.partial_fit, args=stream)
        thread.start()
        thread.join(20)
        finished.append(not thread.is_alive())
        path.write_bytes(content)

    monkeypatch.setattr(model_file, "write", slow)
    model.save(tmp_path / "m")
    assert finished == [True]
    assert np.array_equal(load(tmp_path / "m").decision_function(stream[0]), expected)


def test_a_pickle_holds_copies(stream):
    """Pickle reads the arrays after the lock was given back: they must not be those that are learned."""
    fitted = OnlineBBM(n_estimators=3).fit(*stream)._fitted
    copied = fitted.__getstate__()["root"].arrays()
    assert not any(np.shares_memory(copied[name], array) for name, array in fitted.root.arrays().items())
