"""CSV: a record per line, cells between separators, in double quotes or not."""

from __future__ import annotations

import math
import re
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import f32, hot, lean, njit
from onlineboost.errors import ParameterError
from onlineboost.readers import status
from onlineboost.readers.amounts import amount
from onlineboost.readers.cells import (
    NO_DAY,
    NUMBER,
    TEXT,
    TOO_LARGE,
    classify,
    classify_date,
    put_cell,
    put_text,
    put_text_cell,
)
from onlineboost.readers.csv_cells import csv_cells, csv_column, find_cell
from onlineboost.readers.csv_header import decide_decimal, read_header
from onlineboost.readers.encoding import ENCODING
from onlineboost.readers.floats import POINT, any_number, parse_number
from onlineboost.readers.format import Format, Output, first_line
from onlineboost.readers.labels import plain_label
from onlineboost.readers.limits import MAX_LINE, MAX_LINE_MB
from onlineboost.readers.pages import ReadOptions
from onlineboost.readers.rows import (
    AT,
    CATEGORY,
    COMMA,
    DAYS,
    END,
    ENTRIES,
    EOF,
    FEATURE,
    IGNORED,
    LABEL,
    LABEL_AT,
    LINE,
    MONTHS,
    NAME_BYTES,
    NAMES,
    NEWS,
    NUMERIC,
    READING,
    ROWS,
    TOO_LONG,
    UNDECIDED,
    WEIGHT,
    WORDS,
    Rows,
    Table,
    add_name,
    fail,
    finish,
    in_range,
    is_named,
    known_sign,
    put,
    settle,
)
from onlineboost.readers.scan import Bytes, byte
from onlineboost.readers.text import Syntax, TextReader
from onlineboost.readers.write_table import table_writer
from onlineboost.registry import FORMATS, Option

_NEWLINE, _RETURN = 10, 13


@njit
def parse(text: Bytes, rows: Rows, table: Table) -> int:
    state = rows.state
    place = np.empty(3, np.int64)  # of a cell: see find_cell
    carry = np.empty(2)  # label and weight of the row
    while state[ROWS] < rows.y.size:
        at, end = state[AT], state[END]
        names, name_bytes = state[NAMES], state[NAME_BYTES]
        if at == end:
            return status.MORE
        if byte(text, at) == _NEWLINE or (byte(text, at) == _RETURN and at + 1 < end and text[at + 1] == _NEWLINE):
            state[AT] = at + 1 + (byte(text, at) == _RETURN)
            state[LINE] += 1
            continue
        outcome = _record(text, at, end, rows, table, place, carry)
        outcome = settle(rows, outcome, names, name_bytes)
        if outcome != status.OK:
            return outcome
        lines = 0
        for i in range(at, place[2]):
            lines += text[i] == _NEWLINE
        state[LINE] += lines
        state[AT] = place[2]
        if state[NEWS]:
            return status.NEW_CELL
    return status.FULL


@hot
def _record(text: Bytes, at: int, end: int, rows: Rows, table: Table, place: NDArray[Any], carry: NDArray[Any]) -> int:
    state = rows.state
    k = state[ENTRIES]
    columns = table.role.size
    carry[0], carry[1] = np.nan, 1.0
    i = at
    column = 0
    while True:
        if column < columns and table.role[column] == FEATURE:  # most cells are plain numbers
            value, after = parse_number(text, i, end, table.plain)
            if i < after < end and in_range(value):
                c = byte(text, after)
                if c == table.separator or c == _NEWLINE:
                    feature = table.feature[column]
                    if f32(value) != 0 and not is_named(rows, feature):
                        add_name(rows, feature, table.name_text, table.name_at[column], table.name_at[column + 1])
                    k = put(rows, k, feature, value)
                    column += 1
                    i = after + 1
                    if c == _NEWLINE:
                        break
                    continue
        outcome = find_cell(text, i, end, state[EOF] != 0, table.separator, rows.cell, place)
        if outcome != status.OK:
            return fail(rows, i, outcome)
        if column == columns:
            return fail(rows, i, status.MANY_CELLS)
        a, b, after = place[0], place[1], place[2]
        if table.role[column] == LABEL:
            state[LABEL_AT] = i
        if a >= 0:
            k = _cell(rows, table, k, column, carry, text, a, b)
        else:
            k = _cell(rows, table, k, column, carry, rows.cell, 0, b)
        if k < 0:
            return fail(rows, i, -k)
        column += 1
        ended = after >= end or byte(text, after) != table.separator
        i = after + 1
        if ended:
            break
    if column < columns:
        return fail(rows, min(i - 1, end), status.FEW_CELLS)
    if after < end and byte(text, after) == _RETURN:
        after += 1
    place[2] = min(after + 1, end)
    return finish(rows, k, carry[0], carry[1])


