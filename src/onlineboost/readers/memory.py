"""Sources in memory: arrays, SciPy matrices, data frames, dicts."""

from __future__ import annotations

import functools
import itertools
import json
import numbers
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, Literal

import numpy as np

from onlineboost.data.arrays import as_labels, check_features, is_frame
from onlineboost.data.batch import LARGEST, Batch, Floats, cut
from onlineboost.data.classes import Classes
from onlineboost.data.columns import Columns
from onlineboost.data.page import Page
from onlineboost.data.schema import DEFAULT_LABEL, Schema
from onlineboost.errors import DataError
from onlineboost.forks import call_in_children, new_lock
from onlineboost.readers.formats import jsonl
from onlineboost.readers.frames import arrow_table
from onlineboost.readers.labels import sign_of
from onlineboost.readers.limits import MAX_BATCH, MAX_BATCH_MB, MAX_LINE_MB, bytes_of
from onlineboost.readers.pages import ReadOptions
from onlineboost.readers.roles import label_column
from onlineboost.readers.table import BatchReader
from onlineboost.readers.text import TextReader, no_columns


def kind_of(source: Any) -> Literal["files", "frame", "arrays", "dicts"]:
    """What a source is; nothing is imported to find out."""
    if isinstance(source, str | os.PathLike):
        return "files"
    if hasattr(source, "tocsr") or isinstance(source, np.ndarray):
        return "arrays"
    if is_frame(source):
        return "frame"
    if isinstance(source, list | tuple) and source and all(isinstance(s, str | os.PathLike) for s in source):
        return "files"
    if isinstance(source, list | tuple) and source and isinstance(source[0], list | np.ndarray):
        return "arrays"
    if isinstance(source, Mapping):
        raise DataError("the source is one dict: expected many; model.learn_one(x, y) learns a single one")
    if isinstance(source, Iterable):
        return "dicts"
    raise DataError(f"the source is a {type(source).__name__}: expected files, a data frame, arrays or dicts")


def array_pages(X: Any, y: Any, sample_weight: Any, options: ReadOptions, columns: Columns) -> Iterator[Page]:
    """Arrays, whose columns have numbers for names unless a model knows them by others."""
    source = check_features(X)
    columns.locate(source)
    names = source.new_names()
    target = options.target
    signs = np.full(source.n_rows, np.nan)
    if y is not None:
        y = as_labels(y)
        _check_length("y", y, source.n_rows)
        known: dict[Any, float] = {}
        for label in dict.fromkeys(y.tolist()):
            known[label] = sign_of(target, label, options.schema)
        signs = np.array([known[label] for label in y.tolist()])
    elif options.label_required:
        raise DataError("arrays come without labels: pass them as y=")
    weight = _weights(sample_weight, source.n_rows)
    for batch in source.batches(signs, weight):
        for start in range(0, batch.y.size, options.batch_size):
            part = cut(batch, start, start + options.batch_size)
            yield Page(part, names, target, options.schema)
            names = []


def frame_pages(
    frame: Any, y: Any, sample_weight: Any, options: ReadOptions, max_batch_mb: int = MAX_BATCH_MB
) -> Iterator[Page]:
    """Data frames of any kind that narwhals supports, as Arrow record batches."""
    import pyarrow as pa

    table = arrow_table(frame)
    schema = options.schema
    for given, name, what in ((y, schema.label or DEFAULT_LABEL, "y"), (sample_weight, schema.weight, "sample_weight")):
        if given is not None:
            if name is None:
                name = "weight"
                options = options._replace(schema=schema._replace(weight=name))
            if name in table.column_names:
                raise DataError(f"the data frame has a column {name!r}: expected that column or {what}=, not both")
            _check_length(what, np.asarray(given), table.num_rows)
            table = table.append_column(str(name), pa.array(np.asarray(given)))
    return BatchReader(options, bytes_of(MAX_BATCH, max_batch_mb)).pages(table.to_batches(), "data frame")


def dict_pages(
    rows: Iterable[Any], y: Any, sample_weight: Any, options: ReadOptions, max_line_mb: int = MAX_LINE_MB
) -> Iterator[Page]:
    """Dicts, or pairs (dict, label), through the parser of JSON lines."""
    if y is not None or sample_weight is not None:
        raise DataError("dicts hold their own label and weight, or come as pairs (dict, label)")
    reader = TextReader(jsonl.SYNTAX, options, chunk=1 << 16, max_line_mb=max_line_mb)
    return reader.pages(DictSource(rows, label_column(options.schema)))


@functools.lru_cache(8)
def _row_reader(schema: Schema | None) -> TextReader:
    options = ReadOptions(schema or Schema(), Classes(), False, True, False, 1, with_names=True)
    syntax = jsonl.SYNTAX if schema is not None else replace(jsonl.SYNTAX, table=no_columns)
    return TextReader(syntax, options, chunk=1 << 12)


def row_batch(x: Mapping[Any, Any], schema: Schema | None) -> tuple[Batch, list[tuple[int, str]]]:
    """One dict as a batch of one row without a label, and the names of its features.

    Without a schema, every name is a feature.
    """
    with _LOCK:
        reader = _row_reader(schema)
        (page,) = reader.pages(DictSource([x], ""))
        reader.builder.tell_again()
    return page.batch, page.names


_LOCK = new_lock()  # for the reader's buffers
call_in_children(_row_reader.cache_clear)  # another thread may have been at work with them


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
            return json.dumps(_mapping(number, row), default=_plain).encode() + b"\n"
        except (TypeError, ValueError) as problem:
            raise DataError(f"row {number}: {problem}: expected numbers, strings, dates, lists or dicts") from None


def _mapping(number: int, row: Any) -> dict[Any, Any]:
    if not isinstance(row, Mapping):
        raise DataError(f"row {number} is a {type(row).__name__}: expected a dict, or a pair (dict, label)", row=number)
    return dict(row)


def _plain(value: Any) -> Any:
    """Values that JSON does not know: NumPy's, dates, durations, decimals, missing values of pandas, mappings."""
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").tolist()  # nanoseconds would be a number
    if isinstance(value, np.timedelta64):
        return None if np.isnat(value) else value / np.timedelta64(1, "s")
    if value is None or type(value).__name__ in ("NaTType", "NAType"):
        return None
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, numbers.Number) and not isinstance(value, complex):
        return float(value)  # type: ignore[arg-type]
    if isinstance(value, timedelta):
        return value.total_seconds()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__}")


def _weights(given: Any, n: int) -> Floats:
    if given is None:
        return np.ones(n)
    try:
        weight = np.asarray(given, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError("sample_weight: expected one number per row") from None
    _check_length("sample_weight", weight, n)
    if not ((weight >= 0) & (weight <= LARGEST)).all():
        raise DataError(f"sample_weight: expected numbers from 0 to {LARGEST:g}")
    return weight


def _check_length(what: str, array: Any, n: int) -> None:
    if array.shape != (n,):
        raise DataError(f"{what} has shape {array.shape}: expected ({n},), one value per row")
