"""A page of a stream: a batch with the names, labels and schema that became known with it."""

from __future__ import annotations

from typing import NamedTuple

from onlineboost.data.batch import Batch
from onlineboost.data.schema import Schema
from onlineboost.data.target import Binary


class Page(NamedTuple):
    batch: Batch
    names: list[tuple[int, str]]  # of features met for the first time
    labels: Binary
    schema: Schema
    position: int  # bytes read of all files so far
    skipped: int  # records since the last page
    problems: list[str]  # of the first of them
