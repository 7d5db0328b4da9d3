"""Row groups of Parquet files: how many rows at a time stay within a limit of memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onlineboost.readers.bounded import BoundedFile, DamagedError, TooLargeError
from onlineboost.readers.parquet_pages import Survey, survey
from onlineboost.readers.table import TEXT_COPIES, rows_within
from onlineboost.readers.table_columns import flat_columns

_TOGETHER = 1 << 17  # rows of small groups that are read in one go


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
        self.file, self.raw, self.batch_size, self.limit = file, raw, batch_size, limit
        self.leaves = [c for c, path in enumerate(_paths(file)) if path in set(wanted)]
        everything = len(self.leaves) in (0, file.metadata.num_columns)
        self.columns = None if everything else wanted

    def runs(self) -> Iterator[tuple[int, list[int]]]:
        """(rows at a time, numbers of row groups), in the order of the file."""
        run: list[int] = []
        rows, before = 0, 0
        for g in range(self.file.metadata.num_row_groups):
            n = self.file.metadata.row_group(g).num_rows
            step = self._step(g, n)
            if run and (step != before or rows >= _TOGETHER):
                yield before, run
                run, rows = [], 0
            run, rows, before = [*run, g], rows + n, step
        if run:
            yield before, run

    def _step(self, g: int, rows: int) -> int:
        """How many rows of a group to read at a time. Raises ``TooLargeError`` if its pages do not fit."""
        group = self.file.metadata.row_group(g)
        pages, longest = 0, {}
        for c in self.leaves or range(group.num_columns):
            column = group.column(c)
            found = survey(self.raw, _start(column), column.num_values)
            pages += found.largest + found.dictionary
            if pages > self.limit:
                raise TooLargeError(f"row group {g} has pages that are needed at once and", pages)
            if column.physical_type == "BYTE_ARRAY":
                longest[column.path_in_schema] = _longest(found)
        step = min(self.batch_size, rows_within(self.limit, len(self.leaves)))
        room = self.limit // TEXT_COPIES
        if sum(longest.values()) * min(step, rows) > room:
            longest |= self._longest_values(g, [path for path, size in longest.items() if size])
            step = min(step, max(1, room // max(sum(longest.values()), 1)))
        return step

    def _longest_values(self, g: int, paths: list[str]) -> dict[str, int]:
        """The size of the longest value in the dictionary of each column; nothing for columns without one."""
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        whole = pq.ParquetFile(self.raw, metadata=self.file.metadata, read_dictionary=paths, pre_buffer=False)
        found = {}
        for batch in whole.iter_batches(1, row_groups=[g], columns=paths, use_threads=False):
            for name, column in flat_columns(batch):
                if pa.types.is_dictionary(column.type):
                    found[name] = pc.max(pc.binary_length(column.dictionary)).as_py() or 0
            break
        return found


def _paths(file: Any) -> list[str]:
    return [file.schema.column(c).path for c in range(len(file.schema.names))]


def _start(column: Any) -> int:
    """Where the first page of a column chunk is."""
    data, dictionary = int(column.data_page_offset), column.dictionary_page_offset
    return int(dictionary) if dictionary and 0 < dictionary < data else data


def _longest(found: Survey) -> int:
    """No value that is written more than once can be longer: those of dictionaries, and of repeated beginnings."""
    return max(found.dictionary, found.largest if found.delta else 0)
