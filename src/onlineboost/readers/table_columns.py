"""Columns of Arrow tables as NumPy arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.errors import ReadError
from onlineboost.readers.cells import NO_TIME
from onlineboost.readers.rows import CATEGORY, LABEL

_DAY = 86400


def flat_columns(batch: Any) -> Iterator[tuple[str, Any]]:
    """Columns by name; those of structs as ``outer.inner``."""
    import pyarrow as pa

    table = pa.Table.from_batches([batch])
    while any(pa.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    for name, column in zip(table.column_names, table.columns, strict=True):
        yield name, _plain_array(column.combine_chunks())


def _plain_array(column: Any) -> Any:
    """One array, without dictionary encoding."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _is_text(pa: Any, kind: Any) -> bool:
    tests = ("is_string", "is_large_string", "is_string_view", "is_binary", "is_large_binary", "is_binary_view")
    return any(getattr(pa.types, test)(kind) for test in tests)


def cells_of(name: str, column: Any, role: int, path: str) -> dict[str, Any]:
    """A column as arrays: labels, texts, days and seconds, or numbers; and which of its cells are valid."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    valid = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), bool)
    if role == LABEL:
        if pa.types.is_floating(kind):
            valid &= ~np.isnan(column.to_numpy(zero_copy_only=False))
        codes = column.dictionary_encode()
        return {
            "labels": codes.indices.fill_null(0).to_numpy(),
            "uniques": codes.dictionary.to_pylist(),
            "valid": valid,
        }
    if role == CATEGORY or _is_text(pa, kind):
        return {
            "texts": column.cast(pa.large_binary() if pa.types.is_binary(kind) else pa.large_string()),
            "valid": valid,
        }
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
            expected = "expected numbers, texts, dates or booleans; leave it out with drop=..."
            message = f"{path}: column {name!r} is {kind}: {expected}"
            raise ReadError(message, path=path, column=name) from None
    values = np.array(numbers.fill_null(0.0).to_numpy(zero_copy_only=False), np.float64)
    missing = np.isnan(values)
    values[missing] = 0
    return {"numbers": values, "valid": valid & ~missing}


def rows_of(value: Any, good: NDArray[np.bool_]) -> Any:
    """Some of the rows of an array."""
    import pyarrow as pa

    if isinstance(value, list):
        return value
    return value.filter(pa.array(good)) if isinstance(value, pa.Array) else value[good]


def first_of_each(codes: Any, valid: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """(row, code) of the first row with each code, in the order of rows."""
    rows = np.flatnonzero(valid)
    found, first = np.unique(codes[rows], return_index=True)
    return sorted((int(rows[f]), int(code)) for code, f in zip(found, first, strict=True))


def plain_value(label: Any) -> Any:
    """A label as it would be read from text: whole numbers are int."""
    if isinstance(label, bytes):
        return label.decode(errors="replace")
    if isinstance(label, float) and label == int(label):
        return int(label)
    return label if isinstance(label, str | bool | int | float) else str(label)
