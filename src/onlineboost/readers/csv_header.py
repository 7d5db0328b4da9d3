"""The first lines of CSV: separator, header and columns; and whether numbers have a decimal comma."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np

from onlineboost.data.amounts import amount
from onlineboost.errors import DataError, ReadError, ReadWarning
from onlineboost.readers import status
from onlineboost.readers.csv_cells import find_cell
from onlineboost.readers.floats import POINT
from onlineboost.readers.frames import index_columns, warn_of_index
from onlineboost.readers.labels import as_number
from onlineboost.readers.limits import MAX_LINE, beyond
from onlineboost.readers.roles import column_numbers, find_roles, label_column, new_table, with_decimal, with_names
from onlineboost.readers.rows import (
    AT,
    COMMA,
    END,
    EOF,
    FEATURE,
    IGNORED,
    LABEL,
    LINE,
    NUMERIC,
    READING,
    UNDECIDED,
    WEIGHT,
    Table,
)
from onlineboost.readers.scan import Bytes
from onlineboost.readers.text import ByteSource, TextReader

_NUMBER = re.compile(rb"\s*[+-]?\d*,\d*(?:[eE][+-]?\d+)?\s*")  # with a decimal comma
_GUESSED = 1 << 16  # bytes of the first line for guessing the separator


def read_header(
    reader: TextReader,
    source: ByteSource,
    header: bool | None = None,
    separator: str | None = None,
    decimal: str | None = None,
) -> Table:
    """The columns of a source. An option that is None is guessed from the first line, or later."""
    schema, label_required = reader.options.schema, reader.options.label_required
    state = reader.builder.rows.state
    cells: list[str] | None = None
    while cells is None:
        _skip_empty_lines(reader.text, state)
        start = reader.text[state[AT] : min(state[AT] + _GUESSED, state[END])].tobytes()
        mark = ord(separator or guess_separator(start))
        if state[EOF] or _has_line_end(reader.text, state):
            try:
                cells, after = first_record(reader.text, state, mark, reader.builder.rows.cell)
            except DataError as problem:
                message = f"{source.name}: {problem}"
                raise ReadError(message, path=source.name, line=int(state[LINE])) from None
        if cells is None and not reader.fill(source):
            place, limit = f"line {state[LINE]}", beyond(MAX_LINE, reader.max_line)
            message = f"{source.name}: {place}: {status.EXPECTED[status.LONG_RECORD]}: {limit}"
            raise ReadError(message, path=source.name, line=int(state[LINE]))
    if header is None:
        label = label_column(schema)
        named = label in cells and as_number(label) is None
        plain = cells if mark == COMMA or decimal == "." else [cell.replace(",", ".") for cell in cells]
        header = named or not any(as_number(cell) is not None for cell in plain)
    names = cells if header else column_numbers(schema, len(cells), source.name, label_required)
    found = find_roles(
        schema,
        names,
        source.name,
        label_required and bool(cells),
        reader.options.label_ignored,
        reader.builder.text.columns,
    )
    index = index_columns(names, None) if header else []
    index = [name for name in index if found[names.index(name)] == FEATURE]
    for name in index:
        found[names.index(name)] = IGNORED
    warn_of_index(index, source.name)
    reader.builder.schema = with_names(schema, names, found, header)
    reader.builder.has_columns(names, found, source.name)
    if header:
        state[LINE] += reader.text[state[AT] : after].tobytes().count(b"\n")
        state[AT] = after
    need = 2 * reader.text.size + sum(len(name.encode()) for name in names)
    reader.builder.rows = reader.builder.rows._replace(scratch=np.zeros(need, np.uint8))
    return new_table(names, found, label_required, mark, ord(decimal) if decimal else UNDECIDED)


def _has_line_end(text: Bytes, state: Any) -> bool:
    return text[state[AT] : state[END]].tobytes().find(b"\n") >= 0


def guess_separator(start: bytes) -> str:
    """The most frequent separator in the first line; decimal commas do not count.

    >>> guess_separator(b"a;b;c,d"), guess_separator(b"0,5;1,5")
    (';', ';')
    """
    quoted = rb'(?:^|(?<=[,\t;|]))"(?:[^"]|"")*"'  # only at the start of a cell; elsewhere a quote is a character
    found = re.match(rb"(?:" + quoted + rb"|[^\r\n])*", start)
    line = re.sub(quoted, b"", found.group() if found else b"")
    for mark in (b";", b"\t", b"|"):
        if mark in line and all(_NUMBER.fullmatch(cell) for cell in line.split(mark) if b"," in cell):
            line = line.replace(b",", b"")
    return max(",\t;|", key=lambda c: (line.count(c.encode()), c == ","))


def _skip_empty_lines(text: Bytes, state: Any) -> None:
    while state[AT] < state[END] and text[state[AT]] in (10, 13):
        state[LINE] += text[state[AT]] == 10
        state[AT] += 1


def first_record(text: Bytes, state: Any, separator: int, cell: Bytes) -> tuple[list[str] | None, int]:
    """The cells of the first record, and where the next one begins; None if more text is needed."""
    place = np.zeros(3, np.int64)
    at, end = int(state[AT]), int(state[END])
    cells: list[str] = []
    while at < end or cells:
        outcome = find_cell(text, at, end, bool(state[EOF]), separator, cell, place)
        if outcome == status.MORE:
            return None, at
        if outcome != status.OK:
            column = len(text[state[AT] : at].tobytes().decode(errors="replace")) + 1
            raise DataError(f"line {state[LINE]}, character {column}: {status.EXPECTED[outcome]}")
        a, b, after = place.tolist()
        cells.append((text[a:b] if a >= 0 else cell[:b]).tobytes().decode(errors="replace"))
        at = after + 1
        if after >= end or text[after] != separator:
            at += after < end and text[after] == 13
            break
    return cells, min(at, end)


_BYTES, _ROWS = 1 << 16, 1000  # records that decide
_POWER = r"(?:[eE][+-]?\d+)?"
_WITH_COMMA = re.compile(rf"[+-]?(?:\d+,\d*|,\d+){_POWER}")
_WITH_POINT = re.compile(rf"[+-]?(?:\d+\.\d*|\.\d+){_POWER}")
_WHOLE = re.compile(rf"[+-]?\d+{_POWER}|nan", re.IGNORECASE)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")  # 1,234 may be 1234


def decide_decimal(reader: TextReader, source: ByteSource, table: Table) -> Table:
    """The table with the decimal mark of its numbers, decided for the rest of the file.

    It is a comma if a column has only numbers with commas and whole numbers, at least one of which cannot have a comma
    between thousands, and no column has a number with a point. A warning reports the decision and doubts.
    """
    state = reader.builder.rows.state
    while not state[EOF] and state[END] - state[AT] < _BYTES and not reader.live:
        if not reader.fill(source):
            break
    roles = {FEATURE, WEIGHT, *([LABEL] if state[NUMERIC] else [])}
    rows = _records(reader, table.separator)
    bare = _bare if state[READING] else str
    columns = [[bare(row[k]) for row in rows if k < len(row) and row[k]] for k in _places(table, roles)]
    cells = [cell for column in columns if _are_numbers(column) for cell in column if _WITH_COMMA.fullmatch(cell)]
    sure = [cell for cell in cells if not _THOUSANDS.fullmatch(cell)]
    comma = bool(sure) and not any(_WITH_POINT.fullmatch(cell) for column in columns for cell in column)
    place = f"{source.name}: from line {state[LINE]} on"
    if comma:
        read = f"{sure[0]!r} is read as the number {sure[0].replace(',', '.')}"
        _warn(f"{place}: {read}, with a decimal comma; set decimal=... to '.' to read such cells as words")
    elif cells:
        number = amount(cells[0]) if state[READING] else None
        read = "a word" if number is None else f"the number {number:g}"
        _warn(
            f"{place}: {cells[0]!r} is read as {read}; if it is a number with a decimal comma, set decimal=... to ','"
        )
    return with_decimal(table, COMMA if comma else POINT)


def _places(table: Table, roles: set[int]) -> list[int]:
    return [k for k, role in enumerate(table.role.tolist()) if role in roles]


def _bare(cell: str) -> str:
    """A cell without percent and currency signs."""
    return cell.strip("$€£¥₹% \u00a0\u202f")


def _are_numbers(column: list[str]) -> bool:
    return all(_WITH_COMMA.fullmatch(cell) or _WHOLE.fullmatch(cell) for cell in column)


def _records(reader: TextReader, separator: int) -> list[list[str]]:
    """The cells of the next complete records."""
    state: Any = reader.builder.rows.state.copy()
    if state[END] - state[AT] > _BYTES:
        state[END], state[EOF] = state[AT] + _BYTES, 0
    found: list[list[str]] = []
    while state[AT] < state[END] and len(found) < _ROWS:
        try:
            cells, state[AT] = first_record(reader.text, state, separator, reader.builder.rows.cell)
        except DataError:  # the parser raises the error
            break
        if cells is None:
            break
        found.append(cells)
    return found


def _warn(message: str) -> None:
    warnings.warn(message, ReadWarning, stacklevel=2)
