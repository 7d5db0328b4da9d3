"""Tables to pages: files and data frames that come as Arrow record batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from onlineboost.data.batch import LARGEST
from onlineboost.data.page import Page
from onlineboost.errors import DataError, ReadError
from onlineboost.readers import status
from onlineboost.readers.cells import SLOTS
from onlineboost.readers.files import Source
from onlineboost.readers.frames import index_columns, warn_of_index
from onlineboost.readers.labels import positive_hint
from onlineboost.readers.limits import MAX_BATCH, MAX_BATCH_MB, DamagedError, TooLargeError, beyond
from onlineboost.readers.pages import PageBuilder, ReadOptions, id_advice
from onlineboost.readers.roles import find_roles, with_names
from onlineboost.readers.rows import (
    CATEGORY,
    DAYS,
    ENTRIES,
    FEATURE,
    IGNORED,
    LABEL,
    MONTHS,
    NO_ROOM,
    READING,
    ROWS,
    WEIGHT,
    WORDS,
)
from onlineboost.readers.table_columns import (
    cells_of,
    decoded_bytes,
    first_of_each,
    flat_columns,
    flat_schema,
    plain_value,
    rows_of,
)
from onlineboost.readers.table_rows import as_bytes, bad_dates, close_gaps, fill_column, large_amounts, new_slots

TEXT_COPIES = 4  # a text is held by Arrow, as large_string, and as bytes for the compiled code; the page comes on top
_COLUMN_BYTES = 8 * SLOTS + 32  # of a column in a row: slots of features, and the arrays they come from


def rows_within(limit: int, columns: int) -> int:
    """Number of rows of so many columns within a limit of memory."""
    return max(1, limit // (_COLUMN_BYTES * max(columns, 1)))


class TableReader:
    """Reads files whose content comes as Arrow record batches: ``open_batches(source, batch_size)``."""

    def __init__(self, open_batches: Callable[[Source, int], Iterable[Any]], options: ReadOptions) -> None:
        self.open_batches, self.batch_size = open_batches, options.batch_size
        self.reader = BatchReader(options)

    def pages(self, source: Source, before: int = 0) -> Iterator[Page]:
        batches = self.open_batches(source, self.batch_size)
        return self.reader.pages(batches, source.name, lambda: before + source.position)


@contextmanager
def arrow_errors(source: Source, title: str, limit: int) -> Iterator[None]:
    """Turn errors of Arrow into a ``ReadError``."""
    import pyarrow as pa

    try:
        yield
    except ReadError:
        raise
    except TooLargeError as problem:
        raise ReadError(f"{source.name}: {problem}: {beyond(MAX_BATCH, limit)}", path=source.name) from problem
    except (pa.ArrowException, DamagedError, OSError, UnicodeDecodeError, OverflowError, MemoryError) as problem:
        message = f"{source.name}: not a whole {title} file: {_first_line(problem)}; copy or make it again"
        raise ReadError(message, path=source.name) from problem


def _no_dates(cell: dict[str, Any], role: int) -> Iterator[tuple[int, str]]:
    """(row, message) of each text that is not a date in the order of its column."""
    fault = status.BAD_US_DATE if role == MONTHS else status.BAD_DATE
    expected, other = status.EXPECTED[fault], status.OTHER_ORDER[fault]
    for r in np.flatnonzero(bad_dates(cell["texts"], cell["valid"], role)).tolist():
        yield r, f"{expected}, found {cell['texts'][r].as_py()!r}; {other}"


def _first_line(problem: BaseException) -> str:
    return (str(problem).splitlines() or [type(problem).__name__])[0]


class BatchReader:
    """Reads Arrow record batches, so many rows at a time that they stay within the limit."""

    def __init__(self, options: ReadOptions, limit: int = MAX_BATCH_MB << 20) -> None:
        self.options, self.limit = options, limit
        self.builder = PageBuilder(options, chunk=1)
        self.told: set[str] = set()  # tables whose index was warned of

    def roles(self, names: list[str], path: str, metadata: Any) -> dict[str, int]:
        """The role of each column; the index of a pandas frame is left out, unless an option names it."""
        schema = self.builder.schema
        named = {*schema.no_features, *schema.drop, *schema.categorical, *schema.text}
        index = [name for name in index_columns(names, metadata) if name not in named]
        columns = [name for name in names if name not in index]
        try:
            found = find_roles(
                schema,
                columns,
                path,
                self.options.label_required,
                self.options.label_ignored,
                self.builder.text.columns,
            )
        except DataError as problem:
            raise ReadError(str(problem), path=path) from problem
        if path not in self.told:
            warn_of_index([name for name in index if name not in self.options.keep], path)
            self.told.add(path)
        self.builder.schema = with_names(schema, columns, found)
        roles = dict(zip([*columns, *index], [*found, *[IGNORED] * len(index)], strict=True))
        self.builder.has_columns([*roles], [*roles.values()], path)
        return roles

    def pages(
        self, batches: Any, path: str, position: Any = lambda: 0, roles: dict[str, int] | None = None
    ) -> Iterator[Page]:
        """Pages of the record batches of one table; with ``roles``, the batches may lack ignored columns."""
        import pyarrow as pa

        row = 1
        for whole in batches:
            try:
                columns = [name for name, _ in flat_schema(whole.schema)]
                step = min(self.options.batch_size, rows_within(self.limit, len(columns)))
                found = roles
                if found is None and whole.num_rows:
                    found = self.roles(columns, path, whole.schema.metadata)
                for start in range(0, whole.num_rows, step):
                    for flat, n in self._pieces(whole.slice(start, step), path, row):
                        self._read(flat, n, path, row, found or {})
                        row += n
                        page, keep = self.builder.page(position()), self.options.keep
                        kept = {name: column.to_pylist() for name, column in flat if name in keep} if keep else None
                        yield page._replace(kept=kept)
            except (pa.ArrowException, UnicodeDecodeError, OverflowError) as problem:
                message = f"{path}: from row {row}: a column cannot be read: {_first_line(problem)}; see drop=..."
                raise ReadError(message, path=path, line=row) from problem

    def _pieces(self, part: Any, path: str, first_row: int) -> Iterator[tuple[list[tuple[str, Any]], int]]:
        """Columns and number of rows of pieces whose cells stay within a share of the limit: texts are copied."""
        flat = flat_columns(part)
        size = sum(decoded_bytes(column) for _, column in flat)
        if size <= self.limit // TEXT_COPIES:
            yield flat, part.num_rows
        elif part.num_rows == 1:
            needed = f"{path}: row {first_row} takes {size * TEXT_COPIES / (1 << 20):,.0f} MB"
            raise ReadError(f"{needed}: {beyond(MAX_BATCH, self.limit)}", path=path, line=first_row)
        else:
            half = part.num_rows // 2
            yield from self._pieces(part.slice(0, half), path, first_row)
            yield from self._pieces(part.slice(half), path, first_row + half)

    def _read(self, flat: list[tuple[str, Any]], n: int, path: str, first_row: int, roles: dict[str, int]) -> None:
        wanted = {name: column for name, column in flat if roles.get(name, IGNORED) != IGNORED}
        cells = {name: cells_of(name, column, roles[name], path) for name, column in wanted.items()}
        good = np.ones(n, bool)
        errors = [error for name, cell in cells.items() for error in self._errors(name, cell, roles[name], path)]
        for r, name, message in sorted(errors, key=lambda error: error[0]):
            if good[r]:
                place = f"{path}: row {first_row + r}, column {name!r}"
                self.builder.reject(f"{place}: {message}", path, first_row + r, name, int(good[:r].sum()))
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
        elif "texts" in cell and role in (DAYS, MONTHS):
            yield from ((r, name, message) for r, message in _no_dates(cell, role))
        elif "numbers" in cell:
            bad = ~(np.abs(cell["numbers"]) <= LARGEST)
        elif "texts" in cell and self.builder.rows.state[READING] and self._role_of(name, cell, role) == FEATURE:
            bad = large_amounts(cell["texts"], cell["valid"])
        for r in np.flatnonzero(bad).tolist():
            value = cell["numbers"][r] if "numbers" in cell and cell["valid"][r] else "nothing"
            value = repr(cell["texts"][r].as_py()) if "texts" in cell else value
            advice = id_advice(self.options, value) if role != WEIGHT else ""
            yield r, name, f"expected {expected}, found {value}{advice}"

    def _write(self, cells: dict[str, Any], roles: dict[str, int], n: int) -> None:
        """Write all columns to rows."""
        builder = self.builder
        slots = {
            name: SLOTS if "numbers" not in c else 1 if c["valid"].all() else 2
            for name, c in cells.items()
            if roles[name] not in (LABEL, WEIGHT)
        }
        width = sum(slots.values())
        builder.rows.y[:n], builder.rows.weight[:n] = np.nan, 1.0
        self._make_room(n * width, cells)
        words = np.zeros(n, np.int64)
        for name, cell in cells.items():
            if "texts" in cell and name in slots:
                role = self._role_of(name, cell, roles[name])
                words += as_bytes(builder, cell, role, name)
        place = new_slots(width, words)
        entries = int(place.start[-1])
        self._make_room(entries, cells)
        while True:
            rows = builder.rows
            rows.values[:entries] = 0
            place.free[:] = place.start[:-1] + width
            at = 0
            for name, cell in cells.items():
                if roles[name] == LABEL:
                    rows.y[:n] = cell["signs"]
                elif roles[name] == WEIGHT:
                    rows.weight[:n] = cell["numbers"]
                else:
                    encoded = np.frombuffer(name.encode(), np.uint8)
                    rows.scratch[: encoded.size] = encoded
                    fill_column(rows, place, at, encoded.size, cell, roles[name])
                    at += slots[name]
            if not rows.state[NO_ROOM]:
                break
            builder.forget_names()
            builder.more_names()
        rows.state[ROWS] = n
        rows.state[ENTRIES] = close_gaps(rows, place.start)

    def _role_of(self, name: str, cell: dict[str, Any], role: int) -> int:
        """The role of a column of strings, which may have become text since."""
        if role == FEATURE and name in self.builder.text.columns:
            return WORDS
        return CATEGORY if cell["grouped"] else role

    def _signs(self, cell: dict[str, Any]) -> Iterator[tuple[int, str]]:
        """Find the signs of the labels, in the order of rows; (row, message) of each bad one."""
        signs = np.full(len(cell["uniques"]) + 1, np.nan)
        wrong: dict[int, str] = {}
        for _, code in first_of_each(cell["labels"], cell["valid"]):
            positive = self.options.schema.positive
            try:
                signs[code] = self.builder.place_of(plain_value(cell["uniques"][code]))
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
