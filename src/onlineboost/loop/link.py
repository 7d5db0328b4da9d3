"""The booster behind a pointer: loops over learners and heads are compiled without it, and call it by its address.

All functions of a booster are one compiled function, ``take_step``; which of them is meant, and what changes from row
to row, stands in arrays that it shares with the loop. So a booster is compiled once, whatever it boosts, and a learner
once, whatever boosts it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onlineboost.compiled import dispatch
from onlineboost.compiled.block import Call, unpack
from onlineboost.compiled.jit import hot, njit
from onlineboost.data.batch import Floats, Floats32, Ints

_lead, _round, _vote, _settle = dispatch.lead, dispatch.round, dispatch.vote, dispatch.settle

CARRIED = 4  # numbers carried from learner to learner; the first is the number of the round
LEAD, ROUND, VOTE, SETTLE = range(4)  # steps of a booster
WHOLE, ANSWER, CORRECT = range(3)  # of ``finish``: all, or one of its halves


class Table(NamedTuple):
    """The votes of the learners on the last rows; their number is a power of two, and row r has place r modulo it."""

    votes: Floats32  # [rows, learners] real votes
    opinions: Floats  # [rows, learners] inputs of the vote; [rows, 0] if these are the votes
    carry: Floats  # [rows, CARRIED]


class Alone(NamedTuple):
    """The state without a booster: learners get every example with its own weight. It has no ``round``.

    There is one learner, whose vote is the score; or ``each`` tells a class from the rest.
    """

    n: int
    each: bool = False


class Link(NamedTuple):
    """The connection of a loop to the booster."""

    booster: Call | None  # None: no booster
    step: Ints  # [3] which step is to be taken; the row's place in the table; of ``finish``, WHOLE or a half of it
    numbers: Floats  # [2] the label; the score
    settles: bool  # the booster has a ``settle``
    each: bool  # each learner separates a class from the rest

    def take(self, step: int, y: float = 0.0) -> float:
        """Take a step of the booster, from Python; returns the score, after ``VOTE``."""
        assert self.booster is not None
        self.step[0], self.numbers[0] = step, y
        self.booster()
        return float(self.numbers[1])


def new_table(rows: int, n_learners: int, leading: bool) -> Table:
    opinions = np.empty((rows, n_learners if leading else 0))
    return Table(np.empty((rows, n_learners), np.float32), opinions, np.empty((rows, CARRIED)))


def link(booster: Any, table: Table, votes: Floats, p: Floats, t: Floats32, first: int = 0) -> Link:
    """The link to a booster of learners from number ``first`` on, whose votes, weights and targets are in these arrays.

    Threads that run at the same time need a link each.
    """
    step, numbers = np.zeros(3, np.int64), np.zeros(2)
    if is_alone(booster):
        return Link(None, step, numbers, False, booster.each)
    settles = dispatch.settle.kernels[type(booster)] is not settle_nothing  # type: ignore[attr-defined]
    return Link(Call(take_step, booster, votes, p, t, first, table, step, numbers), step, numbers, settles, False)


def is_alone(booster: Any) -> bool:
    """Whether learners are not boosted: the state has no ``round``."""
    return type(booster) not in dispatch.round.kernels  # type: ignore[attr-defined]


@hot
def settle_nothing(state: Any, e: Floats, y: float) -> None:
    """The vote does not learn."""


@njit
def take_step(block: Any) -> None:
    """One of the functions of a booster."""
    booster, votes, p, t, first, table, step, numbers = unpack(block)
    at = step[1]
    if step[0] == ROUND:
        _round(booster, votes, numbers[0], p, t, first, table.carry[at])
    elif step[0] == LEAD:
        _lead(booster, votes, table.opinions[at, first : first + votes.size], first, table.carry[at])
    else:
        e = table.opinions[at] if table.opinions.shape[1] > 0 else votes
        if step[0] == VOTE:
            numbers[1] = _vote(booster, e)
        else:
            _settle(booster, e, numbers[0])
