"""Arrow files (Feather) and streams."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onlineboost.data.page import Page
from onlineboost.errors import ReadError
from onlineboost.readers.files import Source
from onlineboost.readers.format import Format, Output
from onlineboost.readers.ipc_messages import MAGIC, CheckedStream, check_file
from onlineboost.readers.limits import MAX_BATCH, MAX_BATCH_MB, BoundedFile, bytes_of
from onlineboost.readers.pages import ReadOptions
from onlineboost.readers.table import BatchReader, arrow_errors
from onlineboost.readers.write_table import table_writer
from onlineboost.registry import FORMATS

_OLD = b"FEA1"
_STREAM = b"\xff\xff\xff\xff"


class ArrowReader:
    """Reads Arrow files and streams; each record batch is validated before use."""

    def __init__(self, options: ReadOptions, max_batch_mb: int = MAX_BATCH_MB) -> None:
        self.limit = bytes_of(MAX_BATCH, max_batch_mb)
        self.reader = BatchReader(options, self.limit)

    def pages(self, source: Source, before: int = 0) -> Iterator[Page]:
        return self.reader.pages(self._batches(source), source.name, lambda: before + source.position)

    def _batches(self, source: Source) -> Iterator[Any]:
        with arrow_errors(source, "Arrow", self.limit):
            for batch in self._unchecked(source):
                batch.validate(full=True)
                yield batch

    def _unchecked(self, source: Source) -> Iterator[Any]:
        import pyarrow as pa

        stream: Any = source.stream
        if stream.peek(len(_OLD)).startswith(_OLD):
            message = f"{source.name}: Feather version 1 cannot be read: write it as version 2, or as Parquet"
            raise ReadError(message, path=source.name)
        if not stream.peek(len(MAGIC)).startswith(MAGIC):
            yield from pa.ipc.open_stream(CheckedStream(stream, self.limit))
            return
        file = BoundedFile(source, "an Arrow file")
        check_file(file, self.limit)
        reader = pa.ipc.open_file(file)
        for k in range(reader.num_record_batches):
            yield reader.get_batch(k)


def open_table(output: Output, schema: Any) -> Any:
    import pyarrow as pa

    return pa.ipc.new_file(str(output.path), schema)


FORMATS.add(
    Format(
        name="arrow",
        title="Arrow",
        suffixes=(".arrow", ".feather", ".ipc"),
        reader=ArrowReader,
        writer=table_writer(open_table, compressible=False),
        options=(MAX_BATCH,),
        magic=(MAGIC,),
        looks_like=lambda start: start.startswith(_STREAM),
        priority=60,
    )
)
