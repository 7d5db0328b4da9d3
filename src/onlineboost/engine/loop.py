"""The loop: every example goes through the three phases of a round of boosting, and then to the head.

1. predict: every weak learner votes, before any of them learns
2. round:   the paper's algorithm turns votes and label into a weight for each learner; it never sees x
3. learn:   learner i sees x and its target with its weight, or with that probability

The weight of a learner depends on the learners before it only, by a few numbers that are carried from one to the next.
So ``advance`` takes some learners through many rows, the next ones follow with the numbers carried, and the result is
the same for any division into groups. Nothing flows back from the answers: ``finish`` comes after the last learner.

Rows that are replayed pass the three phases only: head, record and experts see every row once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onlineboost.compiled import dispatch, draws
from onlineboost.compiled.block import unpack
from onlineboost.compiled.jit import hot, njit
from onlineboost.data.batch import Batch, Floats, Floats32, Ints
from onlineboost.data.target import mistaken
from onlineboost.engine.record import Record, Settings

_predict, _learn = dispatch.predict, dispatch.learn
_lead, _round, _vote, _settle = dispatch.lead, dispatch.round, dispatch.vote, dispatch.settle
_answer, _correct = dispatch.answer, dispatch.correct
_watch = dispatch.watch
_meet, _full = dispatch.meet, dispatch.full
_count = draws.count

REPLAYED = 1 << 48  # numbers of replayed examples, for random draws, begin here
VECTOR = 8  # the memory of h, p and t has room for the learners padded to a multiple of this
CARRIED = 4  # numbers carried from learner to learner; the first is the number of the round


class Mode(NamedTuple):
    learning: bool
    replaying: bool
    given: bool  # answers that are there, and not NaN, were given before and stay
    votes_given: bool = False  # and so do the votes


class Table(NamedTuple):
    """What the learners said of the last rows; their number is a power of two, and row r has place r modulo it."""

    votes: Floats32  # [rows, learners] real votes
    opinions: Floats  # [rows, learners] what the vote is made of; [rows, 0] if these are the votes
    carry: Floats  # [rows, CARRIED]


class Space(NamedTuple):
    """Memory for one row and the learners of a group; votes and p have their number, in padded memory."""

    h: Floats32
    votes: Floats
    p: Floats
    t: Floats32


class Place(NamedTuple):
    """Where a group of learners is."""

    first: int  # the number of its first learner
    rows: Ints  # [4] the next row, that after the last, that after the last one done; 1 if there must be more room
    clock: Ints  # [2] examples learnt and replayed before that row; taken from the record at the first row


def new_table(rows: int, n_learners: int, leading: bool) -> Table:
    opinions = np.empty((rows, n_learners if leading else 0))
    return Table(np.empty((rows, n_learners), np.float32), opinions, np.empty((rows, CARRIED)))


def new_space(n_learners: int) -> Space:
    room = -(-n_learners // VECTOR) * VECTOR
    return Space(np.zeros(room, np.float32), np.zeros(room), np.zeros(room), np.zeros(room, np.float32))


@njit
def advance(block: Any) -> None:
    """Take a group of learners through rows of a batch.

    Stops before the last if the committee needs more room.
    """
    batch, committee, booster, settings, record, work, mode, space, place, table = unpack(block)
    _begin(record, place)
    for r in range(place.rows[0], place.rows[1]):
        _say(batch, committee, booster, settings, work, mode, space, place, table, r)
        if mode.learning and batch.weight[r] > 0:
            _teach(batch, committee, booster, settings, record, work, mode, space, place, table, r)
            if _full(committee):
                place.rows[2], place.rows[3] = r + 1, 1
                return
    place.rows[2] = place.rows[1]


@njit
def finish(block: Any) -> None:
    """Answer rows by what the learners said; record, head and experts learn from their labels."""
    batch, scores, booster, head, settings, record, mode, rows, votes, table = unpack(block)
    for r in range(rows[0], rows[2]):
        score = _answer_row(scores, booster, head, settings, mode, votes, table, r)
        if mode.learning and batch.weight[r] > 0:
            _correct_row(batch, scores, booster, head, settings, record, votes, table, score, r)


@njit
def together(block: Any) -> None:
    """``advance`` and ``finish`` row by row: for boosters whose ``round`` changes what the next vote depends on."""
    batch, scores, committee, booster, head, settings, record, work, mode, space, place, votes, table = unpack(block)
    _begin(record, place)
    for r in range(place.rows[0], place.rows[1]):
        _say(batch, committee, booster, settings, work, mode, space, place, table, r)
        score = _answer_row(scores, booster, head, settings, mode, votes, table, r)
        if mode.learning and batch.weight[r] > 0:
            _teach(batch, committee, booster, settings, record, work, mode, space, place, table, r)
            _correct_row(batch, scores, booster, head, settings, record, votes, table, score, r)
            if _full(committee):
                place.rows[2], place.rows[3] = r + 1, 1
                return
    place.rows[2] = place.rows[1]


@hot
def _begin(record: Record, place: Place) -> None:
    if place.rows[0] == 0:  # no group is beyond the first rows while another has not begun
        place.clock[0], place.clock[1] = record.clock[0], record.clock[1]


@hot
def _say(
    batch: Batch,
    committee: Any,
    booster: Any,
    settings: Settings,
    work: Any,
    mode: Mode,
    space: Space,
    place: Place,
    table: Table,
    r: int,
) -> None:
    """The votes of a group on a row, or those given before; the learners are ready to learn it."""
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
        _lead(booster, space.votes, table.opinions[at, first : first + n], first, carry)


@hot
def _teach(
    batch: Batch,
    committee: Any,
    booster: Any,
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
    votes, p, t, clock, y = space.votes, space.p, space.t, place.clock, batch.y[r]
    target = np.float32(y)
    for i in range(n):
        t[i] = target
    _round(booster, votes, y, p, t, first, table.carry[r & (table.carry.shape[0] - 1)])
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
    scores: Floats, booster: Any, head: Any, settings: Settings, mode: Mode, votes: Floats, table: Table, r: int
) -> float:
    """Write the answer to a row, unless it was given before; returns the booster's own score."""
    at = r & (table.carry.shape[0] - 1)
    h = table.votes[at]
    if table.opinions.shape[1] > 0:
        score = _vote(booster, table.opinions[at])
    else:
        _counted(h, settings.hard, votes)
        score = _vote(booster, votes)
    if not (mode.given and scores[r] == scores[r]):
        scores[r] = _answer(head, score, h)
    return float(score)


