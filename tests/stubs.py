"""Weak learners whose votes are written into the features, and which record what they are taught."""

from __future__ import annotations

import itertools
from typing import Any


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


class ScriptedUnweighted(Scripted):
    """The same, but it takes no weights."""

    def learn_one(self, x: dict[int, float], y: int) -> None:  # type: ignore[override]
        self.log.setdefault(x[max(x)], []).append((y, None))
