"""Tokens: values of features, and all pairs of them, numbered in one table in order of appearance.

1. A feature is a token of its value as long as there are few different values, else of its bin (``bins.py``). Features
   that were only 1 so far, and those beyond the first 4,096 others, are tokens by their sign.
2. A zero is a token only if the feature is dense: it has different values, and is non-zero in half of the rows.
3. A row with at most ``max_row`` tokens also has all pairs of them.
4. A token gets a place in the table at its second sighting: tokens that come once, such as ids, take none. The first
   sighting is a bit in a filter, by a hash; the filter is emptied when a quarter of its bits are set.
5. When half of the table is in use, it is enlarged after that row (``Learner.enlarged``). If memory does not allow
   that, tokens get places until the table is full, and further ones are left out.

Entries of a row have the order of a token as their value: 1 of a feature, 2 of a pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.block import Call, unpack
from onlineboost.compiled.jit import f32, hot, i64, lean, njit, u64
from onlineboost.data.allocation import extended, filled, planning, with_room
from onlineboost.data.batch import Batch, Floats32, Ints, Ints32
from onlineboost.storage.validity import Limits, require
from onlineboost.transforms.bins import (
    BORN,
    FIRST,
    MET,
    REMAKE,
    ROWS,
    SAMPLES,
    SEEN,
    Bins,
    BinsWork,
    grown_bins,
    make_edges,
    meet_value,
    new_bins,
    new_work,
    take_edges,
)
from onlineboost.transforms.chain import Level
from onlineboost.transforms.edges import code

N_BINS = 16
MAX_NUMBERS = 4096  # features with values of their own
LEAST = 1 << 10  # places of the smallest table
MAX_NAMED = 1024  # tokens up to which pairs are named
FEATURE, PAIR = f32(1), f32(2)
# Fields of ``clock``: places taken; bits set in the filter; number of dense features; whether room is due.
USED, MARKED, DENSE, DUE = range(4)
NO_MORE = 2  # in the place of DUE: there is no memory for a larger table
_NEVER = 1 << 62
_BITS = 32  # of the filter, for each place
_STEP, _MIX = u64(0x9E3779B97F4A7C15), u64(0xBF58476D1CE4E5B9)


class TokensState(NamedTuple):
    number: Ints32  # [features] 1 + the number of a feature that has had values other than 1, or 0
    bins: Bins  # by this number
    binned: NDArray[np.bool_]  # [numbers] whether bins, not values, are the tokens
    table: Ints  # [2 * places] hash * 2**32 + 1 + place, or 0: linear probing, filled in the order of places
    filter: NDArray[np.uint64]  # [places / 2] a bit for each hash that was met
    dense: Ints32  # [max_row] features that are non-zero in half of the rows: their zeros are tokens too
    clock: Ints  # [4]
    max_row: int  # tokens of the longest rows with pairs

    def limits(self) -> Limits:
        return {
            "number": (0, MAX_NUMBERS),
            "table": (0, (1 << 63) - 1),
            "dense": (0, (1 << 31) - 1),
            "clock": (0, max(self.n_places * _BITS, self.max_row)),
        }

    def check(self) -> None:
        used, marked, dense, due = self.clock.tolist()
        taken = self.table[self.table != 0]
        require(used <= self.n_places and due <= NO_MORE, "clock", "places within the table")
        require(dense <= self.max_row, "clock", "no more dense features than a row of pairs has")
        numbered = np.sort(self.number[self.number > 0])
        require(np.array_equal(numbered, np.arange(1, numbered.size + 1)), "number", "every number once")
        require(numbered.size <= len(self.binned), "number", "no more numbers than there is room for")
        known = self.dense[:dense]
        fits = bool((known >= 0).all() and (known < len(self.number)).all())
        require(fits and bool((self.number[known] > 0).all()), "dense", "features with numbers")
        require(np.array_equal(np.sort(taken & 0xFFFFFFFF), np.arange(1, used + 1)), "table", "every place once")
        again = _filled(self.table, used, self.table.size)
        require(np.array_equal(again, self.table), "table", "hashes at their places")
        set_bits = int(np.unpackbits(self.filter.view(np.uint8)).sum())
        require(set_bits == marked, "filter", "as many bits as are counted")

    def check_bins(self) -> None:
        """Raise an error unless features and bins have the same numbers."""
        require(self.bins.clock[MET] == np.count_nonzero(self.number), "bins.clock", "as many features as have numbers")

    @property
    def n_places(self) -> int:
        """Number of tokens that there is room for."""
        return self.table.size // 2

    @property
    def apart(self) -> bool:
        """Whether each model must transform rows by itself."""
        return True

    @property
    def pauses(self) -> bool:
        return True

    @property
    def due(self) -> Ints:
        return self.clock[DUE:]

    def call(self, level: Level, learning: bool) -> Call:
        return Call(tokenize_rows, self, level, learning, new_work(self.bins, 0), self._keys(level.before))

    def _keys(self, before: Batch) -> Keys:
        n = before.indices.size + self.max_row
        stamps = np.zeros(len(self.binned) + 1, np.int64)
        return Keys(np.empty(n, np.uint64), np.empty(n, np.int32), stamps)

    def most(self, longest: int) -> int:
        return max(longest, self.max_row) + self.max_row * (self.max_row - 1) // 2

    def grown(self, n_features: int) -> TokensState:
        """The same state with room for more features."""
        if n_features <= len(self.number):
            return self
        number = with_room(self.number, n_features)
        n = min(len(number), MAX_NUMBERS)
        if n == len(self.binned):
            return self._replace(number=number)
        return self._replace(number=number, bins=grown_bins(self.bins, n, N_BINS), binned=extended(self.binned, n))

    def in_room(self, n_places: int) -> TokensState:
        """The same state with a larger table; the filter is empty."""
        table, filter = filled(0, 2 * n_places, np.int64), filled(0, n_places * _BITS // 64, np.uint64)
        if planning():
            return self._replace(table=table, filter=filter)
        clock = self.clock.copy()
        clock[MARKED] = clock[DUE] = 0
        return self._replace(table=_filled(self.table, int(clock[USED]), table.size), filter=filter, clock=clock)

    def continued(self, old: TokensState) -> TokensState:
        return self

    def sources(self, first: Ints32, second: Ints32, before: Batch) -> tuple[Ints32, Ints32]:
        """The features of each output feature of rows."""
        features, others = np.empty(first.size, np.int32), np.full(first.size, -1, np.int32)
        _sources(self, before, self._keys(before), features, others)
        return features, others

    def origins(self, given: Mapping[int, tuple[int, ...]]) -> Mapping[int, tuple[int, ...]]:
        """The features that a token is made of; of pairs, none if there are too many tokens."""
        keys, features, *_ = self._known(given)
        found = {place: given[f] for place, f in zip(_find(self.table, keys).tolist(), features.tolist(), strict=True)}
        pairs = zip(*(each.tolist() for each in self._pairs(keys)), strict=True)
        found |= {place: given[int(features[a])] + given[int(features[b])] for place, a, b in pairs}
        found.pop(-1, None)
        return found

    def output_names(self, names: Mapping[int, str]) -> Mapping[int, str]:
        """The names of tokens, as far as known."""
        keys, features, low, high = self._known(names)
        texts = [
            self._name(names[f], f, a, b)
            for f, a, b in zip(features.tolist(), low.tolist(), high.tolist(), strict=True)
        ]
        found = dict(zip(_find(self.table, keys).tolist(), texts, strict=True))
        pairs = zip(*(each.tolist() for each in self._pairs(keys)), strict=True)
        found |= {place: f"{texts[a]} and {texts[b]}" for place, a, b in pairs}
        found.pop(-1, None)
        return found

    def _name(self, name: str, f: int, low: float, high: float) -> str:
        number = int(self.number[f])
        if not number and low < 0:
            return f"{name} < 0"
        if number and self.binned[number - 1]:
            return f"{name} in ({low:.6g}, {high:.6g}]"
        return name if low == 1 else f"{name} = {low:.6g}"

    def _known(self, features: Mapping[int, Any]) -> tuple[NDArray[np.uint64], Ints, Floats32, Floats32]:
        """The hashes of the tokens of features, as far as samples tell; their features, and values or ends of bins."""
        size = len(features) * (N_BINS + 1) + 1
        found = np.empty(size, np.uint64), np.empty(size, np.int64), np.empty(size, np.float32)
        high = np.empty(size, np.float32)
        n = _known_tokens(self, np.sort(np.fromiter(features, np.int64, len(features))), *found, high)
        return found[0][:n], found[1][:n], found[2][:n], high[:n]

    def _pairs(self, keys: NDArray[np.uint64]) -> tuple[Ints, Ints, Ints]:
        """The places of pairs of tokens that have places themselves, and these."""
        placed = np.flatnonzero(_find(self.table, keys) >= 0)
        placed = placed if placed.size <= MAX_NAMED else placed[:0]
        first, second = (placed[each] for each in np.triu_indices(placed.size, 1))
        places = _find(self.table, pair_keys(keys, first, second))
        there = places >= 0
        return places[there], first[there], second[there]


class Keys(NamedTuple):
    """Memory for one row."""

    keys: NDArray[np.uint64]  # [tokens] their hashes
    features: Ints32  # [tokens]
    stamps: Ints  # [numbers + 1] the last row with the feature; the last: the number of this row


def new_tokens(n_features: int, max_row: int) -> TokensState:
    n = min(n_features, MAX_NUMBERS)
    return TokensState(
        number=filled(0, n_features, np.int32),
        bins=new_bins(n, N_BINS, MAX_NUMBERS),
        binned=filled(False, n, np.bool_),
        table=filled(0, 2 * LEAST, np.int64),
        filter=filled(0, LEAST * _BITS // 64, np.uint64),
        dense=filled(0, max_row, np.int32),
        clock=filled(0, 4, np.int64),
        max_row=max_row,
    )


@njit
def tokenize_rows(block: Any) -> None:
    """Rows as tokens, up to the row after which a larger table is due."""
    state, level, learning, work, own = unpack(block)
    before, after, rows, ends, number = level
    k = 0
    after.indptr[rows[0]] = 0
    ends[number] = ends[number - 1]
    for r in range(rows[0], ends[number - 1]):
        n = _read(state, before, r, own)
        crossed = n if n <= state.max_row else 0
        if k + n + crossed * (crossed - 1) // 2 >= after.indices.size:  # the place after the last entry is written to
            ends[number] = r
            return
        learns = learning and before.weight[r] > 0
        k = _row(state, own, n, learns, after.indices, after.values, k)
        after.indptr[r + 1] = k
        if learns:
            _meet(state, work, before, r)
            if state.clock[DUE] == 0 and 2 * state.clock[USED] >= state.table.size // 2:
                state.clock[DUE] = 1
                ends[number] = r + 1
                return


@hot
def _read(state: TokensState, batch: Batch, r: int, own: Keys) -> int:
    """Write the hashes of the tokens of a row; returns their number."""
    m, stamps, others = 0, own.stamps, state.clock[DENSE]
    row = stamps[-1] + 1
    stamps[-1] = row
    for j in range(batch.indptr[r], batch.indptr[r + 1]):
        f = batch.indices[j]
        if state.number[f] > 0:
            stamps[state.number[f] - 1] = row
        m = _token(state, own, f, batch.values[j], m)
    if m + others <= state.max_row:
        for k in range(others):
            f = state.dense[k]
            if stamps[state.number[f] - 1] != row:
                m = _token(state, own, f, f32(0), m)
    return m


@hot
def _token(state: TokensState, own: Keys, f: int, x: float, m: int) -> int:
    """Write the hash of a feature as token m, if it has one; returns the number of the next."""
    number = state.number[f] - 1
    if number < 0:
        x = f32(1) if x > 0 else f32(-1)
    elif state.binned[number]:
        x = f32(code(state.bins.edges, number, x))
    own.keys[m], own.features[m] = _key(f, x), f
    return m + 1


@hot
def _row(state: TokensState, own: Keys, n: int, learns: bool, indices: Ints32, values: Floats32, k: int) -> int:
    """Write the output features of a row from k on; returns where they end."""
    for a in range(n):
        indices[k], values[k] = _place(state, own.keys[a], learns), FEATURE
        k += indices[k] >= 0
    if n <= state.max_row:
        for a in range(n):
            for b in range(a + 1, n):
                indices[k], values[k] = _place(state, _pair(own.keys[a], own.keys[b]), learns), PAIR
                k += indices[k] >= 0
    return k


@hot
def _key(f: int, x: float) -> int:
    """The hash of a feature's value or bin."""
    bits = u64(i64(f32(x).view(np.int32)) & i64(0xFFFFFFFF))
    return _mixed((u64(f) + u64(1)) * _STEP + bits)


