"""Rows as the compiled parsers write them: entries, new names, and the position in the text.

A parser is a compiled function ``parse(text, rows, table) -> status`` that reads whole records from
``text[state[AT]:state[END]]``, commits each with ``finish``, and leaves ``state[AT]`` at the first one not committed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onlineboost.compiled.jit import f32, hot, i64, lean, njit, u64
from onlineboost.data.batch import LARGEST, Floats, Floats32, Ints, Ints32
from onlineboost.data.columns import MAX_NAMES
from onlineboost.readers import status
from onlineboost.readers.floats import POINT, any_number
from onlineboost.readers.scan import Bytes, byte, line_end

# Positions in ``state``.
AT, END, EOF = 0, 1, 2  # start of the next record, end of the text, whether the file ends there
LINE = 3  # number of the record's first line, from 1
ROWS, ENTRIES = 4, 5  # committed
NAMES, NAME_BYTES, NO_ROOM = 6, 7, 8  # written; whether a name did not fit
SPELLINGS, LABEL_SIZE, LABEL_AT = 9, 10, 11  # known spellings of labels; length and place of an unknown one
ERROR_AT = 12  # place of an error in the text
KNOWN = 13  # names told so far
NUMERIC = 14  # whether labels are numbers to predict, not classes
READING = 17  # 0: without text columns, as in older versions
FINDS, NEWS = 15, 16  # whether cells of at least four words are collected; number of new ones in this record
STATE_SIZE = 18
UNKNOWN, TOO_LONG = np.inf, -np.inf  # a label to look up; one that is too long for that

_RETURN = 13
MAX_LABEL_BYTES = 64
SPELLING_BYTES = MAX_LABEL_BYTES + 1  # a JSON string keeps its opening quote
MAX_SPELLINGS = 1024
COMMA, UNDECIDED, NO_POINT = 44, 0, 256  # for ``Table.decimal``; 256 is no byte
FEATURE, LABEL, WEIGHT, IGNORED, CATEGORY, WORDS, DAYS, MONTHS = range(8)  # roles; for dates also the order


class Rows(NamedTuple):
    """Rows that are being read, in arrays that are reused."""

    state: Ints
    indptr: Ints
    indices: Ints32
    values: Floats32
    y: Floats  # NaN where there is no label
    weight: Floats
    name_known: Ints32  # ~id of each feature with a collected name, by a hash, or 0; empty if names are not collected
    name_index: Ints32
    name_end: Ints
    name_text: Bytes
    scratch: Bytes  # the name of the current feature
    cell: Bytes  # a value without its quotes
    spelling: Bytes  # of labels: [MAX_SPELLINGS * SPELLING_BYTES]
    spelling_size: Ints
    spelling_sign: Floats
    label: Bytes  # an unknown spelling
    sighted: Ints32  # ~id of each cell of at least four words that was met, by a hash, or 0; empty: no column is text
    news: Ints  # [new cells, 2]: the id of a cell, and where the name of its column ends in the text
    news_text: Bytes


def new_rows(chunk: int, batch_size: int, with_names: bool) -> Rows:
    """Arrays for a chunk of text, which has at most two features for each byte: an empty cell has two."""
    entries = 2 * chunk + 16
    return Rows(
        state=np.zeros(STATE_SIZE, np.int64),
        indptr=np.zeros(batch_size + 1, np.int64),
        indices=np.empty(entries, np.int32),
        values=np.empty(entries, np.float32),
        y=np.empty(batch_size),
        weight=np.empty(batch_size),
        name_known=np.zeros(1 << 12 if with_names else 0, np.int32),
        name_index=np.empty(1 << 15, np.int32),
        name_end=np.empty(1 << 15, np.int64),
        name_text=np.empty(1 << 19, np.uint8),
        scratch=np.empty(2 * chunk + 1024, np.uint8),
        cell=np.empty(entries, np.uint8),
        spelling=np.zeros(MAX_SPELLINGS * SPELLING_BYTES, np.uint8),
        spelling_size=np.zeros(MAX_SPELLINGS, np.int64),
        spelling_sign=np.zeros(MAX_SPELLINGS),
        label=np.zeros(SPELLING_BYTES, np.uint8),
        sighted=np.zeros(0, np.int32),
        news=np.zeros((64, 2), np.int64),
        news_text=np.zeros(1 << 12, np.uint8),
    )


class Table(NamedTuple):
    """Roles and names of columns."""

    label_required: bool  # every row must have a label
    separator: int
    role: Ints
    name_at: Ints  # [columns + 1]
    name_text: Bytes
    feature: Ints32  # id of the feature named as the column
    decimal: int  # decimal point of numbers: POINT, COMMA, or UNDECIDED until the first cell that has a comma
    plain: int  # the same for cells without quotes, which cannot have one that is the separator too


@hot
def put(rows: Rows, k: int, index: int, value: float) -> int:
    """Write a feature as entry k, unless it is zero; the number of the next entry."""
    rows.indices[u64(k)] = index
    rows.values[u64(k)] = value
    return k + (f32(value) != 0)


@hot
def is_named(rows: Rows, index: int) -> bool:
    """Whether the name of a feature is known, or names are not collected."""
    return rows.name_known.size == 0 or rows.name_known[_place(rows.name_known, index)] != 0


@hot
def _place(known: Ints32, index: int) -> int:
    """The place of a feature in the set."""
    last = i64(known.size - 1)
    at = i64((u64(index) * u64(0x9E3779B97F4A7C15)) >> u64(40)) & last
    while known[at] != 0 and known[at] != ~index:
        at = (at + 1) & last
    return at


@njit
def larger_set(known: Ints32) -> Ints32:
    """The same set with room for twice as many features."""
    larger = np.zeros(2 * known.size, np.int32)
    for k in range(known.size):
        if known[k] != 0:
            larger[_place(larger, ~known[k])] = known[k]
    return larger


@hot
def is_sighted(rows: Rows, index: int) -> bool:
    """Whether a cell of at least four words is known."""
    return rows.sighted[_place(rows.sighted, index)] != 0


@lean
def tell_cell(rows: Rows, index: int, name: Bytes, size: int) -> None:
    """Collect a new cell of at least four words, and the name of its column."""
    state = rows.state
    n = state[NEWS]
    at = rows.news[n - 1, 1] if n else 0
    if n == rows.news.shape[0] or at + size > rows.news_text.size:
        state[NO_ROOM] = 1
        return
    for k in range(size):
        rows.news_text[at + k] = name[k]
    rows.news[n, 0], rows.news[n, 1] = index, at + size
    state[NEWS] = n + 1


@njit
def add_sighted(sighted: Ints32, index: int) -> None:
    """Note a cell of at least four words."""
    sighted[_place(sighted, index)] = ~index


@lean
def add_name(rows: Rows, index: int, text: Bytes, at: int, end: int) -> None:
    """Collect the name of a new feature, up to the limit of kept names."""
    state = rows.state
    if state[KNOWN] == MAX_NAMES:
        return
    n, used = state[NAMES], state[NAME_BYTES]
    if n == rows.name_end.size or used + end - at > rows.name_text.size or 2 * state[KNOWN] >= rows.name_known.size:
        state[NO_ROOM] = 1
        return
    for k in range(at, end):
        rows.name_text[used + k - at] = text[k]
    rows.name_known[_place(rows.name_known, index)] = ~index
    rows.name_index[n] = index
    rows.name_end[n] = used + end - at
    state[NAMES] = n + 1
    state[KNOWN] += 1
    state[NAME_BYTES] = used + end - at


@lean
def known_sign(rows: Rows, text: Bytes, at: int, end: int, point: int = POINT, longest: int = MAX_LABEL_BYTES) -> float:
    """The place of a label of known spelling, or its number; otherwise it is copied to ``rows.label``."""
    if rows.state[NUMERIC]:
        value, after = any_number(text, at, end, point)
        if after == end and abs(value) <= LARGEST:
            return value
    for s in range(rows.state[SPELLINGS]):
        if rows.spelling_size[s] == end - at:
            k = 0
            while k < end - at and rows.spelling[s * SPELLING_BYTES + k] == text[at + k]:
                k += 1
            if k == end - at:
                return rows.spelling_sign[s]
    if end - at > longest:
        return TOO_LONG
    for k in range(end - at):
        rows.label[k] = text[at + k]
    rows.state[LABEL_SIZE] = end - at
    return UNKNOWN


@hot
def finish(rows: Rows, k: int, y: float, weight: float) -> int:
    """Commit the row whose entries end before k; not if its label is unknown."""
    if y == UNKNOWN:
        return status.NEW_LABEL
    r = rows.state[ROWS]
    rows.y[r] = y
    rows.weight[r] = weight
    rows.indptr[r + 1] = k
    rows.state[ROWS] = r + 1
    rows.state[ENTRIES] = k
    return status.OK


@njit
def undo(rows: Rows, names: int, name_bytes: int) -> None:
    """Forget the names of a record that was not committed."""
    for n in range(rows.state[NAMES] - 1, names - 1, -1):  # in reverse, so that the others are still found
        rows.name_known[_place(rows.name_known, rows.name_index[n])] = 0
        rows.state[KNOWN] -= 1
    rows.state[NAMES] = names
    rows.state[NAME_BYTES] = name_bytes


@hot
def settle(rows: Rows, outcome: int, names: int, name_bytes: int) -> int:
    """The final status of a record; undo it and its names if it is bad or a name did not fit."""
    state = rows.state
    if outcome == status.OK and state[NO_ROOM]:
        outcome = status.FULL
        state[ROWS] -= 1
        state[ENTRIES] = rows.indptr[state[ROWS]]
    if outcome != status.OK:
        undo(rows, names, name_bytes)
        state[NEWS] = 0
    return outcome


@hot
def parse_lines(text: Bytes, rows: Rows, table: Table, line: Any, memory: Any) -> int:
    """``parse`` for formats with a record on each line: ``line(text, at, end, rows, table, memory) -> status``."""
    state = rows.state
    while state[ROWS] < rows.y.size:
        at = state[AT]
        end = line_end(text, at, state[END])
        if at == state[END] or (end == state[END] and not state[EOF]):
            return status.MORE
        names, name_bytes = state[NAMES], state[NAME_BYTES]
        outcome = settle(rows, line(text, at, end, rows, table, memory), names, name_bytes)
        if outcome != status.OK:
            return outcome
        state[AT] = min(end + 1, state[END])
        state[LINE] += 1
        if state[NEWS]:
            return status.NEW_CELL
    return status.FULL


@hot
def fail(rows: Rows, at: int, outcome: int) -> int:
    """The status of a record with an error at this place."""
    rows.state[ERROR_AT] = at
    return outcome


@hot
def without_return(text: Bytes, at: int, end: int) -> int:
    """The end of a line without its carriage return."""
    return end - (end > at and byte(text, end - 1) == _RETURN)


@hot
def in_range(value: float) -> bool:
    """Whether a number can be a feature or a weight."""
    return abs(value) <= LARGEST
