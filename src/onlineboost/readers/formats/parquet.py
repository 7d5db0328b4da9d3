"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onlineboost.data.page import Page
from onlineboost.readers.files import Source
from onlineboost.readers.format import Format, Output
from onlineboost.readers.limits import MAX_BATCH, MAX_BATCH_MB, BoundedFile, bytes_of
from onlineboost.readers.pages import ReadOptions
from onlineboost.readers.parquet_groups import batches_of
from onlineboost.readers.rows import IGNORED
from onlineboost.readers.table import BatchReader, arrow_errors
from onlineboost.readers.table_columns import flat_schema, is_nested, unreadable
from onlineboost.readers.write_table import table_writer
from onlineboost.registry import FORMATS


class ParquetReader:
    """Reads Parquet files, a batch of rows at a time, without dropped columns."""

    def __init__(self, options: ReadOptions, max_batch_mb: int = MAX_BATCH_MB) -> None:
        self.limit, self.batch_size = bytes_of(MAX_BATCH, max_batch_mb), options.batch_size
        self.reader = BatchReader(options, self.limit)

    def pages(self, source: Source, before: int = 0) -> Iterator[Page]:
        import pyarrow.parquet as pq

        with arrow_errors(source, "Parquet", self.limit):
            raw = BoundedFile(source, "Parquet")
            file = pq.ParquetFile(raw, pre_buffer=False, page_checksum_verification=True)
            columns = flat_schema(file.schema_arrow)
        roles = self.reader.roles([name for name, _ in columns], source.name, file.schema_arrow.metadata)
        wanted = [(name, kind) for name, kind in columns if roles[name] != IGNORED]
        for name, kind in wanted:
            if is_nested(kind):
                raise unreadable(name, kind, source.name)
        read = [name for name, _ in columns if roles[name] != IGNORED or name in self.reader.options.keep]
        batches = self._batches(source, file, raw, read)
        yield from self.reader.pages(batches, source.name, lambda: before + source.position, roles)

    def _batches(self, source: Source, file: Any, raw: BoundedFile, wanted: list[str]) -> Iterator[Any]:
        with arrow_errors(source, "Parquet", self.limit):
            yield from batches_of(file, raw, wanted, self.batch_size, self.limit)


def open_table(output: Output, schema: Any) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetWriter(output.path, schema)


FORMATS.add(
    Format(
        name="parquet",
        title="Parquet",
        suffixes=(".parquet", ".pq"),
        reader=ParquetReader,
        writer=table_writer(open_table, compressible=False),
        options=(MAX_BATCH,),
        magic=(b"PAR1",),
    )
)
