"""Calls are made again where a state that they use was replaced, and only there: the same bits for any batches."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from pairs import everything

from onlineboost import (
    AdaptiveRegressor,
    Linear,
    Newton,
    OnlineBoostRegressor,
    StackedEnsemble,
    Tree,
)
from onlineboost.engine.program import LEARNING
from onlineboost.engine.stage import Stage
from onlineboost.ensembles import resting
from onlineboost.ensembles.restarting import Restarting
from onlineboost.readers import open_stream


def rows(n: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(width).normal(size=(n, width))
    return X, (X[:, 0] > 0).astype(int)


def test_a_part_whose_states_stay_keeps_its_calls(monkeypatch):
    """The tree gets room at its first row, and its bins after 64."""
    built: Counter[tuple] = Counter()
    build = Stage.build

    def counted(stage: Stage) -> None:
        built[stage.path] += stage.mode.learning and not stage.mode.replaying
        build(stage)

    monkeypatch.setattr(Stage, "build", counted)
    StackedEnsemble([Linear(), Tree(3)], random_state=0).partial_fit(*rows(200, 3))
    assert built[(0,)] == 1
    assert built[(1,)] > 1


def test_the_first_batch_takes_slots_as_single_rows_do():
    """Of a row that takes the last slot, the further features are left out, in whatever batch it comes."""
    X, y = rows(60, 20)
    dicts = [({f"x{j}": float(x) for j, x in enumerate(row)}, int(label)) for row, label in zip(X, y, strict=True)]
    batch, single = (StackedEnsemble([Linear(), Newton(max_slots=8)], random_state=0) for _ in range(2))
    for page in open_stream(dicts):
        batch.learn(page)
    for x, label in dicts:
        single.learn_one(x, label)
    assert everything(batch) == everything(single)


@pytest.mark.parametrize("n", [1, 100])
def test_a_model_that_may_start_over_is_the_model_before_an_alarm(n):
    """Its inner node begins after 16 rows, in the midst of a batch: the rows after them have features."""
    X = np.random.default_rng(0).random((300, 3))
    y = np.sin(6 * X[:, 0]) + X[:, 1]
    models = OnlineBoostRegressor(random_state=0), AdaptiveRegressor(OnlineBoostRegressor(random_state=0))
    alone, around = (
        np.concatenate([model.progressive_fit(X[k : k + n], y[k : k + n]) for k in range(0, len(X), n)])
        for model in models
    )
    assert models[1].n_alarms_ == 0
    assert np.array_equal(alone, around)


def test_slots_after_a_restart_are_those_of_the_new_part():
    """With all slots taken, features that have slots of their own keep them, whatever the batches."""
    rng = np.random.default_rng(0)
    X = rng.random((2500, 8))
    y = (X[:, 0] > X[:, 1]).astype(int)
    y[450:] = 1 - y[450:]
    dicts = []
    for k, row in enumerate(X.tolist()):
        late = [f"late{j}" for j in rng.permutation(300)[:6]]  # more features than slots, after the alarm
        names = [f"x{j}" for j in range(8)] if k < 1000 else ["x0", "x1", *late]
        dicts.append((dict(zip(names, row, strict=True)), int(y[k])))
    answers = []
    for n in (50, 2500):
        model, scores = StackedEnsemble([Restarting(Linear(bits=8)), Linear(bits=8)], random_state=0), []
        for k in range(0, len(dicts), n):
            scores += [model.learn(page) for page in open_stream(dicts[k : k + n], like=model if k else None)]
        answers.append(np.concatenate(scores))
        assert model.n_alarms_ == 1
    assert np.array_equal(*answers)


def test_features_that_come_while_parts_rest_are_not_met(monkeypatch):
    """A gap in a new column has no slot in linear learners, which see rows alone: trees meet it in no batch."""
    for name, value in {"FIRST_LOOK": 96, "LOOK_EVERY": 64, "LENGTH": 256, "LONG_ROW": 1}.items():
        monkeypatch.setattr(resting, name, value)
    decide = resting.Rest.decide
    monkeypatch.setattr(resting.Rest, "decide", lambda rest, learned, *_: decide(rest, learned, 1.0, 1.0, False))
    X, y = rows(700, 3)
    dicts = [({f"x{j}": float(x) for j, x in enumerate(row)}, int(label)) for row, label in zip(X, y, strict=True)]
    for k in range(150, 300):
        dicts[k][0][f"late{k // 7 % 20}"] = float("nan")
    single, *batches = (StackedEnsemble([Linear(), Tree(3)], n_always_active=1, random_state=0) for _ in range(3))
    rests = 0
    for x, label in dicts:
        single.learn_one(x, label)
        rests += single.n_paused_
    assert 0 < rests < len(dicts)
    for model, n in zip(batches, (13, 700), strict=True):
        for k in range(0, len(dicts), n):
            for page in open_stream(dicts[k : k + n], like=model if k else None):
                model.learn(page)
        assert everything(model) == everything(single)


@pytest.mark.parametrize(("n_jobs", "shared"), [(1, True), (2, False)])
def test_committees_share_scratch_memory_where_one_comes_after_the_other(n_jobs, shared, monkeypatch):
    votes: list[np.ndarray] = []
    make = Stage.scratch

    def noted(stage: Stage, name: str, *shape) -> np.ndarray:
        found = make(stage, name, *shape)
        if name == "votes" and stage.mode == LEARNING and stage.table.capacity == 256:
            votes.append(found)
        return found

    monkeypatch.setattr(Stage, "scratch", noted)
    model = StackedEnsemble([Linear(), Linear("logistic")], random_state=0, n_jobs=n_jobs)
    model.partial_fit(*rows(200, 3))
    assert len(votes) >= 2
    assert (len({array.ctypes.data for array in votes}) == 1) == shared
