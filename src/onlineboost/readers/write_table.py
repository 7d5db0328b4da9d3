"""Pages as tables: a column for the label, one for the weight if there are any, and one for each feature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from onlineboost.data.batch import Batch, without_missing
from onlineboost.errors import DataError, ParameterError
from onlineboost.readers.files import COMPRESSED, STDIN
from onlineboost.readers.format import Output, Write
from onlineboost.readers.write_lines import reversible_name

MAX_COLUMNS = 10_000
RESERVED = ("label", "weight")  # names of columns that are no features


def table_writer(open_table: Callable[[Output, Any], Any], compressible: bool = True) -> Callable[[Output], Write]:
    """A writer for formats that are tables.

    ``open_table(output, schema)`` gives a context manager with ``write_batch``, as Arrow's writers are.
    """

    def open_file(output: Output) -> Write:
        if not compressible and output.suffix in COMPRESSED:
            expected = f"a name without {output.suffix}: such a file is compressed by itself"
            raise ParameterError("target", output.name, expected)
        columns = _columns(output)
        schema = columns.schema()
        writer = output.stack.enter_context(open_table(output, schema))
        return lambda page: writer.write_batch(columns.record_batch(without_missing(page.batch), schema))

    return open_file


class _Columns(NamedTuple):
    """Facts needed before the first row is written."""

    place: dict[int, int]  # name of each feature, by its number
    names: list[str]
    weighted: bool  # whether a weight is not 1

    def schema(self) -> Any:
        import pyarrow as pa

        weight = [("weight", pa.float64())] if self.weighted else []
        return pa.schema([("label", pa.int8()), *weight, *((name, pa.float32()) for name in self.names)])

    def record_batch(self, batch: Batch, schema: Any) -> Any:
        import pyarrow as pa

        dense = np.zeros((len(self.place), batch.y.size), np.float32)
        first, last = int(batch.indptr[0]), int(batch.indptr[-1])
        rows = np.repeat(np.arange(batch.y.size), np.diff(batch.indptr))
        columns = np.array([self.place[number] for number in batch.indices[first:last].tolist()], np.int64)
        if np.unique(columns * batch.y.size + rows).size < columns.size:
            raise DataError(
                "an example has the same feature twice, which a table cannot hold: choose another format, such as .vw"
            )
        dense[columns, rows] = batch.values[first:last]
        signs = np.where(batch.y == 0, -1, np.nan_to_num(batch.y))
        labels = pa.array(signs, pa.int8(), mask=np.isnan(batch.y), safe=False)
        arrays = [labels, *([pa.array(batch.weight)] if self.weighted else []), *map(pa.array, dense)]
        return pa.record_batch(arrays, schema=schema)


def _columns(output: Output) -> _Columns:
    """Read the whole stream to find its columns."""
    if not output.rereadable:
        raise DataError(
            f"{output.name}: a table needs all its columns first, and {STDIN} can be read once: "
            "choose another format, such as .jsonl"
        )
    met: dict[int, None] = {}  # in the order in which features appear
    names: dict[int, str] = {}
    weighted = False
    with output.stream_again() as stream:
        for page in stream:
            names.update(page.names)
            ids, first = np.unique(without_missing(page.batch).indices, return_index=True)
            met.update(dict.fromkeys(ids[np.argsort(first)].tolist()))
            weighted = weighted or bool((page.batch.weight != 1).any())
            if len(met) > MAX_COLUMNS:
                message = f"{output.name}: more than {MAX_COLUMNS:,} features, too many for the columns of a table"
                raise DataError(f"{message}: choose another format, such as .jsonl")
    columns = [reversible_name(number, names, _is_column_name) for number in met]
    return _Columns({number: k for k, number in enumerate(met)}, columns, weighted)


def _is_column_name(name: str) -> bool:
    return name != "" and name not in RESERVED
