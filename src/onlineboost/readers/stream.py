"""``open_stream``: whatever holds examples, as an iterator of pages."""

from __future__ import annotations

import copy
import queue
import re
import threading
from collections.abc import Iterator, Mapping
from typing import Any, Literal, Self

from onlineboost.data.page import Page, Pages
from onlineboost.data.schema import Schema
from onlineboost.data.target import Binary
from onlineboost.errors import DataError, ParameterError
from onlineboost.parameters import check_count, check_one_of
from onlineboost.readers import arrow, files, formats, memory
from onlineboost.readers.pages import MOST_PROBLEMS, Orders
from onlineboost.readers.text import Layout, TextReader

_AHEAD = 4  # pages read before they are asked for


class Stream(Pages):
    """An iterator of pages, and how far it has come.

    Attributes
    ----------
    rows, skipped : records read and refused; ``problems`` tells the first hundred refusals
    position, size : bytes read and to be read (None if unknown), for a progress bar
    """

    def __init__(self, pages: Iterator[Page], size: int | None, ahead: bool) -> None:
        self.size = size
        self.rows = self.skipped = self.position = 0
        self.problems: list[str] = []
        self._pages = _Ahead(pages) if ahead else pages

    def __next__(self) -> Page:
        while True:
            page = next(self._pages)
            self.position = page.position
            self.skipped += page.skipped
            self.problems += page.problems[: MOST_PROBLEMS - len(self.problems)]
            if page.n_rows:
                self.rows += page.n_rows
                return page

    def close(self) -> None:
        """Stop reading."""
        self._pages.close()  # type: ignore[attr-defined]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def __del__(self) -> None:
        if isinstance(self._pages, _Ahead):  # its thread knows nothing of this object, so that this is called
            self._pages.stopped.set()


def open_stream(
    source: Any,
    format: str | None = None,
    *,
    label: str | int | None = None,
    weight: str | int | None = None,
    drop: Any = (),
    categorical: Any = (),
    positive: Any = None,
    bits: int = 18,
    header: bool | None = None,
    separator: str | None = None,
    y: Any = None,
    sample_weight: Any = None,
    labels: Literal["required", "optional", "ignored"] = "required",
    on_error: Literal["raise", "skip"] = "raise",
    batch_size: int = 1 << 14,
    like: Any = None,
) -> Stream:
    """Examples as pages, in bounded memory: batches with the names and labels that became known with them.

    Parameters
    ----------
    source : a file name, a pattern such as ``"day-*.csv.gz"``, ``"-"`` for standard input, or a list of these; a
        data frame (pandas, Polars, PyArrow); an iterable of dicts or of pairs (dict, label); an array or a SciPy matrix
    format : "vw", "libsvm", "csv", "tsv", "jsonl", "parquet" or "arrow"; None: as the name or the first bytes tell.
        Compression (gz, zst, bz2, xz) is always recognised
    label, weight : columns of the label (default: "label") and of the importance weight, by name or position
    drop, categorical : names of columns to leave out, and of columns whose numbers are names (zip codes, ids)
    positive : the label that counts as +1, all others being -1; None: there must be two. 1 (or True) is +1, any other
        first label is -1
    bits : features are numbered by a hash of their names with this many bits
    header, separator : of CSV; None: as the first line looks
    y, sample_weight : labels and weights for arrays and frames that do not hold them
    labels : "optional" lets rows without a label pass; "ignored" does not look at them, for prediction
    on_error : "skip" leaves out records that cannot be read, and counts them
    batch_size : the largest number of rows of a batch
    like : a model; columns and labels are understood as when it was trained

    Examples
    --------
    >>> import onlineboost
    >>> rows = [{"colour": "red", "size": 3, "label": 1}, {"colour": "blue", "size": 2, "label": 0}]
    >>> page = next(open_stream(rows))
    >>> page.batch.y.tolist(), page.batch.values.tolist()
    ([1.0, -1.0], [1.0, 3.0, 1.0, 2.0])
    """
    schema = Schema(bits, label, weight, _names("drop", drop), _names("categorical", categorical), positive)
    known = Binary()
    if like is not None:
        for name in ("bits", "drop", "categorical", "positive"):
            if getattr(schema, name) != getattr(Schema(), name):
                raise ParameterError(name, getattr(schema, name), "nothing with like=: the model knows it")
        schema, known = _like(like, label, weight)
    schema.check()
    formats.check_format(format)
    check_one_of("labels", labels, ("required", "optional", "ignored"))
    check_one_of("on_error", on_error, ("raise", "skip"))
    check_count("batch_size", batch_size)
    good = isinstance(separator, str) and re.fullmatch(r"[^\w\r\n\"'.+-]", separator, re.ASCII)
    if separator is not None and not good:
        raise ParameterError("separator", separator, "one character that cannot be part of a number or a word")
    layout = Layout(header, separator)
    required, ignored, skip = labels == "required", labels == "ignored", on_error == "skip"
    orders = Orders(schema, known, required, ignored, skip, int(batch_size), named=True)
    kind = memory.kind_of(source)
    if kind == "files":
        for name, value in (("y", y), ("sample_weight", sample_weight)):
            if value is not None:
                raise ParameterError(name, value, "nothing: files hold their own")
        return _open_files(files.expand(source), format, orders, layout, checked=like is None)
    if kind == "frame":
        pages = memory.frame_pages(source, y, sample_weight, orders)
    elif kind == "arrays":
        pages = memory.array_pages(source, y, sample_weight, orders)
    else:
        pages = memory.dict_pages(source, y, sample_weight, orders)
    return Stream(pages, None, ahead=False)


