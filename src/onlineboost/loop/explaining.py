"""Explanations: the score of a row as a sum over its features, and a bias that belongs to none.

1. A vote is a sum of terms, one or more for each feature, and a constant; times ``link``, where it is bounded. Each
   learner defines its terms: ``explain`` in ``learners/``.
2. The score follows each vote with a slope, so that a term counts slope times link times itself. Of a hard vote, and of
   any other decision between -1 and +1 (``shared``): terms against it count by their share of all terms, and those for
   it share the rest in proportion.
3. Transforms tell which features a term belongs to; that of a product belongs to both, in halves.

The bias is the rest of the score. Step 1 is compiled for each kind of learner, step 2 for each booster and head.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from onlineboost.compiled import dispatch
from onlineboost.compiled.block import Call, unpack
from onlineboost.compiled.jit import hot, njit
from onlineboost.data.batch import Batch, Floats, Floats32, Ints, Ints32, cut
from onlineboost.loop.link import CARRIED, Alone
from onlineboost.loop.loop import VECTOR
from onlineboost.transforms.chain import Transforms, transformed

_predict, _pull, _explain = dispatch.predict, dispatch.pull, dispatch.explain
_lead, _vote, _credit = dispatch.lead, dispatch.vote, dispatch.credit
_answer, _trust = dispatch.answer, dispatch.trust

_NUMBERS = 1 << 15  # votes of the rows that are explained at a time
_SECOND = -1  # of a term that belongs to one feature


class Terms(NamedTuple):
    """Contributions of features to an answer to some rows; the same feature may be there several times."""

    output: int  # which of the answers to a row
    start: int  # the first row
    ends: Ints  # [rows + 1] where the terms of a row begin and end
    slots: Ints32
    values: Floats
    factors: Floats  # [rows] by which values are to be multiplied
    ids: Ints32  # of features, by slot

    def scaled(self, factors: Floats) -> Terms:
        """The contributions times a factor for each of all rows."""
        mine = slice(self.start, self.start + self.factors.size)
        return self._replace(factors=self.factors * factors[mine])

    def add_to(self, table: Floats, codes: Ints) -> None:
        """Add the contributions to a table of rows and columns; each slot has the code of a column."""
        add_rows(self.ends, self.slots, self.values, self.factors, codes, table[self.start :])

    def numbers(self) -> Ints:
        """The row of each contribution."""
        return self.start + np.repeat(np.arange(self.factors.size), np.diff(self.ends))

    def contributions(self) -> Floats:
        found: Floats = self.values * np.repeat(self.factors, np.diff(self.ends))
        return found


class Pulls(NamedTuple):
    """Sums of the terms of votes. Either ``up`` and ``down`` are asked for, or ``link``; the others have no columns."""

    means: Floats  # [trees, nodes] of ``Learner.means``
    up: Floats  # [rows, learners, padded] sums of positive terms, the constant among them
    down: Floats  # [rows, learners, padded] of negative ones
    link: Floats  # [rows, learners] the vote divided by the sum of all
    n: int  # number of learners whose ``up`` and ``down`` are asked for


class Found(NamedTuple):
    """Terms of features, summed over learners."""

    means: Floats  # [trees, nodes]
    plus: Floats  # [rows, learners] how often a positive term counts
    minus: Floats  # [rows, learners] how often a negative one does
    slots: Ints32
    values: Floats
    sums: Floats  # [slots] zeros, to be left as such


class Explained(NamedTuple):
    """The answers to rows, [rows, answers], and the terms that they consist of, but for a bias."""

    scores: Floats
    terms: list[Terms]

    def scaled(self, factors: Floats) -> list[Terms]:
        """All terms times a factor for each row and answer, [rows, answers]."""
        return [one.scaled(factors[:, one.output]) for one in self.terms]

    def sums(self) -> Floats:
        """The sum of contributions to the first answer of each row."""
        found = np.zeros((len(self.scores), 1))
        for one in self.terms:
            one.add_to(found, np.zeros(one.ids.size, np.int64))
        return found[:, 0]


def joined(parts: list[Explained]) -> Explained:
    """The rows of all parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(len(part.scores) for part in parts)])
    pairs = zip(parts, starts.tolist(), strict=False)
    terms = [one._replace(start=one.start + start) for part, start in pairs for one in part.terms]
    return Explained(np.concatenate([part.scores for part in parts]), terms)