@lean
def _cell(rows: Rows, table: Table, k: int, column: int, carry: NDArray[Any], text: Bytes, a: int, b: int) -> int:
    """Write a cell that is not a plain number; the number of the next entry, or minus an error status."""
    role = table.role[column]
    point = COMMA if table.decimal == COMMA else POINT
    if role == IGNORED:
        return k
    if role == LABEL:
        if a == b:
            return -status.NO_LABEL if table.label_required else k
        if rows.state[NUMERIC] and table.decimal == UNDECIDED and has_decimal_comma(rows, 0, text, a, b):
            return -status.DECIMAL_COMMA
        carry[0] = known_sign(rows, text, a, b, point)
        return -status.LONG_LABEL if carry[0] == TOO_LONG else k
    if role == WEIGHT:
        if table.decimal == UNDECIDED and has_decimal_comma(rows, 0, text, a, b):
            return -status.DECIMAL_COMMA
        value, after = any_number(text, a, b, point)
        if after != b or a == b or not in_range(value) or value < 0:
            return -status.BAD_WEIGHT
        carry[1] = value
        return k
    first = table.name_at[column]
    size = table.name_at[column + 1] - first
    for i in range(size):
        rows.scratch[i] = table.name_text[first + i]
    if role == WORDS:
        return put_text_cell(rows, k, size, text, a, b)
    if role == DAYS or role == MONTHS:
        kind, value, days = classify_date(text, a, b, role == MONTHS)
        if kind == NO_DAY:
            return -(status.BAD_US_DATE if role == MONTHS else status.BAD_DATE)
        return put_cell(rows, k, size, kind, value, days, text, a, b)
    kind, value, days = (TEXT, 0.0, 0) if role == CATEGORY else classify(rows, size, text, a, b, point)
    doubtful = (kind == TEXT or kind == NUMBER) and role == FEATURE and table.decimal == UNDECIDED
    if doubtful and has_decimal_comma(rows, size, text, a, b):
        return -status.DECIMAL_COMMA
    if kind == TEXT and role == FEATURE:
        return put_text(rows, k, size, text, a, b)
    if kind == TOO_LARGE:
        return -status.LARGE_NUMBER
    return put_cell(rows, k, size, kind, value, days, text, a, b)


@lean
def has_decimal_comma(rows: Rows, size: int, text: Bytes, a: int, b: int) -> bool:
    """Whether the text may be a number with a decimal comma; the scratch memory after ``size`` is overwritten."""
    found = False
    for i in range(a, b):
        found |= text[i] == COMMA
    if not found:
        return False
    if any_number(text, a, b, COMMA)[1] == b:
        return True
    return rows.state[READING] != 0 and amount(text, a, b, COMMA, rows.scratch, size)[1]


def reader(
    options: ReadOptions,
    header: bool | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    max_line_mb: int = MAX_LINE_MB,
    encoding: str | None = None,
) -> TextReader:
    """A reader of CSV. An option that is None is guessed from the first lines."""
    if decimal not in (None, ".", ","):
        raise ParameterError("decimal", decimal, "a point or a comma")
    good = isinstance(separator, str) and re.fullmatch(r"[^\w\r\n\"'.+-]", separator, re.ASCII)
    if separator is not None and not good:
        raise ParameterError("separator", separator, "one character that cannot be part of a number or a word")
    columns = partial(read_header, header=header, separator=separator, decimal=decimal)
    syntax = Syntax(parse, label_of, rb"[,;\t\r\n]", columns, decide_decimal, csv_cells, csv_column)
    return TextReader(syntax, options, max_line_mb=max_line_mb, encoding=encoding)


def label_of(spelling: bytes) -> Any:
    """The value of a label: a number or a boolean if it looks like one, NaN if it is missing."""
    word = spelling.decode(errors="replace")
    return math.nan if word.lower() == "nan" else plain_label(word)


def open_table(output: Output, schema: Any, separator: str = ",") -> Any:
    from pyarrow.csv import CSVWriter, WriteOptions

    return CSVWriter(output.open(), schema, write_options=WriteOptions(delimiter=separator))


OPTIONS = (
    Option("header", "Read column names from the first line.", bool, default="detected"),
    Option(
        "separator",
        "Character between cells, or tab.",
        parse=lambda typed: {"\\t": "\t", "tab": "\t"}.get(typed, typed),
        default="detected",
        metavar="CHAR",
    ),
    Option("decimal", "Decimal mark, a point or a comma.", default="detected", metavar="CHAR"),
    MAX_LINE,
    ENCODING,
)

FORMATS.add(
    Format(
        name="csv",
        title="CSV",
        suffixes=(".csv",),
        reader=reader,
        writer=table_writer(open_table),
        options=OPTIONS,
        looks_like=lambda start: b"," in first_line(start) or b";" in first_line(start),
        priority=10,
    )
)
