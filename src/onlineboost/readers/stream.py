"""``open_stream``: any source of examples as an iterator of pages."""

from __future__ import annotations

import copy
import os
import queue
import threading
from collections.abc import Iterator, Mapping
from typing import Any, Literal, Self

from onlineboost.data.batch import cut
from onlineboost.data.classes import Classes
from onlineboost.data.columns import Columns
from onlineboost.data.page import Page, Pages
from onlineboost.data.regression import Numbers
from onlineboost.data.schema import Schema
from onlineboost.data.text_columns import TextColumns
from onlineboost.errors import ConflictError, DataError, ForkError, ParameterError
from onlineboost.parameters import check_count, check_one_of
from onlineboost.readers import files, memory
from onlineboost.readers.format import Format, Reader, by_content, by_name, find_format, formats_with, same_format
from onlineboost.readers.limits import MAX_BATCH_MB, MAX_LINE_MB
from onlineboost.readers.pages import MAX_PROBLEMS, ReadOptions

_AHEAD = 4  # maximum pages read ahead


class Stream(Pages):
    """An iterator of pages, with the progress of reading; made by ``open_stream``.

    Parameters
    ----------
    pages : iterator of pages
        Pages of a reader.
    size : int or None
        Bytes to read in total, for a progress bar; None: unknown.
    ahead : bool
        Whether a thread reads the next pages ahead.
    has_columns : bool, default=True
        Whether there are named columns; not in VW and LIBSVM text.
    live : bool, default=False
        Whether a page ends with the available lines.

    Attributes
    ----------
    rows : int
        Number of records read.
    skipped : int
        Number of records refused; ``problems`` lists the first hundred reasons.
    position : int
        Number of bytes read.
    source : int
        Number of files read to their end.

    Examples
    --------
    >>> from onlineboost import open_stream
    >>> stream = open_stream([({"size": k}, k % 2) for k in range(5)])
    >>> sum(page.n_rows for page in stream), stream.rows
    (5, 5)
    """

    def __init__(
        self, pages: Iterator[Page], size: int | None, ahead: bool, has_columns: bool = True, live: bool = False
    ) -> None:
        self.size, self.has_columns, self._live = size, has_columns, live
        self.rows = self.skipped = self.position = self.source = 0
        self.problems: list[str] = []
        self._ended = False
        self._pages = _Ahead(pages) if ahead else pages

    def __iter__(self) -> Self:
        if self._ended:
            raise DataError("the stream was already read: expected a new one, open_stream(...), or list(stream) kept")
        return self

    def __next__(self) -> Page:
        while True:
            try:
                page = next(self._pages)
            except StopIteration:
                self._ended = True
                raise
            self.position, self.source = page.position, page.source
            self.skipped += page.skipped
            self.problems += page.problems[: MAX_PROBLEMS - len(self.problems)]
            if page.n_rows or (self._live and page.gaps):  # also without rows: the consumer waits for each page
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
        if isinstance(self._pages, _Ahead):  # runs, since the thread has no reference to this object
            self._pages.stopped.set()


Task = Literal["classes", "binary", "number"]


