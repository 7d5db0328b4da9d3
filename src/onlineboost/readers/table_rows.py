"""Columns of a table to rows, compiled: columns fill slots of a wide table, then gaps are closed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import f32, njit, u64
from onlineboost.data.batch import Floats, Ints
from onlineboost.data.hashing import id_of, name_hash
from onlineboost.data.text import SHORTEST, is_text, next_word
from onlineboost.readers.amounts import amount
from onlineboost.readers.cells import (
    DATETIME,
    MISSING,
    NO_DAY,
    TEXT,
    classify_date,
    classify_text,
    id_of_category,
    is_missing,
    put_cell,
    put_string,
    put_words,
)
from onlineboost.readers.floats import POINT
from onlineboost.readers.pages import PageBuilder
from onlineboost.readers.rows import (
    CATEGORY,
    DAYS,
    FEATURE,
    FINDS,
    MONTHS,
    WORDS,
    Rows,
    add_name,
    in_range,
    is_named,
    is_sighted,
    put,
)
from onlineboost.readers.scan import SLACK, Bytes


class Slots(NamedTuple):
    """The positions of the features of rows."""

    start: Ints  # of each row, and the end
    free: Ints  # of each row, after the slots of columns and the words written so far


def new_slots(width: int, words: Ints) -> Slots:
    """Slots for so many features of columns in each row, and for its words."""
    start = np.concatenate([[0], np.cumsum(words + width)])
    return Slots(start, start[:-1] + width)


def fill_column(rows: Rows, slots: Slots, at: int, size: int, cell: dict[str, Any], role: int) -> None:
    """Write the features of a column to its slots of each row; its name is in the scratch memory, ``size`` bytes."""
    valid = cell["valid"]
    if "numbers" in cell:
        _fill_numbers(rows, slots.start, at, size, cell["numbers"], valid)
    elif "days" in cell:
        _fill_datetimes(rows, slots.start, at, size, cell["days"], cell["seconds"], valid)
    else:
        offsets, text = cell["bytes"]
        if role in (DAYS, MONTHS):
            _fill_dates(rows, slots.start, at, size, offsets, text, valid, role == MONTHS)
            return
        _fill_texts(rows, slots.start, at, size, offsets, text, valid, role == CATEGORY, cell["text_from"])
        _fill_words(rows, slots.free, size, offsets, text, cell["worded"])


def as_bytes(builder: PageBuilder, cell: dict[str, Any], role: int, name: str) -> Ints:
    """Convert a column of strings to bytes, and find the words; the number of words of each row."""
    offsets, text = cell["bytes"] = _buffers(cell["texts"])
    valid = cell["valid"]
    cell["worded"] = worded = valid & (role == WORDS)
    cell["text_from"] = 0 if role == WORDS else valid.size
    encoded = np.frombuffer(name.encode(), np.uint8)
    row = -1 if role == FEATURE and builder.rows.sighted.size else valid.size
    while row < valid.size:
        builder.rows.scratch[: encoded.size] = encoded
        row, id = _next_news(builder.rows, encoded.size, offsets, text, valid, row + 1)
        worded[row : row + 1] = True
        if row < valid.size and builder.rows.state[FINDS] and builder.sight(name, row, id):
            cell["text_from"] = row + 1
            worded[row + 1 :] = valid[row + 1 :]
            break
    _leave_out_missing(offsets, text, worded)
    return _count_words(builder.rows.scratch, offsets, text, worded)


@njit
def _leave_out_missing(offsets: Ints, text: Bytes, worded: NDArray[np.bool_]) -> None:
    for r in np.flatnonzero(worded):
        worded[r] = not is_missing(text, offsets[r], offsets[r + 1])


@njit
def _next_news(
    rows: Rows, size: int, offsets: Ints, text: Bytes, valid: NDArray[np.bool_], first: int
) -> tuple[int, int]:
    """The next row with a new cell of at least four words, or their number, and the id of the cell."""
    for r in range(first, valid.size):
        a, b = offsets[r], offsets[r + 1]
        if valid[r] and b - a >= SHORTEST and is_text(text, a, b):
            index = id_of_category(rows.scratch, size, text, a, b)
            if not is_sighted(rows, index) and classify_text(rows, size, text, a, b, POINT)[0] == TEXT:
                return r, index
    return valid.size, 0


@njit
def _count_words(scratch: Bytes, offsets: Ints, text: Bytes, worded: NDArray[np.bool_]) -> Ints:
    """The number of words of each row."""
    counts = np.zeros(worded.size, np.int64)
    for r in np.flatnonzero(worded):
        at, phase = offsets[r], 0
        while True:
            end, at, phase = next_word(text, at, offsets[r + 1], scratch, 0, phase)
            if end == 0:
                break
            counts[r] += 1
    return counts


@njit
def _fill_words(rows: Rows, free: Ints, size: int, offsets: Ints, text: Bytes, worded: NDArray[np.bool_]) -> None:
    for r in range(worded.size):
        if worded[r]:
            free[r] = put_words(rows, free[r], size, text, offsets[r], offsets[r + 1])


@njit
def _fill_numbers(rows: Rows, start: Ints, at: int, size: int, numbers: Floats, valid: NDArray[np.bool_]) -> None:
    index = id_of(name_hash(rows.scratch, 0, size, u64(0)))
    for r in range(valid.size):
        if valid[r]:
            if f32(numbers[r]) != 0 and not is_named(rows, index):
                add_name(rows, index, rows.scratch, 0, size)
            put(rows, start[r] + at, index, numbers[r])
        else:
            put_cell(rows, start[r] + at, size, MISSING, 0.0, 0, rows.scratch, 0, 0)


@njit
def _fill_datetimes(
    rows: Rows, start: Ints, at: int, size: int, days: Ints, seconds: Ints, valid: NDArray[np.bool_]
) -> None:
    for r in range(valid.size):
        if valid[r]:
            put_cell(rows, start[r] + at, size, DATETIME, float(seconds[r]), days[r], rows.scratch, 0, 0)
        else:
            put_cell(rows, start[r] + at, size, MISSING, 0.0, 0, rows.scratch, 0, 0)


@njit
def _fill_texts(
    rows: Rows,
    start: Ints,
    at: int,
    size: int,
    offsets: Ints,
    text: Bytes,
    valid: NDArray[np.bool_],
    category: bool,
    text_from: int,
) -> None:
    for r in range(valid.size):
        a, b = offsets[r], offsets[r + 1]
        b = b if valid[r] else a
        if r >= text_from and a < b:
            if is_missing(text, a, b):
                put_cell(rows, start[r] + at, size, MISSING, 0.0, 0, text, a, b)
            continue
        kind, value, days = (TEXT, 0.0, 0) if category else classify_text(rows, size, text, a, b, POINT)
        if kind == TEXT and not category:
            put_string(rows, start[r] + at, size, text, a, b)
        else:
            put_cell(rows, start[r] + at, size, kind, value, days, text, a, b)


@njit
def _fill_dates(
    rows: Rows, start: Ints, at: int, size: int, offsets: Ints, text: Bytes, valid: NDArray[np.bool_], months: bool
) -> None:
    for r in range(valid.size):
        a, b = offsets[r], offsets[r + 1]
        kind, value, days = classify_date(text, a, b if valid[r] else a, months)
        put_cell(rows, start[r] + at, size, kind, value, days, text, a, b)


def bad_dates(texts: Any, valid: NDArray[np.bool_], role: int) -> NDArray[np.bool_]:
    """Marks texts that are not dates in the order of their column."""
    offsets, text = _buffers(texts)
    return _bad_dates(offsets, text, valid, role == MONTHS)


@njit
def _bad_dates(offsets: Ints, text: Bytes, valid: NDArray[np.bool_], months: bool) -> NDArray[np.bool_]:
    bad = np.zeros(valid.size, np.bool_)
    for r in range(valid.size):
        bad[r] = valid[r] and classify_date(text, offsets[r], offsets[r + 1], months)[0] == NO_DAY
    return bad


def large_amounts(texts: Any, valid: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Marks texts that are amounts beyond the largest number."""
    offsets, text = _buffers(texts)
    return _large_amounts(offsets, text, valid, np.empty(text.size + SLACK, np.uint8))


