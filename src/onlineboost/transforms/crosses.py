"""More features for linear learners: one for each bin of a feature, and one for each pair of features.

1. A feature that is non-zero in at least an eighth of the first 128 rows becomes an indicator of its bin; the bin of
   zero has none. In those first rows there are no bins yet, and features that may get bins are left out.
2. Any other feature is kept as it is.
3. Each pair of the features of 1 and 2 that is to be crossed gives their product, numbered by a hash.

Output features have the numbers [slots * bins | products | features]: only the last part grows.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import f32, hot, i64, njit, u64
from onlineboost.data.allocation import filled, with_room
from onlineboost.data.batch import LARGEST, Batch, Floats32, Ints, Ints32, longest_row
from onlineboost.errors import ParameterError
from onlineboost.parameters import check_whole
from onlineboost.registry import TRANSFORMS, Entry, Option
from onlineboost.storage.validity import Limits
from onlineboost.transforms.old_bins import (
    WARM_UP,
    bins_limits,
    check_power,
    check_valid_bins,
    code,
    keep_sample,
    make_bins,
)
from onlineboost.transforms.slots import MAX_BITS

SLOTS = 4096  # maximum number of features with bins
DENSE = WARM_UP // 8  # minimum number of non-zero values in the first rows for a feature to have bins
MAX_CROSSED = 4096  # maximum number of features in a row if all pairs are crossed
_STEP, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


class CrossesState(NamedTuple):
    place: Ints32  # [features] 1 + the slot of a feature, or 0
    samples: Floats32  # [slots, WARM_UP], edges, zero and counts: as those of ``BinsState``
    edges: Floats32
    zero: Ints32
    counts: Ints
    column: Ints32  # [features] the crossed column that it belongs to, counted from 1, or 0
    crossed: NDArray[np.bool_]  # [columns + 1, columns + 1] whether features of the two are multiplied
    products: int  # number of slots of products, a power of two; 0: no products

    def derived(self) -> tuple[str, ...]:
        return ("crossed",)

    def limits(self) -> Limits:
        return bins_limits(self) | {"column": (0, len(self.crossed) - 1)}

    def check(self) -> None:
        check_valid_bins(self)

    @property
    def expands(self) -> bool:
        """Whether transformed rows are so long that they should not all be kept in memory."""
        return self.products > 0

    def apply(self, batch: Batch, learning: bool) -> Batch:
        """The rows with indicators of bins, and products."""
        return Batch(*_transform(self, batch, learning, longest_row(batch)), batch.y, batch.weight)

    def grown(self, n_features: int) -> CrossesState:
        """The same state with room for more features."""
        return self._replace(place=with_room(self.place, n_features), column=with_room(self.column, n_features))

    def continued(self, old: CrossesState) -> CrossesState:
        """This new state with the columns of features of an old one."""
        self.column[:] = old.column
        return self

    def rows_at_once(self, batch: Batch) -> int:
        """Number of rows that can be transformed at a time within some tens of megabytes."""
        longest = longest_row(batch)
        return max(1, (1 << 22) // (1 + longest * longest // 2)) if self.products else batch.y.size

    def output_names(self, names: Mapping[int, str]) -> Mapping[int, str]:
        """The names of output features, as far as known."""
        slots, bins = self.zero.size, self.edges.shape[1] + 1
        found = {}
        for f in np.flatnonzero(self.place).tolist() if self.counts[slots] == WARM_UP else ():
            slot = int(self.place[f]) - 1
            edges = [-np.inf, *self.edges[slot][np.isfinite(self.edges[slot])].tolist(), np.inf]
            for b in range(len(edges) - 1):
                number = slot * bins + ((b - int(self.zero[slot])) & (bins - 1))
                found[number] = f"{names.get(f, str(f))} in ({edges[b]:.6g}, {edges[b + 1]:.6g}]"
        found |= {slots * bins + self.products + f: name for f, name in names.items()}
        return found | (_product_names(self, found) if self.products else {})


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
    n = SLOTS * bins + products + n_features
    if n > np.iinfo(np.int32).max:
        raise ParameterError("bits", int(products).bit_length() - 1, "fewer: there would be more than 2^31 features")
    return n


def new_crosses(n_features: int, bins: int, crosses: Any, bits: int) -> CrossesState:
    """The initial state; 0 bins and no crosses leave features as they are."""
    slots = SLOTS if bins else 0
    columns = {name: number for number, name in enumerate(crossed_columns(crosses), 1)}
    crossed = np.full((len(columns) + 1, len(columns) + 1), all_pairs(crosses))
    for a, b in () if not columns else crosses:
        i, j = columns[str(a)], columns[str(b)]
        crossed[i, j] = crossed[j, i] = True
    return CrossesState(
        place=filled(0, n_features, np.int32),
        samples=filled(0, (slots, WARM_UP), np.float32),
        edges=filled(np.inf, (slots, max(bins - 1, 0)), np.float32),
        zero=filled(0, slots, np.int32),
        counts=filled(0, slots + 2, np.int64),
        column=filled(0, n_features, np.int32),
        crossed=crossed,
        products=n_products(crosses, bits),
    )


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


@njit
def _transform(state: CrossesState, batch: Batch, learning: bool, longest: int) -> tuple[Ints, Ints32, Floats32]:
    rows = batch.y.size
    slots = state.zero.size
    room = batch.indptr[rows] - batch.indptr[0] + 1024
    indices, values = np.empty(room, np.int32), np.empty(room, np.float32)
    columns = np.empty(longest, np.int32)
    indptr = np.zeros(rows + 1, np.int64)
    k = 0
    for r in range(rows):
        first, last = batch.indptr[r], batch.indptr[r + 1]
        n = last - first
        most = n + _pairs(state, batch, first, last)
        if k + most > room:
            room = 2 * room + most
            indices, values = _larger(indices, room), _larger(values, room)
        k = _row(state, batch, first, last, columns, indices, values, k)
        indptr[r + 1] = k
        if learning and batch.weight[r] > 0 and state.counts[slots] < WARM_UP:
            _learn(state, batch, first, last)
    return indptr, indices[:k].copy(), values[:k].copy()


@hot
def _pairs(state: CrossesState, batch: Batch, first: int, last: int) -> int:
    """Maximum number of products of a row."""
    if state.products == 0:
        return 0
    n = 0
    for j in range(first, last):
        n += state.crossed[0, 0] or state.column[batch.indices[j]] > 0
    return n * (n - 1) // 2


@njit
def _larger(old: Any, room: int) -> Any:
    new = np.empty(room, old.dtype)
    new[: old.size] = old
    return new


@hot
def _row(
    state: CrossesState,
    batch: Batch,
    first: int,
    last: int,
    columns: Ints32,
    indices: Ints32,
    values: Floats32,
    start: int,
) -> int:
    """Write the output features of a row from ``start`` on; returns where they end."""
    slots, bins = state.zero.size, state.edges.shape[1] + 1
    products = slots * bins
    plain = products + state.products
    known = state.counts[slots] == WARM_UP
    k = start
    for j in range(first, last):
        f = batch.indices[j]
        slot = i64(state.place[f]) - 1
        if slot < 0:
            indices[k], values[k] = plain + f, batch.values[j]
            columns[k - start] = state.column[f]
            k += known or slots == 0 or state.counts[slots + 1] == slots
        elif known:
            at = code(state.edges, slot, batch.values[j]) - state.zero[slot]
            indices[k], values[k] = slot * bins + (at & (bins - 1)), f32(1)
            columns[k - start] = state.column[f]
            k += at != 0
    if state.products:
        end = k
        for a in range(start, end):
            if not state.crossed[0, 0] and columns[a - start] == 0:
                continue
            for b in range(a + 1, end):
                if state.crossed[columns[a - start], columns[b - start]]:
                    x = f32(values[a] * values[b])
                    indices[k] = products + _pair(indices[a], indices[b], state.products)
                    values[k] = max(min(x, f32(LARGEST)), f32(-LARGEST))
                    k += x != 0
    return k


@hot
def _pair(a: int, b: int, products: int) -> int:
    """The slot of the product of two features, by a hash that does not depend on their order."""
    key = (u64(min(a, b)) * _STEP + u64(max(a, b))) * _MIX
    return int(i64((key >> u64(33)) & u64(products - 1)))


@njit
def _learn(state: CrossesState, batch: Batch, first: int, last: int) -> None:
    """Keep the values of the first rows; after the last of them, make the bins of dense features."""
    slots = state.zero.size
    for j in range(first, last):
        f = batch.indices[j]
        if state.place[f] == 0 and state.counts[slots + 1] < slots:
            state.counts[slots + 1] += 1
            state.place[f] = state.counts[slots + 1]
        if state.place[f] > 0:
            keep_sample(state, state.place[f] - 1, batch.values[j])
    state.counts[slots] += 1
    if state.counts[slots] == WARM_UP:
        make_bins(state)
        for f in range(state.place.size):
            if state.place[f] > 0 and state.counts[state.place[f] - 1] < DENSE:
                state.place[f] = 0


def _product_names(state: CrossesState, names: Mapping[int, str]) -> dict[int, str]:
    """The name of each product: the first pair with this hash. Empty if there are too many features."""
    if len(names) > MAX_CROSSED or state.products > 1 << 24:
        return {}
    known = np.sort(np.fromiter(names, np.int64))
    first = state.zero.size * (state.edges.shape[1] + 1)
    products, at, other = _products(state, known, _output_columns(state, known))
    titles = [names[number] for number in known.tolist()]
    pairs = zip(products.tolist(), at.tolist(), other.tolist(), strict=True)
    return {first + product: f"{titles[a]} and {titles[b]}" for product, a, b in pairs}


def _output_columns(state: CrossesState, known: Ints) -> Ints32:
    """The crossed columns that output features of these numbers belong to."""
    slots, bins = state.zero.size, state.edges.shape[1] + 1
    first = slots * bins + state.products
    of_slot = np.zeros(slots + 1, np.int32)
    placed = np.flatnonzero(state.place)
    of_slot[state.place[placed] - 1] = state.column[placed]
    plain = np.maximum(known - first, 0)
    columns: Ints32 = np.where(known >= first, state.column[plain], of_slot[np.minimum(known // bins, slots)])
    return columns


@njit
def _products(state: CrossesState, known: Ints, columns: Ints32) -> tuple[Ints, Ints32, Ints32]:
    bins = state.edges.shape[1] + 1
    indicators = state.zero.size * bins
    at, other = np.full(state.products, -1, np.int32), np.full(state.products, -1, np.int32)
    for a in range(known.size):
        for b in range(a + 1, known.size):
            same = known[b] < indicators and known[a] // bins == known[b] // bins  # bins of one feature
            if state.crossed[columns[a], columns[b]] and not same:
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
    Option("crosses", "Products of all pairs of features, as new features.", bool, flag="--crosses"),
    Option(
        "cross",
        "Pair of columns A,B whose features are multiplied.",
        repeated=True,
        parse=_pair_of_columns,
    ),
)
TRANSFORMS.add(Entry("crosses", new_crosses, "Bins and crosses", CROSSES))
