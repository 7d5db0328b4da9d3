"""Numbers with a decimal comma: whether a file has them, by its rows from the first number with a comma on."""

from __future__ import annotations

import re
import warnings
from typing import Any

from onlineboost.errors import DataError, ReadWarning
from onlineboost.readers.csv_header import first_record
from onlineboost.readers.floats import POINT
from onlineboost.readers.roles import with_decimal
from onlineboost.readers.rows import AT, COMMA, END, EOF, FEATURE, LABEL, LINE, NUMERIC, WEIGHT, Table
from onlineboost.readers.text import ByteSource, TextReader

_BYTES, _ROWS = 1 << 16, 1000  # that decide
_POWER = r"(?:[eE][+-]?\d+)?"
_WITH_COMMA = re.compile(rf"[+-]?(?:\d+,\d*|,\d+){_POWER}")
_WITH_POINT = re.compile(rf"[+-]?(?:\d+\.\d*|\.\d+){_POWER}")
_WHOLE = re.compile(rf"[+-]?\d+{_POWER}|nan", re.IGNORECASE)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")  # 1,234 may be 1234


def decide_decimal(reader: TextReader, source: ByteSource, table: Table) -> Table:
    """The table with the decimal point that its numbers have, decided for the rest of the file.

    It is a comma if a column has only numbers with commas and whole numbers, at least one of which cannot be one with a
    comma between thousands, and no column has a number with a point. That is said, and so is what remains in doubt.
    """
    state = reader.builder.rows.state
    while not state[EOF] and state[END] - state[AT] < _BYTES and not reader.live:
        if not reader.fill(source):
            break
    roles = {FEATURE, WEIGHT, *([LABEL] if state[NUMERIC] else [])}
    rows = _records(reader, table.separator)
    columns = [[row[k] for row in rows if k < len(row) and row[k]] for k in _places(table, roles)]
    cells = [cell for column in columns if _are_numbers(column) for cell in column if _WITH_COMMA.fullmatch(cell)]
    sure = [cell for cell in cells if not _THOUSANDS.fullmatch(cell)]
    comma = bool(sure) and not any(_WITH_POINT.fullmatch(cell) for column in columns for cell in column)
    place = f"{source.name}: from line {state[LINE]} on"
    if comma:
        read = f"{sure[0]!r} is read as the number {sure[0].replace(',', '.')}"
        _warn(f"{place}: {read}, with a decimal comma; set decimal=... to '.' to read such cells as words")
    elif cells:
        _warn(
            f"{place}: {cells[0]!r} is read as a word; if it is a number with a decimal comma, set decimal=... to ','"
        )
    return with_decimal(table, COMMA if comma else POINT)


def _places(table: Table, roles: set[int]) -> list[int]:
    return [k for k, role in enumerate(table.role.tolist()) if role in roles]


def _are_numbers(column: list[str]) -> bool:
    return all(_WITH_COMMA.fullmatch(cell) or _WHOLE.fullmatch(cell) for cell in column)


def _records(reader: TextReader, separator: int) -> list[list[str]]:
    """The cells of the next records, as far as they are whole."""
    state: Any = reader.builder.rows.state.copy()
    if state[END] - state[AT] > _BYTES:
        state[END], state[EOF] = state[AT] + _BYTES, 0
    found: list[list[str]] = []
    while state[AT] < state[END] and len(found) < _ROWS:
        try:
            cells, state[AT] = first_record(reader.text, state, separator, reader.builder.rows.cell)
        except DataError:  # the parser will say so
            break
        if cells is None:
            break
        found.append(cells)
    return found


def _warn(message: str) -> None:
    warnings.warn(message, ReadWarning, stacklevel=2)
