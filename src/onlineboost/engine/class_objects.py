"""Committees of Python objects that vote for classes: any classifier of River or scikit-learn."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from onlineboost.compiled import draws
from onlineboost.compiled.jit import njit
from onlineboost.data.batch import Floats, Floats32
from onlineboost.engine.objects import ObjectCommittee, ObjectRows
from onlineboost.loop.class_tally import Tally, TemperatureHead, correct, hear, new_tally, note, settle, weigh, write
from onlineboost.loop.record import Record
from onlineboost.loop.temperature import probabilities


@njit
def _heard(booster: Any, tally: Tally, number: int, answer: Floats) -> None:
    hear(booster, tally, number)
    write(tally.scores, answer)


@njit
def _weighed(booster: Any, record: Record, tally: Tally, y: int, weight: float, p: Floats, t: Floats32) -> None:
    weigh(booster, tally, y, record.clock[0], p, t)
    for i in range(p.size):
        p[i] *= weight
    note(record, tally.votes, p, y, tally.scores.size)


@njit
def _corrected(
    booster: Any, head: TemperatureHead, record: Record, tally: Tally, answer: Floats, y: int, weight: float
) -> None:
    correct(head, record, tally, answer, y, weight)
    settle(booster, tally, y)


@dataclass
class ClassObjectCommittee(ObjectCommittee):
    """A committee of Python objects that vote for classes, and its booster."""

    n_known: int = field(default=2, kw_only=True)  # number of classes

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        return self.n_known

    def check_classes(self, n: int) -> None:
        self.committee.check_classes(n)

    def with_classes(self, n: int, booster: Any) -> Self:
        """A committee for more classes, with the booster's state for them."""
        twin = copy.copy(self)
        twin.booster, twin.n_known = booster, n
        return twin

    def run(self, examples: ObjectRows, learning: bool) -> Floats:
        """``class_votes``, in Python."""
        settings, record, target = self.settings, self.record, examples.target
        head: Any = self.head
        n, k = settings.n_learners, self.n_known
        answers, p, t = np.empty((len(examples.rows), k if k > 2 else 1)), np.empty(n), np.empty(n, np.float32)
        tally = new_tally(n, k)
        for r, (x, place, weight) in enumerate(examples.rows):
            places = self.committee.places(x, target, learning)
            tally.votes[:] = np.where(places < k, places, 0)  # classes that are named but were not met yet
            _heard(self.booster, tally, int(record.clock[0]), answers[r])
            if not learning or weight <= 0:
                continue
            y, number = int(place), int(record.clock[0])
            _weighed(self.booster, record, tally, y, weight, p, t)
            if settings.sample:
                for i in range(n):
                    p[i] = draws.count(settings.seed, number, i, p[i])
            self.committee.learn(x, target.labels[y], p, target)
            _corrected(self.booster, head, record, tally, answers[r], y, weight)
        return answers

    def probabilities(self, scores: Floats) -> Floats:
        head: Any = self.head
        return probabilities(head.temperature, scores)
