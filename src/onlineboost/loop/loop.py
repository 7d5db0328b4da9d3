"""The loop: every example goes through the three phases of a round of boosting, and then to the head.

1. predict: every weak learner votes, before any of them learns
2. round:   the paper's algorithm turns votes and label into a weight for each learner; it never sees x
3. learn:   learner i sees x and its target with its weight, or with that probability

The weight of a learner depends on the learners before it only, by a few numbers that are carried from one to the next.
So ``advance`` takes some learners through many rows, the next ones follow with the numbers carried, and the result is
the same for any division into groups. Nothing flows back from the answers: ``finish`` comes after the last learner.

``advance`` is compiled for each kind of learner, ``finish`` for each head; both call the booster (``link.py``).

Rows that are replayed pass the three phases only: head, record and experts see every row once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onlineboost.compiled import dispatch, draws
from onlineboost.compiled.block import Call, invoke, is_there, unpack
from onlineboost.compiled.jit import hot, njit
from onlineboost.data.batch import Batch, Floats, Floats32, Ints
from onlineboost.data.target import mistaken, place_for, sign_of
from onlineboost.loop.link import (
    ANSWER,
    CARRIED,
    CORRECT,
    LEAD,
    ROUND,
    SETTLE,
    VOTE,
    Link,
    Table,
    link,
)
from onlineboost.loop.record import Record, Settings

_predict, _learn = dispatch.predict, dispatch.learn
_answer, _correct = dispatch.answer, dispatch.correct
_watch = dispatch.watch
_meet, _full = dispatch.meet, dispatch.full
_count = draws.count

REPLAYED = 1 << 48  # numbers of replayed examples, for random draws, begin here
VECTOR = 8  # the memory of h, p and t has room for the learners padded to a multiple of this


class Mode(NamedTuple):
    learning: bool
    replaying: bool
    given: bool  # past answers that are not NaN are kept
    votes_given: bool = False  # and so are the votes


class Space(NamedTuple):
    """Memory for one row and the learners of a group; votes and p have their number, in padded memory."""

    h: Floats32
    votes: Floats
    p: Floats
    t: Floats32


class Place(NamedTuple):
    """The position of a group of learners."""

    first: int  # the number of its first learner
    rows: Ints  # [4] the next row, that after the last, that after the last one done; 1 if there must be more room
    clock: Ints  # [2] examples learned and replayed before that row; taken from the record at the first row


class Between(NamedTuple):
    """The work on a row between its votes and its round, and after it."""

    finish: Call | None  # None: nothing, ``finish`` comes after many rows
    step: Ints  # of the link of ``finish``
    rows: Ints  # [4] as those of ``Place``


def new_space(n_learners: int) -> Space:
    room = -(-n_learners // VECTOR) * VECTOR
    return Space(np.zeros(room, np.float32), np.zeros(room), np.zeros(room), np.zeros(room, np.float32))


def advance_call(node: Any, batch: Batch, group: Any, mode: Mode, table: Table) -> Call:
    """``advance`` of a group of learners, an object with the attributes committee, work, record, space and place."""
    return Call(advance, *_advanced(node, batch, group, mode, table), Between(None, np.empty(0, np.int64), _ROWS))


def finish_call(node: Any, batch: Batch, scores: Floats, mode: Mode, rows: Ints, table: Table) -> Call:
    """``finish`` for the rows from ``rows[0]`` to ``rows[2]``."""
    return _finished(node, batch, scores, mode, rows, table)[0]


def together_call(node: Any, batch: Batch, scores: Floats, group: Any, mode: Mode, table: Table) -> Call:
    """``advance`` with the halves of ``finish`` within each row: for a booster whose ``round`` is no scan, as it may
    change what its vote depends on.
    """
    rows = np.zeros(4, np.int64)
    finished, ends = _finished(node, batch, scores, mode, rows, table)
    return Call(advance, *_advanced(node, batch, group, mode, table), Between(finished, ends.step, rows))


_ROWS = np.zeros(4, np.int64)  # of no rows


def _advanced(node: Any, batch: Batch, group: Any, mode: Mode, table: Table) -> tuple[Any, ...]:
    space, place = group.space, group.place
    to = link(node.booster, table, space.votes, space.p, space.t, place.first)
    return batch, group.committee, to, node.settings, group.record, group.work, mode, space, place, table


def _finished(node: Any, batch: Batch, scores: Floats, mode: Mode, rows: Ints, table: Table) -> tuple[Call, Link]:
    votes = np.empty(node.settings.n_learners)
    to = link(node.booster, table, votes, np.empty(0), np.empty(0, np.float32))
    states = node.head, node.settings, node.record
    return Call(node.finish, batch, scores, to, *states, mode, rows, votes, table), to


@njit
def advance(block: Any) -> None:
    """Take a group of learners through rows of a batch.

    Stops before the last if the committee needs more room.
    """
    batch, committee, to, settings, record, work, mode, space, place, table, between = unpack(block)
    _begin(record, place)
    for r in range(place.rows[0], place.rows[1]):
        _say(batch, committee, to, settings, work, mode, space, place, table, r)
        _half(between, ANSWER, r)
        if mode.learning and batch.weight[r] > 0:
            _teach(batch, committee, to, settings, record, work, mode, space, place, table, r)
            _half(between, CORRECT, r)
            if _full(committee):
                place.rows[2], place.rows[3] = r + 1, 1
                return
    place.rows[2] = place.rows[1]


@njit
def finish(block: Any) -> None:
    """Predict rows by the votes; record, head and experts learn from their labels."""
    batch, scores, to, head, settings, record, mode, rows, votes, table = unpack(block)
    half = to.step[2]
    for r in range(rows[0], rows[2]):
        if half != CORRECT:
            _answer_row(scores, to, head, settings, mode, votes, table, r)
        if half != ANSWER and mode.learning and batch.weight[r] > 0:
            _correct_row(batch, scores, to, head, settings, record, table, r)


@hot
def _half(between: Between, half: int, r: int) -> None:
    """Half of ``finish`` for a row, if it comes row by row."""
    if is_there(between.finish):
        between.step[2] = half
        between.rows[0], between.rows[2] = r, r + 1
        invoke(between.finish)


@hot
def _begin(record: Record, place: Place) -> None:
    if place.rows[0] == 0:  # no group is beyond the first rows while another has not begun
        place.clock[0], place.clock[1] = record.clock[0], record.clock[1]


@hot
def _say(
    batch: Batch,
    committee: Any,
    to: Link,
    settings: Settings,
    work: Any,
    mode: Mode,
    space: Space,
    place: Place,
    table: Table,
    r: int,
) -> None:
    """The votes of a group on a row, or its past votes; afterwards the learners can learn the row."""
    first, n, at = place.first, space.p.size, r & (table.carry.shape[0] - 1)
    h = space.h
    _predict(committee, work, batch, r, h)
    said = table.votes[at]
    if n < said.size:
        said = said[first : first + n]
    if mode.votes_given and said[0] == said[0]:
        _counted(said, settings.hard, space.votes)
    else:
        _counted(h[:n], settings.hard, space.votes)
        for i in range(n):
            said[i] = h[i]
    carry = table.carry[at]
    if first == 0:
        carry[0] = place.clock[0] + place.clock[1]
        for k in range(1, CARRIED):
            carry[k] = 0.0
    if table.opinions.shape[1] > 0:
        to.step[0], to.step[1] = LEAD, at
        invoke(to.booster)


@hot
def _teach(
    batch: Batch,
    committee: Any,
    to: Link,
    settings: Settings,
    record: Record,
    work: Any,
    mode: Mode,
    space: Space,
    place: Place,
    table: Table,
    r: int,
) -> None:
    """Phases 2 and 3 for a group."""
    first, n = place.first, space.p.size
    votes, p, t, clock, label = space.votes, space.p, space.t, place.clock, batch.y[r]
    y = label if settings.numbers else sign_of(label)
    target = np.float32(y)
    for i in range(n):
        t[i] = target
    if is_there(to.booster):
        to.step[0], to.step[1], to.numbers[0] = ROUND, r & (table.carry.shape[0] - 1), y
        invoke(to.booster)
    else:
        for i in range(n):
            p[i] = 1.0
            if to.each:
                t[i] = sign_of(place_for(first + i, label))
    if not mode.replaying:
        _meet(committee, work, batch, r)
    if batch.weight[r] != 1:
        for i in range(n):
            p[i] *= batch.weight[r]
    if not mode.replaying:
        # Two short loops, without min and max, whose rules for NaN forbid vector code.
        edges, weights = record.edges, record.weights
        if n < edges.size:
            edges, weights = edges[first : first + n], weights[first : first + n]
        if settings.numbers:
            explained(edges, weights, votes, t, p)
        else:
            for i in range(n):
                vote = 1.0 if votes[i] > 1 else votes[i]
                edges[i] += p[i] * t[i] * (-1.0 if vote < -1 else vote)
            for i in range(n):
                weights[i] += p[i]
    if settings.sample:
        number = clock[0] if not mode.replaying else REPLAYED + clock[1]
        for i in range(n):
            p[i] = _count(settings.seed, number, first + i, p[i])
    _learn(committee, work, batch, r, space.h, t, p)
    clock[1 if mode.replaying else 0] += 1


@hot
def _answer_row(
    scores: Floats, to: Link, head: Any, settings: Settings, mode: Mode, votes: Floats, table: Table, r: int
) -> None:
    """The booster's score of a row, and the prediction, unless it is a past one."""
    at = r & (table.carry.shape[0] - 1)
    h, numbers = table.votes[at], to.numbers
    if table.opinions.shape[1] == 0:
        _counted(h, settings.hard, votes)
    if is_there(to.booster):
        to.step[0], to.step[1] = VOTE, at
        invoke(to.booster)
    else:
        numbers[1] = votes[0]
    if not (mode.given and scores[r] == scores[r]):
        scores[r] = _answer(head, numbers[1], h)


