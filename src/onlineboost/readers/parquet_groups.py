"""Row groups of Parquet files: how many rows at a time stay within a limit of memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onlineboost.readers.bounded import BoundedFile, DamagedError, TooLargeError
from onlineboost.readers.parquet_footer import BYTE_ARRAY, SNAPPY, UNCOMPRESSED, read_footer
from onlineboost.readers.parquet_pages import longest_value, survey
from onlineboost.readers.table import TEXT_COPIES, rows_within

_TOGETHER = 1 << 17  # rows of small groups that are read in one go
_RATIO = {UNCOMPRESSED: 1, SNAPPY: 22}  # how many times larger a page may become: Snappy copies 64 bytes by 3
_NO_BOUND = 1 << 40


def batches_of(file: Any, raw: BoundedFile, wanted: list[str], batch_size: int, limit: int) -> Iterator[Any]:
    """Record batches of these columns, all rows that the file says it has."""
    groups = RowGroups(file, raw, wanted, batch_size, limit)
    done = 0
    for step, together in groups.runs():
        for batch in file.iter_batches(step, row_groups=together, columns=groups.columns, use_threads=False):
            batch.validate()
            done += batch.num_rows
            yield batch
    if done != file.metadata.num_rows:
        raise DamagedError(f"it has {done:,} rows, but says that there are {file.metadata.num_rows:,}")


class RowGroups:
    """The row groups of a file, and how many of their rows fit at a time."""

    def __init__(self, file: Any, raw: BoundedFile, wanted: list[str], batch_size: int, limit: int) -> None:
        self.raw, self.batch_size, self.limit = raw, batch_size, limit
        names = [file.schema.column(c).path for c in range(len(file.schema.names))]
        self.footer = read_footer(raw, file.metadata.num_row_groups, len(names))
        chosen = {c for c, name in enumerate(names) if name in set(wanted)} or set(range(len(names)))
        self.leaves = sorted(chosen)
        self.columns = None if len(chosen) == len(names) else wanted

    def runs(self) -> Iterator[tuple[int, list[int]]]:
        """(rows at a time, numbers of row groups), in the order of the file."""
        run: list[int] = []
        rows, before = 0, 0
        for g, n in enumerate(self.footer.rows.tolist()):
            step = self._step(g, n)
            if run and (step != before or rows >= _TOGETHER):
                yield before, run
                run, rows = [], 0
            run, rows, before = [*run, g], rows + n, step
        if run:
            yield before, run

    def _step(self, g: int, rows: int) -> int:
        """How many rows of a group to read at a time. Raises ``TooLargeError`` if its pages do not fit."""
        chunks = [self.footer.chunk(g, c) for c in self.leaves]
        texts = [chunk for chunk in chunks if chunk.kind == BYTE_ARRAY]
        possible = sum(chunk.packed * _RATIO.get(chunk.codec, _NO_BOUND) for chunk in chunks)
        pages, repeated = 0, []
        for chunk in texts if possible <= self.limit else chunks:
            found = survey(self.raw, chunk.start, chunk.values)
            pages += found.largest + found.dictionary
            if pages > self.limit:
                raise TooLargeError(f"row group {g} (its largest pages together)", pages)
            if chunk.kind == BYTE_ARRAY:
                repeated.append((found, chunk.codec))
        step = min(self.batch_size, rows_within(self.limit, len(chunks)))
        room = self.limit // TEXT_COPIES
        if sum(found.repeatable for found, _ in repeated) * min(step, rows) > room:
            longest = sum(longest_value(self.raw, found, codec) for found, codec in repeated)
            step = min(step, max(1, room // max(longest, 1)))
        return step
