"""Columns of a table to rows, compiled: each column to its slots of a wide table, then the gaps are closed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import f32, njit, u64
from onlineboost.data.batch import Floats, Ints
from onlineboost.data.hashing import id_of, name_hash
from onlineboost.readers.cells import DATETIME, MISSING, TEXT, classify_text, put_cell
from onlineboost.readers.rows import Rows, add_name, is_named, put
from onlineboost.readers.scan import Bytes


def fill_column(rows: Rows, n: int, width: int, at: int, size: int, cell: dict[str, Any], category: bool) -> None:
    """Write the features of a column to its slots of each row; its name is in the scratch memory, ``size`` bytes."""
    valid = cell["valid"]
    if "numbers" in cell:
        _fill_numbers(rows, n, width, at, size, cell["numbers"], valid)
    elif "days" in cell:
        _fill_datetimes(rows, n, width, at, size, cell["days"], cell["seconds"], valid)
    else:
        offsets, text = _buffers(cell["texts"])
        _fill_texts(rows, n, width, at, size, offsets, text, valid, category)


@njit
def _fill_numbers(
    rows: Rows, n: int, width: int, at: int, size: int, numbers: Floats, valid: NDArray[np.bool_]
) -> None:
    index = id_of(name_hash(rows.scratch, 0, size, u64(0)))
    for r in range(n):
        if valid[r]:
            if f32(numbers[r]) != 0 and not is_named(rows, index):
                add_name(rows, index, rows.scratch, 0, size)
            put(rows, r * width + at, index, numbers[r])
        else:
            put_cell(rows, r * width + at, size, MISSING, 0.0, 0, rows.scratch, 0, 0)


@njit
def _fill_datetimes(
    rows: Rows, n: int, width: int, at: int, size: int, days: Ints, seconds: Ints, valid: NDArray[np.bool_]
) -> None:
    for r in range(n):
        if valid[r]:
            put_cell(rows, r * width + at, size, DATETIME, float(seconds[r]), days[r], rows.scratch, 0, 0)
        else:
            put_cell(rows, r * width + at, size, MISSING, 0.0, 0, rows.scratch, 0, 0)


@njit
def _fill_texts(
    rows: Rows,
    n: int,
    width: int,
    at: int,
    size: int,
    offsets: Ints,
    text: Bytes,
    valid: NDArray[np.bool_],
    category: bool,
) -> None:
    for r in range(n):
        a, b = offsets[r], offsets[r + 1]
        b = b if valid[r] else a
        kind, value, days = (TEXT, 0.0, 0) if category else classify_text(text, a, b)
        put_cell(rows, r * width + at, size, kind, value, days, text, a, b)


@njit
def close_gaps(rows: Rows, n: int, width: int) -> int:
    """Compressed sparse rows from the slots, in place; the number of entries."""
    k = 0
    rows.indptr[0] = 0
    for r in range(n):
        for j in range(r * width, (r + 1) * width):
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
