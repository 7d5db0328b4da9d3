"""States that a model has replaced are not kept in memory by what threads keep from row to row."""

from __future__ import annotations

import threading
import weakref

import numpy as np
import pytest

from onlineboost import Adaptive, ClassTree, Linear, OnlineBBM, OnlineBoost, OnlineMBBM, Tree

MODELS = {
    "bbm": lambda: OnlineBBM(Tree(3, max_slots=64), 3, random_state=0),
    "standardized": lambda: Linear(standardize=True),
    "ensemble": lambda: OnlineBoost("low", random_state=0),
    "classes": lambda: OnlineMBBM(ClassTree(3, max_slots=64), 3, random_state=0),
}


def rows(n: int, width: int) -> tuple[list[dict[str, float]], np.ndarray]:
    X = np.random.default_rng(width).normal(size=(n, width))
    return [{f"x{j}": float(x) for j, x in enumerate(row)} for row in X], (X[:, 0] > 0).astype(int)


def committees(model) -> list[weakref.ref]:
    """The largest array of each committee."""
    states = [leaf.committee for leaf in model._fitted.root.committees]
    arrays = ([value for value in state if isinstance(value, np.ndarray)] for state in states)
    return [weakref.ref(max(mine, key=lambda array: array.nbytes)) for mine in arrays]


@pytest.mark.parametrize("kind", MODELS)
def test_states_that_were_replaced_are_freed(kind):
    X, y = rows(600, 3)
    model = MODELS[kind]().partial_fit(X, y)

    def ask() -> None:
        model.predict(X[:5])
        for x in X[:4]:
            model.predict_one(x)

    asked, go, end = threading.Event(), threading.Event(), []

    def another() -> None:  # it asks once, and lives on
        ask()
        asked.set()
        go.wait(60)
        end.append(model.predict_one(X[0]))

    thread = threading.Thread(target=another)
    thread.start()
    asked.wait(60)
    ask()
    for x, label in zip(X[:40], y[:40], strict=True):
        model.learn_one(x, label)
    old = committees(model)
    for width in (40, 41):
        wide, labels = rows(8, width)
        model.partial_fit(wide, labels)
    alive = [ref() for ref in old]
    now = [ref() for ref in committees(model)]
    replaced = [array is None or all(array is not mine for mine in now) for array in alive]
    assert any(replaced)
    assert [array for array, gone in zip(alive, replaced, strict=True) if gone and array is not None] == []
    go.set()
    thread.join()
    assert end == [model.predict_one(X[0])]


def test_a_model_that_starts_over_frees_what_it_had_learned():
    X, y = rows(4000, 3)
    model = Adaptive(OnlineBBM(Tree(3, max_slots=64), 3, random_state=0)).partial_fit(X, y)
    for x, label in zip(X[:40], y[:40], strict=True):
        model.predict_one(x)
        model.learn_one(x, label)
    old, _ = committees(model)
    for x, label in zip(X, y, strict=True):
        model.learn_one(x, 1 - label)
        if model.n_alarms_:
            break
    assert model.n_alarms_ == 1
    assert old() is None