def _open_files(names: list[str], format: str | None, orders: Orders, layout: Layout, checked: bool) -> Stream:
    opened: dict[str, files.Source] = {}  # what can be read once is opened once
    if format is None:
        found = []
        for name in names:
            known = formats.by_name(name)
            if known is None:
                source = files.Source(name)
                try:
                    known = formats.by_content(source.name, source.head())
                finally:
                    if files.is_regular(name):
                        source.close()
                    else:
                        opened[name] = source
            found.append(known)
        format = formats.same_format(names, found)
    if format == "tsv":
        format, layout = "csv", layout._replace(separator=layout.separator or "\t")
    _check_options(format, orders.schema if checked else Schema(), layout)
    size = files.total_size(names)
    sources = (opened.get(name) or files.Source(name) for name in names)
    if format in arrow.FORMATS:
        pages = _arrow_pages(format, sources, orders)
    else:
        pages = _text_pages(TextReader(format, orders, layout), sources)
    return Stream(pages, size, ahead=True)


def _check_options(format: str, schema: Schema, layout: Layout) -> None:
    """An option that would have no effect is a mistake."""
    if format in ("vw", "libsvm"):
        for name in ("label", "weight", "drop", "categorical"):
            if getattr(schema, name) not in (None, ()):
                raise ParameterError(name, getattr(schema, name), f"nothing: {format} text has no columns")
    for name, value in layout._asdict().items():
        if value is not None and format != "csv":
            raise ParameterError(name, value, f"nothing: it is for CSV, not for {format}")


def _text_pages(reader: TextReader, sources: Iterator[files.Source]) -> Iterator[Page]:
    before = 0
    for source in sources:
        with source:
            yield from reader.pages(source, before)
            before += source.size or 0


def _arrow_pages(format: str, sources: Iterator[files.Source], orders: Orders) -> Iterator[Page]:
    reader = arrow.ArrowReader(orders)
    before = 0
    for source in sources:
        with source:
            batches = arrow.open_batches(format, source, orders.batch_size)
            yield from reader.pages(batches, source.name, lambda source=source, at=before: at + source.position)
            before += source.size or 0


def _like(model: Any, label: str | int | None, weight: str | int | None) -> tuple[Schema, Binary]:
    fitted = model.fitted
    schema = fitted.columns.schema if fitted is not None else None
    if schema is None:
        raise DataError("the model was not trained on a stream: give it arrays, as in training")
    changes = {name: value for name, value in (("label", label), ("weight", weight)) if value is not None}
    return schema._replace(**changes), copy.copy(fitted.target)


def _names(parameter: str, given: Any) -> tuple[str, ...]:
    if isinstance(given, str):
        return (given,)
    if isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise ParameterError(parameter, given, "names of columns")
    return tuple(given)


class _Ahead(Iterator[Page]):
    """A thread that reads, decompresses and parses while others learn."""

    def __init__(self, pages: Iterator[Page]) -> None:
        self.queue: queue.Queue[Page | BaseException | None] = queue.Queue(_AHEAD)
        self.stopped = threading.Event()
        self.ended = False
        self.thread = threading.Thread(target=self._read, args=(pages,), name="onlineboost-reader", daemon=True)
        self.thread.start()

    def _read(self, pages: Iterator[Page]) -> None:
        last: BaseException | None = None
        try:
            for page in pages:
                if not self._put(page):
                    return
        except BaseException as problem:
            last = problem
        finally:
            pages.close()  # type: ignore[attr-defined]
        self._put(last)

    def _put(self, item: Page | BaseException | None) -> bool:
        while not self.stopped.is_set():
            try:
                self.queue.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def __next__(self) -> Page:
        if self.ended:
            raise StopIteration
        item = self.queue.get()  # a signal's handler may raise here
        if isinstance(item, Page):
            return item
        self.ended = True
        if item is not None:
            raise item
        raise StopIteration

    def close(self) -> None:
        self.stopped.set()
        self.ended = True
        self.thread.join(timeout=1)  # it may be waiting for a pipe that is silent; it does not keep the process alive
