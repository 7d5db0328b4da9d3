"""Batches to files: the same examples in another format, so that reading them gives the same bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from onlineboost.data.batch import Batch
from onlineboost.data.page import Page
from onlineboost.data.schema import Schema
from onlineboost.errors import DataError, ParameterError
from onlineboost.readers.files import STDIN
from onlineboost.readers.formats import COMPRESSED, by_name
from onlineboost.readers.hashing import hash_name
from onlineboost.storage.atomic import replacing

MOST_COLUMNS = 10_000
Write = Callable[[Page], None]


class _Told:
    """What the pages so far have told: the names of all features."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.schema = Schema()

    def take(self, page: Page) -> None:
        self.names.update(page.names)
        self.schema = page.schema


@contextmanager
def open_writer(target: str, stream_again: Callable[[], Any], rereadable: bool) -> Iterator[Write]:
    """A function that writes a batch. The file takes its place when all is written.

    Formats with columns need all names first: they read the stream once more, by ``stream_again``.
    """
    path = Path(target).expanduser()
    format = by_name(target)
    if format is None:
        raise ParameterError("OUT", target, "a name that ends in .vw, .libsvm, .jsonl, .csv, .tsv, .parquet or .arrow")
    packed = path.suffix in COMPRESSED
    if packed and format in ("parquet", "arrow"):
        raise ParameterError("OUT", target, f"no {path.suffix}: a {format} file is compressed by itself")
    with replacing(path) as temporary, ExitStack() as stack:
        if format in ("vw", "libsvm", "jsonl"):
            file = stack.enter_context(_compressed(temporary, path.suffix))
            told = _Told()

            def write(page: Page) -> None:
                told.take(page)
                file.write(_LINES[format](page.batch, told))

            yield write
        else:
            yield _table_writer(format, temporary, path.suffix, _columns(target, stream_again, rereadable), stack)
        stack.close()


def _compressed(path: Path, suffix: str) -> Any:
    import bz2
    import gzip
    import lzma

    if suffix == ".zst":
        import pyarrow as pa

        return pa.CompressedOutputStream(pa.OSFile(str(path), "wb"), "zstd")
    kinds: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    return kinds.get(suffix, open)(path, "wb")


# ---- lines of text, made by Arrow's compiled functions


def _numbers(values: Any) -> Any:
    """Shortest texts that are read back as the same float32."""
    import pyarrow as pa

    texts = pa.array(values).cast(pa.string())
    again = np.asarray(texts.cast(pa.float64())).astype(np.float32)
    if not np.array_equal(again, values):  # a float32 whose shortest text is rounded twice on the way back
        texts = pa.array(values.astype(np.float64)).cast(pa.string())
    return texts


def _joined(batch: Batch, names: Any, between: str, separator: str) -> Any:
    """For each row its features, "name between value", separated."""
    import pyarrow as pa
    import pyarrow.compute as pc

    first, last = int(batch.indptr[0]), int(batch.indptr[-1])
    values = _numbers(batch.values[first:last])
    pairs = pc.binary_join_element_wise(names, values, between)
    rows = pa.ListArray.from_arrays(pa.array((batch.indptr - first).astype(np.int32)), pairs)
    return pc.binary_join(rows, separator)


def _text(parts: list[Any]) -> bytes:
    """Columns of strings, put together row by row, as lines."""
    import pyarrow.compute as pc

    lines = pc.binary_join_element_wise(*parts, "", null_handling="replace", null_replacement="")
    return b"".join(line + b"\n" for line in lines.cast("binary").to_pylist())


def _signs(batch: Batch) -> Any:
    import pyarrow as pa

    return pa.array(np.where(batch.y > 0, "1", np.where(batch.y < 0, "-1", "")))


def _vw_lines(batch: Batch, stream: Any) -> bytes:
    import pyarrow as pa
    import pyarrow.compute as pc

    names = _feature_names(batch, stream, _is_vw_name)
    labels = _signs(batch)
    if (batch.weight != 1).any():
        if np.isnan(batch.y).any():
            raise DataError("VW text has no place for the weight of an example without a label")
        labels = pc.binary_join_element_wise(labels, pa.array(batch.weight).cast(pa.string()), " ")
    return _text([labels, " | ", _joined(batch, names, ":", " ")])


def _libsvm_lines(batch: Batch, stream: Any) -> bytes:
    import pyarrow as pa

    if (batch.weight != 1).any():
        raise DataError("LIBSVM text has no place for weights: choose .vw, .jsonl, .csv or .parquet")
    if np.isnan(batch.y).any():
        raise DataError("LIBSVM text has no place for examples without a label: choose .vw, .jsonl, .csv or .parquet")
    first, last = int(batch.indptr[0]), int(batch.indptr[-1])
    names = pa.array(batch.indices[first:last]).cast(pa.string())
    return _text([_signs(batch), " ", _joined(batch, names, ":", " ")])


