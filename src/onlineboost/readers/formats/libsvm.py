"""LIBSVM and SVMlight text: ``label number:value number:value ... # comment``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

import numpy as np

from onlineboost.compiled.jit import f32, hot, i64, njit, u64
from onlineboost.data.batch import Batch
from onlineboost.data.hashing import MAX_ID
from onlineboost.errors import DataError
from onlineboost.readers import status
from onlineboost.readers.encoding import ENCODING
from onlineboost.readers.floats import parse_number
from onlineboost.readers.format import Format, first_line
from onlineboost.readers.labels import number_label
from onlineboost.readers.limits import MAX_LINE
from onlineboost.readers.rows import (
    ENTRIES,
    ERROR_AT,
    LABEL_AT,
    TOO_LONG,
    Rows,
    Table,
    finish,
    in_range,
    known_sign,
    parse_lines,
    put,
    without_return,
)
from onlineboost.readers.scan import Bytes, byte, digits
from onlineboost.readers.text import Syntax, TextReader, no_columns
from onlineboost.readers.write_lines import features, join_columns, line_writer, signs
from onlineboost.registry import FORMATS

_COLON, _HASH = 58, 35


@njit
def parse(text: Bytes, rows: Rows, table: Table) -> int:
    return parse_lines(text, rows, table, _line, ())


@hot
def _line(text: Bytes, at: int, end: int, rows: Rows, table: Table, memory: tuple[()]) -> int:
    state = rows.state
    end = without_return(text, at, end)
    while at < end and _is_blank(text[at]):
        at += 1
    if at == end or text[at] == _HASH:
        return status.OK
    i = at
    while i < end and not _is_blank(byte(text, i)) and byte(text, i) != _HASH and byte(text, i) != _COLON:
        i += 1
    state[ERROR_AT] = at
    y = np.nan
    if i < end and byte(text, i) == _COLON:  # the line begins with a feature
        if table.label_required:
            return status.NO_LABEL
        i = at
    else:
        y = known_sign(rows, text, at, i)
        state[LABEL_AT] = at
        if y == TOO_LONG:
            return status.LONG_LABEL
    k = state[ENTRIES]
    while i < end:
        if _is_blank(byte(text, i)):
            i += 1
            continue
        if byte(text, i) == _HASH:
            break
        state[ERROR_AT] = i
        number, n = digits(text, i)
        index = i64(number)
        if n == 8:  # or more
            while i + n < end and u64(byte(text, i + n) - 48) < u64(10):
                index = min(index * 10 + i64(byte(text, i + n)) - 48, i64(1 << 40))
                n += 1
        if n == 0:
            return status.QID if i + 3 < end and _is_qid(text, i) else status.NO_INDEX
        if index > MAX_ID:
            return status.LARGE_INDEX
        i += n
        state[ERROR_AT] = i
        if i == end or byte(text, i) != _COLON:
            return status.NO_COLON
        i += 1
        state[ERROR_AT] = i
        value, after = parse_number(text, i, end)
        if after == i or (after < end and not _is_blank(byte(text, after)) and byte(text, after) != _HASH):
            return status.BAD_NUMBER
        if not in_range(value):
            return status.LARGE_NUMBER
        i = after
        k = put(rows, k, index, f32(value))
    return finish(rows, k, y, 1.0)


@hot
def _is_qid(text: Bytes, i: int) -> bool:
    return text[i] == 113 and text[i + 1] == 105 and text[i + 2] == 100 and text[i + 3] == _COLON


@hot
def _is_blank(c: int) -> bool:
    return c == 32 or c == 9


def lines(batch: Batch, names: Mapping[int, str]) -> bytes:
    import pyarrow as pa

    for lost, what in (((batch.weight != 1).any(), "weights"), (np.isnan(batch.y).any(), "examples without a label")):
        if lost:
            raise DataError(f"LIBSVM text has no place for {what}: choose another format, such as .vw or .jsonl")
    numbers = pa.array(batch.indices[int(batch.indptr[0]) : int(batch.indptr[-1])]).cast(pa.string())
    return join_columns([signs(batch), " ", features(batch, numbers, ":", " ")])


_LINE = re.compile(rb"^[-+\w.]+([ \t]+\d+:[-+.\deE]+)*[ \t]*(#.*)?$")
SYNTAX = Syntax(parse, number_label, rb"[ \t\r\n]", no_columns)

FORMATS.add(
    Format(
        name="libsvm",
        title="LIBSVM text",
        suffixes=(".libsvm", ".svm", ".svmlight"),
        reader=partial(TextReader, SYNTAX),
        writer=line_writer(lines),
        options=(MAX_LINE, ENCODING),
        has_columns=False,
        looks_like=lambda start: _LINE.match(first_line(start)) is not None,
        priority=40,
    )
)