def open_stream(
    source: Any,
    format: str | None = None,
    *,
    label: str | int | None = None,
    weight: str | int | None = None,
    drop: Any = (),
    categorical: Any = (),
    text: Any = (),
    day_first: Any = (),
    month_first: Any = (),
    positive: Any = None,
    task: Task = "classes",
    y: Any = None,
    sample_weight: Any = None,
    labels: Literal["required", "optional", "ignored"] = "required",
    on_error: Literal["raise", "skip"] = "raise",
    batch_size: int = 1 << 14,
    like: Any = None,
    columns: Literal["strict", "warn"] = "strict",
    keep: Any = (),
    live: bool = False,
    **format_options: Any,
) -> Stream:
    """Open files, a pipe or rows in memory as a stream of pages, in bounded memory.

    A page is a batch of rows with the names and labels that became known with it.

    Parameters
    ----------
    source : str, list of str, data frame, iterable or array
        File name, pattern such as ``"day-*.csv.gz"``, ``"-"`` for standard input, or a list of these; a data frame
        (pandas, Polars, PyArrow); an iterable of dicts or of pairs (dict, label); an array or a SciPy matrix.
    format : str or None, default=None
        File format, such as "csv"; ``onlineboost.extend.registry.FORMATS.names()`` lists all. None: by the file name,
        else by the first bytes. Compression (gz, zst, bz2, xz) is always recognized.
    label : str, int or None, default=None
        Column of the label, by name or position; None: "label".
    weight : str, int or None, default=None
        Column of importance weights, by name or position.
    drop : list of str or int, default=()
        Columns to leave out.
    categorical : list of str or int, default=()
        Columns whose numbers or texts are categories, such as zip codes or ids.
    text : list of str or int, default=()
        Columns of texts: each word is a feature. Other text columns are recognized by their cells.
    day_first : list of str or int, default=()
        Columns with dates such as 25/12/2023.
    month_first : list of str or int, default=()
        Columns with dates such as 12/25/2023.
    positive : label or None, default=None
        Positive label; all others are negative. None: of two labels the larger, or 1, true and yes against 0, -1, false
        and no; there may be more than two labels.
    task : {"classes", "binary", "number"}, default="classes"
        Task: classification with any number of labels ("classes") or with two, where a third is an error ("binary"), or
        regression ("number").
    y : array or None, default=None
        Labels, for arrays and data frames without a label column.
    sample_weight : array or None, default=None
        Weights, for arrays and data frames without a weight column.
    labels : {"required", "optional", "ignored"}, default="required"
        Whether rows must have labels, may have labels, or are read without their labels, for prediction.
    on_error : {"raise", "skip"}, default="raise"
        Action for a bad record: raise an error, or skip and count it.
    batch_size : int, default=16384
        Maximum number of rows of a page.
    like : estimator or None, default=None
        Model; columns and labels are read as in its training.
    columns : {"strict", "warn"}, default="strict"
        Action for a table whose columns differ from those of the training, with ``like``: an error, or a warning.
    keep : list of str or int, default=()
        Columns of files whose cells also come with each page unchanged, as ``page.kept``.
    live : bool, default=False
        Whether a page of standard input or a pipe ends with the available lines, so that no line waits for the next.
    **format_options : dict
        Options of the format. CSV: ``header`` (True or False), ``separator`` and ``decimal`` ("." or ","), by default
        guessed from the first lines; text: ``encoding`` ("utf-8") and ``max_line_mb`` (16); Parquet and Arrow:
        ``max_batch_mb`` (1024). The last two limit memory.

    Returns
    -------
    Stream
        An iterator of pages, for ``fit``, ``partial_fit`` or ``for page in stream: model.learn(page)``.

    Examples
    --------
    >>> import onlineboost
    >>> rows = [{"color": "red", "size": 3, "label": 1}, {"color": "blue", "size": 2, "label": 0}]
    >>> page = next(open_stream(rows))
    >>> page.batch.y.tolist(), page.batch.values.tolist()
    ([1.0, 0.0], [1.0, 3.0, 1.0, 2.0])
    """
    schema = Schema(label, weight, _names("drop", drop), _names("categorical", categorical), positive)
    schema = schema._replace(text=_names("text", text), day_first=_names("day_first", day_first))
    schema = schema._replace(month_first=_names("month_first", month_first))
    check_one_of("task", task, ("classes", "binary", "number"))
    schema = schema._replace(binary=task == "binary")
    if task == "number" and positive is not None:
        raise ConflictError("positive=... is for classification: regression has no positive label")
    known: Any = Numbers() if task == "number" else Classes()
    if like is not None:
        schema, known = _like(like, schema)
    schema.check()
    chosen = find_format(format) if format is not None else None
    check_one_of("columns", columns, ("strict", "warn"))
    if columns == "warn" and like is None:
        raise ConflictError("columns='warn' compares with the columns of a model: name it, like=model")
    check_one_of("labels", labels, ("required", "optional", "ignored"))
    check_one_of("on_error", on_error, ("raise", "skip"))
    check_count("batch_size", batch_size)
    given = {name: value for name, value in format_options.items() if value is not None}
    required, ignored, skip = labels == "required", labels == "ignored", on_error == "skip"
    headings = tuple(like._fitted.columns.headings or ()) if columns == "warn" else None
    kept = _names("keep", keep)
    if kept and skip:
        raise ConflictError("keep=... cannot be combined with on_error='skip': rows and cells would not line up")
    if kept and like is not None and like._fitted.columns.headings is not None:  # they need not be features
        new = tuple(name for name in kept if name not in like._fitted.columns.headings and not schema.ignores(name))
        schema = schema._replace(drop=(*schema.drop, *new))
    options = ReadOptions(schema, known, required, ignored, skip, int(batch_size), True, headings, bool(live), kept)
    found = TextColumns() if like is None else like._fitted.columns.text
    options = options._replace(text=found, finds_text=not ignored)
    kind = memory.kind_of(source)
    if kind == "files":
        for name, value in (("y", y), ("sample_weight", sample_weight)):
            if value is not None:
                raise ConflictError(f"{name}=... does not apply to files, which hold their own labels and weights")
        return _open_files(files.expand(source), chosen, options, given, checked=like is None)
    for name in given:
        formats_with(name)
    if kept:
        raise ConflictError("keep=... is for files: data in memory have their columns already")
    if kind == "frame":
        pages = memory.frame_pages(source, y, sample_weight, options, given.get("max_batch_mb", MAX_BATCH_MB))
    elif kind == "arrays":
        places = like._fitted.columns if like is not None else Columns()
        pages = memory.array_pages(source, y, sample_weight, options, places)
    else:
        pages = memory.dict_pages(source, y, sample_weight, options, given.get("max_line_mb", MAX_LINE_MB))
    return Stream(pages, None, ahead=False)


