"""Products of two features as new features, for linear learners; each is numbered by a hash.

Output features have the numbers [products | features]: only the last part grows.
"""

from __future__ import annotations

import numbers
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.block import Call, unpack
from onlineboost.compiled.jit import f32, hot, i64, njit, u64
from onlineboost.data.allocation import filled, with_room
from onlineboost.data.batch import LARGEST, Batch, Floats32, Ints, Ints32, longest_row
from onlineboost.errors import ParameterError
from onlineboost.parameters import check_whole
from onlineboost.registry import TRANSFORMS, Entry, Option
from onlineboost.storage.validity import Limits
from onlineboost.transforms.bins import check_power
from onlineboost.transforms.chain import Level
from onlineboost.transforms.indicators import SLOTS, number_of
from onlineboost.transforms.slots import MAX_BITS

MAX_CROSSED = 4096  # maximum number of features in a row if all pairs are crossed
_STEP, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


class CrossesState(NamedTuple):
    column: Ints32  # [features] the crossed column that it belongs to, counted from 1, or 0
    crossed: NDArray[np.bool_]  # [columns + 1, columns + 1] whether features of the two are multiplied
    products: int  # number of slots of products, a power of two
    n_bins: int  # of ``IndicatorsState`` before it; 0: none

    def derived(self) -> tuple[str, ...]:
        return ("crossed",)

    def limits(self) -> Limits:
        return {"column": (0, len(self.crossed) - 1)}

    @property
    def apart(self) -> bool:
        """Whether each model must transform rows by itself: they are too long to be kept."""
        return True

    @property
    def pauses(self) -> bool:
        return False

    def call(self, level: Level, learning: bool) -> Call:
        return Call(cross_rows, self, level, np.empty(level.before.indices.size, np.int32))

    def most(self, longest: int) -> int:
        return longest + longest * (longest - 1) // 2

    def grown(self, n_features: int) -> CrossesState:
        """The same state with room for more features."""
        return self._replace(column=with_room(self.column, n_features))

    def continued(self, old: CrossesState) -> CrossesState:
        """This new state with the columns of features of an old one."""
        self.column[:] = old.column
        return self

    def sources(self, first: Ints32, second: Ints32, before: Batch) -> tuple[Ints32, Ints32]:
        return _sources(self, before, longest_row(before), first.size)

    def origins(self, given: Mapping[int, tuple[int, ...]]) -> Mapping[int, tuple[int, ...]]:
        """A product belongs to the first pair with its hash; to none if there are too many features."""
        found = {self.products + number: origin for number, origin in given.items()}
        return found | {product: given[a] + given[b] for product, a, b in _named_products(self, given)}

    def output_names(self, names: Mapping[int, str]) -> Mapping[int, str]:
        """The names of output features, as far as known."""
        found = {self.products + number: name for number, name in names.items()}
        return found | {product: f"{names[a]} and {names[b]}" for product, a, b in _named_products(self, names)}


def check_crosses(bins: object, crosses: Any, bits: object) -> None:
    """Raise an error for wrong parameters."""
    if bins != 0 or isinstance(bins, bool):
        check_power("bins", bins)
    check_whole("bits", bits, 1, MAX_BITS)
    if isinstance(crosses, bool | np.bool_):
        return
    if not isinstance(crosses, list | tuple) or not all(map(_is_pair, crosses)):
        raise ParameterError("crosses", crosses, "True, False, or pairs of columns, such as [('age', 'city')]")
    if len(crossed_columns(crosses)) > MAX_CROSSED:
        raise ParameterError("crosses", crosses, f"pairs of at most {MAX_CROSSED:,} columns; True crosses all")


def _is_pair(pair: Any) -> bool:
    whole = isinstance(pair, list | tuple) and len(pair) == 2
    return whole and all(isinstance(name, str | numbers.Integral) for name in pair)


def crossed_columns(crosses: Any) -> list[str]:
    """The columns that are named in pairs, each once."""
    return (
        []
        if isinstance(crosses, bool | np.bool_)
        else list(dict.fromkeys(str(name) for pair in crosses for name in pair))
    )


def n_products(crosses: Any, bits: int) -> int:
    """Number of slots of products."""
    return 1 << int(bits) if all_pairs(crosses) or crossed_columns(crosses) else 0


def all_pairs(crosses: Any) -> bool:
    """Whether all pairs are crossed."""
    return isinstance(crosses, bool | np.bool_) and bool(crosses)


def n_output_features(n_features: int, bins: int, products: int) -> int:
    """Number of feature slots of transformed rows."""
    n = products + number_of(n_features, bins)
    if n > np.iinfo(np.int32).max:
        raise ParameterError("bits", int(products).bit_length() - 1, "fewer: there would be more than 2^31 features")
    return n


def new_crosses(n_features: int, bins: int, crosses: Any, bits: int) -> CrossesState:
    """The initial state, for rows that have passed through indicators of so many bins."""
    columns = {name: number for number, name in enumerate(crossed_columns(crosses), 1)}
    crossed = np.full((len(columns) + 1, len(columns) + 1), all_pairs(crosses))
    for a, b in () if not columns else crosses:
        i, j = columns[str(a)], columns[str(b)]
        crossed[i, j] = crossed[j, i] = True
    return CrossesState(filled(0, n_features, np.int32), crossed, n_products(crosses, bits), bins)


