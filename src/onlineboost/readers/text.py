"""Text to pages: the buffer around the compiled parsers, new labels, and error messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from onlineboost.data.page import Page
from onlineboost.errors import DataError, ReadError
from onlineboost.readers import status
from onlineboost.readers.encoding import Guessed, Recoded, check_encoding
from onlineboost.readers.files import Source
from onlineboost.readers.labels import positive_hint
from onlineboost.readers.limits import MAX_LINE, MAX_LINE_MB, beyond, bytes_of
from onlineboost.readers.pages import PageBuilder, ReadOptions, id_advice
from onlineboost.readers.roles import named_table, new_table, with_words
from onlineboost.readers.rows import (
    AT,
    END,
    EOF,
    ERROR_AT,
    LABEL_AT,
    LABEL_SIZE,
    LINE,
    MAX_SPELLINGS,
    NEWS,
    NO_ROOM,
    NUMERIC,
    ROWS,
    SPELLING_BYTES,
    SPELLINGS,
    Rows,
    Table,
    new_rows,
)
from onlineboost.readers.scan import SLACK, Bytes
from onlineboost.registry import FORMATS

CHUNK = 1 << 20
_BOM = b"\xef\xbb\xbf"
_NO_TEXT = {b"PK\x03\x04": "a zip archive", b"\xff\xfe": "text in UTF-16", b"\xfe\xff": "text in UTF-16"}


@dataclass(frozen=True)
class Syntax:
    """The definition of a text format."""

    parse: Callable[[Bytes, Rows, Table], int]  # compiled: see rows.py
    label: Callable[[bytes], Any]  # value of a label by its spelling; None: not a label; NaN: missing
    word_end: bytes  # pattern of the characters that end a word, for error messages
    table: Callable[[TextReader, ByteSource], Table]  # columns of a source; reads its header
    decide: Callable[[TextReader, ByteSource, Table], Table] = lambda reader, source, table: table  # at DECIMAL_COMMA
    kept: Callable[[bytes, Table, tuple[str, ...], int], dict[str, list[Any]]] | None = None  # cells of whole records
    column: Callable[[bytes, Table], str] | None = None  # the one of a cell, by the text of its record before it


class ByteSource(Protocol):
    """The input of a ``TextReader``: a file, or any source of bytes."""

    name: str

    @property
    def position(self) -> int: ...

    def readinto(self, memory: memoryview) -> int: ...


class TextReader:
    """Reads sources of one text format, one after another."""

    def __init__(
        self,
        syntax: Syntax,
        options: ReadOptions,
        chunk: int = CHUNK,
        max_line_mb: int = MAX_LINE_MB,
        encoding: str | None = None,
    ) -> None:
        self.syntax, self.options, self.encoding = syntax, options, check_encoding(encoding)
        self.max_line = bytes_of(MAX_LINE, max_line_mb)
        self.builder = PageBuilder(options, chunk)
        self.text = np.zeros(chunk + SLACK, np.uint8)
        binary = [(mark, f"a file in {format.title} format") for format in FORMATS for mark in format.magic]
        self.no_text = [*_NO_TEXT.items(), *binary]  # first bytes, and their meaning

    def pages(self, source: ByteSource, before: int = 0) -> Iterator[Page]:
        """Pages of one source; ``before`` is the size of the sources read earlier."""
        state = self.builder.rows.state
        state[[AT, END, EOF, LINE]] = 0, 0, 0, 1
        self.skipping = False  # the rest of a bad line
        file = isinstance(source, Source)
        self.live = self.options.live and file and source.size is None  # type: ignore[attr-defined]
        self.left = 0  # position of the next bytes in the text
        if self.encoding not in (None, "utf-8"):
            source = Recoded(source, self.encoding)
        elif file:
            source = Guessed(source, self._line_after, utf8=self.encoding is not None)
        self.fill(source)
        start = getattr(source, "start", None) or self.text[: min(8, state[END])].tobytes()
        other = next((what for mark, what in self.no_text if start.startswith(mark)), None)
        if other is not None:
            hint = ", or set encoding=... to utf-16" if "UTF-16" in other else ""
            raise ReadError(f"{source.name}: this is {other}: expected text in UTF-8{hint}", path=source.name, line=1)
        if start.startswith(_BOM):
            state[AT] = 3
        try:
            table = self.syntax.table(self, source)
        except ReadError:
            raise
        except DataError as problem:
            raise ReadError(str(problem), path=source.name, line=1) from problem
        self.table = table
        self.since = int(state[AT])  # where the rows of the next page begin in the text
        while True:
            if self.skipping:
                self._skip_line()
            outcome = self.syntax.parse(self.text, self.builder.rows, table)
            if outcome == status.MORE and state[EOF]:
                break
            rows = int(state[ROWS])
            waited_for = rows or (self.live and self.builder.skipped)
            if waited_for and outcome in (
                status.MORE,
                status.FULL,
                status.DECIMAL_COMMA,
            ):
                yield self._page(before + source.position, table)
            if outcome == status.MORE:
                if not self.fill(source):
                    self._reject(status.LONG_RECORD, source.name)
            elif outcome == status.FULL:
                if not rows:
                    self.builder.more_names()
            elif outcome == status.DECIMAL_COMMA:
                self.table = table = self.syntax.decide(self, source, table)
            elif outcome == status.NEW_CELL:
                self.table = table = self._new_cells(table)
            elif outcome == status.NEW_LABEL:
                self._new_label(source.name)
            else:
                self._reject(outcome, source.name)
        if state[ROWS] or self.builder.skipped:
            yield self._page(before + source.position, table)

    def _page(self, position: int, table: Table) -> Page:
        """The rows since the last page, and their kept cells."""
        at, n = int(self.builder.rows.state[AT]), int(self.builder.rows.state[ROWS])
        page, keep = self.builder.page(position), self.options.keep
        if keep and self.syntax.kept is not None:
            page = page._replace(kept=self.syntax.kept(self.text[self.since : at].tobytes(), table, keep, n))
        self.since = at
        return page

    def fill(self, source: ByteSource) -> bool:
        """Move the rest of the text to the front and read more; False if a record is too long."""
        state = self.builder.rows.state
        self.left = left = int(state[END] - state[AT])
        self.text[:left] = self.text[state[AT] : state[END]]
        state[AT], state[END] = 0, left
        self.since = 0
        if left == self.text.size - SLACK:
            if left >= self.max_line:
                state[ERROR_AT] = 0
                return False
            self._grow()
        room = self.text.size - SLACK - left
        memory = self.text.data[left : left + room]
        n = source.read_now(memory) if self.live else source.readinto(memory)  # type: ignore[attr-defined]
        state[END] = left + n
        state[EOF] = n == 0 if self.live else n < room
        self.text[left + n : left + n + SLACK] = 10
        return True

    def _line_after(self, filled: int) -> int:
        """The line number after so many bytes of the buffer."""
        return int(self.builder.rows.state[LINE] + np.count_nonzero(self.text[: self.left + filled] == 10))

    def _grow(self) -> None:
        """Double the buffer, and the arrays for its content."""
        text = self.text
        self.text = np.zeros(min(2 * (text.size - SLACK), self.max_line) + SLACK, np.uint8)
        self.text[: text.size] = text
        rows = self.builder.rows
        larger = new_rows(self.text.size - SLACK, rows.y.size, with_names=False)
        room = rows.scratch.size - 2 * text.size + larger.scratch.size
        larger = larger._replace(scratch=np.empty(max(room, larger.scratch.size), np.uint8))
        self.builder.rows = rows._replace(
            indices=larger.indices, values=larger.values, scratch=larger.scratch, cell=larger.cell
        )

    def _new_cells(self, table: Table) -> Table:
        """Count the cells of at least four words of the last record; returns the columns for later records."""
        rows, state = self.builder.rows, self.builder.rows.state
        cells, at = rows.news[: state[NEWS]].tolist(), 0
        state[NEWS] = 0
        for id, end in cells:
            name = rows.news_text[at:end].tobytes().decode(errors="replace")
            at = end
            if self.builder.sight(name, int(state[ROWS]) - 1, id):
                table = with_words(table, name)
        return table

    # ---- labels

    def _new_label(self, path: str) -> None:
        """Look up the sign of a new spelling once, and tell the parser."""
        rows, state = self.builder.rows, self.builder.rows.state
        spelling = rows.label[: state[LABEL_SIZE]].tobytes()
        known = int(state[SPELLINGS])
        state[ERROR_AT] = state[LABEL_AT]
        if self.options.label_ignored:
            return self._add_spelling(spelling, known % MAX_SPELLINGS, np.nan)
        label = self.syntax.label(spelling)
        if label is None:
            return self._reject(status.BAD_LABEL, path)
        if label != label:
            if self.options.label_required:
                return self._reject(status.NO_LABEL, path)
            return self._add_spelling(spelling, known % MAX_SPELLINGS, np.nan)
        positive = self.options.schema.positive
        try:
            if known == MAX_SPELLINGS and not state[NUMERIC]:
                raise DataError(f"the label {label!r} is one too many: expected at most {MAX_SPELLINGS} spellings")
            sign = self.builder.place_of(label)
        except DataError as problem:
            hint = "" if state[NUMERIC] else positive_hint(positive)
            return self._reject(status.BAD_LABEL, path, f"{problem}{hint}")
        return self._add_spelling(spelling, known % MAX_SPELLINGS, sign)

    def _add_spelling(self, spelling: bytes, number: int, sign: float) -> None:
        rows, at = self.builder.rows, number * SPELLING_BYTES
        rows.spelling[at : at + len(spelling)] = np.frombuffer(spelling, np.uint8)
        rows.spelling_size[number] = len(spelling)
        rows.spelling_sign[number] = sign
        rows.state[SPELLINGS] = number + 1

    # ---- errors

    def _reject(self, outcome: int, path: str, message: str | None = None) -> None:
        """Reject the current record; unless that raises, continue with the next line."""
        state = self.builder.rows.state
        at, error_at, end = (int(state[k]) for k in (AT, ERROR_AT, END))
        error_at = max(at, error_at)
        before = self.text[at:error_at].tobytes()
        line = int(state[LINE]) + before.count(b"\n")
        column = len(before[before.rfind(b"\n") + 1 :].decode(errors="replace")) + 1
        if message is None:
            message = status.EXPECTED[outcome] + _found(self.text[error_at:end][:200].tobytes(), self.syntax.word_end)
        if outcome == status.LARGE_NUMBER and self.syntax.column is not None:
            name = self.syntax.column(before, self.table)
            advice = id_advice(self.options, message) or "; if it is a word, name the column in categorical=..."
            message = f"{message} in column {name!r}{advice}"
        if outcome in (status.BAD_DATE, status.BAD_US_DATE) and self.syntax.column is not None:
            name = self.syntax.column(before, self.table)
            message = f"{message} in column {name!r}; {status.OTHER_ORDER[outcome]}"
        if outcome == status.LONG_RECORD:
            message = f"{status.EXPECTED[outcome]}: {beyond(MAX_LINE, self.max_line)}"
        place = f"{path}: line {line}, character {column}"
        self.builder.reject(f"{place}: {message}", path, line, column, int(state[ROWS]))
        self._skip_line()
        state[LINE] += 1
        state[NO_ROOM] = 0

    def _skip_line(self) -> None:
        """Go to the next line, which may not be in the buffer yet."""
        state = self.builder.rows.state
        following = 0
        while state[AT] < state[END]:
            part = self.text[state[AT] : min(state[AT] + 1024, state[END])].tobytes()
            following = part.find(b"\n") + 1
            state[AT] += following or len(part)
            if following:
                break
        self.skipping = not following


def no_columns(reader: TextReader, source: ByteSource) -> Table:
    """``Syntax.table`` of formats without columns."""
    return new_table([], [], reader.options.label_required)


def named_values(reader: TextReader, source: ByteSource) -> Table:
    """``Syntax.table`` of formats in which each value comes with its name."""
    options = reader.options
    return named_table(options.schema, options.label_required, options.label_ignored, reader.builder.text.columns)


def _found(rest: bytes, word_ends: bytes) -> str:
    word = re.split(word_ends, rest, maxsplit=1)[0][:40] or rest.split(b"\n")[0][:1]
    return f", found {word.decode(errors='replace')!r}" if word.strip() else ", found the end of the line"