def _open_files(
    names: list[str], format: Format | None, options: ReadOptions, given: dict[str, Any], checked: bool
) -> Stream:
    opened: dict[str, files.Source] = {}  # pipes, which can be opened once
    if format is None:
        format = same_format(names, [_format_of(name, opened) for name in names])
    if checked:
        format.check_schema(options.schema)
    if options.keep and not format.has_columns:
        raise ConflictError(f"keep=... does not apply to {format.title}, which has no columns")
    format.check_options(given)
    reader = format.reader(options, **given)
    size = files.total_size(names)
    sources = (opened.get(name) or files.Source(name) for name in names)
    return Stream(_pages(reader, sources), size, ahead=True, has_columns=format.has_columns, live=options.live)


def _format_of(name: str, opened: dict[str, files.Source]) -> Format:
    """The format of a file, by its name, else by its content; a pipe stays open."""
    known = by_name(name)
    if known is not None:
        return known
    source = files.Source(name)
    try:
        return by_content(source.name, source.head())
    finally:
        if files.is_regular(name):
            source.close()
        else:
            opened[name] = source


def _pages(reader: Reader, sources: Iterator[files.Source]) -> Iterator[Page]:
    before = 0
    last: Page | None = None
    for number, source in enumerate(sources):
        with source:
            for page in reader.pages(source, before):
                last = page = page._replace(source=number)
                yield page
            before += source.size or 0
        if last is not None:  # the end of the file
            batch = cut(last.batch, last.n_rows, last.n_rows)
            last = last._replace(batch=batch, names=[], skipped=0, problems=(), source=number + 1, kept=None, gaps=())
            yield last


def _like(model: Any, given: Schema) -> tuple[Schema, Any]:
    """Schema and labels of a model; a model without a stream takes the given schema."""
    if getattr(model, "_fitted", None) is None:
        raise ParameterError("like", model, "a model that has learned, such as onlineboost.load(file)")
    known = model._fitted.columns.schema
    if known is None:
        return given, copy.copy(model._fitted.target)
    for name in ("drop", "categorical", "text", "day_first", "month_first", "positive"):
        if getattr(given, name) != getattr(Schema(), name):
            raise ConflictError(f"{name}=... cannot be combined with like=...: the model has it")
    changes = {name: getattr(given, name) for name in ("label", "weight") if getattr(given, name) is not None}
    return known._replace(**changes), copy.copy(model._fitted.target)


def _names(parameter: str, given: Any) -> tuple[str, ...]:
    if isinstance(given, str):
        return (given,)
    if isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise ParameterError(parameter, given, "names of columns")
    return tuple(given)


class _Ahead(Iterator[Page]):
    """Reads, decompresses and parses in a thread, a few pages ahead."""

    def __init__(self, pages: Iterator[Page]) -> None:
        self.queue: queue.Queue[Page | BaseException | None] = queue.Queue(_AHEAD)
        self.stopped = threading.Event()
        self.ended = False
        self.process = os.getpid()
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
        if os.getpid() != self.process:
            raise ForkError(
                "the stream was opened before this process was forked: open it here, it is read by a thread"
            )
        item = self.queue.get()  # a signal handler may raise here
        if isinstance(item, Page):
            return item
        self.ended = True
        if item is not None:
            raise item
        raise StopIteration

    def close(self) -> None:
        self.stopped.set()
        self.ended = True
        self.thread.join(timeout=1)  # it may wait for a silent pipe; a daemon thread does not keep the process alive
