"""Lines of text to pages of rows: the buffer around the compiled parsers, and the words for their faults."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from onlineboost.data.page import Page
from onlineboost.errors import DataError, ReadError
from onlineboost.readers.faults import (
    BAD_LABEL,
    EXPECTED,
    FULL,
    LARGE_INDEX,
    LONG_RECORD,
    MORE,
    NEW_LABEL,
    NO_LABEL,
)
from onlineboost.readers.pages import Orders, Pager, new_rows
from onlineboost.readers.roles import hint, sign_of, special, table
from onlineboost.readers.rows import (
    AT,
    END,
    FAULT,
    LABEL_AT,
    LABEL_SIZE,
    LAST,
    LINE,
    MOST_SPELLINGS,
    NO_ROOM,
    ROWS,
    SPELLING,
    SPELLINGS,
    Rows,
    Table,
)
from onlineboost.readers.words import SLACK, Bytes
from onlineboost.registry import FORMATS

CHUNK = 1 << 20
LONGEST_RECORD = 1 << 24
_BOM = b"\xef\xbb\xbf"
_OTHERS = {b"PK\x03\x04": "a zip archive", b"\xff\xfe": "text in UTF-16", b"\xfe\xff": "text in UTF-16"}


@dataclass(frozen=True)
class Syntax:
    """What distinguishes one text format from another."""

    parse: Callable[[Bytes, Rows, Table], int]  # compiled: see rows.py
    label: Callable[[bytes], Any]  # from a label's spelling to its value: None if it is no label, NaN if it is missing
    word_end: bytes  # pattern of the characters that end a word, for error messages
    table: Callable[[TextReader, ByteSource], Table]  # the columns, of which the first line may tell


class ByteSource(Protocol):
    name: str

    @property
    def position(self) -> int: ...

    def readinto(self, memory: memoryview) -> int: ...


class TextReader:
    """Pages from sources in one of the text formats."""

    def __init__(self, syntax: Syntax, orders: Orders, chunk: int = CHUNK) -> None:
        self.syntax, self.orders = syntax, orders
        self.pager = Pager(orders, chunk)
        self.text = np.zeros(chunk + SLACK, np.uint8)
        binary = [(mark, f"a file in {format.title} format") for format in FORMATS for mark in format.magic]
        self.others = [*_OTHERS.items(), *binary]

    def pages(self, source: ByteSource, before: int = 0) -> Iterator[Page]:
        """The pages of one source; ``before`` is the size of the sources read earlier."""
        state = self.pager.rows.state
        state[[AT, END, LAST, LINE]] = 0, 0, 0, 1
        self.amid = False  # a line that is being skipped
        self.fill(source)
        start = self.text[: min(8, state[END])].tobytes()
        other = next((what for mark, what in self.others if start.startswith(mark)), None)
        if other is not None:
            raise ReadError(f"{source.name}: this is {other}: expected text in UTF-8", path=source.name, line=1)
        if start.startswith(_BOM):
            state[AT] = 3
        try:
            columns = self.syntax.table(self, source)
        except ReadError:
            raise
        except DataError as problem:
            raise ReadError(str(problem), path=source.name, line=1) from problem
        while True:
            if self.amid:
                self._skip_line()
            status = self.syntax.parse(self.text, self.pager.rows, columns)
            if status == MORE and state[LAST]:
                break
            if status == MORE:
                if state[ROWS]:
                    yield self.pager.page(before + source.position)
                if not self.fill(source):
                    self._fault(LONG_RECORD, source.name)
            elif status == FULL:
                if state[ROWS]:
                    yield self.pager.page(before + source.position)
                else:
                    self.pager.more_names()
            elif status == NEW_LABEL:
                self._new_label(source.name)
            else:
                self._fault(status, source.name)
        if state[ROWS] or self.pager.skipped:
            yield self.pager.page(before + source.position)

    def fill(self, source: ByteSource) -> bool:
        """Move what is left to the front and read on; False if a record is too long to be read at all."""
        state = self.pager.rows.state
        left = int(state[END] - state[AT])
        self.text[:left] = self.text[state[AT] : state[END]]
        state[AT], state[END] = 0, left
        if left == self.text.size - SLACK:
            if left >= LONGEST_RECORD:
                state[FAULT] = 0
                return False
            self._grow()
        room = self.text.size - SLACK - left
        n = source.readinto(self.text.data[left : left + room])
        state[END] = left + n
        state[LAST] = n < room
        self.text[left + n : left + n + SLACK] = 10
        return True

    def _grow(self) -> None:
        """Twice the room for text, and for what can become of it."""
        text = self.text
        self.text = np.zeros(2 * (text.size - SLACK) + SLACK, np.uint8)
        self.text[: text.size] = text
        rows = self.pager.rows
        larger = new_rows(self.text.size - SLACK, rows.y.size, None)
        room = rows.scratch.size - 2 * text.size + larger.scratch.size
        larger = larger._replace(scratch=np.empty(max(room, larger.scratch.size), np.uint8))
        self.pager.rows = rows._replace(
            indices=larger.indices, values=larger.values, scratch=larger.scratch, cell=larger.cell
        )

    # ---- labels

    def _new_label(self, path: str) -> None:
        """A spelling not met before: find its sign once, and tell the parser."""
        rows, state = self.pager.rows, self.pager.rows.state
        spelling = rows.label[: state[LABEL_SIZE]].tobytes()
        known = int(state[SPELLINGS])
        state[FAULT] = state[LABEL_AT]
        if self.orders.ignored:
            return self._learn_spelling(spelling, known % MOST_SPELLINGS, np.nan)
        label = self.syntax.label(spelling)
        if label is None:
            return self._fault(BAD_LABEL, path)
        if label != label:
            if self.orders.labelled:
                return self._fault(NO_LABEL, path)
            return self._learn_spelling(spelling, known % MOST_SPELLINGS, np.nan)
        positive = self.orders.schema.positive
        try:
            if known == MOST_SPELLINGS:
                raise DataError(f"the label {label!r} is one too many: expected at most {MOST_SPELLINGS} spellings")
            sign = sign_of(self.pager.labels, label, positive)
        except DataError as problem:
            return self._fault(BAD_LABEL, path, f"{problem}{hint(positive)}")
        return self._learn_spelling(spelling, known, sign)

    def _learn_spelling(self, spelling: bytes, number: int, sign: float) -> None:
        rows, at = self.pager.rows, number * SPELLING
        rows.spelling[at : at + len(spelling)] = np.frombuffer(spelling, np.uint8)
        rows.spelling_size[number] = len(spelling)
        rows.spelling_sign[number] = sign
        rows.state[SPELLINGS] = number + 1

    # ---- faults

    def _fault(self, status: int, path: str, message: str | None = None) -> None:
        """Say what is wrong with the record at hand; if that is allowed, go on with the next line."""
        state = self.pager.rows.state
        at, fault, end = (int(state[k]) for k in (AT, FAULT, END))
        before = self.text[at : max(at, fault)].tobytes()
        line = int(state[LINE]) + before.count(b"\n")
        column = len(before[before.rfind(b"\n") + 1 :].decode(errors="replace")) + 1
        if message is None:
            message = EXPECTED[status] + _found(self.text[max(at, fault) : end][:200].tobytes(), self.syntax.word_end)
        if status == LARGE_INDEX:
            bits = self.orders.schema.bits
            message += f"; with {bits} bits features are numbered up to {(1 << bits) - 1}"
        self.pager.refuse(f"{path}: line {line}, column {column}: {message}", path, line, column)
        self._skip_line()
        state[LINE] += 1
        state[NO_ROOM] = 0

    def _skip_line(self) -> None:
        """Go on with the next line, which may not have been read yet."""
        state = self.pager.rows.state
        following = 0
        while state[AT] < state[END]:
            part = self.text[state[AT] : min(state[AT] + 1024, state[END])].tobytes()
            following = part.find(b"\n") + 1
            state[AT] += following or len(part)
            if following:
                break
        self.amid = not following


def no_columns(reader: TextReader, source: ByteSource) -> Table:
    """``Syntax.table`` of formats without columns."""
    return table(reader.orders.schema, [], [], reader.orders.labelled)


def named_values(reader: TextReader, source: ByteSource) -> Table:
    """``Syntax.table`` of formats in which every value comes with its name."""
    return special(reader.orders.schema, reader.orders.labelled, reader.orders.ignored)


def _found(rest: bytes, word_ends: bytes) -> str:
    word = re.split(word_ends, rest, maxsplit=1)[0][:40] or rest.split(b"\n")[0][:1]
    return f", found {word.decode(errors='replace')!r}" if word.strip() else ", found the end of the line"
