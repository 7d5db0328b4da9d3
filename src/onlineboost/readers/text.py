"""Lines of text to pages of rows: the buffer around the compiled parsers, and the words for their faults."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from onlineboost.data.page import Page
from onlineboost.errors import DataError, ReadError
from onlineboost.readers import csv, jsonl, libsvm, vw
from onlineboost.readers.faults import (
    BAD_LABEL,
    EXPECTED,
    FULL,
    LARGE_INDEX,
    LONG_RECORD,
    MORE,
    NEW_LABEL,
    NO_LABEL,
    OK,
)
from onlineboost.readers.pages import Orders, Pager, new_rows
from onlineboost.readers.roles import DEFAULT_LABEL, as_number, hint, numbered, resolved, roles, sign_of, special, table
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

CHUNK = 1 << 20
LONGEST_RECORD = 1 << 24
_BOM = b"\xef\xbb\xbf"
_OTHERS = {b"PK\x03\x04": "a zip archive", b"\xff\xfe": "text in UTF-16", b"\xfe\xff": "text in UTF-16"}
_OTHERS |= {b"PAR1": "a Parquet file", b"ARROW1": "an Arrow file"}
_PARSERS: dict[str, Callable[[Bytes, Rows, Table], int]] = {
    "vw": vw.parse,
    "libsvm": libsvm.parse,
    "csv": csv.parse,
    "jsonl": jsonl.parse,
}
_WORD_ENDS = {"csv": rb"[,;\t\r\n]", "jsonl": rb"[,}\]\r\n]", "vw": rb"[ \t\r\n|]", "libsvm": rb"[ \t\r\n]"}


class Layout(NamedTuple):
    """What only CSV needs to know; None: look at the first line."""

    header: bool | None = None
    separator: str | None = None


class ByteSource(Protocol):
    name: str

    @property
    def position(self) -> int: ...

    def readinto(self, memory: memoryview) -> int: ...


class TextReader:
    """Pages from sources in one of the text formats."""

    def __init__(self, format: str, orders: Orders, layout: Layout, chunk: int = CHUNK) -> None:
        self.format, self.orders, self.layout = format, orders, layout
        self.parse = _PARSERS[format]
        self.pager = Pager(orders, chunk)
        self.text = np.zeros(chunk + SLACK, np.uint8)

    def pages(self, source: ByteSource, before: int = 0) -> Iterator[Page]:
        """The pages of one source; ``before`` is the size of the sources read earlier."""
        state = self.pager.rows.state
        state[[AT, END, LAST, LINE]] = 0, 0, 0, 1
        self.amid = False  # a line that is being skipped
        self._fill(source)
        start = self.text[: min(8, state[END])].tobytes()
        for mark, what in _OTHERS.items():
            if start.startswith(mark):
                raise ReadError(f"{source.name}: this is {what}: expected text in UTF-8", path=source.name, line=1)
        if start.startswith(_BOM):
            state[AT] = 3
        try:
            columns = self._table(source)
        except ReadError:
            raise
        except DataError as problem:
            raise ReadError(str(problem), path=source.name, line=1) from problem
        while True:
            if self.amid:
                self._skip_line()
            status = self.parse(self.text, self.pager.rows, columns)
            if status == MORE and state[LAST]:
                break
            if status == MORE:
                if state[ROWS]:
                    yield self.pager.page(before + source.position)
                if not self._fill(source):
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

    def _fill(self, source: ByteSource) -> bool:
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
        missing = self.format == "csv" and spelling.lower() == b"nan"
        if missing and self.orders.labelled:
            return self._fault(NO_LABEL, path)
        if self.orders.ignored or missing:
            return self._learn_spelling(spelling, known % MOST_SPELLINGS, np.nan)
        label = self._label(spelling)
        if label is None:
            return self._fault(BAD_LABEL, path)
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

    def _label(self, spelling: bytes) -> Any:
        """A label's value: a number where it can be one."""
        if self.format == "jsonl" and spelling[:1] == b'"':
            return spelling[1:].decode(errors="replace")
        word = spelling.decode(errors="replace")
        if self.format in ("csv", "jsonl") and word.lower() in ("true", "false"):
            return word.lower() == "true"
        number = as_number(word)
        return word if number is None and self.format == "csv" else number

    # ---- faults

    def _fault(self, status: int, path: str, message: str | None = None) -> None:
        """Say what is wrong with the record at hand; if that is allowed, go on with the next line."""
        state = self.pager.rows.state
        at, fault, end = (int(state[k]) for k in (AT, FAULT, END))
        before = self.text[at : max(at, fault)].tobytes()
        line = int(state[LINE]) + before.count(b"\n")
        column = len(before[before.rfind(b"\n") + 1 :].decode(errors="replace")) + 1
        if message is None:
            message = EXPECTED[status] + _found(
                self.text[max(at, fault) : end][:200].tobytes(), _WORD_ENDS[self.format]
            )
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

    # ---- columns

    def _table(self, source: ByteSource) -> Table:
        schema, labelled = self.orders.schema, self.orders.labelled
        if self.format == "jsonl":
            return special(schema, labelled, self.orders.ignored)
        if self.format != "csv":
            return table(schema, [], [], labelled)
        state = self.pager.rows.state
        while True:
            _skip_empty_lines(self.text, state)
            separator = ord(self.layout.separator or guess_separator(self.text[state[AT] : state[END]].tobytes()))
            try:
                cells, after = _first_record(self.text, state, separator, self.pager.rows.cell)
            except DataError as problem:
                message = f"{source.name}: {problem}"
                raise ReadError(message, path=source.name, line=int(state[LINE])) from None
            if cells or state[LAST] or not self._fill(source):
                break
        if cells is None:
            raise ReadError(f"{source.name}: line 1: expected a closing quote", path=source.name, line=1)
        header = self.layout.header
        if header is None:
            label = str(schema.label if schema.label is not None else DEFAULT_LABEL)
            named = label in cells and as_number(label) is None
            header = named or not any(as_number(cell) is not None for cell in cells)
        names = cells if header else numbered(schema, len(cells), source.name, labelled)
        found = roles(schema, names, source.name, labelled and bool(cells), self.orders.ignored)
        self.pager.schema = resolved(schema, names, found, headless=not header)
        if header:
            state[LINE] += self.text[state[AT] : after].tobytes().count(b"\n")
            state[AT] = after
        need = 2 * self.text.size + sum(len(name.encode()) for name in names)
        self.pager.rows = self.pager.rows._replace(scratch=np.zeros(need, np.uint8))
        return table(schema, names, found, labelled, separator)


def guess_separator(start: bytes) -> str:
    """The separator that the first line has most of.

    >>> guess_separator(b"a;b;c,d")
    ';'
    """
    quoted = rb'(?:^|(?<=[,\t;|]))"(?:[^"]|"")*"'  # where a cell begins; a quote within a cell is one of its characters
    found = re.match(rb"(?:" + quoted + rb"|[^\r\n])*", start)
    line = re.sub(quoted, b"", found.group() if found else b"")
    return max(",\t;|", key=lambda c: (line.count(c.encode()), c == ","))


def _found(rest: bytes, word_ends: bytes) -> str:
    word = re.split(word_ends, rest, maxsplit=1)[0][:40] or rest.split(b"\n")[0][:1]
    return f", found {word.decode(errors='replace')!r}" if word.strip() else ", found the end of the line"


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
        status = csv.find_cell(text, at, end, bool(state[LAST]), separator, cell, place)
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