@njit
def _large_amounts(offsets: Ints, text: Bytes, valid: NDArray[np.bool_], scratch: Bytes) -> NDArray[np.bool_]:
    bad = np.zeros(valid.size, np.bool_)
    for r in range(valid.size):
        a, b = offsets[r], offsets[r + 1]
        if valid[r] and b - a > 4 and not 58 <= text[a] < 0xC2:  # as ``classify_text``
            value, good = amount(text, a, b, POINT, scratch, 0)
            bad[r] = good and not in_range(value)
    return bad


@njit
def close_gaps(rows: Rows, start: Ints) -> int:
    """Compressed sparse rows from the slots, in place; the number of entries."""
    k = 0
    rows.indptr[0] = 0
    for r in range(start.size - 1):
        for j in range(start[r], start[r + 1]):
            rows.indices[k] = rows.indices[j]
            rows.values[k] = rows.values[j]
            k += rows.values[k] != 0
        rows.indptr[r + 1] = k
    return k


def _buffers(texts: Any) -> tuple[Ints, Bytes]:
    """Offsets and bytes of an Arrow array of strings."""
    _, offsets, data = texts.buffers()
    n = len(texts)
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + n + 1].copy()
    text = np.zeros(ends[-1] - ends[0] + 16, np.uint8)
    if data is not None:
        text[:-16] = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]
    return ends - ends[0], text
