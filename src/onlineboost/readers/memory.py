"""What is in memory already: arrays, SciPy matrices, data frames, dicts."""

from __future__ import annotations

import functools
import itertools
import json
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import numpy as np

from onlineboost.data.arrays import check_features
from onlineboost.data.batch import LARGEST, Batch, Floats
from onlineboost.data.page import Page
from onlineboost.data.schema import Schema
from onlineboost.data.target import Binary
from onlineboost.errors import DataError
from onlineboost.readers.formats import jsonl
from onlineboost.readers.pages import Orders
from onlineboost.readers.roles import DEFAULT_LABEL, sign_of
from onlineboost.readers.table import BatchReader
from onlineboost.readers.text import TextReader

_FRAMES = ("pandas", "polars", "pyarrow", "modin", "cudf", "narwhals", "duckdb", "dask", "ibis", "pyspark")


def kind_of(source: Any) -> Literal["files", "frame", "arrays", "dicts"]:
    """What a source is, without importing anything to find out."""
    if isinstance(source, str | os.PathLike):
        return "files"
    if hasattr(source, "tocsr") or isinstance(source, np.ndarray):
        return "arrays"
    package = type(source).__module__.partition(".")[0]
    if package in _FRAMES and package in sys.modules:
        return "frame"
    if isinstance(source, list | tuple) and source and all(isinstance(s, str | os.PathLike) for s in source):
        return "files"
    if isinstance(source, list | tuple) and source and isinstance(source[0], list | np.ndarray):
        return "arrays"
    if isinstance(source, Mapping):
        raise DataError("the source is one dict: a stream is many; model.learn_one(x, y) takes one")
    if isinstance(source, Iterable):
        return "dicts"
    raise DataError(f"the source is a {type(source).__name__}: expected files, a data frame, arrays or dicts")


def array_pages(X: Any, y: Any, sample_weight: Any, orders: Orders) -> Iterator[Page]:
    """Columns of arrays are features numbered as they are."""
    source = check_features(X)
    if source.n_features > orders.schema.mask + 1:
        raise DataError(f"X has {source.n_features} columns: expected at most 2**bits = {orders.schema.mask + 1}")
    labels = orders.labels
    signs = np.full(source.n_rows, np.nan)
    if y is not None:
        y = np.asarray(y)
        _check_length("y", y, source.n_rows)
        known: dict[Any, float] = {}
        for label in dict.fromkeys(y.tolist()):
            known[label] = sign_of(labels, label, orders.schema.positive)
        signs = np.array([known[label] for label in y.tolist()])
    elif orders.labelled:
        raise DataError("arrays come without labels: give them as y=")
    weight = _weights(sample_weight, source.n_rows)
    for batch in source.batches(signs, weight):
        for start in range(0, batch.y.size, orders.batch_size):
            stop = start + orders.batch_size
            rows = slice(start, stop)
            part = batch._replace(indptr=batch.indptr[start : stop + 1], y=batch.y[rows], weight=batch.weight[rows])
            yield Page(part, [], labels, orders.schema)


def frame_pages(frame: Any, y: Any, sample_weight: Any, orders: Orders) -> Iterator[Page]:
    """Any data frame that narwhals knows, as Arrow's record batches."""
    import narwhals as nw
    import pyarrow as pa

    try:
        native = nw.from_native(frame, allow_series=False)
        eager = native.collect() if isinstance(native, nw.LazyFrame) else native
        table = eager.to_arrow()
    except TypeError as problem:
        raise DataError(f"the source is a {type(frame).__name__}: expected a data frame") from problem
    except nw.exceptions.NarwhalsError as problem:
        raise DataError(f"the data frame cannot be read: {str(problem).strip().splitlines()[0]}") from problem
    except (pa.ArrowInvalid, pa.ArrowTypeError) as problem:
        raise DataError(f"the data frame has a column of mixed types: {problem}") from problem
    schema = orders.schema
    for given, name, what in ((y, schema.label or DEFAULT_LABEL, "y"), (sample_weight, schema.weight, "sample_weight")):
        if given is not None:
            if name is None:
                name = "weight"
                orders = orders._replace(schema=schema._replace(weight=name))
            if name in table.column_names:
                raise DataError(f"the frame has a column {name!r}: expected it or {what}=, not both")
            _check_length(what, np.asarray(given), table.num_rows)
            table = table.append_column(str(name), pa.array(np.asarray(given)))
    return BatchReader(orders).pages(table.to_batches(), "data frame")


def dict_pages(rows: Iterable[Any], y: Any, sample_weight: Any, orders: Orders) -> Iterator[Page]:
    """Dicts, or pairs of a dict and a label, go through the parser of JSON lines."""
    if y is not None or sample_weight is not None:
        raise DataError("dicts hold their own label and weight, or come as pairs (dict, label)")
    reader = TextReader(jsonl.SYNTAX, orders, chunk=1 << 16)
    label = str(orders.schema.label if orders.schema.label is not None else DEFAULT_LABEL)
    return reader.pages(DictSource(rows, label))


@functools.lru_cache(8)
def _row_reader(schema: Schema) -> TextReader:
    return _new_row_reader(schema, named=False)


def _new_row_reader(schema: Schema, named: bool) -> TextReader:
    orders = Orders(schema, Binary(), False, True, False, 1, named=named)
    return TextReader(jsonl.SYNTAX, orders, chunk=1 << 12)


def row_batch(x: Mapping[Any, Any], schema: Schema, named: bool = False) -> tuple[Batch, dict[int, str]]:
    """One dict of features as a batch of one row, without its label; if asked, with the names of its features."""
    if named:  # a reader tells a name once: each row needs one of its own
        pages = list(_new_row_reader(schema, named=True).pages(DictSource([x], "")))
        return pages[0].batch, dict(pages[0].names)
    with _LOCK:
        pages = list(_row_reader(schema).pages(DictSource([x], "")))
    return pages[0].batch, {}


_LOCK = threading.Lock()  # one thread at a time has the memory of the reader


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
    """What JSON does not know: NumPy's numbers, dates, mappings."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
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
    except (TypeError, ValueError):
        raise DataError("sample_weight: expected one number per row") from None
    _check_length("sample_weight", weight, n)
    if not ((weight >= 0) & (weight <= LARGEST)).all():
        raise DataError(f"sample_weight: expected numbers from 0 to {LARGEST:g}")
    return weight


def _check_length(what: str, array: Any, n: int) -> None:
    if array.shape != (n,):
        raise DataError(f"{what} has shape {array.shape}: expected ({n},), one value per row")
