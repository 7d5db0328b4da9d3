"""Arrays, data frames and SciPy matrices as checked sources of batches."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import njit
from onlineboost.data.batch import LARGEST, Batch, Floats, Floats32, Ints, Ints32, survey, without_missing
from onlineboost.data.hashing import MAX_ID, feature_id, indicator_id
from onlineboost.errors import DataError, MissingPackageError, warn_of_column

_ROWS = 1 << 15
_LINES = 128  # bytes: two cache lines, which some processors fetch together
_CHUNK = 1 << 20  # numbers converted at a time: conversion never needs more than a few megabytes


class Source(ABC):
    """A checked table of numbers; NaN is a missing value.

    Features are named by their column numbers, unless ``name`` is called.
    """

    by_name: ClassVar[bool] = False
    """Whether features have names of their own."""

    names: list[str] | None  # the headings
    n_rows: int
    n_features: int
    missing: Ints  # the columns that have missing values
    _known_as: list[str] | None = None
    _ids: Ints32 | None = None

    @property
    @abstractmethod
    def longest(self) -> int:
        """Largest number of non-zero features in a row."""

    @abstractmethod
    def batches(self, y: Floats, weight: Floats) -> Iterator[Batch]:
        """The rows with these labels and weights."""

    def name(self, names: list[str] | None) -> None:
        """Give the columns these names; None: their numbers."""
        self._known_as = names
        self._ids = np.array([feature_id(name) for name in names], np.int32) if names is not None else None

    @property
    def known_as(self) -> Sequence[Any]:
        """The names of the columns, or their numbers."""
        return range(self.n_features) if self._known_as is None else self._known_as

    def new_cells(self) -> list[tuple[str, int]]:
        """Columns and ids of new cells of at least four words."""
        return []

    def new_names(self) -> list[tuple[int, str]]:
        """The ids and names of all features."""
        ids = self._ids.tolist() if self._ids is not None else []
        absent = [f"{name}=" for name in self._names_of(self.missing)]
        return [*zip(ids, self._known_as or [], strict=True), *((indicator_id(name), name) for name in absent)]

    def _names_of(self, columns: Ints) -> list[str]:
        known = self._known_as
        return [str(column) if known is None else known[column] for column in columns.tolist()]

    def _features(self, indptr: Ints, columns: Ints32, values: Floats32) -> tuple[Ints, Ints32, Floats32]:
        """Entries with ids for columns; a missing value is followed by its indicator."""
        ids = columns if self._ids is None else self._ids[columns]
        if not self.missing.size:
            return indptr, ids, values
        at = np.flatnonzero(np.isnan(values))
        indicators = np.array([indicator_id(f"{name}=") for name in self._names_of(self.missing)], np.int32)
        added = indicators[np.searchsorted(self.missing, columns[at])]
        values = np.insert(values, at + 1, np.float32(1))
        return indptr + np.searchsorted(at, indptr), np.insert(ids, at + 1, added), values


class Dense(Source):
    """A checked two-dimensional array of numbers."""

    def __init__(self, X: Any) -> None:
        self.names = _headings(X)
        if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
            raise DataError("X has masked values: fill them first, X.filled(...)")
        try:
            self.table = np.asarray(X)
            if self.table.dtype.kind == "O" and hasattr(X, "isna"):  # pandas has a missing value of its own
                self.table = X.to_numpy(np.float64, na_value=np.nan)
            if self.table.dtype.kind in "OUS":
                self.table = self.table.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as problem:
            raise _not_a_number(X) from problem
        _check_kind(self.table.dtype)
        if self.table.ndim != 2:
            shape = self.table.shape
            raise DataError(
                f"X has shape {shape}: expected two dimensions (rows, features). Reshape your data: X.reshape(1, -1) "
                "is one row"
            )
        self.n_rows, self.n_features = self.table.shape
        self.step = max(1, _CHUNK // max(1, self.n_features))
        missing = np.zeros(self.n_features, bool)
        self._part: tuple[int, int, Floats32] | None = None
        for start in range(0, self.n_rows, self.step):
            part = self._float32(start)
            large, absent, _ = _count(part.reshape(-1))
            if absent:
                missing |= np.isnan(part).any(axis=0)
            if large:
                row, column = np.argwhere(np.abs(part) > LARGEST)[0].tolist()
                raise bad_number(
                    start + row, self.names[column] if self.names else column, self.table[start + row, column]
                )
        self.missing = np.flatnonzero(missing)

    def _float32(self, start: int) -> Floats32:
        """The rows from ``start`` on; the last part is kept, since it is often the only one."""
        if self._part is None or self._part[:2] != (start, self.step):
            with np.errstate(over="ignore"):
                part = np.array(self.table[start : start + self.step], dtype=np.float32, order="C")
            self._part = start, self.step, part
        return self._part[2]

    @property
    def longest(self) -> int:
        counts = (np.count_nonzero(self._float32(start), axis=1) for start in range(0, self.n_rows, self.step))
        return max((int(count.max()) for count in counts), default=0)

    def batches(self, y: Floats, weight: Floats) -> Iterator[Batch]:
        for start in range(0, self.n_rows, self.step):
            part = slice(start, start + self.step)
            yield Batch(*self._features(*_compress(self._float32(start))), y[part], weight[part])


class Sparse(Source):
    """A checked SciPy sparse matrix of numbers."""

    def __init__(self, X: Any) -> None:
        if len(X.shape) != 2:
            raise DataError(f"X has shape {X.shape}: expected two dimensions (rows, features)")
        self.names = None
        csr = X.tocsr()
        _check_kind(csr.dtype)
        self.n_rows, self.n_features = csr.shape
        n = csr.indptr[-1]
        if csr.indptr[0] != 0 or min(csr.indices.size, csr.data.size) < n or (np.diff(csr.indptr) < 0).any():
            raise DataError("X is not a valid sparse matrix: see X.check_format()")
        values = _float32(csr.data[:n])
        columns = min(self.n_features, MAX_ID + 1)
        found = survey(_own(csr.indptr, np.int64), _own(csr.indices[:n]), values, columns)
        outside, unsorted, bad, zeros, missing = found
        if outside:
            row, column = _place(csr, (csr.indices < 0) | (csr.indices >= columns))
            message = f"X has an entry at row {row}, column {column}, outside its shape {csr.shape}; columns begin at 0"
            raise DataError(message, row=row, column=column)
        if unsorted:
            csr = csr.copy()
            csr.sum_duplicates()
            values = _float32(csr.data)
            bad, zeros = bool((np.abs(values) > LARGEST).any()), not values.all()
        if bad:
            row, column = _place(csr, np.abs(values) > LARGEST)
            raise bad_number(row, column, csr[row, column])
        indptr, indices = _own(csr.indptr, np.int64), _own(csr.indices[: values.size], np.int32)
        if zeros:
            kept = values != 0
            indptr = np.concatenate([[0], np.cumsum(kept)])[indptr]
            indices, values = indices[kept], values[kept]
        self.table, self.indptr, self.indices, self.values = csr, indptr, indices, values
        absent = indices[np.isnan(values)] if missing or unsorted else indices[:0]
        self.missing = np.unique(absent).astype(np.int64)

    @property
    def longest(self) -> int:
        return int(np.diff(self.indptr).max(initial=0))

    def batches(self, y: Floats, weight: Floats) -> Iterator[Batch]:
        whole = self._features(self.indptr, self.indices, self.values)
        for start in range(0, self.n_rows, _ROWS):  # so that an interrupt takes effect
            rows = slice(start, start + _ROWS)
            yield Batch(whole[0][start : start + _ROWS + 1], *whole[1:], y[rows], weight[rows])


_FRAMES = ("pandas", "polars", "pyarrow", "modin", "cudf", "narwhals", "duckdb", "dask", "ibis", "pyspark")


def is_frame(X: Any) -> bool:
    """Whether X is a data frame; nothing is imported to find out."""
    package = type(X).__module__.partition(".")[0]
    return package in _FRAMES and package in sys.modules


def check_features(X: Any) -> Dense | Sparse:
    """X as a source of batches; an error names the row and the column that are wrong."""
    if hasattr(X, "tocsr"):
        return Sparse(X)
    if isinstance(X, Mapping):
        raise DataError("X is one dict of features: use learn_one(x, y) and predict_one(x), or pass an array")
    return Dense(X)


def as_labels(y: Any) -> NDArray[Any]:
    """Labels as an array; raises an error for words mixed with other types."""
    try:
        labels = np.asarray(y)
    except ValueError:
        raise DataError("y is not a list of labels: expected one value per row of X") from None
    if labels.dtype.kind == "U" and isinstance(y, list | tuple):  # NumPy has made words of all
        row = next((row for row, label in enumerate(y) if not isinstance(label, str)), None)
        if row is not None:
            what = "a missing label" if _is_missing(y[row]) else f"{y[row]!r}, among words,"
            raise DataError(f"y has {what} at row {row}: expected labels of one type", row=row)
    return labels


def check_labels(y: Any, n_rows: int) -> NDArray[Any]:
    """One label per row."""
    labels = as_labels(y)
    if labels.shape == (n_rows, 1):
        warn_of_column()
        return labels[:, 0]
    if labels.shape != (n_rows,):
        raise DataError(f"y has shape {labels.shape}: expected ({n_rows},), one label per row of X")
    return labels


def _is_missing(label: Any) -> bool:
    return label is None or label != label


def check_weight(given: Any, n_rows: int) -> Floats:
    """One weight per row; 1 where none are given."""
    if given is None:
        return np.ones(n_rows)
    try:
        weight = np.array(given, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"sample_weight is {given!r:.60}: expected one number per row") from None
    if weight.shape != (n_rows,):
        raise DataError(f"sample_weight has shape {weight.shape}: expected ({n_rows},), one weight per row")
    good = (weight >= 0) & (weight <= LARGEST)
    if not good.all():
        row = int(np.argmin(good))
        raise DataError(
            f"sample_weight has {weight[row]} at row {row}: expected a number from 0 to {LARGEST:g}", row=row
        )
    return weight


def as_matrix(batch: Batch, columns: int) -> Sparse:
    """The rows as a SciPy matrix, for learners that are Python objects: columns are ids, modulo their number."""
    try:
        from scipy.sparse import csr_matrix
    except ImportError:
        raise MissingPackageError("a learner that is a Python object", "SciPy", "scipy") from None

    batch = without_missing(batch)
    return Sparse(csr_matrix((batch.values, batch.indices % columns, batch.indptr), (batch.y.size, columns)))


def writable(value: Any) -> Any:
    """The value with read-only arrays copied, such as those of a memory map: compiled code needs writable ones."""
    return _each_array(
        value, lambda array: array if type(array) is np.ndarray and array.flags.writeable else np.array(array)
    )


def copied(value: Any) -> Any:
    """The value with all arrays copied."""
    return _each_array(value, np.array)


def isolated(value: Any) -> Any:
    """The value with all arrays copied into cache lines of their own, since threads wait for shared lines."""
    return _each_array(value, _isolated)


def _isolated(array: NDArray[Any]) -> NDArray[Any]:
    memory = np.zeros(array.nbytes + 2 * _LINES, np.uint8)
    start = -memory.ctypes.data % _LINES
    found = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def _each_array(value: Any, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Any:
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, tuple):
        parts = [_each_array(part, change) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def _compress(dense: Floats32) -> tuple[Ints, Ints32, Floats32]:
    """The rows without their zeros."""
    rows, width = dense.shape
    if not _count(dense.reshape(-1))[2]:
        indices = np.tile(np.arange(width, dtype=np.int32), rows)
        return np.arange(rows + 1) * width, indices, dense.reshape(-1)
    indptr = np.empty(rows + 1, np.int64)
    indices, values = np.empty(dense.size + 1, np.int32), np.empty(dense.size + 1, np.float32)
    _drop_zeros(dense, indptr, indices, values)
    return indptr, indices[: indptr[-1]], values[: indptr[-1]]


@njit
def _count(values: Floats32) -> tuple[int, int, int]:
    """Numbers of values that are too large, missing, zero."""
    large = missing = zeros = 0
    for k in range(values.size):
        large += abs(values[k]) > LARGEST
        missing += values[k] != values[k]
        zeros += values[k] == 0
    return large, missing, zeros


@njit
def _drop_zeros(dense: Floats32, indptr: Ints, indices: Ints32, values: Floats32) -> None:
    n = 0
    indptr[0] = 0
    for r in range(dense.shape[0]):
        for j in range(dense.shape[1]):
            x = dense[r, j]
            indices[n] = j
            values[n] = x
            n += x != 0
        indptr[r + 1] = n


def _own(array: Any, dtype: Any = None) -> Any:
    """The array in this type, contiguous and writable, so that code is compiled for one kind of array."""
    return np.require(array, dtype, ["C_CONTIGUOUS", "WRITEABLE"])


def _float32(array: Any) -> Floats32:
    with np.errstate(over="ignore"):
        return np.require(array, np.float32, ["C_CONTIGUOUS", "WRITEABLE"])


def _place(csr: Any, wrong: Any) -> tuple[int, int]:
    """Row and column of the first entry that is wrong."""
    at = int(np.argmax(wrong))
    return int(np.searchsorted(csr.indptr, at, side="right")) - 1, int(csr.indices[at])


def bad_number(row: int, column: Any, value: object) -> DataError:
    """The error for a number that is too large, in a column of this number or name."""
    expected = f"expected a number of magnitude at most {LARGEST:g}"
    named = isinstance(column, str)
    words = f"make strings of them, X[{column!r}].astype(str)," if named else "pass them as strings of a data frame"
    advice = f"; if the column holds ids, {words} or leave it out" if "inf" not in brief(value) else ""
    place = f"X has {brief(value)} at row {row}, column {column!r}"
    return DataError(f"{place}: {expected}{advice}", row=row, column=column)


def brief(value: object) -> str:
    """A value in an error message, without hundreds of digits."""
    large = isinstance(value, int) and value.bit_length() > 256
    return "a number of hundreds of digits" if large else str(value)


def _headings(X: Any) -> list[str] | None:
    names: Any = getattr(X, "column_names", None) or getattr(X, "columns", ())  # PyArrow has both
    return [str(name) for name in names] or None


def _check_kind(dtype: Any) -> None:
    if dtype.kind == "c":
        raise DataError("Complex data not supported: X has complex numbers, expected real ones")
    if dtype.kind not in "fiub":
        raise DataError(f"X is an array of {dtype}: expected numbers")


class _CellTypeError(DataError, TypeError):
    """A cell that is neither a number nor text."""


def _not_a_number(X: Any) -> DataError:
    rows = np.asarray(X, object) if hasattr(X, "columns") else X
    for r, row in enumerate(rows if isinstance(rows, Iterable) else ()):
        for j, value in enumerate(row if np.ndim(row) else [row]):
            try:
                float(value)
            except ValueError:
                words = "; words, dates and gaps are read from data frames" if isinstance(value, str) else ""
                return DataError(f"X has {value!r} at row {r}, column {j}: expected a number{words}", row=r, column=j)
            except OverflowError:
                return bad_number(r, j, value)
            except TypeError:
                place = f"X has {value!r} at row {r}, column {j}"
                return _CellTypeError(f"{place}: the argument must be a string or a number", row=r, column=j)
    return DataError("X is not a table of numbers: expected an array of shape (rows, features), all rows equally long")
