"""Calls are made again only where a state that they use was replaced."""

from __future__ import annotations

from collections import Counter

import numpy as np
from pairs import everything

from onlineboost import Linear, Newton, StackedEnsemble, Tree
from onlineboost.engine.stage import Stage
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
