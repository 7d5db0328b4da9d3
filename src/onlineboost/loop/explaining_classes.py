"""Explanations where learners vote for classes: the score of each class as a sum over features.

A vote is 1 for a class and 0 for the others: with k classes, 1 - 1/k more or 1/k less than a vote that says nothing.
That is shared among the terms of the learner, what each feature changes in the share of the class, as a hard vote is
(``explaining.shared``). The booster's ``credit`` is the slope of the score of a class by a vote for it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled import dispatch
from onlineboost.compiled.block import Call, unpack
from onlineboost.compiled.jit import hot, njit
from onlineboost.data.batch import Batch, Floats, Ints, cut
from onlineboost.loop.class_tally import call_hear, link_classes, new_tally, write
from onlineboost.loop.explaining import Explained, Terms, joined, shared

_predict, _credit, _explain = dispatch.predict, dispatch.credit, dispatch.explain_classes
_NUMBERS = 1 << 22  # entries of rows explained at a time


class ClassFound(NamedTuple):
    """Memory for one row, and for one learner at a time."""

    means: NDArray[np.float64]  # [trees, nodes, classes] of ``Learner.means``: shares of the classes
    slopes: Floats  # [learners, classes] by how much the score of a class follows a vote for it
    sums: Floats  # [slots, classes] contributions; zeros, to be left as such
    slots: Ints  # [terms] of the learner at hand
    terms: Floats  # [terms, classes]
    before: Floats  # [classes] shares after the terms so far
    up: Floats  # [classes] sums of the positive terms, a constant among them; then how often these count
    down: Floats  # [classes] the same for the negative ones


def explained(node: Any, rows: Batch) -> Explained:
    """The answers of a node of learners that vote for classes, to rows with slots for ids."""
    learner, committee, k = node.learner, node.committee, node.n_classes
    ids, n = node.slots.ids(), node.settings.n_learners
    rows = learner.known(committee, rows)
    means = learner.means(committee)
    most = ids.size + means.shape[1]  # a path has fewer nodes than its tree
    memory = np.empty((n, k)), np.zeros((ids.size, k)), np.empty(most, np.int64), np.empty((most, k))
    found = ClassFound(means, *memory, *(np.empty(k) for _ in range(3)))
    work = learner.workspace(committee, int(np.diff(rows.indptr).max(initial=0)))
    h, step, parts = np.zeros(n, np.float32), max(_NUMBERS // (max(ids.size, 1) * k), 1), []
    for start in range(0, max(rows.y.size, 1), step):
        part = cut(rows, start, min(start + step, rows.y.size))
        size = part.y.size
        answers, ends = np.empty((size, node.width)), np.zeros(size + 1, np.int64)
        slots, values = np.empty(size * ids.size, np.int32), np.empty((size * ids.size, k))
        tally = new_tally(n, k)
        to = link_classes(node.booster, tally, np.empty(n), np.empty(n, np.float32))
        states = committee, node.booster, to, work, h, tally, found
        Call(explain_class_rows, part, answers, ends, slots, values, *states)()
        slots, by_class = slots[: ends[-1]], np.ascontiguousarray(values[: ends[-1]].T)
        of_answers = by_class if node.width > 1 else by_class[1:] - by_class[:1]
        terms = [Terms(c, 0, ends, slots, one, np.ones(size), ids) for c, one in enumerate(of_answers)]
        parts.append(Explained(answers, terms))
    return joined(parts)


@njit
def explain_class_rows(block: Any) -> None:
    batch, answers, ends, slots, values, committee, booster, to, work, h, tally, found = unpack(block)
    for r in range(batch.y.size):
        _predict(committee, work, batch, r, h)
        for i in range(tally.votes.size):
            tally.votes[i] = h[i]
        call_hear(to, tally, 0)
        write(tally.scores, answers[r])
        _credit(booster, tally.votes, tally.e, found.slopes, True)
        _explain(committee, work, batch, r, h, found)
        ends[r + 1] = _give(found.sums, slots, values, ends[r])


@hot
def _give(sums: Floats, slots: Ints, values: Floats, k: int) -> int:
    """Write the sums of slots that have some from place k on, and clear them; returns where they end."""
    for slot in range(sums.shape[0]):
        some = 0.0
        for c in range(sums.shape[1]):
            some += abs(sums[slot, c])
        if some > 0:
            slots[k] = slot
            for c in range(sums.shape[1]):
                values[k, c], sums[slot, c] = sums[slot, c], 0.0
            k += 1
    return k


@hot
def credit_classes(slopes: Floats) -> None:
    """The score of a class is the number of votes for it."""
    for i in range(slopes.shape[0]):
        for c in range(slopes.shape[1]):
            slopes[i, c] = 1.0


@hot
def begin(found: ClassFound, chances: Floats, scale: float) -> None:
    """The shares of the classes before any term of a learner: chances times a scale."""
    even = 1 / chances.size
    for c in range(chances.size):
        found.before[c] = chances[c] * scale
        constant = found.before[c] - even
        found.up[c], found.down[c] = max(constant, 0.0), min(constant, 0.0)


@hot
def add_change(found: ClassFound, n: int, slot: int, chances: Floats, scale: float) -> None:
    """Term n of a learner: what a slot makes of the shares of the classes."""
    found.slots[n] = slot
    terms, before, up, down = found.terms[n], found.before, found.up, found.down
    for c in range(chances.size):  # without min and max, whose rules for NaN forbid vector code
        share = chances[c] * scale
        term = share - before[c]
        up[c] += term if term > 0 else 0.0
        down[c] += term if term < 0 else 0.0
        terms[c], before[c] = term, share


@hot
def share_vote(found: ClassFound, i: int, n: int, voted: int) -> None:
    """Share the vote of learner i for a class among its n terms, of each class by itself."""
    up, down, classes = found.up, found.down, found.before.size
    for c in range(classes):
        plus, minus = shared_among(up[c], down[c], c == voted, 1 / classes)
        up[c], down[c] = found.slopes[i, c] * plus, found.slopes[i, c] * minus
    for k in range(n):
        sums, terms = found.sums[found.slots[k]], found.terms[k]
        for c in range(classes):
            sums[c] += terms[c] * (up[c] if terms[c] > 0 else down[c])


@hot
def shared_among(up: float, down: float, chosen: bool, even: float) -> tuple[float, float]:
    """``shared``, so that terms add up to what a choice among classes is more or less than an even one."""
    plus, minus = shared(up, down, 1.0 if chosen else -1.0)
    size = 1 - even if chosen else even
    return size * plus, size * minus
