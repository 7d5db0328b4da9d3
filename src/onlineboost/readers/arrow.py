"""Tables in Arrow's memory: Parquet and Arrow files, and data frames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import f32, i64, njit, u64
from onlineboost.data.batch import LARGEST, Floats, Ints
from onlineboost.data.page import Page
from onlineboost.errors import DataError, ReadError
from onlineboost.readers.cells import CATEGORY as KIND_CATEGORY
from onlineboost.readers.cells import MISSING, MOMENT, NO_TIME, SLOTS, classify_text, put_cell
from onlineboost.readers.hashing import name_hash
from onlineboost.readers.pages import Orders, Pager
from onlineboost.readers.roles import hint, resolved, sign_of
from onlineboost.readers.roles import roles as find_roles
from onlineboost.readers.rows import CATEGORY, ENTRIES, IGNORED, LABEL, NO_ROOM, ROWS, WEIGHT, Rows, note, put
from onlineboost.readers.words import Bytes

FORMATS = ("parquet", "arrow")
_DAY = 86400


class ArrowReader:
    """Pages from Arrow's record batches."""

    def __init__(self, orders: Orders) -> None:
        self.orders = orders
        self.pager = Pager(orders, chunk=1)

    def pages(self, batches: Any, path: str, position: Any = lambda: 0) -> Iterator[Page]:
        """The pages of the record batches of one table."""
        row = 1
        for whole in batches:
            for start in range(0, whole.num_rows, self.orders.batch_size):
                part = whole.slice(start, self.orders.batch_size)
                self._read(part, path, row)
                row += part.num_rows
                yield self.pager.page(position())

    def _read(self, batch: Any, path: str, first_row: int) -> None:
        flat = list(_flat(batch))
        names = [name for name, _ in flat]
        columns = {name: _simple(column) for name, column in flat}
        schema = self.pager.schema
        try:
            found = find_roles(schema, names, path, self.orders.labelled, self.orders.ignored)
        except DataError as problem:
            raise ReadError(str(problem), path=path) from problem
        self.pager.schema = resolved(schema, names, found, headless=False)
        roles = dict(zip(names, found, strict=True))
        columns = {name: column for name, column in columns.items() if roles[name] != IGNORED}
        cells = {name: self._cells(name, column, roles[name], path) for name, column in columns.items()}
        good = np.ones(batch.num_rows, bool)
        faults = [fault for name, cell in cells.items() for fault in self._faults(name, cell, roles[name], path)]
        for r, name, message in sorted(faults, key=lambda fault: fault[0]):
            if good[r]:
                place = f"{path}: row {first_row + r}, column {name!r}"
                self.pager.refuse(f"{place}: {message}", path, first_row + r, name)
            good[r] = False
        if faults:
            cells = {name: {key: _rows_of(value, good) for key, value in cell.items()} for name, cell in cells.items()}
        self._write(cells, roles, int(good.sum()))

    def _cells(self, name: str, column: Any, role: int, path: str) -> dict[str, Any]:
        """A column as arrays: numbers, or days and seconds, or texts; and which of them are there."""
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = column.type
        there = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), bool)
        if role == LABEL:
            if pa.types.is_floating(kind):
                there &= ~np.isnan(column.to_numpy(zero_copy_only=False))
            codes = column.dictionary_encode()
            return {
                "labels": codes.indices.fill_null(0).to_numpy(),
                "uniques": codes.dictionary.to_pylist(),
                "there": there,
            }
        if role == CATEGORY or _is_text(pa, kind):
            return {
                "texts": column.cast(pa.large_binary() if pa.types.is_binary(kind) else pa.large_string()),
                "there": there,
            }
        if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
            moments = column.cast(pa.timestamp("us", getattr(kind, "tz", None)), safe=False).cast(pa.int64())
            since = moments.fill_null(0).to_numpy() // 1_000_000  # rounded down, before 1970 too
            seconds = np.full(since.size, NO_TIME) if pa.types.is_date(kind) else since % _DAY
            return {"days": since // _DAY, "seconds": seconds, "there": there}
        if pa.types.is_duration(kind) or pa.types.is_time(kind):
            whole = pa.duration("us") if pa.types.is_duration(kind) else pa.time64("us")
            numbers = pc.divide(column.cast(whole).cast(pa.int64()).cast(pa.float64()), 1e6)
        elif pa.types.is_null(kind):
            return {"numbers": np.zeros(len(column)), "there": there}
        else:
            try:
                numbers = column.cast(pa.float64(), safe=False)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                message = (
                    f"{path}: column {name!r} is {kind}: expected numbers, texts, dates or booleans; --drop {name}"
                )
                raise ReadError(message, path=path, column=name) from None
        values = np.array(numbers.fill_null(0.0).to_numpy(zero_copy_only=False), np.float64)
        missing = np.isnan(values)
        values[missing] = 0
        return {"numbers": values, "there": there & ~missing}

    def _faults(self, name: str, cell: dict[str, Any], role: int, path: str) -> Iterator[tuple[int, str, str]]:
        """(row, column, message) for a number too large, a weight that is none, a label that is missing."""
        bad, expected = np.zeros(cell["there"].size, bool), "a number of magnitude at most 1e18"
        if role == LABEL:
            yield from ((r, name, message) for r, message in self._signs(cell))
        elif role == WEIGHT:
            if "numbers" not in cell:
                raise ReadError(f"{path}: column {name!r}: expected numbers as weights", path=path, column=name)
            weights = cell["numbers"]
            bad, expected = ~(cell["there"] & (weights >= 0) & (weights <= LARGEST)), "a weight from 0 to 1e18"
        elif "numbers" in cell:
            bad = ~(np.abs(cell["numbers"]) <= LARGEST)
        for r in np.flatnonzero(bad).tolist():
            value = cell["numbers"][r] if "numbers" in cell and cell["there"][r] else "nothing"
            yield r, name, f"expected {expected}, found {value}"

    def _write(self, cells: dict[str, Any], roles: dict[str, int], n: int) -> None:
        """Every column into its slots of a wide table, then the table without its gaps."""
        pager, schema = self.pager, self.orders.schema
        slots = {
            name: 1 if "numbers" in c else SLOTS for name, c in cells.items() if roles[name] not in (LABEL, WEIGHT)
        }
        width = sum(slots.values())
        pager.rows.y[:n], pager.rows.weight[:n] = np.nan, 1.0
        self._room(n * width, cells)
        while True:
            rows = pager.rows
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
                    _fill_column(rows, n, width, at, encoded.size, schema.mask, cell, roles[name] == CATEGORY)
                    at += slots[name]
            if not rows.state[NO_ROOM]:
                break
            pager.forget_names()
            pager.more_names()
        rows.state[ROWS] = n
        rows.state[ENTRIES] = _close_gaps(rows, n, width)

    def _signs(self, cell: dict[str, Any]) -> Iterator[tuple[int, str]]:
        """Find the sign of every label, in the order of rows; (row, message) for those that cannot be."""
        signs = np.full(len(cell["uniques"]) + 1, np.nan)
        wrong: dict[int, str] = {}
        for _, code in _first_of_each(cell["labels"], cell["there"]):
            positive = self.orders.schema.positive
            try:
                signs[code] = sign_of(self.pager.labels, _plain(cell["uniques"][code]), positive)
            except DataError as problem:
                wrong[code] = f"{problem}{hint(positive)}"
        cell["signs"] = np.where(cell["there"], signs[cell["labels"]], np.nan)
        for r in np.flatnonzero(cell["there"]) if wrong else ():
            if cell["labels"][r] in wrong:
                yield int(r), wrong[cell["labels"][r]]
        if self.orders.labelled:
            yield from ((int(r), "expected a label, found nothing") for r in np.flatnonzero(~cell["there"]))

    def _room(self, entries: int, cells: dict[str, Any]) -> None:
        rows = self.pager.rows
        longest = max((len(name.encode()) for name in cells), default=0)
        for cell in cells.values():
            if "texts" in cell and len(cell["texts"]):
                longest = max(longest, cell["texts"].nbytes)
        if rows.indices.size < entries:
            rows = rows._replace(indices=np.empty(entries, np.int32), values=np.empty(entries, np.float32))
        if rows.scratch.size < 2 * longest + 64:
            rows = rows._replace(scratch=np.empty(4 * longest + 64, np.uint8))
        self.pager.rows = rows


def _fill_column(
    rows: Rows, n: int, width: int, at: int, size: int, mask: int, cell: dict[str, Any], category: bool
) -> None:
    there = cell["there"]
    if "numbers" in cell:
        _fill_numbers(rows, n, width, at, size, mask, cell["numbers"], there)
    elif "days" in cell:
        _fill_moments(rows, n, width, at, size, mask, cell["days"], cell["seconds"], there)
    else:
        offsets, text = _buffers(cell["texts"])
        _fill_texts(rows, n, width, at, size, mask, offsets, text, there, category)


@njit
def _fill_numbers(
    rows: Rows, n: int, width: int, at: int, size: int, mask: int, numbers: Floats, there: NDArray[np.bool_]
) -> None:
    index = i64(name_hash(rows.scratch, 0, size, u64(0))) & mask
    for r in range(n):
        if there[r]:
            if f32(numbers[r]) != 0 and rows.seen.size and not rows.seen[index]:
                note(rows, index, rows.scratch, 0, size)
            put(rows, r * width + at, index, numbers[r])
        else:
            put_cell(rows, r * width + at, mask, size, MISSING, 0.0, 0, rows.scratch, 0, 0)


@njit
def _fill_moments(
    rows: Rows, n: int, width: int, at: int, size: int, mask: int, days: Ints, seconds: Ints, there: NDArray[np.bool_]
) -> None:
    for r in range(n):
        if there[r]:
            put_cell(rows, r * width + at, mask, size, MOMENT, float(seconds[r]), days[r], rows.scratch, 0, 0)
        else:
            put_cell(rows, r * width + at, mask, size, MISSING, 0.0, 0, rows.scratch, 0, 0)


@njit
def _fill_texts(
    rows: Rows,
    n: int,
    width: int,
    at: int,
    size: int,
    mask: int,
    offsets: Ints,
    text: Bytes,
    there: NDArray[np.bool_],
    category: bool,
) -> None:
    for r in range(n):
        a, b = offsets[r], offsets[r + 1]
        kind, value, days = (KIND_CATEGORY, 0.0, 0) if category else classify_text(text, a, b)
        kind = kind if there[r] else MISSING
        put_cell(rows, r * width + at, mask, size, kind, value, days, text, a, b)


@njit
def _close_gaps(rows: Rows, n: int, width: int) -> int:
    """Compressed rows from slots, in place."""
    k = 0
    rows.indptr[0] = 0
    for r in range(n):
        for j in range(r * width, (r + 1) * width):
            rows.indices[k] = rows.indices[j]
            rows.values[k] = rows.values[j]
            k += rows.values[k] != 0
        rows.indptr[r + 1] = k
    return k


def _flat(batch: Any) -> Iterator[tuple[str, Any]]:
    """Columns by name; those of structs as ``outer.inner``."""
    import pyarrow as pa

    table = pa.Table.from_batches([batch])
    while any(pa.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    for name, column in zip(table.column_names, table.columns, strict=True):
        yield name, column.combine_chunks()


def _simple(column: Any) -> Any:
    """The column as one array without a dictionary."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _is_text(pa: Any, kind: Any) -> bool:
    tests = ("is_string", "is_large_string", "is_string_view", "is_binary", "is_large_binary", "is_binary_view")
    return any(getattr(pa.types, test)(kind) for test in tests)


def _buffers(texts: Any) -> tuple[Ints, Bytes]:
    """Offsets and bytes of an Arrow array of strings."""
    _, offsets, data = texts.buffers()
    n = len(texts)
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + n + 1].copy()
    text = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]].copy() if data is not None else np.zeros(0, np.uint8)
    return ends - ends[0], np.concatenate([text, np.zeros(16, np.uint8)])


def _rows_of(value: Any, good: NDArray[np.bool_]) -> Any:
    import pyarrow as pa

    if isinstance(value, list):
        return value
    return value.filter(pa.array(good)) if isinstance(value, pa.Array) else value[good]


def _first_of_each(codes: Any, there: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """(row, code) where a code occurs for the first time, in the order of rows."""
    rows = np.flatnonzero(there)
    found, first = np.unique(codes[rows], return_index=True)
    return sorted((int(rows[f]), int(code)) for code, f in zip(found, first, strict=True))


def _plain(label: Any) -> Any:
    """A label as text formats would have it: whole numbers are int."""
    if isinstance(label, bytes):
        return label.decode(errors="replace")
    if isinstance(label, float) and label == int(label):
        return int(label)
    return label if isinstance(label, str | bool | int | float) else str(label)


def open_batches(format: str, source: Any, batch_size: int) -> Iterator[Any]:
    """The record batches of a Parquet or Arrow file."""
    import pyarrow as pa

    if source.kind is not None and format == "parquet":
        raise ReadError(f"{source.name}: Parquet within {source.kind}: decompress it first", path=source.name)
    try:
        if format == "parquet":
            import pyarrow.parquet as pq

            file = pq.ParquetFile(source.raw, pre_buffer=False, page_checksum_verification=True)
            yield from file.iter_batches(batch_size, use_threads=False)
            return
        start = source.stream.peek(6)[:6] if hasattr(source.stream, "peek") else b""
        if start == b"ARROW1":
            reader = pa.ipc.open_file(source.raw)
            for k in range(reader.num_record_batches):
                yield reader.get_batch(k)
        else:
            yield from pa.ipc.open_stream(source.stream)
    except (pa.ArrowInvalid, OSError) as problem:
        message = f"{source.name}: not a whole {format} file: {str(problem).splitlines()[0]}"
        raise ReadError(message, path=source.name) from problem
