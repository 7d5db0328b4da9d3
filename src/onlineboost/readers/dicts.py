"""Dicts as JSON lines."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from onlineboost.data.classes import Classes
from onlineboost.data.json_value import plain
from onlineboost.data.page import Page
from onlineboost.data.schema import Schema
from onlineboost.data.text_columns import TextColumns
from onlineboost.errors import DataError
from onlineboost.forks import call_in_children, new_lock
from onlineboost.readers.pages import ReadOptions
from onlineboost.readers.text import Syntax, TextReader, no_columns


@functools.lru_cache(8)
def _row_reader(syntax: Syntax, schema: Schema | None, text: frozenset[str], finds_text: bool) -> TextReader:
    found = TextColumns(text)
    options = ReadOptions(
        schema or Schema(), Classes(), False, True, False, 1, with_names=True, text=found, finds_text=finds_text
    )
    syntax = syntax if schema is not None or text else replace(syntax, table=no_columns)
    return TextReader(syntax, options, chunk=1 << 12)


def row_page(syntax: Syntax, x: Mapping[Any, Any], schema: Schema | None, text: TextColumns | None = None) -> Page:
    """One dict as a page of one row without a label, in the syntax of JSON lines, with the names of its features.

    Without a schema, every name is a feature. ``text`` knows which columns are text.
    """
    with _LOCK:
        found = frozenset() if text is None else text.columns
        reader = _row_reader(syntax, schema, found, text is not None)
        (page,) = reader.pages(DictSource([x], ""))
        reader.builder.tell_again()
    return page


_LOCK = new_lock()  # for the reader's buffers
call_in_children(_row_reader.cache_clear)  # another thread may be using them


class DictSource:
    """Dicts as the bytes of JSON lines."""

    name = "dicts"
    position = 0

    def __init__(self, rows: Iterable[Any], label: str) -> None:
        self.lines = (self._line(number, row, label) for number, row in enumerate(rows))
        self.rest = b""

    def readinto(self, memory: memoryview) -> int:
        parts, size = [self.rest], len(self.rest)
        while size < len(memory):
            more = list(itertools.islice(self.lines, 256))
            if not more:
                break
            parts += more
            size += sum(map(len, more))
        text = b"".join(parts)
        n = min(len(text), len(memory))
        memory[:n], self.rest = text[:n], text[n:]
        return n

    def _line(self, number: int, row: Any, label: str) -> bytes:
        if isinstance(row, tuple) and len(row) == 2:
            row = {**_mapping(number, row[0]), label: row[1]}
        try:
            return json.dumps(_mapping(number, row), default=plain).encode() + b"\n"
        except (TypeError, ValueError) as problem:
            raise DataError(f"row {number}: {problem}: expected numbers, strings, dates, lists or dicts") from None


def _mapping(number: int, row: Any) -> dict[Any, Any]:
    if not isinstance(row, Mapping):
        raise DataError(f"row {number} is a {type(row).__name__}: expected a dict, or a pair (dict, label)", row=number)
    return dict(row)