@hot
def _correct_row(
    batch: Batch, scores: Floats, to: Link, head: Any, settings: Settings, record: Record, table: Table, r: int
) -> None:
    at = r & (table.carry.shape[0] - 1)
    h, label, weight = table.votes[at], batch.y[r], batch.weight[r]
    y = label if settings.numbers else sign_of(label)
    if settings.numbers:
        record.totals[0] += weight
    else:
        compare(record.totals, to.numbers[1], scores[r], h[0], y, weight)
    _correct(head, scores[r], h, y, weight)
    if to.settles:
        to.step[0], to.step[1], to.numbers[0] = SETTLE, at, y
        invoke(to.booster)
    record.clock[0] += 1


@hot
def _counted(said: Floats32, hard: bool, votes: Floats) -> None:
    """Real votes as the booster counts them."""
    for i in range(said.size):
        votes[i] = said[i] if not hard else (1.0 if said[i] >= 0 else -1.0)


@hot
def explained(edges: Floats, weights: Floats, votes: Floats, t: Floats32, p: Floats) -> None:
    """Add an example to the record of learners of numbers: the part of the squared target that the vote explains.

    So an edge is 1 for a vote that is the target, 0 for a vote of 0, and at least -1.
    """
    for i in range(votes.size):
        target = np.float64(t[i])
        whole, rest = target * target, target - votes[i]
        gain = whole - rest * rest
        edges[i] += p[i] * (gain if gain > -whole else -whole)
        weights[i] += p[i] * whole


@hot
def compare(totals: Floats, score: float, answer: float, first: float, y: float, weight: float) -> None:
    """Add an example to ``Record.totals``: the prediction compared with that of the first learner."""
    totals[0] += weight
    totals[1] += weight if y * score <= 0 else 0.0
    wrong, first_wrong = mistaken(answer, y), mistaken(first, y)
    if wrong != first_wrong:
        totals[3 if wrong else 2] += weight
        totals[4] += weight * weight


@njit
def look_out(block: Any) -> None:
    """Test the votes and the prediction of the last row for drift, and reset learners."""
    batch, scores, watch, committee, record, rows, table = unpack(block)
    r, mask = rows[0], table.carry.shape[0] - 1
    if batch.weight[r] > 0:
        _watch(watch, committee, table.votes[r & mask], scores[r], batch.y[r], record.clock[0])
