"""The first line of CSV: separator, header and columns."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from onlineboost.errors import DataError, ReadError
from onlineboost.readers.csv_cells import find_cell
from onlineboost.readers.frames import index_columns, warn_of_index
from onlineboost.readers.labels import as_number
from onlineboost.readers.limits import MAX_LINE, beyond
from onlineboost.readers.roles import column_numbers, find_roles, label_column, new_table, with_names
from onlineboost.readers.rows import AT, COMMA, END, EOF, FEATURE, IGNORED, LINE, UNDECIDED, Table
from onlineboost.readers.scan import Bytes
from onlineboost.readers.status import EXPECTED, LONG_RECORD, MORE, OK
from onlineboost.readers.text import ByteSource, TextReader

_NUMBER = re.compile(rb"\s*[+-]?\d*,\d*(?:[eE][+-]?\d+)?\s*")  # with a decimal comma
_GUESSED = 1 << 16  # bytes of the first line that tell the separator


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
            message = f"{source.name}: {place}: {EXPECTED[LONG_RECORD]}: {limit}"
            raise ReadError(message, path=source.name, line=int(state[LINE]))
    if header is None:
        label = label_column(schema)
        named = label in cells and as_number(label) is None
        plain = cells if mark == COMMA or decimal == "." else [cell.replace(",", ".") for cell in cells]
        header = named or not any(as_number(cell) is not None for cell in plain)
    names = cells if header else column_numbers(schema, len(cells), source.name, label_required)
    found = find_roles(schema, names, source.name, label_required and bool(cells), reader.options.label_ignored)
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
    """The separator that is most frequent in the first line, where a decimal comma is none.

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
        status = find_cell(text, at, end, bool(state[EOF]), separator, cell, place)
        if status == MORE:
            return None, at
        if status != OK:
            column = len(text[state[AT] : at].tobytes().decode(errors="replace")) + 1
            raise DataError(f"line {state[LINE]}, character {column}: {EXPECTED[status]}")
        a, b, after = place.tolist()
        cells.append((text[a:b] if a >= 0 else cell[:b]).tobytes().decode(errors="replace"))
        at = after + 1
        if after >= end or text[after] != separator:
            at += after < end and text[after] == 13
            break
    return cells, min(at, end)
