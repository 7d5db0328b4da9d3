"""Sources in memory: arrays, SciPy matrices, data frames, dicts; as pages of a stream, or as checked tables."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from onlineboost.data.arrays import Source, as_labels, check_features, is_frame
from onlineboost.data.batch import LARGEST, Batch, Floats, cut, longest_row
from onlineboost.data.classes import Classes
from onlineboost.data.columns import Columns
from onlineboost.data.page import Page
from onlineboost.data.schema import DEFAULT_LABEL, NO_LABEL, Schema
from onlineboost.errors import DataError
from onlineboost.readers.dicts import DictSource
from onlineboost.readers.formats import jsonl
from onlineboost.readers.frames import arrow_table, feature_frame, is_numeric
from onlineboost.readers.labels import label_of
from onlineboost.readers.limits import MAX_BATCH, MAX_BATCH_MB, MAX_LINE_MB, bytes_of
from onlineboost.readers.pages import ReadOptions
from onlineboost.readers.roles import label_column
from onlineboost.readers.table import BatchReader
from onlineboost.readers.text import TextReader


def kind_of(source: Any) -> Literal["files", "frame", "arrays", "dicts"]:
    """The kind of a source, without imports."""
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
    """Arrays, whose columns are named by numbers unless a model has names for them."""
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
            known[label] = label_of(target, label, options.schema)
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
    if sample_weight is not None:
        raise DataError("dicts hold their own weight, under a key: open_stream(rows, weight=key)")
    if y is not None:
        rows, labels = [*rows], np.asarray(y)
        _check_length("y", labels, len(rows))
        rows = zip(rows, labels.tolist(), strict=True)
    reader = TextReader(jsonl.SYNTAX, options, chunk=1 << 16, max_line_mb=max_line_mb)
    return reader.pages(DictSource(rows, label_column(options.schema)))


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


_ROWS = 1 << 14  # of a batch
_OPTIONS = ReadOptions(Schema(label=NO_LABEL), Classes(), False, False, False, _ROWS, with_names=True)


class NamedRows(Source):
    """Rows read by the rules for files: numbers, words, dates, missing values; without labels."""

    by_name: ClassVar[bool] = True

    def __init__(self, pages: Iterable[Page], headings: list[str] | None) -> None:
        read = [*pages]
        self.parts = [page.batch for page in read]
        self.told = [pair for page in read for pair in page.names]
        self.cells = [(name, id) for page in read for _, name, id in page.sighted]
        self.names = headings
        self.n_rows = sum(part.y.size for part in self.parts)
        self.n_features = len(self.told if headings is None else headings)

    def name(self, names: list[str] | None) -> None:
        """Nothing to do: features have names."""

    def new_names(self) -> list[tuple[int, str]]:
        return self.told

    def new_cells(self) -> list[tuple[str, int]]:
        return self.cells

    @property
    def longest(self) -> int:
        return max(map(longest_row, self.parts), default=0)

    def batches(self, y: Floats, weight: Floats) -> Iterator[Batch]:
        start = 0
        for part in self.parts:
            rows = slice(start, start + part.y.size)
            yield part._replace(y=y[rows], weight=weight[rows])
            start = rows.stop


def table_of_lines(lines: bytes, columns: Columns, learning: bool = False) -> Source:
    """Dicts as JSON lines: as ``table_of`` reads the dicts."""
    options = _OPTIONS._replace(text=columns.text, finds_text=learning)
    reader = TextReader(jsonl.SYNTAX, options, chunk=1 << 16)
    return NamedRows(reader.pages(_Lines(lines)), None)


class _Lines(io.BytesIO):
    """A byte source for the readers."""

    name = "dicts"

    @property
    def position(self) -> int:
        return self.tell()


def table_of(X: Any, columns: Columns, learning: bool, loose: bool = False) -> Source:
    """A data frame or a list of dicts as a checked source; a ``loose`` frame may have other columns than the last."""
    options = _OPTIONS._replace(text=columns.text, finds_text=learning)
    if not is_frame(X):
        return NamedRows(dict_pages(X, None, None, options), None)
    frame = feature_frame(X)
    if not loose and is_numeric(frame):
        return check_features(frame.to_native())
    table = arrow_table(frame)
    headings = [str(name) for name in table.column_names]
    if len(set(headings)) < len(headings):
        raise DataError("X has two columns of the same name: expected different names")
    pages = BatchReader(options).pages(table.rename_columns(headings).to_batches(), "X")
    return NamedRows(pages, None if loose else headings)
