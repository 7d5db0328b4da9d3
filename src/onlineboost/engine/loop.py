"""The one loop: every example goes through the three phases of a round of boosting.

1. predict: every weak learner votes, before any of them learns
2. round:   the paper's algorithm turns votes and label into a weight for each learner; it never sees x
3. learn:   learner i sees (x, y) with its weight, or with that probability

Rows that are replayed pass the same three phases, but only learners and booster learn from them: the record, the head
and the watch see every row once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onlineboost.compiled import dispatch, draws
from onlineboost.compiled.jit import hot, njit
from onlineboost.data.batch import Batch, Floats, Floats32, Ints
from onlineboost.data.target import mistaken
from onlineboost.engine.record import Record, Settings

_predict, _learn, _workspace = dispatch.predict, dispatch.learn, dispatch.workspace
_vote, _round = dispatch.vote, dispatch.round
_answer, _correct = dispatch.answer, dispatch.correct
_watch = dispatch.watch
_meet, _full = dispatch.meet, dispatch.full
_count = draws.count

_REPLAYED = 1 << 48  # numbers of replayed examples, for random draws, begin here
VECTOR = 8  # the memory of h and p has room for the learners padded to a multiple of this


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
def run(
    committee: Any,
    booster: Any,
    head: Any,
    watch: Any,
    settings: Settings,
    batch: Batch,
    record: Record,
    learning: bool,
    replaying: bool,
    done: Ints,
) -> Floats:
    """Score rows of the batch before their labels are used; learn from them if asked.

    Writes the number of rows done: fewer than all if the committee needs more room.
    """
    longest = 0
    for r in range(batch.y.size):
        longest = max(longest, batch.indptr[r + 1] - batch.indptr[r])
    work = _workspace(committee, longest)
    n = settings.n_learners
    room = -(-n // VECTOR) * VECTOR
    h = np.zeros(room, np.float32)
    p = np.zeros(room)[:n]
    scores = np.empty(batch.y.size)
    states = committee, booster, head, watch
    done[0] = _rounds(*states, settings, batch, record, learning, replaying, work, h, np.empty(n), p, scores)
    return scores


@hot
def _rounds(
    committee: Any,
    booster: Any,
    head: Any,
    watch: Any,
    settings: Settings,
    batch: Batch,
    record: Record,
    learning: bool,
    replaying: bool,
    work: Any,
    h: Floats32,
    votes: Floats,
    p: Floats,
    scores: Floats,
) -> int:
    for r in range(batch.y.size):
        _predict(committee, work, batch, r, h)
        for i in range(p.size):
            votes[i] = h[i] if not settings.hard else (1.0 if h[i] >= 0 else -1.0)
        score = _vote(booster, votes)
        scores[r] = _answer(head, score, h)
        if learning and batch.weight[r] > 0:
            y = batch.y[r]
            _round(booster, votes, y, p)
            if not replaying:
                compare(record.totals, score, scores[r], h[0], y, batch.weight[r])
                _correct(head, scores[r], h, y, batch.weight[r])
                _meet(committee, work, batch, r)
            if batch.weight[r] != 1:
                for i in range(p.size):
                    p[i] *= batch.weight[r]
            if not replaying:
                # Two short loops, without min and max, whose rules for NaN forbid vector code.
                for i in range(p.size):
                    vote = 1.0 if votes[i] > 1 else votes[i]
                    record.edges[i] += p[i] * y * (-1.0 if vote < -1 else vote)
                for i in range(p.size):
                    record.weights[i] += p[i]
            if settings.sample:
                number = record.clock[0] if not replaying else _REPLAYED + record.clock[1]
                for i in range(p.size):
                    p[i] = _count(settings.seed, number, i, p[i])
            _learn(committee, work, batch, r, h, y, p)
            record.clock[1 if replaying else 0] += 1
            if not replaying:
                _watch(watch, committee, votes, scores[r], y, record.clock[0])
            if _full(committee):
                return r + 1
    return batch.y.size


# A booster or learner from outside this package may change while our sources do not: it is compiled in each process.
_run_uncached = njit(run.py_func, cache=False)  # type: ignore[attr-defined]


def run_compiled(
    committee: Any,
    booster: Any,
    head: Any,
    watch: Any,
    settings: Settings,
    batch: Batch,
    record: Record,
    learning: bool,
    replaying: bool = False,
) -> tuple[Floats, int]:
    """``run``, from the disk cache if booster and learner belong to this package. Returns the number of rows done too.

    It is not a part of the result in compiled code: an interrupt while a tuple is made for Python would be lost.
    """
    ours = all(type(state).__module__.startswith("onlineboost.") for state in (committee, booster))
    loop = run if ours else _run_uncached
    done = np.zeros(1, np.int64)
    scores = loop(committee, booster, head, watch, settings, batch, record, learning, replaying, done)
    return scores, int(done[0])
