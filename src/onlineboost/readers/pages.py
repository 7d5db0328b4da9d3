"""Pages of a stream: a batch, and what became known on the way to its last row."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np

from onlineboost.data.batch import Batch
from onlineboost.data.page import Page
from onlineboost.data.schema import Schema
from onlineboost.data.target import Binary
from onlineboost.errors import ReadError
from onlineboost.readers.rows import (
    ENTRIES,
    MOST_SPELLINGS,
    NAME_BYTES,
    NAMES,
    NO_ROOM,
    ROWS,
    SPELLING,
    STATE,
    Rows,
    undo,
)

MOST_PROBLEMS = 100


class Orders(NamedTuple):
    """How a stream is to be read, whatever its format."""

    schema: Schema
    labels: Binary  # known so far
    labelled: bool  # every row must have a label
    ignored: bool  # labels are not looked at
    skip: bool  # records that cannot be read are skipped, not refused
    batch_size: int
    named: bool  # names of features are wanted


class Pager:
    """The rows in the making, and the pages made of them."""

    def __init__(self, orders: Orders, chunk: int) -> None:
        self.orders = orders
        self.labels = copy.copy(orders.labels)
        self.schema = orders.schema  # with names for positions, when they are known
        self.rows = new_rows(chunk, orders.batch_size, orders.schema.bits if orders.named else None)
        self.skipped = 0
        self.problems: list[str] = []

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
        state[[ROWS, ENTRIES, NAMES, NAME_BYTES, NO_ROOM]] = 0
        return Page(batch, names, copy.copy(self.labels), self.schema, position, skipped, problems)

    def _new_names(self) -> list[tuple[int, str]]:
        rows, n = self.rows, int(self.rows.state[NAMES])
        ends = rows.name_end[:n].tolist()
        text = rows.name_text[: rows.state[NAME_BYTES]].tobytes()
        spans = zip(rows.name_index[:n].tolist(), [0, *ends], ends, strict=False)
        return [(index, text[a:b].decode(errors="replace")) for index, a, b in spans]

    def forget_names(self) -> None:
        """As if the names since the last page had not been met."""
        undo(self.rows, 0, 0)

    def more_names(self) -> None:
        """Room for twice as many: a single record has more new names than there is room for."""
        arrays = {name: getattr(self.rows, name) for name in ("name_index", "name_end", "name_text")}
        self.rows = self.rows._replace(**{name: np.zeros(2 * a.size, a.dtype) for name, a in arrays.items()})
        self.rows.state[NO_ROOM] = 0

    def refuse(self, message: str, path: str, line: int | None, column: Any) -> None:
        """Raise what is wrong with a record, or note it where such records are skipped."""
        if not self.orders.skip:
            raise ReadError(message, path=path, line=line, column=column)
        self.skipped += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(message)


def new_rows(chunk: int, batch_size: int, bits: int | None) -> Rows:
    """Room for a chunk of text: no text has more features than bytes, but for one."""
    entries = chunk + 16
    return Rows(
        state=np.zeros(STATE, np.int64),
        indptr=np.zeros(batch_size + 1, np.int64),
        indices=np.empty(entries, np.int32),
        values=np.empty(entries, np.float32),
        y=np.empty(batch_size),
        weight=np.empty(batch_size),
        seen=np.zeros(1 << bits if bits is not None else 0, np.uint8),
        name_index=np.empty(1 << 15, np.int32),
        name_end=np.empty(1 << 15, np.int64),
        name_text=np.empty(1 << 19, np.uint8),
        scratch=np.empty(2 * chunk + 1024, np.uint8),
        cell=np.empty(entries, np.uint8),
        spelling=np.zeros(MOST_SPELLINGS * SPELLING, np.uint8),
        spelling_size=np.zeros(MOST_SPELLINGS, np.int64),
        spelling_sign=np.zeros(MOST_SPELLINGS),
        label=np.zeros(SPELLING, np.uint8),
    )
