"""What every parser writes: rows, the names of features met for the first time, and how far it came.

A parser is a compiled function ``parse(text, rows, table) -> status`` that reads whole records from
``text[state[AT]:state[END]]``, commits each with ``finish``, and leaves ``state[AT]`` at the first one not committed.
"""

from __future__ import annotations

from typing import NamedTuple

from onlineboost.compiled.jit import f32, hot, lean, njit, u64
from onlineboost.data.batch import LARGEST, Floats, Floats32, Ints, Ints32
from onlineboost.readers.faults import FULL, NEW_LABEL, OK
from onlineboost.readers.words import Bytes

# The entries of ``state``.
AT, END, LAST = 0, 1, 2  # where the next record begins, where the text ends, whether nothing follows it
LINE = 3  # number of the record's first line, from 1
ROWS, ENTRIES = 4, 5  # committed
NAMES, NAME_BYTES, NO_ROOM = 6, 7, 8  # written; whether a name did not fit
SPELLINGS, LABEL_SIZE, LABEL_AT = 9, 10, 11  # known spellings of labels; length and place of the one not known
FAULT = 12  # place of the mistake in the text
STATE = 13

LONGEST_LABEL = 64
SPELLING = LONGEST_LABEL + 1  # bytes kept of one: a JSON string with its opening quote
MOST_SPELLINGS = 256
FEATURE, LABEL, WEIGHT, IGNORED, CATEGORY = range(5)  # roles of a column


class Rows(NamedTuple):
    state: Ints
    indptr: Ints
    indices: Ints32
    values: Floats32
    y: Floats  # NaN where there is no label
    weight: Floats
    seen: Bytes  # by feature: whether its name is known; empty if nobody asks for names
    name_index: Ints32
    name_end: Ints
    name_text: Bytes
    scratch: Bytes  # the name of a feature in the making
    cell: Bytes  # a value without its quotes
    spelling: Bytes  # [MOST_SPELLINGS * LONGEST_LABEL]
    spelling_size: Ints
    spelling_sign: Floats
    label: Bytes  # a label not met before


class Table(NamedTuple):
    """What there is to know about columns: their roles and names."""

    mask: int  # of the features' numbers
    labelled: bool  # whether every row must have a label
    separator: int
    role: Ints
    name_at: Ints  # [columns + 1]
    name_text: Bytes
    feature: Ints32  # the number of the column's own feature


@hot
def put(rows: Rows, k: int, index: int, value: float) -> int:
    """A feature as entry k, unless it is zero; the number of the next entry."""
    rows.indices[u64(k)] = index
    rows.values[u64(k)] = value
    return k + (f32(value) != 0)


@lean
def note(rows: Rows, index: int, text: Bytes, at: int, end: int) -> None:
    """Keep the name of a feature that is met for the first time."""
    state = rows.state
    n, used = state[NAMES], state[NAME_BYTES]
    if n == rows.name_end.size or used + end - at > rows.name_text.size:
        state[NO_ROOM] = 1
        return
    for k in range(at, end):
        rows.name_text[used + k - at] = text[k]
    rows.seen[index] = 1
    rows.name_index[n] = index
    rows.name_end[n] = used + end - at
    state[NAMES] = n + 1
    state[NAME_BYTES] = used + end - at


@lean
def sign_of(rows: Rows, text: Bytes, at: int, end: int) -> float:
    """-1 or +1 for a label of known spelling; 0 for another, which is left in ``rows.label``."""
    for s in range(rows.state[SPELLINGS]):
        if rows.spelling_size[s] == end - at:
            k = 0
            while k < end - at and rows.spelling[s * SPELLING + k] == text[at + k]:
                k += 1
            if k == end - at:
                return rows.spelling_sign[s]
    size = min(end - at, SPELLING)
    for k in range(size):
        rows.label[k] = text[at + k]
    rows.state[LABEL_SIZE] = end - at
    return 0.0


@hot
def finish(rows: Rows, k: int, y: float, weight: float) -> int:
    """Commit the row whose entries end before k, unless its label has to be looked up first."""
    if y == 0:
        return NEW_LABEL
    r = rows.state[ROWS]
    rows.y[r] = y
    rows.weight[r] = weight
    rows.indptr[r + 1] = k
    rows.state[ROWS] = r + 1
    rows.state[ENTRIES] = k
    return OK


@njit
def undo(rows: Rows, names: int, name_bytes: int) -> None:
    """Forget the names that a record not committed has brought."""
    for n in range(names, rows.state[NAMES]):
        rows.seen[rows.name_index[n]] = 0
    rows.state[NAMES] = names
    rows.state[NAME_BYTES] = name_bytes


@hot
def settled(rows: Rows, status: int, names: int, name_bytes: int) -> int:
    """The last word on a record: if it is not good, or a name did not fit, it and its names are as if not read."""
    state = rows.state
    if status == OK and state[NO_ROOM]:
        status = FULL
        state[ROWS] -= 1
        state[ENTRIES] = rows.indptr[state[ROWS]]
    if status != OK:
        undo(rows, names, name_bytes)
    return status


@hot
def good(value: float) -> bool:
    """Whether a number can be a feature or a weight."""
    return abs(value) <= LARGEST
