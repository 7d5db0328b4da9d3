"""Tables in memory whose features have names: data frames as they are, and lists of dicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np

from onlineboost.data.arrays import Source, check_features, is_frame
from onlineboost.data.batch import Batch, Floats, longest_row
from onlineboost.data.classes import Classes
from onlineboost.data.page import Page
from onlineboost.data.schema import NO_LABEL, Schema
from onlineboost.errors import DataError
from onlineboost.readers.dicts import DictSource
from onlineboost.readers.formats import jsonl
from onlineboost.readers.frames import arrow_table, eager_frame, feature_frame, is_numeric
from onlineboost.readers.pages import ReadOptions
from onlineboost.readers.table import BatchReader
from onlineboost.readers.text import TextReader

_ROWS = 1 << 14  # of a batch
_OPTIONS = ReadOptions(Schema(label=NO_LABEL), Classes(), False, False, False, _ROWS, with_names=True)


class NamedRows(Source):
    """Rows that were read by the rules for files: numbers, words, dates, gaps. Labels come apart."""

    by_name: ClassVar[bool] = True

    def __init__(self, pages: Iterable[Page], headings: list[str] | None) -> None:
        read = [*pages]
        self.parts = [page.batch for page in read]
        self.told = [pair for page in read for pair in page.names]
        self.names = headings
        self.n_rows = sum(part.y.size for part in self.parts)
        self.n_features = len(self.told if headings is None else headings)

    def name(self, names: list[str] | None) -> None:
        """They have names."""

    def new_names(self) -> list[tuple[int, str]]:
        return self.told

    @property
    def longest(self) -> int:
        return max(map(longest_row, self.parts), default=0)

    def batches(self, y: Floats, weight: Floats) -> Iterator[Batch]:
        start = 0
        for part in self.parts:
            rows = slice(start, start + part.y.size)
            yield part._replace(y=y[rows], weight=weight[rows])
            start = rows.stop


def table_of(X: Any, loose: bool = False) -> Source:
    """A data frame or a list of dicts as a checked source; a ``loose`` frame may have other columns than the last."""
    if not is_frame(X):
        return NamedRows(_dict_pages(X), None)
    frame = feature_frame(X)
    if not loose and is_numeric(frame):
        return check_features(frame.to_native())
    table = arrow_table(frame)
    headings = [str(name) for name in table.column_names]
    if len(set(headings)) < len(headings):
        raise DataError("X has two columns of the same name: expected different names")
    pages = BatchReader(_OPTIONS).pages(table.rename_columns(headings).to_batches(), "X")
    return NamedRows(pages, None if loose else headings)


def _dict_pages(rows: Any) -> Iterator[Page]:
    return TextReader(jsonl.SYNTAX, _OPTIONS, chunk=1 << 16).pages(DictSource(rows, NO_LABEL))


def like_frame(X: Any, values: Any, columns: list[Any] | None) -> Any:
    """Answers to a data frame, as a series or, with ``columns``, a frame of the same library and with its index.

    Without ``values``, a series of None, or a frame without columns.
    """
    import narwhals as nw

    frame = nw.from_native(X)
    if values is None:
        rows = len(eager_frame(X))
        values = [None] * rows if columns is None else np.empty((rows, 0))
    library: Any = nw.get_native_namespace(frame)
    if frame.implementation.is_pandas():
        index = frame.to_native().index
        return library.Series(values, index) if columns is None else library.DataFrame(values, index, columns)
    if columns is None:
        found = nw.new_series("prediction", np.asarray(values).tolist(), backend=frame.implementation)
        return found.to_native()
    data = {str(name): values[:, k].tolist() for k, name in enumerate(columns)}
    return nw.from_dict(data, backend=frame.implementation).to_native()
