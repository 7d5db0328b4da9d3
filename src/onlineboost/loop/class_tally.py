"""One row of a committee whose learners vote for a class each: scores from votes, weights from labels.

A vote h[i], a label y and a target t[i] are places of classes, from 0 on. The booster carries a sum for each class,
s = ``carry[1:]``. Its ``lead`` leaves the sums of all votes there, and its ``vote(state, e, scores)`` gets them as
scores of the classes, which it may replace. The largest score is the answer; of two classes, the sign of the second one
less the first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onlineboost.compiled import dispatch
from onlineboost.compiled.block import Call, invoke, is_there, unpack
from onlineboost.compiled.jit import hot, njit
from onlineboost.data.batch import Floats, Floats32, Ints
from onlineboost.loop.link import ROUND, SETTLE, VOTE, is_alone
from onlineboost.loop.record import Record
from onlineboost.loop.temperature import check_temperature, learn_temperature, new_temperature

_lead, _round, _vote, _settle = dispatch.lead, dispatch.round, dispatch.vote, dispatch.settle

_LITTLE = 1e-9
_FARTHEST = 100.0  # limit of scores for learning the temperature


class TemperatureHead(NamedTuple):
    temperature: Floats  # [2] inverse temperature b, and its information

    def check(self) -> None:
        check_temperature(self.temperature)


def temperature_head() -> TemperatureHead:
    return TemperatureHead(new_temperature())


class Tally(NamedTuple):
    """Memory for one row."""

    votes: Floats  # [learners]
    e: Floats  # [learners] inputs of the vote
    heard: Floats  # [1 + classes] carried from learner to learner, by ``lead``
    carry: Floats  # [1 + classes] and by ``round``
    scores: Floats  # [classes]
    chances: Floats  # [classes]


def new_tally(n_learners: int, n_classes: int) -> Tally:
    sizes = n_learners, n_learners, 1 + n_classes, 1 + n_classes, n_classes, n_classes
    return Tally(*(np.zeros(size) for size in sizes))


class ClassLink(NamedTuple):
    """The connection of the loop to the booster, like ``link.Link``."""

    booster: Call | None  # None: a single learner
    step: Ints  # [3] which step is to be taken; the number of the round; the label

    def take(self, step: int, number: int, y: int) -> None:
        """Take a step of the booster, from Python."""
        assert self.booster is not None
        self.step[:] = step, number, y
        self.booster()


def link_classes(booster: Any, tally: Tally, p: Floats, t: Floats32) -> ClassLink:
    """The link to a booster, for the votes in ``tally`` and the weights and targets in these arrays."""
    step = np.zeros(3, np.int64)
    return ClassLink(None if is_alone(booster) else Call(take_class_step, booster, tally, p, t, step), step)


@njit
def take_class_step(block: Any) -> None:
    """One of the functions of a booster whose learners vote for classes."""
    booster, tally, p, t, step = unpack(block)
    if step[0] == VOTE:  # the scores of all classes, from the votes
        _begin(tally.heard, step[1])
        _lead(booster, tally.votes, tally.e, 0, tally.heard)
        for k in range(tally.scores.size):
            tally.scores[k] = tally.heard[1 + k]
        _vote(booster, tally.e, tally.scores)
    elif step[0] == ROUND:  # the weight for each learner
        _begin(tally.carry, step[1])
        _round(booster, tally.votes, float(step[2]), p, t, 0, tally.carry)
    else:  # the experts learn from the label
        _settle(booster, tally.e, float(step[2]))


@hot
def _begin(carry: Floats, number: int) -> None:
    carry[0] = number
    for k in range(1, carry.size):
        carry[k] = 0.0


@hot
def call_hear(to: ClassLink, tally: Tally, number: int) -> None:
    """The scores of all classes, from the votes."""
    if is_there(to.booster):
        to.step[0], to.step[1] = VOTE, number
        invoke(to.booster)
    else:
        for k in range(tally.scores.size):
            tally.scores[k] = 0.0
        tally.scores[int(tally.votes[0])] = 1.0


@hot
def call_weigh(to: ClassLink, y: int, number: int, p: Floats) -> None:
    """The weight for each learner."""
    if is_there(to.booster):
        to.step[0], to.step[1], to.step[2] = ROUND, number, y
        invoke(to.booster)
    else:
        p[0] = 1.0


@hot
def call_settle(to: ClassLink, y: int) -> None:
    """The experts learn from the label."""
    if is_there(to.booster):
        to.step[0], to.step[2] = SETTLE, y
        invoke(to.booster)


@hot
def place_of(scores: Floats) -> int:
    """The class with the largest score, the first of several; of two, the second: a score of 0 is positive."""
    best = 0
    for k in range(1, scores.size):
        if scores[k] > scores[best] or (scores.size == 2 and scores[1] >= scores[0]):
            best = k
    return best


@hot
def write(scores: Floats, answer: Floats) -> None:
    """The answer to a row: a score for each class, or the difference of two.

    Of several largest scores, the first gets a little more, so that it is predicted in any order of the classes.
    """
    if answer.size == 1:
        answer[0] = scores[1] - scores[0]
    else:
        best = place_of(scores)
        for k in range(answer.size):
            answer[k] = scores[k]
            if k > best and scores[k] == scores[best]:
                answer[best] = scores[best] + _LITTLE


@hot
def note(record: Record, votes: Floats, p: Floats, y: int, n_classes: int) -> None:
    """Add an example to the edges: 1 for a right learner, and so much below 0 for a wrong one that guessing is 0."""
    wrong = -1.0 / (n_classes - 1)
    for i in range(votes.size):
        record.edges[i] += p[i] if votes[i] == y else p[i] * wrong
        record.weights[i] += p[i]


@hot
def correct(head: TemperatureHead, record: Record, tally: Tally, answer: Floats, y: int, w: float) -> None:
    """Compare the prediction with the label, and let the head learn."""
    totals, scores = record.totals, tally.scores
    own = scores[y]
    ahead = True
    for k in range(scores.size):
        if k != y and scores[k] >= own:
            ahead = False
    totals[0] += w
    totals[1] += 0.0 if ahead else w
    if answer.size == 1:
        scores[0], scores[1] = 0.0, answer[0]
    else:
        for k in range(scores.size):
            scores[k] = answer[k]
    wrong, first_wrong = place_of(scores) != y, tally.votes[0] != y
    if wrong != first_wrong:
        totals[3 if wrong else 2] += w
        totals[4] += w * w
    top = scores[place_of(scores)]
    for k in range(scores.size):
        scores[k] = max(scores[k] - top, -_FARTHEST)
    learn_temperature(head.temperature, scores, tally.chances, y, w)
    record.clock[0] += 1
