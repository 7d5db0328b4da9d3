"""Rows of a stream as arrays: compressed sparse rows, labels and weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import hot, i32, njit, u32
from onlineboost.errors import DataError

Floats: TypeAlias = NDArray[np.float64]
Floats32: TypeAlias = NDArray[np.float32]
Ints: TypeAlias = NDArray[np.int64]
Ints32: TypeAlias = NDArray[np.int32]

_BLOCK = 4096  # entries that fit into the cache
_MAGNITUDE = u32(0x7FFFFFFF)  # all bits of a number except the sign
_LARGEST_BITS = u32(np.float32(1e18).view(np.uint32))
_SHORT = 48  # maximum entries of a row for insertion sort alone
LARGEST = 1e18  # magnitude of features and weights: squares must stay within float32


class Batch(NamedTuple):
    """Row r has the features ``indices[indptr[r]:indptr[r+1]]``, in the source's order, with non-zero ``values``.

    ``indices`` are ids of features, or slots once a model has given them. NaN is a missing value.
    """

    indptr: Ints
    indices: Ints32
    values: Floats32
    y: Floats  # places of labels: 0, 1, 2, and so on; or numbers; NaN if unknown
    weight: Floats


def check_batch(batch: Batch, learning: bool, numbers: bool = False) -> None:
    """Raise an error for an invalid batch; compiled code does not check."""
    indptr, rows = batch.indptr, batch.y.size
    whole = indptr.shape == (rows + 1,) and batch.weight.shape == (rows,) and batch.indices.size == batch.values.size
    if not whole or indptr[0] < 0 or indptr[-1] > batch.indices.size or (np.diff(indptr) < 0).any():
        raise DataError("the batch is not valid: the sizes of its arrays do not match")
    first, last = int(indptr[0]), int(indptr[-1])
    negative, bad = _wrong(batch.indices[first:last], batch.values[first:last])
    if negative:
        raise DataError("the batch has a negative feature number: expected ids from 0 to 2^31 - 1")
    if bad:
        raise DataError(f"the batch has a value larger than {LARGEST:g}: expected numbers of at most that magnitude")
    if learning and not ((batch.weight >= 0) & (batch.weight <= LARGEST)).all():
        raise DataError(f"the batch has a wrong weight: expected numbers from 0 to {LARGEST:g}")
    if numbers:  # the target checks them
        return
    known = (batch.y >= 0) & (batch.y == np.floor(batch.y))
    if learning and not known.all():
        row = int(np.argmin(known))
        raise DataError(f"row {row} of the batch has no label: expected 0, 1, 2, ... to learn from it", row=row)


def typed(batch: Batch) -> Batch:
    """The batch with arrays of the types that compiled code reads."""
    types = np.int64, np.int32, np.float32, np.float64, np.float64
    return Batch(*(np.ascontiguousarray(array, dtype) for array, dtype in zip(batch, types, strict=True)))


def longest_row(batch: Batch) -> int:
    """Largest number of features in a row."""
    return int(np.diff(batch.indptr).max(initial=0))


def shuffled(rows: Batch, seed: int) -> Batch:
    """The rows in random order."""
    return taken(rows, np.random.default_rng(seed).permutation(rows.y.size))


def taken(rows: Batch, order: Ints) -> Batch:
    """The rows of these numbers, in this order."""
    sizes = np.diff(rows.indptr)[order]
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    at = np.repeat(rows.indptr[order] - indptr[:-1], sizes) + np.arange(indptr[-1])
    return Batch(indptr, rows.indices[at], rows.values[at], rows.y[order], rows.weight[order])


def joined(batches: list[Batch]) -> Batch:
    """The rows of all batches, one after the other."""
    if not batches:
        return Batch(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0), np.empty(0))
    alone = [without_rest(batch) for batch in batches]
    starts = np.cumsum([0, *(batch.indices.size for batch in alone)])
    ends = [batch.indptr[1:] + start for batch, start in zip(alone, starts[:-1], strict=True)]
    parts = zip(*(batch[1:] for batch in alone), strict=True)
    return Batch(np.concatenate([[0], *ends]).astype(np.int64), *(np.concatenate(part) for part in parts))


def without_rest(batch: Batch) -> Batch:
    """The rows as arrays of their own, without unused parts before and after them."""
    first, last = batch.indptr[0], batch.indptr[-1]
    return batch._replace(
        indptr=batch.indptr - first, indices=batch.indices[first:last], values=batch.values[first:last]
    )


def without_missing(batch: Batch) -> Batch:
    """The rows without missing values, in arrays of their own."""
    batch = without_rest(batch)
    kept = ~np.isnan(batch.values)
    if kept.all():
        return batch
    indptr = np.concatenate([[0], np.cumsum(kept)])[batch.indptr]
    return batch._replace(indptr=indptr, indices=batch.indices[kept], values=batch.values[kept])


def cut(batch: Batch, start: int, stop: int) -> Batch:
    """Some of the rows; nothing is copied."""
    rows = slice(start, stop)
    return batch._replace(indptr=batch.indptr[start : stop + 1], y=batch.y[rows], weight=batch.weight[rows])


def with_features(rows: Batch, ids: Ints32, values: Floats32, given: NDArray[np.bool_]) -> Batch:
    """The rows with further features at their ends: those of [rows, features] that are ``given``."""
    rows = without_rest(rows)
    sizes = np.diff(rows.indptr)
    indptr = np.concatenate([[0], np.cumsum(sizes + given.sum(axis=1))])
    old = np.repeat(indptr[:-1] - rows.indptr[:-1], sizes) + np.arange(rows.indices.size)
    new = np.ones(indptr[-1], np.bool_)
    new[old] = False
    all_ids, all_values = np.empty(new.size, np.int32), np.empty(new.size, np.float32)
    all_ids[old], all_values[old] = rows.indices, rows.values
    all_ids[new], all_values[new] = ids[given], values[given]
    return Batch(indptr, all_ids, all_values, rows.y, rows.weight)


def below(rows: Batch, n: int) -> Batch:
    """The rows without features of number ``n`` or more."""
    rows = without_rest(rows)
    return _filtered(rows, rows.indices < n)


def _filtered(rows: Batch, kept: NDArray[np.bool_]) -> Batch:
    """The rows without the entries that are not kept."""
    indptr = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
    return rows._replace(indptr=indptr, indices=rows.indices[kept], values=rows.values[kept])


def ordered(batch: Batch) -> Batch:
    """The rows with features in the order of ids, so that results do not depend on the order of a source."""
    first, last = batch.indptr[0], batch.indptr[-1]
    if not _falls(batch.indptr, batch.indices):
        return batch
    indices, values = batch.indices[first:last].copy(), batch.values[first:last].copy()
    _sort_rows(batch.indptr, indices, values)
    return batch._replace(indptr=batch.indptr - first, indices=indices, values=values)


def one_row(indices: Sequence[int] | Ints32, values: Sequence[float], y: float = 1.0, weight: float = 1.0) -> Batch:
    """A batch of a single row."""
    return Batch(
        np.array([0, len(indices)], np.int64),
        np.array(indices, np.int32),
        np.array(values, np.float32),
        np.array([y]),
        np.array([weight]),
    )


@njit
def _wrong(indices: Ints32, values: Floats32) -> tuple[bool, bool]:
    """Whether an index is negative, and whether a value is too large."""
    negative = bad = 0  # counted without branches, which the compiler turns into vector code
    for k in range(indices.size):
        negative += indices[k] < 0
    for k in range(values.size):
        bad += abs(values[k]) > LARGEST
    return negative > 0, bad > 0


@njit
def _falls(indptr: Ints, indices: Ints32) -> bool:
    """Whether an index of a row is smaller than the one before it."""
    first, last = indptr[0], indptr[indptr.size - 1]
    falls = 0
    before, after = indices[first : max(last - 1, first)], indices[first + 1 : last]
    for k in range(after.size):  # counted without branches, which the compiler turns into vector code
        falls += before[k] > after[k]
    for r in range(1, indptr.size - 1):  # from one row to the next the index may fall
        k = indptr[r]
        if first < k < last and k < indptr[r + 1]:
            falls -= indices[k - 1] > indices[k]
    return falls > 0


@njit
def _sort_rows(indptr: Ints, indices: Ints32, values: Floats32) -> None:
    """Sort the entries of each row by index; equal ones stay in their order."""
    for r in range(indptr.size - 1):
        sort_row(indices, values, indptr[r] - indptr[0], indptr[r + 1] - indptr[0])


@hot
def sort_row(indices: Ints32, values: Floats32, a: int, b: int) -> None:
    """Sort the entries from a to b by index, in place: Shell's sort, which is insertion for short rows."""
    gap = 1
    while b - a > _SHORT and 3 * gap < b - a:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(a + gap, b):
            index, value, j = indices[k], values[k], k
            while j >= a + gap and indices[j - gap] > index:
                indices[j], values[j] = indices[j - gap], values[j - gap]
                j -= gap
            indices[j], values[j] = index, value
        gap //= 3


