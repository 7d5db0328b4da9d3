"""Pages as lines of text, put together by Arrow's compiled functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from onlineboost.data.batch import Batch, without_missing
from onlineboost.data.hashing import feature_id
from onlineboost.data.page import Page
from onlineboost.readers.format import Output, Write

Lines: TypeAlias = Callable[[Batch, Mapping[int, str]], bytes]  # of a batch, and names of features


def line_writer(lines: Lines) -> Callable[[Output], Write]:
    """A writer for text formats: ``lines(batch, names)`` are the bytes of a batch."""

    def open_file(output: Output) -> Write:
        file = output.open()
        names: dict[int, str] = {}  # of all features so far

        def write(page: Page) -> None:
            names.update(page.names)
            file.write(lines(without_missing(page.batch), names))

        return write

    return open_file


def join_columns(columns: list[Any]) -> bytes:
    """Lines of text from columns of strings, put together row by row."""
    import pyarrow.compute as pc

    lines = pc.binary_join_element_wise(*columns, "", null_handling="replace", null_replacement="")
    return b"".join(line + b"\n" for line in lines.cast("binary").to_pylist())


def features(batch: Batch, names: Any, between: str, separator: str) -> Any:
    """A column with the features of each row, "name between value", separated."""
    import pyarrow as pa
    import pyarrow.compute as pc

    first, last = int(batch.indptr[0]), int(batch.indptr[-1])
    values = _numbers(batch.values[first:last])
    pairs = pc.binary_join_element_wise(names, values, between)
    rows = pa.ListArray.from_arrays(pa.array((batch.indptr - first).astype(np.int32)), pairs)
    return pc.binary_join(rows, separator)


def signs(batch: Batch) -> Any:
    """A column of labels: 1, -1 or nothing."""
    import pyarrow as pa

    return pa.array(np.where(batch.y > 0, "1", np.where(batch.y == 0, "-1", "")))


def weights(batch: Batch) -> Any | None:
    """A column of importance weights; None if all are 1."""
    import pyarrow as pa

    return pa.array(batch.weight).cast(pa.string()) if (batch.weight != 1).any() else None


def feature_names(
    batch: Batch,
    names: Mapping[int, str],
    allowed: Callable[[str], bool],
    spell: Callable[[str], str] = str,
) -> Any:
    """The name of each entry if it is allowed and its hash is the feature's number, else its id."""
    import pyarrow as pa

    first, last = int(batch.indptr[0]), int(batch.indptr[-1])
    numbers, where = np.unique(batch.indices[first:last], return_inverse=True)
    spelled = [spell(reversible_name(number, names, allowed)) for number in numbers.tolist()]
    return pa.array(spelled, pa.string()).take(pa.array(where))


def reversible_name(number: int, names: Mapping[int, str], allowed: Callable[[str], bool]) -> str:
    """A name that is read back as the same feature."""
    name = names.get(number)
    return name if name is not None and allowed(name) and feature_id(name) == number else str(number)


def _numbers(values: Any) -> Any:
    """Shortest texts that are read back as the same float32."""
    import pyarrow as pa

    texts = pa.array(values).cast(pa.string())
    again = np.asarray(texts.cast(pa.float64())).astype(np.float32)
    if not np.array_equal(again, values):  # a float32 whose shortest text is rounded twice when it is read
        texts = pa.array(values.astype(np.float64)).cast(pa.string())
    return texts