@hot
def _pair(a: int, b: int) -> int:
    """The hash of two tokens, which does not depend on their order."""
    return _mixed(min(a, b) * _STEP + max(a, b))


@hot
def _mixed(key: int) -> int:
    key = (key ^ (key >> u64(30))) * _MIX
    key = (key ^ (key >> u64(27))) * _STEP
    return key ^ (key >> u64(31))


@hot
def _place(state: TokensState, key: int, learns: bool) -> int:
    """The place of a token, or -1; with ``learns``, it gets one at the second sighting, if there is room."""
    table, clock = state.table, state.clock
    hashed = i64(key >> u64(33))
    at = _start(hashed, table.size)
    while table[at] != 0:
        if table[at] >> 32 == hashed:
            return (table[at] & i64(0xFFFFFFFF)) - 1
        at = (at + 1) & (table.size - 1)
    if not learns or clock[USED] == table.size // 2:
        return i64(-1)
    bit = key & u64(64 * state.filter.size - 1)
    word, mask = i64(bit >> u64(6)), u64(1) << (bit & u64(63))
    if state.filter[word] & mask:
        table[at] = (hashed << 32) | (clock[USED] + 1)
        clock[USED] += 1
        return clock[USED] - 1
    _mark(state, word, mask)
    return i64(-1)