@njit
def survey(indptr: Ints, indices: Any, values: Floats32, columns: int) -> tuple[bool, bool, bool, bool, bool]:
    """Whether an index is out of range, indices of a row are not increasing, a value is too large, 0 or missing."""
    bits, last = values.view(np.uint32), indices.size - 1
    lowest = highest = indices[last] if indices.size else indices.dtype.type(0)
    largest = (
        u32((bits[last] & _MAGNITUDE) - u32(1)) if indices.size else u32(0)
    )  # 0 - 1 is the largest unsigned number
    falls = 0
    for start in range(0, last, _BLOCK):
        stop = min(start + _BLOCK, last)
        some, following, numbers = indices[start:stop], indices[start + 1 : stop + 1], bits[start:stop]
        fallen = i32(0)
        for k in range(following.size):  # without branches, and in 32 bits: the compiler turns it into vector code
            lowest, highest = min(lowest, some[k]), max(highest, some[k])
            fallen = i32(fallen + i32(some[k] >= following[k]))
            largest = max(largest, u32((numbers[k] & _MAGNITUDE) - u32(1)))
        falls += fallen
    for r in range(1, indptr.size - 1):  # from one row to the next the index may fall
        k = indptr[r]
        if 0 < k < indptr[r + 1]:
            falls -= indices[k - 1] >= indices[k]
    bad = zeros = missing = 0
    for k in range(values.size if largest >= _LARGEST_BITS else 0):
        bad += abs(values[k]) > LARGEST
        zeros += values[k] == 0
        missing += values[k] != values[k]
    outside = indices.size > 0 and (lowest < 0 or highest >= columns)
    return outside, falls > 0, bad > 0, zeros > 0, missing > 0
