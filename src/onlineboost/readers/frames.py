"""Data frames of any library, by narwhals, without the index of pandas frames."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from onlineboost.data.arrays import bad_number
from onlineboost.data.batch import LARGEST
from onlineboost.errors import DataError, ReadWarning, listed

_UNNAMED = re.compile(r"__index_level_\d+__")  # an index without a name, as pandas writes it to tables
_NAMELESS = "", "Unnamed: 0"  # the first column of a file with an index, as it is, and as pandas reads it


def eager_frame(X: Any) -> Any:
    """A data frame as one of narwhals, in memory; the index of pandas is left out."""
    import narwhals as nw

    try:
        frame = nw.from_native(X, allow_series=False)
        frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        return nw.maybe_reset_index(frame)
    except TypeError as problem:
        advice = ", or predict_one(X.to_dict()) for one row" if hasattr(X, "to_dict") else ""
        raise DataError(f"X is a {type(X).__name__}: expected a data frame{advice}") from problem
    except nw.exceptions.DuplicateError as problem:
        raise DataError("X has two columns of the same name: expected different names") from problem
    except nw.exceptions.NarwhalsError as problem:
        raise DataError(f"the data frame cannot be read: {str(problem).strip().splitlines()[0]}") from problem


def feature_frame(X: Any) -> Any:
    """``eager_frame`` without columns that hold the index of a pandas frame."""
    frame = eager_frame(X)
    index = _index_of(frame)
    warn_of_index(index, "X")
    return frame.drop(index) if index else frame


def feature_names(X: Any) -> list[str]:
    """The names of the columns of a data frame, without those of an index."""
    import narwhals as nw

    frame = nw.from_native(X).lazy()
    index = _index_of(nw.from_native(X))
    return [str(name) for name in frame.collect_schema().names() if name not in index]


def _index_of(frame: Any) -> list[str]:
    names = [name for name in frame.collect_schema().names() if isinstance(name, str)]
    return index_columns(names, frame.to_native().schema.metadata if frame.implementation.is_pyarrow() else None)


def index_columns(names: list[str], metadata: Any) -> list[str]:
    """The columns of a table that hold the index of a pandas frame, by Arrow's metadata or by their names.

    >>> index_columns(["size", "user"], {b"pandas": b'{"index_columns": ["user"]}'})
    ['user']
    >>> index_columns(["", "size"], None), index_columns(["size", ""], None)
    ([''], [])
    """
    try:
        known = json.loads((metadata or {}).get(b"pandas", b"{}"))["index_columns"]
        known = [name for name in known if isinstance(name, str)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        known = []
    known += [name for name in names[:1] if len(names) > 1 and name in _NAMELESS]
    return [name for name in names if name in known or _UNNAMED.fullmatch(name)]


def warn_of_index(names: list[str], where: str) -> None:
    """Warn of columns that are left out as the index of a pandas frame."""
    if any(name in _NAMELESS for name in names):
        news = "the first column has no name, as the index of pandas and the row names of R: left out"
        warnings.warn(f"{where}: {news}; to learn it, name it", ReadWarning, stacklevel=2)
    elif names:
        verb = "is" if len(names) == 1 else "are"
        message = f"{where}: {listed(names)} {verb} the index of a pandas frame: left out, as pandas does"
        warnings.warn(f"{message}; reset_index() before makes columns of it", ReadWarning, stacklevel=2)


def arrow_table(X: Any) -> Any:
    """A data frame of any kind as an Arrow table."""
    import pyarrow as pa

    frame = eager_frame(X)
    try:
        return frame.to_arrow()
    except (pa.ArrowException, TypeError, OverflowError) as problem:
        raise _unreadable(frame, problem) from problem


def is_numeric(frame: Any) -> bool:
    """Whether all columns of a frame of narwhals are numbers or booleans."""
    import narwhals as nw

    return all(kind.is_numeric() or kind == nw.Boolean for kind in frame.collect_schema().dtypes())


def dicts_of(X: Any) -> Iterator[dict[str, Any]]:
    """The rows of a data frame."""
    for row in feature_frame(X).iter_rows(named=True):
        yield {name: value.item() if isinstance(value, np.generic) else value for name, value in row.items()}


def _unreadable(frame: Any, problem: BaseException) -> DataError:
    """The error for a frame that cannot become an Arrow table: the column, its values, and the next step."""
    import pyarrow as pa

    for name in frame.columns:
        try:
            frame.select(name).to_arrow()
        except (pa.ArrowException, TypeError, OverflowError) as reason:
            return _bad_column(frame[name], str(name), reason)
    return DataError(f"the data frame cannot be read: {problem}")


def _bad_column(column: Any, name: str, problem: BaseException) -> DataError:
    import narwhals as nw

    values = column.to_list()
    large = next((r for r, value in enumerate(values) if isinstance(value, int) and abs(value) > LARGEST), None)
    if large is not None:
        return bad_number(large, name, values[large])
    kinds = sorted({type(value).__name__ for value in values if value is not None and value == value})
    if len(kinds) > 1 and column.dtype in (nw.Object, nw.Categorical):
        words = f"X[{name!r}].astype(str)" if column.implementation.is_pandas_like() else "a cast to strings"
        expected = f"expected one type: {words} makes words of all; or make numbers of all"
        return DataError(
            f"X: column {name!r} has values of several types ({', '.join(kinds)}): {expected}", column=name
        )
    expected = "expected numbers, texts, dates or booleans; leave it out, or convert it"
    return DataError(f"X: column {name!r} is {column.to_native().dtype}: {expected} ({problem})", column=name)


def like_frame(X: Any, values: Any, columns: list[Any] | None) -> Any:
    """Predictions for a data frame, as a series or, with ``columns``, a frame of the same library and with its index.

    Without ``values``, a series of None, or a frame without columns.
    """
    import narwhals as nw

    frame = nw.from_native(X)
    if values is None:
        rows = len(eager_frame(X))
        values = [None] * rows if columns is None else np.empty((rows, 0))
    library: Any = nw.get_native_namespace(frame)
    if frame.implementation.is_pandas():
        index = frame.to_native().index
        return library.Series(values, index) if columns is None else library.DataFrame(values, index, columns)
    if columns is None:
        found = nw.new_series("prediction", np.asarray(values).tolist(), backend=frame.implementation)
        return found.to_native()
    data = {str(name): values[:, k].tolist() for k, name in enumerate(columns)}
    return nw.from_dict(data, backend=frame.implementation).to_native()
