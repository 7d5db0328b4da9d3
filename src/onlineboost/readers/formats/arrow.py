"""Arrow files (Feather) and streams."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from onlineboost.readers.files import Source
from onlineboost.readers.format import Format
from onlineboost.readers.output import Output
from onlineboost.readers.table import TableReader, arrow_errors
from onlineboost.readers.write_table import table_writer
from onlineboost.registry import FORMATS

_FILE, _STREAM = b"ARROW1", b"\xff\xff\xff\xff"


def open_batches(source: Source, batch_size: int) -> Iterator[Any]:
    import pyarrow as pa

    stream: Any = source.stream
    with arrow_errors(source, "Arrow"):
        if hasattr(stream, "peek") and stream.peek(len(_FILE)).startswith(_FILE):
            reader = pa.ipc.open_file(source.raw)
            for k in range(reader.num_record_batches):
                yield reader.get_batch(k)
        else:
            yield from pa.ipc.open_stream(stream)


def open_table(output: Output, schema: Any) -> Any:
    import pyarrow as pa

    return pa.ipc.new_file(str(output.path), schema)


FORMATS.add(
    Format(
        name="arrow",
        title="Arrow",
        suffixes=(".arrow", ".feather", ".ipc"),
        reader=partial(TableReader, open_batches),
        writer=table_writer(open_table, compressible=False),
        magic=(_FILE,),
        looks_like=lambda start: start.startswith(_STREAM),
        priority=60,
    )
)
