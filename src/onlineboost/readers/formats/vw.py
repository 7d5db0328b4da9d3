"""Vowpal Wabbit text: ``label importance 'tag |namespace:scale feature:value feature ... |namespace ...``.

Features have the numbers and the order that ``vw`` gives them: namespaces with the same first character are grouped.
Where ``vw`` warns and guesses, this parser rejects the line; otherwise it reads the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

import numpy as np

from onlineboost.compiled.jit import f32, hot, lean, njit, u8, u64
from onlineboost.data.batch import Batch
from onlineboost.data.hashing import id_of, name_hash, text_hash
from onlineboost.errors import DataError
from onlineboost.readers import status
from onlineboost.readers.cells import NAN, is_infinite, is_word
from onlineboost.readers.encoding import ENCODING
from onlineboost.readers.floats import any_number, parse_number
from onlineboost.readers.format import Format, first_line
from onlineboost.readers.labels import number_label
from onlineboost.readers.limits import MAX_LINE
from onlineboost.readers.rows import (
    ENTRIES,
    LABEL_AT,
    TOO_LONG,
    Rows,
    Table,
    add_name,
    fail,
    finish,
    in_range,
    is_named,
    known_sign,
    parse_lines,
    put,
    without_return,
)
from onlineboost.readers.scan import Bytes, byte, digits, name_end
from onlineboost.readers.text import Syntax, TextReader, no_columns
from onlineboost.readers.write_lines import feature_names, features, join_columns, line_writer, signs, weights
from onlineboost.registry import FORMATS

_SPACE, _QUOTE, _COLON, _BAR, _RETURN, _TAB = 32, 39, 58, 124, 13, 9


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
    return _put_features(text, bar, end, rows, table, groups, y, weight)


@hot
def _put_features(
    text: Bytes, bar: int, end: int, rows: Rows, table: Table, groups: Bytes, y: float, weight: float
) -> int:
    """Write the features of a line from its first bar on, and commit the row."""
    state = rows.state
    k = first = state[ENTRIES]
    i = bar
    n_groups = 0
    mixed = False
    while i < end:  # at a bar
        i += 1
        space = i
        seed = u64(0)
        scale = f32(1)
        group = u8(_SPACE)
        if i < end and byte(text, i) == _COLON:
            return fail(rows, i, status.NO_NAMESPACE)
        if i < end and not _ends_name(byte(text, i)):
            group = byte(text, i)
            i = name_end(text, i, end)
            seed = name_hash(text, space, i, u64(0))
        space_end = i
        if i < end and byte(text, i) == _COLON:
            number, after = any_number(text, i + 1, end)
            if after == i + 1 or (after < end and not _separates(byte(text, after))):
                return fail(rows, i + 1, status.BAD_NUMBER)
            if not in_range(number):
                return fail(rows, i + 1, status.LARGE_NUMBER)
            scale = f32(number)
            i = after
        anonymous = u64(0)
        found = False
        while i < end:
            c = byte(text, i)
            if c == _SPACE:
                i += 1
                c = byte(text, i)  # past the end of the line this byte has no effect
            if i == end or c == _BAR:
                break
            if c == _SPACE or c == _TAB:
                i += 1
                continue
            if c == _RETURN:
                return fail(rows, i, status.RETURN)
            name = i
            number_name, n = u64(0), 8
            if 48 <= c <= 57:
                number_name, n = digits(text, i)
            c = byte(text, i + n)
            if n < 8 and (c == _COLON or c == _SPACE or i + n == end):  # most numbers
                hashed = u64(number_name + seed)
                i += n
            else:
                i = name_end(text, i, end)
                plain = byte(text, name) > 57 and byte(text, i - 1) > 32
                hashed = text_hash(text, name, i, seed) if plain else name_hash(text, name, i, seed)
                c = byte(text, i)
            last = i
            value = scale
            if c == _COLON and i < end:
                i += 1
                number, after = parse_number(text, i, end)
                c = byte(text, after)
                if after > i:
                    if c != _SPACE and after < end and not _separates(c):
                        return fail(rows, i, status.BAD_NUMBER)
                    if not in_range(number):
                        return fail(rows, i, status.LARGE_NUMBER)
                    value = f32(f32(number) * scale)
                    i = after
                else:  # a string value, or none
                    string = i
                    while i < end and not _separates(byte(text, i)) and byte(text, i) != _COLON:
                        i += 1
                    if (i < end and byte(text, i) == _COLON) or _is_special(text, string, i):
                        return fail(rows, string, status.BAD_NUMBER)
                    if i > string:
                        hashed = name_hash(text, string, i, hashed)
                        last = i
                        value = f32(1)  # vw does not scale these
            if name == last:
                hashed = u64(seed + anonymous)
                anonymous += u64(1)
            if not in_range(value):
                return fail(rows, name, status.LARGE_NUMBER)
            found |= value != 0
            index = id_of(hashed)
            if value != 0 and name < last and not is_named(rows, index):
                _add_name(rows, index, text, space, space_end, name, last)
            rows.cell[u64(k)] = group
            k = put(rows, k, index, value)
        known = False
        for g in range(n_groups):
            known |= groups[g] == group
        mixed |= found and known and groups[n_groups - 1] != group
        if found and not known:
            groups[n_groups] = group
            n_groups += 1
    if mixed:
        _regroup(rows, first, k, groups, n_groups)
    return finish(rows, k, y, weight)


@hot
def _ends_name(c: int) -> bool:
    return c == _SPACE or c == _COLON or c == _BAR or c == _TAB or c == _RETURN


@hot
def _separates(c: int) -> bool:
    return c == _SPACE or c == _BAR or c == _TAB


@lean
def _is_special(text: Bytes, at: int, end: int) -> bool:
    """Whether the word is nan, inf or infinity, with or without a sign."""
    sign = at < end and (text[at] == 43 or text[at] == 45)
    return is_word(text, at + sign, end, NAN) or is_infinite(text, at, end)


@lean
def _add_name(rows: Rows, index: int, text: Bytes, space: int, space_end: int, name: int, name_end: int) -> None:
    """Keep the name "namespace^feature"."""
    size = 0
    if space < space_end:
        for i in range(space, space_end):
            rows.scratch[i - space] = byte(text, i)
        size = space_end - space + 1
        rows.scratch[size - 1] = 94
    for i in range(name, name_end):
        rows.scratch[size + i - name] = byte(text, i)
    add_name(rows, index, rows.scratch, 0, size + name_end - name)


@lean
def _regroup(rows: Rows, first: int, k: int, groups: Bytes, n_groups: int) -> None:
    """Group entries of namespaces by their first character, using the free space after them for a copy."""
    for j in range(first, k):
        rows.indices[k + j - first] = rows.indices[j]
        rows.values[k + j - first] = rows.values[j]
    to = first
    for g in range(n_groups):
        for j in range(first, k):
            if rows.cell[j] == groups[g]:
                rows.indices[to] = rows.indices[k + j - first]
                rows.values[to] = rows.values[k + j - first]
                to += 1


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
