"""Weak learners whose votes are written into the features, and which record what they are taught."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np


class Scripted:
    """River's interface. Copy i votes x[i]; its log says what it was taught, by the last feature: a number."""

    def __init__(self) -> None:
        self.numbers = itertools.count()
        self.log: dict[float, list[tuple[Any, float | None]]] = {}
        self.index = -1

    def clone(self) -> Scripted:
        copy = type(self)()
        copy.index = next(self.numbers)
        return copy

    def predict_one(self, x: dict[int, float]) -> int:
        return 1 if x[self.index] > 0 else -1

    def predict_proba_one(self, x: dict[int, float]) -> dict[int, float]:
        return {1: (1 + x[self.index]) / 2, -1: (1 - x[self.index]) / 2}

    def learn_one(self, x: dict[int, float], y: int, w: float | None = None) -> None:
        self.log.setdefault(x[max(x)], []).append((y, w))


class ScriptedClasses(Scripted):
    """Copy i votes for the class of which x[i] is the number: "a", "b", ..."""

    def predict_one(self, x: dict[int, float]) -> str:  # type: ignore[override]
        return "abcdefgh"[int(x[self.index])]


class ScriptedUnweighted(Scripted):
    """The same, but it takes no weights."""

    def learn_one(self, x: dict[int, float], y: int) -> None:  # type: ignore[override]
        self.log.setdefault(x[max(x)], []).append((y, None))


def make_votes(n: int, rounds: int, skill: float, likeness: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Votes that are right with probability skill, and copies of the first learner's with probability likeness."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(rounds) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0  # both labels at once
    right = rng.random((rounds, n)) < skill
    right = np.where(rng.random((rounds, n)) < likeness, right[:, :1], right)
    return np.where(right, y[:, None], -y[:, None]), y


def numbered(H: np.ndarray) -> np.ndarray:
    return np.column_stack([H, np.arange(len(H))])
