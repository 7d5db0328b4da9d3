"""Dicts of features as batches of one row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from onlineboost.data.batch import Batch, one_row
from onlineboost.data.columns import Columns


def row_of(
    x: Mapping[Any, Any], columns: Columns, learning: bool, y: float = 1.0, weight: float = 1.0
) -> tuple[Batch, dict[int, str]]:
    """A dict as a batch of one row, and names that are new; with ``learning`` they are remembered."""
    found = columns.features(x, learning)
    if found is not None:
        return one_row(found.ids, found.values, y, weight), columns.add(found.names) if learning and found.names else {}
    from onlineboost.readers.memory import row_batch

    batch, names = row_batch(x, columns.schema)
    batch = batch._replace(y=np.array([y]), weight=np.array([weight]))
    return batch, columns.add(names) if learning else {}
