"""Cells that are kept as they are, beside what they become: columns of the input in the answers."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import njit
from onlineboost.readers.csv_cells import find_cell
from onlineboost.readers.rows import Table
from onlineboost.readers.scan import SLACK, Bytes
from onlineboost.readers.status import OK

Kept = dict[str, list[Any]]
_NEWLINE, _RETURN = 10, 13
_JSON_TOKEN = re.compile(rb'("(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[{}]')  # a name, a string, the ends of an object


def csv_cells(raw: bytes, table: Table, keep: tuple[str, ...], rows: int) -> Kept:
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
    while at < len(before) and find_cell(text, at, len(before), True, table.separator, cell, place) == OK:
        column, at = column + 1, int(place[2]) + 1
    return _names(table)[column]


def _names(table: Table) -> list[str]:
    return [table.name_text[a:b].tobytes().decode() for a, b in zip(table.name_at, table.name_at[1:], strict=False)]


@njit
def _find_spans(
    text: Bytes, end: int, separator: int, place_of: NDArray[Any], cell: Bytes, spans: NDArray[Any]
) -> None:
    """Where the cells of each record are in the text, with their quotes."""
    place = np.empty(3, np.int64)
    at = row = 0
    while at < end and row < spans.shape[0]:
        if text[at] == _NEWLINE or (text[at] == _RETURN and at + 1 < end and text[at + 1] == _NEWLINE):
            at += 1 + (text[at] == _RETURN)
            continue
        column, i = 0, at
        while find_cell(text, i, end, True, separator, cell, place) == OK:
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


def json_column(before: bytes, table: Table) -> str:
    """The name of a value, by the text of its record before it.

    >>> json_column(b'{"a": {"b": 1, "c": "}"}, "d": {"e": ', None)
    'd.e'
    """
    outer: list[str] = []
    name = ""
    for found in _JSON_TOKEN.finditer(before):
        if found[0] == b"{":
            outer.append(name)
        elif found[0] == b"}":
            outer.pop()
        elif found[1]:
            name = json.loads(found[1].decode(errors="replace"))
    return ".".join([*outer[1:], name])


def json_members(raw: bytes, table: Table, keep: tuple[str, ...], rows: int) -> Kept:
    """The members of these names, from JSON lines; None where there is none. ``a.b`` is member b of member a."""
    records = [json.loads(line) for line in raw.split(b"\n") if line.strip()]
    return {name: [_member(record, name) for record in records] for name in keep}


def _member(record: Any, name: str) -> Any:
    if not isinstance(record, dict):
        return None
    if name in record:
        return record[name]
    first, _, rest = name.partition(".")
    return _member(record.get(first), rest) if rest else None
