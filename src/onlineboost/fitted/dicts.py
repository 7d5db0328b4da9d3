"""Dicts of features as batches of one row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onlineboost.data.batch import Batch, one_row
from onlineboost.data.columns import Columns


def row_of(
    x: Mapping[Any, Any], columns: Columns, learning: bool, y: float = 1.0, weight: float = 1.0
) -> tuple[Batch, dict[int, str]]:
    """A dict as a batch of one row, and its new names; with ``learning`` they are remembered."""
    row = columns.row(x, learning)
    columns.sight(row.sighted)
    names = columns.add(row.names) if learning and row.names and weight > 0 else {}
    return one_row(row.ids, row.values, y, weight), names


def named_row(x: Mapping[Any, Any], columns: Columns, learning: bool) -> tuple[Batch, list[tuple[int, str]]]:
    """A dict as a batch of one row, and the names of features that are new, if it is learned."""
    row = columns.row(x, learning)
    return one_row(row.ids, row.values, 1.0, 1.0), [*row.names]