def as_shares(found: dict[int, float]) -> dict[int, float]:
    """Numbers of at least 0, divided by their sum."""
    whole = sum(found.values())
    return {key: value / whole for key, value in found.items()} if whole > 0 else {}


def can_explain(node: Any) -> bool:
    """Whether the learner explains its votes."""
    return type(node.committee) in dispatch.explain.kernels  # type: ignore[attr-defined]


def explained(node: Any, rows: Batch) -> Explained:
    """The answers of a node of compiled learners to rows with slots for ids."""
    learner, committee = node.learner, node.committee
    means, ids, parts = learner.means(committee), node.slots.ids(), []
    for part, sources in _transformed(node.transforms, rows):
        scores, ends, slots, values = _summed(node, learner.known(committee, part), means, ids.size)
        if sources is not None:
            first, second = sources
            pairs = (second != _SECOND).any()
            ends, slots, values = _halved(ends, first, second, values) if pairs else (ends, first, values)
        terms = Terms(0, 0, ends, slots, values, np.ones(scores.size), ids)
        parts.append(Explained(scores.reshape(-1, 1), [terms]))
    return joined(parts)


def _summed(node: Any, rows: Batch, means: Floats, n_slots: int) -> tuple[Floats, Ints, Ints32, Floats]:
    """The answers to rows after all transforms; where the terms of each row end, their slots and values."""
    learner, committee, n, size = node.learner, node.committee, node.settings.n_learners, rows.y.size
    fallback = dispatch.credit.kernels[type(node.booster)] is credit_in_turn  # type: ignore[attr-defined]
    by_booster = dispatch.trust.kernels[type(node.head)] is trust_nothing  # type: ignore[attr-defined]
    decided = by_booster and (node.settings.hard or fallback)
    step, padded, room = max(min(_NUMBERS // n, size), 1), -(-n // VECTOR) * VECTOR, learner.n_terms(committee, rows)
    h, link = np.zeros((step, padded), np.float32), np.empty((step, 0 if decided else n))
    up, down = (np.empty((step, padded if decided else 0)) for _ in range(2))
    plus, minus, scores = np.zeros((step, padded)), np.zeros((step, padded)), np.empty(size)
    ends, slots, values = np.zeros(size + 1, np.int64), np.empty(room, np.int32), np.empty(room)
    work = learner.workspace(committee, int(np.diff(rows.indptr).max(initial=0)))
    pulls = Pulls(means, up, down, link, n if decided else 0)
    found = Found(means, plus, minus, slots, values, np.zeros(n_slots))
    say = Call(say_rows, rows, committee, work, h, pulls)
    weigh = Call(weigh_rows, scores, h, pulls, node.booster, node.head, node.settings, plus, minus)
    explain = Call(explain_rows, rows, ends, committee, work, found)
    for start in range(0, size, step):
        stop = min(start + step, size)
        part = cut(rows, start, stop)
        say.on(part)
        weigh.on(scores[start:stop])
        explain.on(part, ends[start : stop + 1])
        for call in (say, weigh, explain):
            call()
    return scores, ends, slots[: ends[-1]], values[: ends[-1]]


def _transformed(transforms: Transforms, rows: Batch) -> Iterator[tuple[Batch, tuple[Ints32, Ints32] | None]]:
    """The rows after all transforms, in parts; and the features that each entry was made of, if there are transforms.

    Only the last transform makes entries of two.
    """
    if not transforms:
        yield rows, None
        return
    done = 0
    while True:
        before, befores = cut(rows, done, rows.y.size), []
        for transform in transforms:
            befores.append(before)
            before = transformed(transform, before, learning=False)
        n = before.y.size
        sources = before.indices, np.full(before.indices.size, _SECOND, np.int32)
        for transform, given in zip(reversed(transforms), reversed(befores), strict=True):
            sources = transform.sources(*sources, cut(given, 0, n))
        yield before, sources
        done += n
        if done == rows.y.size:
            return


@njit
def say_rows(block: Any) -> None:
    """The votes on rows, and the sums of their terms."""
    batch, committee, work, h, pulls = unpack(block)
    for r in range(batch.y.size):
        _predict(committee, work, batch, r, h[r])
        _pull(committee, work, batch, r, h[r], pulls)


@njit
def weigh_rows(block: Any) -> None:
    """The answers to rows, and the factors of the positive and negative terms of each learner."""
    scores, h, pulls, booster, head, settings, plus, minus = unpack(block)
    n = settings.n_learners
    votes, e, slopes, carry = np.empty(n), np.empty(n), np.empty(n), np.zeros(CARRIED)
    for r in range(scores.size):
        for i in range(n):
            votes[i] = h[r, i] if not settings.hard else (1.0 if h[r, i] >= 0 else -1.0)
            e[i] = votes[i]
        if settings.leading:
            carry[:] = 0.0
            _lead(booster, votes, e, 0, carry)
        scores[r] = _answer(head, _vote(booster, e), h[r, :n])
        if not _trust(head, h[r, :n], slopes):
            _credit(booster, votes, e, slopes, settings.leading)
        for i in range(n):
            if pulls.n > 0:
                a, b = shared(pulls.up[r, i], pulls.down[r, i], h[r, i])
                plus[r, i], minus[r, i] = slopes[i] * a, slopes[i] * b
            else:
                plus[r, i] = minus[r, i] = slopes[i] * pulls.link[r, i]


@njit
def explain_rows(block: Any) -> None:
    """The contributions of features to the answers."""
    batch, ends, committee, work, found = unpack(block)
    for r in range(batch.y.size):
        ends[r + 1] = _explain(committee, work, batch, r, found, ends[r])


@njit
def add_rows(ends: Ints, slots: Ints32, values: Floats, factors: Floats, codes: Ints, table: Floats) -> None:
    for r in range(factors.size):
        for k in range(ends[r], ends[r + 1]):
            table[r, codes[slots[k]]] += factors[r] * values[k]


@njit
def _halved(ends: Ints, first: Ints32, second: Ints32, values: Floats) -> tuple[Ints, Ints32, Floats]:
    """Terms of one feature each: those of a product are halved."""
    room = 2 * first.size
    found, slots, halves = np.zeros(ends.size, np.int64), np.empty(room, np.int32), np.empty(room)
    m = 0
    for r in range(ends.size - 1):
        for k in range(ends[r], ends[r + 1]):
            pair = second[k] != _SECOND
            slots[m], halves[m] = first[k], values[k] / 2 if pair else values[k]
            if pair:
                slots[m + 1], halves[m + 1] = second[k], values[k] / 2
            m += 2 if pair else 1
        found[r + 1] = m
    return found, slots[:m], halves[:m]


@hot
def shared(up: float, down: float, decision: float) -> tuple[float, float]:
    """Factors of positive and negative terms with these sums, such that the terms add up to -1 or +1."""
    whole = up - down
    if decision >= 0:
        return ((1 - down / whole) / up, 1 / whole) if up > 0 else (0.0, 0.0)
    return (1 / whole, (-1 - up / whole) / down) if down < 0 else (0.0, 0.0)


@hot
def credit_sum(state: Any, h: Floats, e: Floats, slopes: Floats, leading: bool) -> None:
    """The score is the sum of votes."""
    for i in range(h.size):
        slopes[i] = 1.0


@hot
def _lead_alone(state: Alone, h: Floats, e: Floats, first: int, carry: Floats) -> None:
    """Not called: the only input of a single learner is its vote."""


@hot
def _vote_alone(state: Alone, e: Floats) -> float:
    return float(e[0])


dispatch.register(dispatch.lead, Alone, _lead_alone)
dispatch.register(dispatch.vote, Alone, _vote_alone)
dispatch.register(dispatch.credit, Alone, credit_sum)


@njit
def credit_in_turn(state: Any, h: Floats, e: Floats, slopes: Floats, leading: bool) -> None:
    """Credit by the changes of the score when votes are added one after the other, the others being 0: for boosters
    without ``credit``. Times the sign of the vote, so that the change by a learner is a decision to be shared.
    """
    votes, found, carry = np.zeros(h.size), np.zeros(h.size), np.zeros(CARRIED)
    before = 0.0
    for i in range(-1, h.size):
        if i >= 0:
            votes[i] = h[i]
        for k in range(votes.size):  # Numba takes two seconds to compile found[:] = votes
            found[k] = votes[k]
        if leading:
            carry[:] = 0.0
            _lead(state, votes, found, 0, carry)
        score = _vote(state, found)
        if i >= 0:
            slopes[i] = score - before if h[i] >= 0 else before - score
        before = score


@hot
def trust_nothing(head: Any, h: Floats32, slopes: Floats) -> bool:
    """The prediction is the booster's score."""
    return False
