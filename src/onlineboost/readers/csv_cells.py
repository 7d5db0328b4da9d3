"""Cells of CSV: their ends, and unchanged cells for ``keep``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import njit
from onlineboost.readers import status
from onlineboost.readers.rows import Table
from onlineboost.readers.scan import SLACK, Bytes, byte

_QUOTE, _NEWLINE, _RETURN, _SPACE, _TAB = 34, 10, 13, 32, 9


@njit
def find_cell(text: Bytes, i: int, end: int, last: bool, separator: int, cell: Bytes, place: NDArray[Any]) -> int:
    """Find the cell that begins at i; ``place[2]`` is what follows it.

    Its content is ``text[place[0]:place[1]]`` or, with place[0] = -1, ``cell[:place[1]]``.
    """
    if i < end and text[i] == _QUOTE:
        n = 0
        j = i + 1
        while True:
            if j >= end:
                return status.OPEN_QUOTE if last else status.MORE
            if text[j] == _QUOTE:
                if j + 1 >= end and not last:
                    return status.MORE
                if j + 1 >= end or text[j + 1] != _QUOTE:
                    break
                j += 1
            cell[n] = text[j]
            n += 1
            j += 1
        cell[n] = 0
        j += 1
        if j < end and text[j] == _RETURN and j + 1 >= end and not last:
            return status.MORE
        ends = j >= end or text[j] == _NEWLINE or (text[j] == _RETURN and (j + 1 >= end or text[j + 1] == _NEWLINE))
        if not ends and text[j] != separator:
            return status.AFTER_QUOTE
        place[0], place[1], place[2] = -1, n, j
        return status.MORE if j >= end and not last else status.OK
    j = i
    while j < end and byte(text, j) != separator and byte(text, j) != _NEWLINE:
        j += 1
    if j >= end and not last:
        return status.MORE
    if j > i and (j >= end or text[j] == _NEWLINE) and text[j - 1] == _RETURN:
        j -= 1
    a, b = i, j
    while a < b and (byte(text, a) == _SPACE or byte(text, a) == _TAB):
        a += 1
    while a < b and (byte(text, b - 1) == _SPACE or byte(text, b - 1) == _TAB):
        b -= 1
    place[0], place[1], place[2] = a, b, j
    return status.OK


def csv_cells(raw: bytes, table: Table, keep: tuple[str, ...], rows: int) -> dict[str, list[Any]]:
    """The cells of these columns, from the text of whole records."""
    names = _names(table)
    place_of = np.array([keep.index(name) if name in keep else -1 for name in names], np.int64)
    spans = np.zeros((rows, len(keep), 2), np.int64)
    text = np.frombuffer(raw + bytes(SLACK), np.uint8)
    _find_spans(text.copy(), len(raw), table.separator, place_of, np.empty(text.size, np.uint8), spans)
    return {name: [_content(raw[a:b]) for a, b in spans[:, k].tolist()] for k, name in enumerate(keep)}


def csv_column(before: bytes, table: Table) -> str:
    """The column of a cell, by the text of its record before it."""
    text = np.frombuffer(before + bytes(SLACK), np.uint8).copy()
    place, cell = np.empty(3, np.int64), np.empty(text.size, np.uint8)
    column, at = 0, 0
    while at < len(before) and find_cell(text, at, len(before), True, table.separator, cell, place) == status.OK:
        column, at = column + 1, int(place[2]) + 1
    return _names(table)[column]


def _names(table: Table) -> list[str]:
    return [table.name_text[a:b].tobytes().decode() for a, b in zip(table.name_at, table.name_at[1:], strict=False)]


@njit
def _find_spans(
    text: Bytes, end: int, separator: int, place_of: NDArray[Any], cell: Bytes, spans: NDArray[Any]
) -> None:
    """The positions of the cells of each record in the text, with their quotes."""
    place = np.empty(3, np.int64)
    at = row = 0
    while at < end and row < spans.shape[0]:
        if text[at] == _NEWLINE or (text[at] == _RETURN and at + 1 < end and text[at + 1] == _NEWLINE):
            at += 1 + (text[at] == _RETURN)
            continue
        column, i = 0, at
        while find_cell(text, i, end, True, separator, cell, place) == status.OK:
            after = place[2]
            if column < place_of.size and place_of[column] >= 0:
                quoted = place[0] < 0
                spans[row, place_of[column], 0] = i if quoted else place[0]
                spans[row, place_of[column], 1] = after if quoted else place[1]
            column += 1
            i = after + 1
            if after >= end or text[after] != separator:
                break
        at = i + (i <= end and text[i - 1] == _RETURN)
        row += 1


def _content(cell: bytes) -> str:
    text = cell.decode(errors="replace")
    return text[1:-1].replace('""', '"') if text.startswith('"') else text