@hot
def _correct_row(
    batch: Batch,
    scores: Floats,
    booster: Any,
    head: Any,
    settings: Settings,
    record: Record,
    votes: Floats,
    table: Table,
    score: float,
    r: int,
) -> None:
    at = r & (table.carry.shape[0] - 1)
    h, y, weight = table.votes[at], batch.y[r], batch.weight[r]
    if settings.numbers:
        record.totals[0] += weight
    else:
        compare(record.totals, score, scores[r], h[0], y, weight)
    _correct(head, scores[r], h, y, weight)
    _settle(booster, table.opinions[at] if table.opinions.shape[1] > 0 else votes, y)
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
    """Add an example to ``Record.totals``: the answer compared with that of the first learner."""
    totals[0] += weight
    totals[1] += weight if y * score <= 0 else 0.0
    wrong, first_wrong = mistaken(answer, y), mistaken(first, y)
    if wrong != first_wrong:
        totals[3 if wrong else 2] += weight
        totals[4] += weight * weight


@njit
def look_out(block: Any) -> None:
    """Test the votes and the answer of the last row for drift, and reset learners."""
    batch, scores, watch, committee, record, rows, table = unpack(block)
    r, mask = rows[0], table.carry.shape[0] - 1
    if batch.weight[r] > 0:
        _watch(watch, committee, table.votes[r & mask], scores[r], batch.y[r], record.clock[0])
