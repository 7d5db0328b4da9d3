"""JSON lines: one object per line.

Members of nested objects are ``outer.inner``; numbers in lists are ``name.0``, ``name.1`` and so on; strings in lists
are indicators ``name=text``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import hot, lean, njit
from onlineboost.data.batch import Batch
from onlineboost.readers import status
from onlineboost.readers.dicts import row_page
from onlineboost.readers.encoding import ENCODING
from onlineboost.readers.format import Format, first_line
from onlineboost.readers.json_values import copy_string, number_name, put_value
from onlineboost.readers.labels import as_number
from onlineboost.readers.limits import MAX_LINE
from onlineboost.readers.rows import (
    ENTRIES,
    ERROR_AT,
    FEATURE,
    IGNORED,
    LABEL,
    WEIGHT,
    Rows,
    Table,
    fail,
    finish,
    parse_lines,
)
from onlineboost.readers.scan import Bytes, byte
from onlineboost.readers.text import Syntax, TextReader, named_values
from onlineboost.readers.write_lines import feature_names, features, join_columns, line_writer, signs, weights
from onlineboost.readers.write_table import RESERVED
from onlineboost.registry import FORMATS

_QUOTE, _COMMA, _COLON, _ESCAPE, _MINUS = 34, 44, 58, 92, 45
_OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST = 123, 125, 91, 93
_DEPTH = 32
_TOKEN = re.compile(rb'("(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[{}]')  # a name, a string, the ends of an object
_OPENED, _AFTER_VALUE, _AFTER_COMMA = 0, 1, 2  # phases within a bracket


@njit
def parse(text: Bytes, rows: Rows, table: Table) -> int:
    stack = np.empty((_DEPTH, 2), np.int64)  # for each open bracket: size of the name; position in a list, or -1
    carry = np.empty(2)  # label and weight
    return parse_lines(text, rows, table, _line, (stack, carry))


@hot
def _skip(text: Bytes, at: int, end: int) -> int:
    while at < end and (byte(text, at) == 32 or byte(text, at) == 9 or byte(text, at) == 13):
        at += 1
    return at


@hot
def _line(text: Bytes, at: int, end: int, rows: Rows, table: Table, memory: tuple[NDArray[Any], NDArray[Any]]) -> int:
    """Read one object. The scratch memory begins with the name of the current member, such as ``outer.inner``."""
    state = rows.state
    stack, carry = memory
    at = _skip(text, at, end)
    if at == end:
        return status.OK
    state[ERROR_AT] = at
    if byte(text, at) != _OPEN:
        return status.NO_OBJECT
    carry[0], carry[1] = np.nan, 1.0
    k = state[ENTRIES]
    depth, phase, size = 0, _OPENED, 0
    stack[0, 0], stack[0, 1] = 0, -1
    i = at + 1
    while depth >= 0:
        i = _skip(text, i, end)
        state[ERROR_AT] = i
        if i == end:
            return status.NO_COMMA if phase == _AFTER_VALUE else status.NO_VALUE
        c = byte(text, i)
        listed = stack[depth, 1] >= 0
        if phase != _AFTER_COMMA and c == (_CLOSE_LIST if listed else _CLOSE):
            i += 1
            depth -= 1
            phase = _AFTER_VALUE
            continue
        if phase == _AFTER_VALUE:
            if c != _COMMA:
                return status.NO_COMMA
            i += 1
            phase = _AFTER_COMMA
            if listed:
                stack[depth, 1] += 1
            continue
        size = stack[depth, 0]
        if not listed:
            if c != _QUOTE:
                return status.NO_KEY
            if depth:
                rows.scratch[size] = 46
                size += 1
            size, i = copy_string(text, i + 1, end, rows.scratch, size)
            if size < 0:
                return fail(rows, i, -size)
            i = _skip(text, i, end)
            if i == end or byte(text, i) != _COLON:
                return fail(rows, i, status.NO_VALUE)
            i = _skip(text, i + 1, end)
            state[ERROR_AT] = i
            if i == end:
                return status.NO_VALUE
            c = byte(text, i)
        phase = _AFTER_VALUE
        role = _role(rows.scratch, size, table)
        if c == _OPEN or c == _OPEN_LIST:
            if role == LABEL or role == WEIGHT:
                return status.LIST_LABEL
            if listed:
                size = number_name(rows.scratch, size, stack[depth, 1])
            depth += 1
            if depth == _DEPTH:
                return status.TOO_DEEP
            stack[depth, 0], stack[depth, 1] = size, (0 if c == _OPEN_LIST else -1)
            phase = _OPENED
            i += 1
            continue
        if listed and (role == LABEL or role == WEIGHT):
            return status.LIST_LABEL
        position = stack[depth, 1]
        k, i = put_value(text, i, end, rows, table, k, size, position, role, carry)
        if k < 0:
            return -k
    i = _skip(text, i, end)
    state[ERROR_AT] = i
    if i < end:
        return status.TRAILING
    state[ERROR_AT] = at
    if table.label_required and np.isnan(carry[0]):
        return status.NO_LABEL
    return finish(rows, k, carry[0], carry[1])


@lean
def _role(name: Bytes, size: int, table: Table) -> int:
    for c in range(table.role.size):
        first = table.name_at[c]
        length = table.name_at[c + 1] - first
        within = table.role[c] == IGNORED and length < size and name[length] == 46  # part of an ignored object
        if length == size or within:
            same = 0
            while same < length and table.name_text[first + same] == name[same]:
                same += 1
            if same == length:
                return table.role[c]
    return FEATURE


def label_of(spelling: bytes) -> Any:
    """The value of a label; the spelling of a string has its opening quote."""
    if spelling[:1] == b'"':
        return spelling[1:].decode(errors="replace")
    word = spelling.decode(errors="replace")
    return word.lower() == "true" if word.lower() in ("true", "false") else as_number(word)


def lines(batch: Batch, names: Mapping[int, str]) -> bytes:
    import pyarrow as pa
    import pyarrow.compute as pc

    labels = pc.if_else(pa.array(np.isnan(batch.y)), "null", signs(batch))
    importance = weights(batch)
    weight = [', "weight": ', importance] if importance is not None else []
    spelled = feature_names(batch, names, lambda name: name not in RESERVED, json.dumps)
    members = features(batch, spelled, ": ", ", ")
    comma = pc.if_else(pc.equal(members, ""), "", ", ")
    return join_columns(['{"label": ', labels, *weight, comma, members, "}"])


def column_of(before: bytes, table: Table) -> str:
    """The name of a value, by the text of its record before it.

    >>> column_of(b'{"a": {"b": 1, "c": "}"}, "d": {"e": ', None)
    'd.e'
    """
    outer: list[str] = []
    name = ""
    for found in _TOKEN.finditer(before):
        if found[0] == b"{":
            outer.append(name)
        elif found[0] == b"}":
            outer.pop()
        elif found[1]:
            name = json.loads(found[1].decode(errors="replace"))
    return ".".join([*outer[1:], name])


def members(raw: bytes, table: Table, keep: tuple[str, ...], rows: int) -> dict[str, list[Any]]:
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


SYNTAX = Syntax(parse, label_of, rb"[,}\]\r\n]", named_values, kept=members, column=column_of)

FORMATS.add(
    Format(
        name="jsonl",
        title="JSON lines",
        suffixes=(".jsonl", ".ndjson", ".json"),
        reader=partial(TextReader, SYNTAX),
        writer=line_writer(lines),
        options=(MAX_LINE, ENCODING),
        looks_like=lambda start: first_line(start).lstrip().startswith(b"{"),
        read_dict=partial(row_page, SYNTAX),
        priority=50,
    )
)
