"""Text columns: named by the user, or detected by their cells."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from onlineboost.data.hashing import MAX_ID

DISTINCT = 64  # different cells of at least four words in a text column
_MOST = 1 << 16  # maximum number of columns with kept cells


class TextColumns:
    """Text columns, and of other columns the different cells of at least four words so far.

    A column is text after the 64th such cell. They are kept as ids of their features.

    >>> found = TextColumns()
    >>> [found.meet("comment", id) for id in range(64)].index(True), found.columns
    (63, frozenset({'comment'}))
    """

    def __init__(self, columns: Iterable[str] = ()) -> None:
        self.columns = frozenset(columns)
        self.cells: dict[str, set[int]] = {}

    def copy(self) -> TextColumns:
        found = TextColumns(self.columns)
        found.cells = {name: set(ids) for name, ids in self.cells.items()}
        return found

    def meet(self, name: str, id: int) -> bool:
        """Count a cell of at least four words; whether its column becomes text."""
        if name in self.columns or (name not in self.cells and len(self.cells) >= _MOST):
            return False
        cells = self.cells.setdefault(name, set())
        cells.add(id)
        if len(cells) < DISTINCT:
            return False
        del self.cells[name]
        self.columns |= {name}
        return True

    def knows(self, name: str, id: int) -> bool:
        """Whether a cell of at least four words is known already."""
        return name in self.columns or id in self.cells.get(name, ())

    # ---- model files

    def describe(self) -> dict[str, Any]:
        return {"columns": sorted(self.columns), "cells": {name: sorted(ids) for name, ids in self.cells.items()}}

    @classmethod
    def restore(cls, described: Any) -> Self:
        """The saved columns; raises a ValueError if they are invalid."""
        columns, cells = described["columns"], described["cells"]
        if not isinstance(columns, list) or not isinstance(cells, dict) or len(cells) > _MOST:
            raise ValueError("the columns of text are not a list, and cells by column")
        found = cls(columns)
        for name, ids in cells.items():
            whole = isinstance(ids, list) and all(type(id) is int and 0 <= id <= MAX_ID for id in ids)
            if name in found.columns or not whole or not 0 < len(set(ids)) < DISTINCT:
                raise ValueError(f"the cells of {name!r} are not ids of a column that is no text yet")
            found.cells[name] = set(ids)
        if not all(isinstance(name, str) for name in found.columns):
            raise ValueError("the columns of text are not names")
        return found