@hot
def _start(hashed: int, size: int) -> int:
    """Where the search for a hash of 31 bits begins."""
    return hashed & (size - 1)


@lean
def _mark(state: TokensState, word: int, mask: int) -> None:
    """Note the first sighting of a token."""
    if 4 * (state.clock[MARKED] + 1) > 64 * state.filter.size:
        for k in range(state.filter.size):
            state.filter[k] = u64(0)
        state.clock[MARKED] = 0
    state.filter[word] |= mask
    state.clock[MARKED] += 1


@hot
def _meet(state: TokensState, work: BinsWork, batch: Batch, r: int) -> None:
    """Take note of the values of a row, and make the edges that are due."""
    bins = state.bins
    bins.clock[ROWS] += 1
    for j in range(batch.indptr[r], batch.indptr[r + 1]):
        f, x = batch.indices[j], batch.values[j]
        if state.number[f] == 0 and x != 1 and bins.clock[MET] < state.binned.size:
            state.number[f] = bins.clock[MET] + 1
        if state.number[f] > 0 and meet_value(bins, state.number[f] - 1, x):
            _settle(state, work, f)
    if bins.clock[ROWS] == FIRST:
        for f in range(state.number.size):
            if state.number[f] > 0:
                _settle(state, work, f)


@lean
def _settle(state: TokensState, work: BinsWork, f: int) -> None:
    """Make the edges of a feature anew; it has bins if it has more different values than that."""
    bins, number = state.bins, state.number[f] - 1
    m = min(bins.counts[number, SEEN], SAMPLES)
    for k in range(1, m):
        if bins.samples[number, k] != bins.samples[number, 0]:
            _find_dense(state, f)
            break
    different = make_edges(bins, work, number)
    if not state.binned[number]:
        n = 1
        for k in range(1, m):
            n += work.sorted[k] != work.sorted[k - 1]
        state.binned[number] = n > N_BINS
    if different:
        take_edges(bins, work, number)
    if state.binned[number] and bins.counts[number, SEEN] >= SAMPLES:
        bins.counts[number, REMAKE] = _NEVER


