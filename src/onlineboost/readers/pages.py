"""Pages from rows: the arrays that parsers write, and the copies that a stream yields."""

from __future__ import annotations

import copy
import warnings
from typing import Any, NamedTuple

import numpy as np

from onlineboost.data.batch import Batch
from onlineboost.data.columns import differences
from onlineboost.data.page import Page
from onlineboost.data.regression import Numbers
from onlineboost.data.schema import NO_LABEL, Schema
from onlineboost.data.text_columns import TextColumns
from onlineboost.errors import ReadError, ReadWarning
from onlineboost.readers.labels import folded, label_of
from onlineboost.readers.roles import check_kept
from onlineboost.readers.rows import (
    ENTRIES,
    FINDS,
    IGNORED,
    KNOWN,
    LABEL,
    NAME_BYTES,
    NAMES,
    NO_ROOM,
    NUMERIC,
    READING,
    ROWS,
    WEIGHT,
    add_sighted,
    larger_set,
    new_rows,
    undo,
)

MAX_PROBLEMS = 100


class ReadOptions(NamedTuple):
    """Options of reading a stream, for all formats."""

    schema: Schema
    target: Any  # a ``Target``: labels known before
    label_required: bool  # every row must have a label
    label_ignored: bool  # labels are not read
    skip: bool  # bad records are skipped and counted, not raised
    batch_size: int
    with_names: bool  # pages have the names of new features
    known: tuple[str, ...] | None = None  # columns that a model has learned: differences are warned of
    live: bool = False  # a pipe yields pages of the available lines, without waiting for more
    keep: tuple[str, ...] = ()  # columns whose unchanged cells come with the pages
    text: TextColumns | None = None  # text columns of a model; None: only those of the schema
    finds_text: bool = True  # whether ``text`` grows while reading


def id_advice(options: ReadOptions, found: object) -> str:
    """The next step after a number that is too large, for the end of an error message; none for infinities."""
    if "inf" in str(found).lower():
        return ""
    if options.schema.label == NO_LABEL:  # for a table of ``fit``, which has no such options
        return "; if the column holds ids, make strings of them or leave it out"
    return "; if the column holds ids, categorical=... reads them as words, and drop=... leaves it out"


class PageBuilder:
    """Collects rows, names, labels and problems for a page."""

    def __init__(self, options: ReadOptions, chunk: int) -> None:
        self.options = options
        self.target = copy.copy(options.target)
        self.schema = options.schema  # positions of columns become names when the header is known
        self.rows = new_rows(chunk, options.batch_size, options.with_names)
        self.rows.state[NUMERIC] = isinstance(self.target, Numbers)
        self.skipped = 0
        self.gaps: list[int] = []  # the row after each skipped record
        self.problems: list[str] = []
        self.fields: tuple[str, ...] | None = None  # columns that are features
        self.text = TextColumns() if options.text is None else options.text.copy()
        self.folded: set[str] = set()  # spellings of labels with the same meaning as another
        self.n_sighted = 0
        self.sighted: list[tuple[int, str, int]] = []  # rows, columns and ids of new cells of at least four words
        if options.text is not None:
            self.rows = self.rows._replace(sighted=np.zeros(1 << 10, np.int32))
            self.rows.state[FINDS], self.rows.state[READING] = options.finds_text, 1
            for id in (id for ids in self.text.cells.values() for id in ids):
                self._note(id)

    def place_of(self, label: Any) -> float:
        """The place of a label, or its number; yes and Yes are one label, with one warning."""
        same = label
        if self.options.text is not None and not self.rows.state[NUMERIC]:
            same = folded(self.target, label, self.options.schema)
        if same != label and label not in self.folded:
            self.folded.add(label)
            warnings.warn(f"the labels {same!r} and {label!r} are one: {same!r}", ReadWarning, stacklevel=2)
        return label_of(self.target, same, self.options.schema)

    def sight(self, name: str, row: int, id: int) -> bool:
        """Count a new cell of at least four words; whether its column becomes text, from the next row on."""
        if self.text.knows(name, id):
            return False
        self.sighted.append((row, name, id))
        self._note(id)
        return self.text.meet(name, id)

    def _note(self, id: int) -> None:
        add_sighted(self.rows.sighted, id)
        self.n_sighted += 1
        if 2 * self.n_sighted > self.rows.sighted.size:
            self.rows = self.rows._replace(sighted=larger_set(self.rows.sighted))

    def has_columns(self, names: list[str], roles: list[int], where: str) -> None:
        """Note the columns of a table; warn of differences from those of the model, if requested."""
        known, keep = self.options.known, self.options.keep
        check_kept(keep, names, where)
        found = tuple(name for name, role in zip(names, roles, strict=True) if role not in (LABEL, WEIGHT, IGNORED))
        if known is None:
            self.fields = found
        elif set(found) != set(known):
            warnings.warn(f"{where}: {differences(known, found)}", ReadWarning, stacklevel=2)

    def page(self, position: int) -> Page:
        rows, state = self.rows, self.rows.state
        n, entries = int(state[ROWS]), int(state[ENTRIES])
        batch = Batch(
            rows.indptr[: n + 1].copy(),
            rows.indices[:entries].copy(),
            rows.values[:entries].copy(),
            rows.y[:n].copy(),
            rows.weight[:n].copy(),
        )
        names = self._new_names()
        skipped, problems, self.skipped, self.problems = self.skipped, tuple(self.problems), 0, []
        gaps, self.gaps = tuple(self.gaps), []
        state[[ROWS, ENTRIES, NAMES, NAME_BYTES, NO_ROOM]] = 0
        if 4 * state[KNOWN] > rows.name_known.size > 0:
            self.rows = rows._replace(name_known=larger_set(rows.name_known))
        target, sighted, self.sighted = copy.copy(self.target), tuple(self.sighted), []
        page = Page(batch, names, target, self.schema, position, skipped, problems)
        return page._replace(fields=self.fields, gaps=gaps, sighted=sighted)

    def _new_names(self) -> list[tuple[int, str]]:
        rows, n = self.rows, int(self.rows.state[NAMES])
        ends = rows.name_end[:n].tolist()
        text = rows.name_text[: rows.state[NAME_BYTES]].tobytes()
        spans = zip(rows.name_index[:n].tolist(), [0, *ends], ends, strict=False)
        return [(index, text[a:b].decode(errors="replace")) for index, a, b in spans]

    def forget_names(self) -> None:
        """Forget the names since the last page."""
        undo(self.rows, 0, 0)

    def tell_again(self) -> None:
        """Collect all names again, with the rows that have them."""
        self.rows.name_known[:] = 0
        self.rows.state[KNOWN] = 0
        self.rows.sighted[:] = 0
        self.n_sighted, self.text.cells = 0, {}

    def more_names(self) -> None:
        """Make room for twice as many names, if those of one record do not fit."""
        arrays = {
            name: getattr(self.rows, name) for name in ("name_index", "name_end", "name_text", "news", "news_text")
        }
        larger = {name: np.zeros((2 * a.shape[0], *a.shape[1:]), a.dtype) for name, a in arrays.items()}
        self.rows = self.rows._replace(**larger, name_known=larger_set(self.rows.name_known))
        self.rows.state[NO_ROOM] = 0

    def reject(self, message: str, path: str, line: int | None, column: Any, row: int) -> None:
        """Raise the error, or count and keep it if bad records are skipped; ``row`` is the next row of the page."""
        if not self.options.skip:
            raise ReadError(message, path=path, line=line, column=column)
        self.skipped += 1
        self.gaps.append(row)
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(message)
