"""The contents of a ticket, as bytes and back.

A model file has the secret that its tickets are signed with, so a signature proves nothing about their numbers. Tickets
of files and tickets from outside come in by ``parsed`` alone, which checks all that compiled code uses.

| part of the bytes | check by ``parsed`` |
| --- | --- |
| number, run | whole numbers from 0 to 2^62 |
| time | finite |
| ids and values of the row | ids from 0, values that are missing or at most 1e18; no more than the learner can cross |
| votes, answers | ``Node.could_answer``; ignored if the model has more classes since |
| names of new features | the hash of the name is the id |
"""

from __future__ import annotations

import json
import math
import struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.batch import LARGEST, Batch, one_row
from onlineboost.data.hashing import feature_id, indicator_id
from onlineboost.engine.node import Node, PastAnswers
from onlineboost.errors import TicketError

HEAD = struct.Struct("<8sqdqiiii")  # model, number, time, run; numbers of features, votes, answers, bytes of new names
SIGNATURE = 16  # bytes
LAST = 1 << 62  # of numbers and runs

Names = list[tuple[int, str]]


class Asked(NamedTuple):
    """The contents of a ticket."""

    number: int
    time: float
    run: int  # a random number of the process that issued it, and its signature
    mark: bytes
    row: Batch
    answers: PastAnswers
    names: Names  # of features that were new


def written(model: bytes, number: int, time: float, run: int, row: Batch, answers: PastAnswers, names: Names) -> bytes:
    """The bytes of a ticket, without its signature."""
    first, last = row.indptr[0], row.indptr[-1]
    text = json.dumps(names).encode() if names else b""
    head = HEAD.pack(model, number, time, run, int(last - first), answers.votes.size, answers.scores.size, len(text))
    arrays = row.indices[first:last], row.values[first:last], answers.votes, answers.scores
    return b"".join((head, *(array.tobytes() for array in arrays), text))


def parsed(data: bytes, node: Node, longest: int | None) -> Asked:
    """The contents of a ticket that this node can learn; ``longest`` is the most features of a row."""
    _, number, time, run, entries, votes, scores, text = HEAD.unpack_from(data)
    wanted = HEAD.size + 8 * entries + 4 * votes + 8 * scores + text + SIGNATURE
    most_votes, most_scores = node.n_answers
    if min(entries, votes, scores, text) < 0 or wanted != len(data) or scores > most_scores or votes > most_votes:
        raise TicketError("the ticket does not fit this model, which was fitted again after ask")
    at = HEAD.size

    def numbers(n: int, dtype: Any) -> NDArray[Any]:
        nonlocal at
        found = np.frombuffer(data, dtype, n, at)
        at += found.nbytes
        return found

    ids, values = numbers(entries, np.int32), numbers(entries, np.float32)
    there = np.abs(values[~np.isnan(values)])
    _require(0 <= number < LAST and 0 <= run < LAST, "a number or a run")
    _require(math.isfinite(time), "a time")
    _require(not (ids < 0).any() and not (there > LARGEST).any(), "an id or a value")
    _require(longest is None or there.size <= longest, "a number of features")
    given = PastAnswers(numbers(votes, np.float32)[None], numbers(scores, np.float64)[None])
    answers = node.fitting(given)
    _require(answers is not given or node.could_answer(answers), "votes or answers")
    names = _names(data[at : at + text]) if text else []
    return Asked(number, time, run, data[-SIGNATURE:], one_row(ids.tolist(), values.tolist()), answers, names)


def _names(text: bytes) -> Names:
    try:
        found = json.loads(text)
        _require(isinstance(found, list) and all(map(_is_name, found)), "names")
    except (ValueError, RecursionError):
        raise TicketError(_OTHER.format("names")) from None
    return [(id, name) for id, name in found]


def _is_name(pair: Any) -> bool:
    if not (isinstance(pair, list) and len(pair) == 2 and type(pair[0]) is int and isinstance(pair[1], str)):
        return False
    return pair[0] in (feature_id(pair[1]), indicator_id(pair[1]))


_OTHER = "the ticket has {} that this model cannot have given: it was not written by this library"


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise TicketError(_OTHER.format(what))
