"""Tables to pages: files and data frames that come as Arrow record batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from onlineboost.data.batch import LARGEST
from onlineboost.data.page import Page
from onlineboost.errors import DataError, ReadError
from onlineboost.readers.cells import SLOTS
from onlineboost.readers.files import Source
from onlineboost.readers.labels import positive_hint, sign_of
from onlineboost.readers.pages import PageBuilder, ReadOptions
from onlineboost.readers.roles import find_roles, with_names
from onlineboost.readers.rows import CATEGORY, ENTRIES, IGNORED, LABEL, NO_ROOM, ROWS, WEIGHT
from onlineboost.readers.table_columns import cells_of, first_of_each, flat_columns, plain_value, rows_of
from onlineboost.readers.table_rows import close_gaps, fill_column


class TableReader:
    """Reads files whose content comes as Arrow record batches: ``open_batches(source, batch_size)``."""

    def __init__(self, open_batches: Callable[[Source, int], Iterable[Any]], options: ReadOptions) -> None:
        self.open_batches, self.batch_size = open_batches, options.batch_size
        self.reader = BatchReader(options)

    def pages(self, source: Source, before: int = 0) -> Iterator[Page]:
        batches = self.open_batches(source, self.batch_size)
        return self.reader.pages(batches, source.name, lambda: before + source.position)


@contextmanager
def arrow_errors(source: Source, title: str) -> Iterator[None]:
    """Turn Arrow's errors into a ``ReadError``."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowInvalid, OSError) as problem:
        message = f"{source.name}: not a whole {title} file: {str(problem).splitlines()[0]}"
        raise ReadError(message, path=source.name) from problem


class BatchReader:
    """Reads Arrow record batches."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = options
        self.builder = PageBuilder(options, chunk=1)

    def pages(self, batches: Any, path: str, position: Any = lambda: 0) -> Iterator[Page]:
        """Pages of the record batches of one table."""
        row = 1
        for whole in batches:
            for start in range(0, whole.num_rows, self.options.batch_size):
                part = whole.slice(start, self.options.batch_size)
                self._read(part, path, row)
                row += part.num_rows
                yield self.builder.page(position())

    def _read(self, batch: Any, path: str, first_row: int) -> None:
        flat = list(flat_columns(batch))
        names = [name for name, _ in flat]
        schema = self.builder.schema
        try:
            found = find_roles(schema, names, path, self.options.label_required, self.options.label_ignored)
        except DataError as problem:
            raise ReadError(str(problem), path=path) from problem
        self.builder.schema = with_names(schema, names, found)
        roles = dict(zip(names, found, strict=True))
        wanted = {name: column for name, column in flat if roles[name] != IGNORED}
        cells = {name: cells_of(name, column, roles[name], path) for name, column in wanted.items()}
        good = np.ones(batch.num_rows, bool)
        errors = [error for name, cell in cells.items() for error in self._errors(name, cell, roles[name], path)]
        for r, name, message in sorted(errors, key=lambda error: error[0]):
            if good[r]:
                place = f"{path}: row {first_row + r}, column {name!r}"
                self.builder.reject(f"{place}: {message}", path, first_row + r, name)
            good[r] = False
        if errors:
            cells = {name: {key: rows_of(value, good) for key, value in cell.items()} for name, cell in cells.items()}
        self._write(cells, roles, int(good.sum()))

    def _errors(self, name: str, cell: dict[str, Any], role: int, path: str) -> Iterator[tuple[int, str, str]]:
        """(row, column, message) of each bad cell: a number too large, no weight, no label."""
        bad, expected = np.zeros(cell["valid"].size, bool), "a number of magnitude at most 1e18"
        if role == LABEL:
            yield from ((r, name, message) for r, message in self._signs(cell))
        elif role == WEIGHT:
            if "numbers" not in cell:
                raise ReadError(f"{path}: column {name!r}: expected numbers as weights", path=path, column=name)
            weights = cell["numbers"]
            bad, expected = ~(cell["valid"] & (weights >= 0) & (weights <= LARGEST)), "a weight from 0 to 1e18"
        elif "numbers" in cell:
            bad = ~(np.abs(cell["numbers"]) <= LARGEST)
        for r in np.flatnonzero(bad).tolist():
            value = cell["numbers"][r] if "numbers" in cell and cell["valid"][r] else "nothing"
            yield r, name, f"expected {expected}, found {value}"

    def _write(self, cells: dict[str, Any], roles: dict[str, int], n: int) -> None:
        """Write all columns to rows."""
        builder, schema = self.builder, self.options.schema
        slots = {
            name: 1 if "numbers" in c else SLOTS for name, c in cells.items() if roles[name] not in (LABEL, WEIGHT)
        }
        width = sum(slots.values())
        builder.rows.y[:n], builder.rows.weight[:n] = np.nan, 1.0
        self._make_room(n * width, cells)
        while True:
            rows = builder.rows
            rows.values[: n * width] = 0
            at = 0
            for name, cell in cells.items():
                if roles[name] == LABEL:
                    rows.y[:n] = cell["signs"]
                elif roles[name] == WEIGHT:
                    rows.weight[:n] = cell["numbers"]
                else:
                    encoded = np.frombuffer(name.encode(), np.uint8)
                    rows.scratch[: encoded.size] = encoded
                    fill_column(rows, n, width, at, encoded.size, schema.mask, cell, roles[name] == CATEGORY)
                    at += slots[name]
            if not rows.state[NO_ROOM]:
                break
            builder.forget_names()
            builder.more_names()
        rows.state[ROWS] = n
        rows.state[ENTRIES] = close_gaps(rows, n, width)

    def _signs(self, cell: dict[str, Any]) -> Iterator[tuple[int, str]]:
        """Find the signs of the labels, in the order of rows; (row, message) of each bad one."""
        signs = np.full(len(cell["uniques"]) + 1, np.nan)
        wrong: dict[int, str] = {}
        for _, code in first_of_each(cell["labels"], cell["valid"]):
            positive = self.options.schema.positive
            try:
                signs[code] = sign_of(self.builder.target, plain_value(cell["uniques"][code]), positive)
            except DataError as problem:
                wrong[code] = f"{problem}{positive_hint(positive)}"
        cell["signs"] = np.where(cell["valid"], signs[cell["labels"]], np.nan)
        for r in np.flatnonzero(cell["valid"]) if wrong else ():
            if cell["labels"][r] in wrong:
                yield int(r), wrong[cell["labels"][r]]
        if self.options.label_required:
            yield from ((int(r), "expected a label, found nothing") for r in np.flatnonzero(~cell["valid"]))

    def _make_room(self, entries: int, cells: dict[str, Any]) -> None:
        rows = self.builder.rows
        longest = max((len(name.encode()) for name in cells), default=0)
        for cell in cells.values():
            if "texts" in cell and len(cell["texts"]):
                longest = max(longest, cell["texts"].nbytes)
        if rows.indices.size < entries:
            rows = rows._replace(indices=np.empty(entries, np.int32), values=np.empty(entries, np.float32))
        if rows.scratch.size < 2 * longest + 64:
            rows = rows._replace(scratch=np.empty(4 * longest + 64, np.uint8))
        self.builder.rows = rows
