"""Columns of Arrow tables as NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.dates import NO_TIME
from onlineboost.errors import ReadError
from onlineboost.readers.rows import CATEGORY, LABEL, WORDS

_DAY = 86400


def flat_columns(batch: Any) -> list[tuple[str, Any]]:
    """Columns by name; those of structs as ``outer.inner``."""
    import pyarrow as pa

    table = _flattened(pa.Table.from_batches([batch]))
    return [(name, column.combine_chunks()) for name, column in zip(table.column_names, table.columns, strict=True)]


def flat_schema(schema: Any) -> list[tuple[str, Any]]:
    """Types by name, as ``flat_columns`` has them."""
    return [(field.name, field.type) for field in _flattened(schema.empty_table()).schema]


def _flattened(table: Any) -> Any:
    import pyarrow as pa

    while any(pa.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    return table


def _plain_array(column: Any) -> Any:
    """One array, without dictionary encoding."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def decoded_bytes(column: Any) -> int:
    """Size of all cells in bytes, without sharing by dictionaries or views."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind) and _is_text(pa, kind.value_type):
        values = column.dictionary
        if values.nbytes * len(column) < _SMALL:
            return 0
        if _is_view(pa, values.type):
            return int(values.nbytes) * len(column)
        lengths = pc.take(pc.binary_length(values), column.indices)
        return pc.sum(lengths.cast(pa.int64())).as_py() or 0
    if _is_view(pa, kind):
        views = np.frombuffer(column.buffers()[1], np.int32).reshape(-1, 4)[:, 0]
        return int(views[column.offset : column.offset + len(column)].sum(dtype=np.int64))
    return int(column.nbytes)


_SMALL = 1 << 22


def _is_view(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def is_nested(kind: Any) -> bool:
    """Whether a cell may hold any number of values."""
    import pyarrow as pa

    return bool(pa.types.is_nested(kind)) and not pa.types.is_struct(kind)


def unreadable(name: str, kind: Any, path: str) -> ReadError:
    expected = "expected numbers, texts, dates or booleans; leave it out with drop=..."
    return ReadError(f"{path}: column {name!r} is {kind}: {expected}", path=path, column=name)


def _is_text(pa: Any, kind: Any) -> bool:
    tests = ("is_string", "is_large_string", "is_string_view", "is_binary", "is_large_binary", "is_binary_view")
    return any(getattr(pa.types, test)(kind) for test in tests)


def cells_of(name: str, column: Any, role: int, path: str) -> dict[str, Any]:
    """A column as arrays: labels, texts, days and seconds, or numbers; and the validity of cells."""
    import pyarrow as pa
    import pyarrow.compute as pc

    grouped = pa.types.is_dictionary(column.type)  # numbers that a frame has as categories are categories
    column = _plain_array(column)
    kind = column.type
    if is_nested(kind):
        raise unreadable(name, kind, path)
    valid = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), bool)
    if role == LABEL:
        if pa.types.is_floating(kind):
            valid &= ~np.isnan(column.to_numpy(zero_copy_only=False))
        codes = column.dictionary_encode()
        return {
            "labels": codes.indices.fill_null(0).to_numpy(),
            "uniques": _values(codes.dictionary),
            "valid": valid,
        }
    if role in (CATEGORY, WORDS) or _is_text(pa, kind) or (grouped and pa.types.is_integer(kind)):
        try:
            texts = column.cast(pa.large_binary() if pa.types.is_binary(kind) else pa.large_string())
        except pa.ArrowNotImplementedError:
            raise unreadable(name, kind, path) from None
        return {"texts": texts, "valid": valid, "grouped": grouped}
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        micros = column.cast(pa.timestamp("us", getattr(kind, "tz", None)), safe=False).cast(pa.int64())
        since = micros.fill_null(0).to_numpy() // 1_000_000  # rounded down, before 1970 too
        seconds = np.full(since.size, NO_TIME) if pa.types.is_date(kind) else since % _DAY
        return {"days": since // _DAY, "seconds": seconds, "valid": valid}
    if pa.types.is_duration(kind) or pa.types.is_time(kind):
        whole = pa.duration("us") if pa.types.is_duration(kind) else pa.time64("us")
        numbers = pc.divide(column.cast(whole).cast(pa.int64()).cast(pa.float64()), 1e6)
    elif pa.types.is_null(kind):
        return {"numbers": np.zeros(len(column)), "valid": valid}
    else:
        try:
            numbers = column.cast(pa.float64(), safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise unreadable(name, kind, path) from None
    values = np.array(numbers.fill_null(0.0).to_numpy(zero_copy_only=False), np.float64)
    missing = np.isnan(values)
    values[missing] = 0
    return {"numbers": values, "valid": valid & ~missing}


def _values(array: Any) -> list[Any]:
    """The values as Python objects; strings that are not UTF-8 as bytes."""
    import pyarrow as pa

    try:
        return list(array.to_pylist())
    except UnicodeDecodeError:
        return list(array.cast(pa.large_string()).view(pa.large_binary()).to_pylist())


def rows_of(value: Any, good: NDArray[np.bool_]) -> Any:
    """Some of the rows of an array."""
    import pyarrow as pa

    if isinstance(value, list | bool):
        return value
    return value.filter(pa.array(good)) if isinstance(value, pa.Array) else value[good]


def first_of_each(codes: Any, valid: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """(row, code) of the first row with each code, in the order of rows."""
    rows = np.flatnonzero(valid)
    found, first = np.unique(codes[rows], return_index=True)
    return sorted((int(rows[f]), int(code)) for code, f in zip(found, first, strict=True))


def plain_value(label: Any) -> Any:
    """A label as read from text: whole numbers are int."""
    if isinstance(label, bytes):
        return label.decode(errors="replace")
    if isinstance(label, float) and label.is_integer():
        return int(label)
    return label if isinstance(label, str | bool | int | float) else str(label)