def _json_lines(batch: Batch, stream: Any) -> bytes:
    import json

    import pyarrow as pa
    import pyarrow.compute as pc

    names = _feature_names(batch, stream, lambda name: name not in ("label", "weight"), json.dumps)
    labels = pc.if_else(pa.array(np.isnan(batch.y)), "null", _signs(batch))
    features = _joined(batch, names, ": ", ", ")
    comma = pc.if_else(pc.equal(features, ""), "", ", ")
    weights = [', "weight": ', pa.array(batch.weight).cast(pa.string())] if (batch.weight != 1).any() else []
    return _text(['{"label": ', labels, *weights, comma, features, "}"])


_LINES: dict[str, Callable[[Batch, Any], bytes]] = {"vw": _vw_lines, "libsvm": _libsvm_lines, "jsonl": _json_lines}


def _is_vw_name(name: str) -> bool:
    return not any(c in name for c in " \t\r\n|:") and not name.isdigit() and name.isprintable()


def _feature_names(batch: Batch, stream: Any, fits: Callable[[str], bool], spell: Callable[[str], str] = str) -> Any:
    """The features' names where they lead back to the same number, else the numbers, which do."""
    import pyarrow as pa

    first, last = int(batch.indptr[0]), int(batch.indptr[-1])
    numbers, where = np.unique(batch.indices[first:last], return_inverse=True)
    bits = stream.schema.bits
    names = []
    for number in numbers.tolist():
        name = stream.names.get(number)
        good = name is not None and fits(name) and hash_name(name, bits) == number
        names.append(spell(name if good and name is not None else str(number)))
    return pa.array(names, pa.string()).take(pa.array(where))


# ---- tables


def _columns(target: str, stream_again: Callable[[], Any], rereadable: bool) -> tuple[list[int], list[str], bool]:
    """All features, their names, and whether there are weights: what must be known before the first row is written."""
    if not rereadable:
        raise DataError(
            f"{target}: a table needs all its columns first, and {STDIN} can be read once: choose .vw or .jsonl"
        )
    with stream_again() as stream:
        told, seen = _Told(), np.zeros(0, bool)
        weighted = False
        for page in stream:
            told.take(page)
            batch, seen = page.batch, seen if seen.size else np.zeros(page.schema.mask + 1, bool)
            seen[batch.indices] = True
            weighted = weighted or bool((batch.weight != 1).any())
            if seen.sum() > MOST_COLUMNS:
                message = f"{target}: more than {MOST_COLUMNS:,} features, too many for the columns of a table"
                raise DataError(f"{message}: choose .vw, .libsvm or .jsonl")
        numbers = np.flatnonzero(seen).tolist()
        names = []
        for number in numbers:
            name = told.names.get(number, "")
            good = name and name not in ("label", "weight") and hash_name(name, told.schema.bits) == number
            names.append(name if good else str(number))
    return numbers, names, weighted


def _table_writer(
    format: str, path: Path, suffix: str, columns: tuple[list[int], list[str], bool], stack: ExitStack
) -> Write:
    import pyarrow as pa

    numbers, names, weighted = columns
    place = {number: k for k, number in enumerate(numbers)}
    schema = pa.schema(
        [("label", pa.int8()), *([("weight", pa.float64())] if weighted else []), *((n, pa.float32()) for n in names)]
    )
    writer = stack.enter_context(_open_table(format, path, suffix, schema, stack))

    def write(page: Page) -> None:
        batch = page.batch
        dense = np.zeros((len(numbers), batch.y.size), np.float32)
        first, last = int(batch.indptr[0]), int(batch.indptr[-1])
        rows = np.repeat(np.arange(batch.y.size), np.diff(batch.indptr))
        at = np.array([place[number] for number in batch.indices[first:last].tolist()], np.int64)
        if np.unique(at * batch.y.size + rows).size < at.size:
            raise DataError("an example has the same feature twice, which a table cannot hold: choose .vw or .libsvm")
        dense[at, rows] = batch.values[first:last]
        labels = pa.array(np.nan_to_num(batch.y), pa.int8(), mask=np.isnan(batch.y), safe=False)
        arrays = [labels, *([pa.array(batch.weight)] if weighted else []), *map(pa.array, dense)]
        writer.write_batch(pa.record_batch(arrays, schema=schema))

    return write


def _open_table(format: str, path: Path, suffix: str, schema: Any, stack: ExitStack) -> Any:
    if format == "parquet":
        import pyarrow.parquet as pq

        return pq.ParquetWriter(path, schema)
    if format == "arrow":
        import pyarrow as pa

        return pa.ipc.new_file(str(path), schema)
    import pyarrow.csv

    options = pyarrow.csv.WriteOptions(delimiter="\t" if format == "tsv" else ",")
    return pyarrow.csv.CSVWriter(stack.enter_context(_compressed(path, suffix)), schema, write_options=options)
