"""The first line of CSV: its separator, and the names of the columns if there are any."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from onlineboost.errors import DataError, ReadError
from onlineboost.readers.csv_cells import find_cell
from onlineboost.readers.faults import EXPECTED, MORE, OK
from onlineboost.readers.roles import DEFAULT_LABEL, as_number, numbered, resolved, roles, table
from onlineboost.readers.rows import AT, END, LAST, LINE, Table
from onlineboost.readers.text import ByteSource, TextReader
from onlineboost.readers.words import Bytes


def read_header(
    reader: TextReader, source: ByteSource, header: bool | None = None, separator: str | None = None
) -> Table:
    """The columns of a source. None: as the first line looks."""
    schema, labelled = reader.orders.schema, reader.orders.labelled
    state = reader.pager.rows.state
    while True:
        _skip_empty_lines(reader.text, state)
        mark = ord(separator or guess_separator(reader.text[state[AT] : state[END]].tobytes()))
        try:
            cells, after = _first_record(reader.text, state, mark, reader.pager.rows.cell)
        except DataError as problem:
            message = f"{source.name}: {problem}"
            raise ReadError(message, path=source.name, line=int(state[LINE])) from None
        if cells or state[LAST] or not reader.fill(source):
            break
    if cells is None:
        raise ReadError(f"{source.name}: line 1: expected a closing quote", path=source.name, line=1)
    if header is None:
        label = str(schema.label if schema.label is not None else DEFAULT_LABEL)
        named = label in cells and as_number(label) is None
        header = named or not any(as_number(cell) is not None for cell in cells)
    names = cells if header else numbered(schema, len(cells), source.name, labelled)
    found = roles(schema, names, source.name, labelled and bool(cells), reader.orders.ignored)
    reader.pager.schema = resolved(schema, names, found, headless=not header)
    if header:
        state[LINE] += reader.text[state[AT] : after].tobytes().count(b"\n")
        state[AT] = after
    need = 2 * reader.text.size + sum(len(name.encode()) for name in names)
    reader.pager.rows = reader.pager.rows._replace(scratch=np.zeros(need, np.uint8))
    return table(schema, names, found, labelled, mark)


def guess_separator(start: bytes) -> str:
    """The separator that the first line has most of.

    >>> guess_separator(b"a;b;c,d")
    ';'
    """
    quoted = rb'(?:^|(?<=[,\t;|]))"(?:[^"]|"")*"'  # where a cell begins; a quote within a cell is one of its characters
    found = re.match(rb"(?:" + quoted + rb"|[^\r\n])*", start)
    line = re.sub(quoted, b"", found.group() if found else b"")
    return max(",\t;|", key=lambda c: (line.count(c.encode()), c == ","))


def _skip_empty_lines(text: Bytes, state: Any) -> None:
    while state[AT] < state[END] and text[state[AT]] in (10, 13):
        state[LINE] += text[state[AT]] == 10
        state[AT] += 1


def _first_record(text: Bytes, state: Any, separator: int, cell: Bytes) -> tuple[list[str] | None, int]:
    """The cells of the first record that is not an empty line, and where the next begins; None if it is not whole."""
    place = np.zeros(3, np.int64)
    at, end = int(state[AT]), int(state[END])
    cells: list[str] = []
    while at < end or cells:
        status = find_cell(text, at, end, bool(state[LAST]), separator, cell, place)
        if status == MORE:
            return None, at
        if status != OK:
            column = len(text[state[AT] : at].tobytes().decode(errors="replace")) + 1
            raise DataError(f"line {state[LINE]}, column {column}: {EXPECTED[status]}")
        a, b, after = place.tolist()
        cells.append((text[a:b] if a >= 0 else cell[:b]).tobytes().decode(errors="replace"))
        at = after + 1
        if after >= end or text[after] != separator:
            at += after < end and text[after] == 13
            break
    return cells, min(at, end)