@hot
def _find_dense(state: TokensState, f: int) -> None:
    """Note that a feature is dense, if it is and was not yet."""
    own, n = state.bins.counts[state.number[f] - 1], state.clock[DENSE]
    known = n == state.dense.size or 2 * own[SEEN] < state.bins.clock[ROWS] + 1 - own[BORN]
    for k in range(n):
        known |= state.dense[k] == f
    if not known:
        state.dense[n] = f
        state.clock[DENSE] = n + 1


@njit
def _sources(state: TokensState, batch: Batch, own: Keys, first: Ints32, second: Ints32) -> None:
    """The features of ``_row`` for all rows."""
    k = 0
    for r in range(batch.y.size):
        n = _read(state, batch, r, own)
        for a in range(n):
            if _place(state, own.keys[a], False) >= 0:
                first[k] = own.features[a]
                k += 1
        for a in range(n if n <= state.max_row else 0):
            for b in range(a + 1, n):
                if _place(state, _pair(own.keys[a], own.keys[b]), False) >= 0:
                    first[k], second[k] = own.features[a], own.features[b]
                    k += 1


@njit
def _find(table: Ints, keys: NDArray[np.uint64]) -> Ints:
    """The place of each token by its hash, or -1."""
    found = np.full(keys.size, -1, np.int64)
    for k in range(keys.size):
        hashed = i64(keys[k] >> u64(33))
        at = _start(hashed, table.size)
        while table[at] != 0 and table[at] >> 32 != hashed:
            at = (at + 1) & (table.size - 1)
        found[k] = (table[at] & i64(0xFFFFFFFF)) - 1
    return found