def name_columns(state: CrossesState, crosses: Any, names: Mapping[int, str]) -> None:
    """Assign features to crossed columns by their names: "city", "city=Rome" and "city^Rome" belong to "city"."""
    columns = [(name, number) for number, name in enumerate(crossed_columns(crosses), 1)]
    for feature, name in names.items() if columns else ():
        for column, number in columns:
            if _belongs(name, column):
                state.column[feature] = number
                break


def columns_not_met(crosses: Any, names: Iterable[str]) -> list[str]:
    """Columns to be crossed that none of these features belongs to."""
    known = [*names] if crossed_columns(crosses) else []
    return [column for column in crossed_columns(crosses) if not any(_belongs(name, column) for name in known)]


def _belongs(name: str, column: str) -> bool:
    return name == column or name.startswith((f"{column}=", f"{column}^"))


@hot
def _column(state: CrossesState, number: int) -> int:
    """The crossed column of a feature."""
    each = state.n_bins + 1
    f = number // each if number < SLOTS * each else number - SLOTS * each + SLOTS
    return int(state.column[f])


@njit
def cross_rows(block: Any) -> None:
    """Rows with their products; ``columns`` has room for a row."""
    state, level, columns = unpack(block)
    before, after, rows, ends, number = level
    k = 0
    after.indptr[rows[0]] = 0
    ends[number] = ends[number - 1]
    for r in range(rows[0], ends[number - 1]):
        first, n, crossed = before.indptr[r], before.indptr[r + 1] - before.indptr[r], 0
        for j in range(n):
            columns[j] = _column(state, before.indices[first + j])
            crossed += state.crossed[0, 0] or columns[j] > 0
        if k + n + crossed * (crossed - 1) // 2 >= after.indices.size:  # the place after the last entry is written to
            ends[number] = r
            return
        k = _row(state, before, first, n, columns, after.indices, after.values, k)
        after.indptr[r + 1] = k


@hot
def _row(
    state: CrossesState, batch: Batch, first: int, n: int, columns: Ints32, indices: Ints32, values: Floats32, k: int
) -> int:
    """Write the output features of a row from k on; returns where they end."""
    start = k
    for j in range(n):
        indices[k], values[k] = state.products + batch.indices[first + j], batch.values[first + j]
        k += 1
    for a in range(n):
        if not state.crossed[0, 0] and columns[a] == 0:
            continue
        for b in range(a + 1, n):
            if state.crossed[columns[a], columns[b]]:
                x = f32(values[start + a] * values[start + b])
                indices[k] = _pair(batch.indices[first + a], batch.indices[first + b], state.products)
                values[k] = max(min(x, f32(LARGEST)), f32(-LARGEST))
                k += x != 0
    return k


@njit
def _sources(state: CrossesState, batch: Batch, longest: int, size: int) -> tuple[Ints32, Ints32]:
    """The features of ``_row``, and the pairs of its products, for all rows."""
    first, second, columns = np.empty(size, np.int32), np.full(size, -1, np.int32), np.empty(longest, np.int32)
    k = 0
    for r in range(batch.y.size):
        start, n = batch.indptr[r], batch.indptr[r + 1] - batch.indptr[r]
        for j in range(n):
            columns[j] = _column(state, batch.indices[start + j])
            first[k] = batch.indices[start + j]
            k += 1
        for a in range(n):
            if not state.crossed[0, 0] and columns[a] == 0:
                continue
            for b in range(a + 1, n):
                there = f32(batch.values[start + a] * batch.values[start + b]) != 0
                if there and state.crossed[columns[a], columns[b]]:
                    first[k], second[k] = batch.indices[start + a], batch.indices[start + b]
                    k += 1
    return first, second


@hot
def _pair(a: int, b: int, products: int) -> int:
    """The slot of the product of two features, by a hash that does not depend on their order."""
    key = (u64(min(a, b)) * _STEP + u64(max(a, b))) * _MIX
    return int(i64((key >> u64(33)) & u64(products - 1)))


def _named_products(state: CrossesState, names: Collection[int]) -> Iterator[tuple[int, int, int]]:
    """Each product with the first pair of these features that has its hash; none if there are too many features."""
    if len(names) <= MAX_CROSSED and state.products <= 1 << 24:
        known = np.sort(np.fromiter(names, np.int64, len(names)))
        products, at, other = _products(state, known)
        yield from zip(products.tolist(), known[at].tolist(), known[other].tolist(), strict=True)


@njit
def _products(state: CrossesState, known: Ints) -> tuple[Ints, Ints32, Ints32]:
    each = state.n_bins + 1
    at, other = np.full(state.products, -1, np.int32), np.full(state.products, -1, np.int32)
    for a in range(known.size):
        for b in range(a + 1, known.size):
            same = known[b] < SLOTS * each and known[a] // each == known[b] // each  # bins of one feature
            if state.crossed[_column(state, known[a]), _column(state, known[b])] and not same:
                product = _pair(known[a], known[b], state.products)
                if at[product] < 0:
                    at[product], other[product] = a, b
    met = np.flatnonzero(at >= 0)
    return met, at[met], other[met]


def _pair_of_columns(text: str) -> tuple[str, str]:
    first, _, second = (part.strip() for part in text.partition(","))
    if not first or not second or "," in second:
        raise ParameterError("--cross", text, "two columns with a comma between them, such as --cross age,city")
    return first, second


CROSSES = (
    Option("crosses", "Add products of all feature pairs as features.", bool, flag="--crosses"),
    Option(
        "cross", "Add products of the features of two columns.", repeated=True, parse=_pair_of_columns, metavar="A,B"
    ),
)
TRANSFORMS.add(Entry("crosses", new_crosses, "Products of features", CROSSES))
