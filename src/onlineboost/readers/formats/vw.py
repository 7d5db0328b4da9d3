"""Vowpal Wabbit text: ``label importance 'tag |namespace:scale feature:value feature ... |namespace ...``.

Features have the numbers and the order that ``vw`` gives them: namespaces with the same first character are grouped.
Where ``vw`` warns and guesses, this parser rejects the line; otherwise it reads the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

import numpy as np

from onlineboost.compiled.jit import hot, njit
from onlineboost.data.batch import Batch
from onlineboost.errors import DataError
from onlineboost.readers import status
from onlineboost.readers.encoding import ENCODING
from onlineboost.readers.floats import any_number
from onlineboost.readers.format import Format, first_line
from onlineboost.readers.labels import number_label
from onlineboost.readers.limits import MAX_LINE
from onlineboost.readers.rows import (
    LABEL_AT,
    TOO_LONG,
    Rows,
    Table,
    fail,
    in_range,
    known_sign,
    parse_lines,
    without_return,
)
from onlineboost.readers.scan import Bytes, byte
from onlineboost.readers.text import Syntax, TextReader, no_columns
from onlineboost.readers.vw_features import put_features
from onlineboost.readers.write_lines import feature_names, features, join_columns, line_writer, signs, weights
from onlineboost.registry import FORMATS

_SPACE, _QUOTE, _BAR, _TAB = 32, 39, 124, 9


@njit
def parse(text: Bytes, rows: Rows, table: Table) -> int:
    groups = np.empty(256, np.uint8)  # first characters of the namespaces of a line
    return parse_lines(text, rows, table, _line, groups)


@hot
def _line(text: Bytes, at: int, end: int, rows: Rows, table: Table, groups: Bytes) -> int:
    state = rows.state
    end = without_return(text, at, end)
    if at == end:
        return status.OK
    bar = at
    while bar < end and byte(text, bar) != _BAR:
        if byte(text, bar) == _TAB:
            return fail(rows, bar, status.TAB)
        bar += 1
    if bar == end:
        return fail(rows, end, status.NO_BAR)
    y, weight = np.nan, 1.0
    words = 0
    touching = False
    i = at
    while i < bar:
        while i < bar and byte(text, i) == _SPACE:
            i += 1
        word = i
        while i < bar and byte(text, i) != _SPACE:
            i += 1
        if word == i:
            break
        if byte(text, word) == _QUOTE or i == bar:  # a tag: nothing may follow it
            touching = byte(text, word) != _QUOTE
            while i < bar and byte(text, i) == _SPACE:
                i += 1
            if i < bar:
                return fail(rows, i, status.TOO_MANY_WORDS)
            break
        words += 1
        if words == 1:
            y = known_sign(rows, text, word, i)
            state[LABEL_AT] = word
            if y == TOO_LONG:
                return fail(rows, word, status.LONG_LABEL)
        elif words == 2:
            weight, after = any_number(text, word, i)
            if after != i or not in_range(weight) or weight < 0:
                return fail(rows, word, status.BAD_WEIGHT)
        else:
            return fail(rows, word, status.INITIAL if words == 3 else status.TOO_MANY_WORDS)
    if words == 0 and table.label_required:
        return fail(rows, at, status.TOUCHING if touching else status.NO_LABEL)
    return put_features(text, bar, end, rows, table, groups, y, weight)


def lines(batch: Batch, names: Mapping[int, str]) -> bytes:
    import pyarrow.compute as pc

    labels, importance = signs(batch), weights(batch)
    if importance is not None:
        if np.isnan(batch.y).any():
            raise DataError("VW text has no place for the weight of an example without a label")
        labels = pc.binary_join_element_wise(labels, importance, " ")
    spelled = feature_names(batch, names, _is_name)
    return join_columns([labels, " | ", features(batch, spelled, ":", " ")])


def _is_name(name: str) -> bool:
    return not any(c in name for c in " \t\r\n|:") and not name.isdigit() and name.isprintable()


def looks_like(start: bytes) -> bool:
    before, bar, _ = first_line(start).partition(b"|")
    return bar != b"" and re.fullmatch(rb"\s*([-+.\deE]+\s+)*('?[^\s,;]*)", before) is not None


SYNTAX = Syntax(parse, number_label, rb"[ \t\r\n|]", no_columns)

FORMATS.add(
    Format(
        name="vw",
        title="VW text",
        suffixes=(".vw",),
        reader=partial(TextReader, SYNTAX),
        writer=line_writer(lines),
        options=(MAX_LINE, ENCODING),
        has_columns=False,
        looks_like=looks_like,
        priority=30,
    )
)