@njit
def pair_keys(keys: NDArray[np.uint64], first: Ints, second: Ints) -> NDArray[np.uint64]:
    found = np.empty(first.size, np.uint64)
    for k in range(first.size):
        found[k] = _pair(keys[first[k]], keys[second[k]])
    return found


@njit
def _known_tokens(
    state: TokensState, features: Ints, keys: NDArray[np.uint64], of: Ints, low: Floats32, high: Floats32
) -> int:
    n, bins = 0, state.bins
    for f in features:
        number = state.number[f] - 1
        if number >= 0 and state.binned[number]:
            for b in range(N_BINS):
                low[n] = bins.edges[number, b - 1] if b > 0 else f32(-np.inf)
                high[n] = bins.edges[number, b] if b < N_BINS - 1 else f32(np.inf)
                keys[n], of[n] = _key(f, f32(b)), f
                n += low[n] < np.inf
            continue
        values = np.array([f32(-1), f32(1)])
        if number >= 0:
            values = np.append(bins.samples[number, : min(bins.counts[number, SEEN], SAMPLES)], f32(0))
        for x in np.unique(values)[: N_BINS + 1]:
            low[n] = high[n] = x
            keys[n], of[n] = _key(f, x), f
            n += 1
    return n


@njit
def _filled(table: Ints, used: int, size: int) -> Ints:
    """A table of this size with the same places."""
    hashes, larger = np.zeros(used, np.int64), np.zeros(size, np.int64)
    for k in range(table.size):
        if table[k] != 0:
            hashes[(table[k] & i64(0xFFFFFFFF)) - 1] = table[k] >> 32
    for place in range(used):
        at = _start(hashes[place], size)
        while larger[at] != 0:
            at = (at + 1) & (size - 1)
        larger[at] = (hashes[place] << 32) | (place + 1)
    return larger
