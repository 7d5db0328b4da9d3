"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from onlineboost.errors import ReadError
from onlineboost.readers.files import Source
from onlineboost.readers.format import Format
from onlineboost.readers.output import Output
from onlineboost.readers.table import TableReader, arrow_errors
from onlineboost.readers.write_table import table_writer
from onlineboost.registry import FORMATS


def open_batches(source: Source, batch_size: int) -> Iterator[Any]:
    import pyarrow.parquet as pq

    if source.compression is not None:
        raise ReadError(
            f"{source.name}: Parquet within {source.compression} cannot be read: decompress it first", path=source.name
        )
    with arrow_errors(source, "Parquet"):
        file = pq.ParquetFile(source.raw, pre_buffer=False, page_checksum_verification=True)
        yield from file.iter_batches(batch_size, use_threads=False)


def open_table(output: Output, schema: Any) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetWriter(output.path, schema)


FORMATS.add(
    Format(
        name="parquet",
        title="Parquet",
        suffixes=(".parquet", ".pq"),
        reader=partial(TableReader, open_batches),
        writer=table_writer(open_table, compressible=False),
        magic=(b"PAR1",),
    )
)
