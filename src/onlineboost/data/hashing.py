"""Ids of features from their names, hashed as Vowpal Wabbit does: the same name has the same id in every source."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import hot, i64, njit, u32, u64

Bytes: TypeAlias = NDArray[np.uint8]

MAX_ID = (1 << 31) - 1  # ids are hashes modulo 2**31


@hot
def murmur(text: Bytes, at: int, end: int, seed: int) -> int:
    """MurmurHash3, the 32-bit variant, of ``text[at:end]``. Reads up to three bytes beyond, which have no effect."""
    h = u32(seed)
    while at + 4 <= end:
        h = u32(h ^ _scrambled(_block(text, at)))
        h = u32(u32(h << u32(13)) | u32(h >> u32(19)))
        h = u32(u32(h * u32(5)) + u32(0xE6546B64))
        at += 4
    left = end - at
    if left:
        h = u32(h ^ _scrambled(u32(_block(text, at) & u32(u32(0xFFFFFFFF) >> u32(32 - 8 * left)))))
    return h


@hot
def mix_length(h: int, size: int) -> int:
    """The last step of MurmurHash3."""
    h = u32(h ^ u32(size))
    h = u32(u32(h ^ (h >> u32(16))) * u32(0x85EBCA6B))
    h = u32(u32(h ^ (h >> u32(13))) * u32(0xC2B2AE35))
    return u64(h ^ (h >> u32(16)))


@hot
def _block(text: Bytes, at: int) -> int:
    i = u64(at)
    low = u32(text[i]) | u32(text[i + u64(1)]) << u32(8)
    return u32(low | u32(text[i + u64(2)]) << u32(16) | u32(text[i + u64(3)]) << u32(24))


@hot
def _scrambled(block: int) -> int:
    k = u32(block * u32(0xCC9E2D51))
    k = u32(u32(k << u32(15)) | u32(k >> u32(17)))
    return u32(k * u32(0x1B873593))


@hot
def text_hash(text: Bytes, at: int, end: int, seed: int) -> int:
    """The hash of a text that is not a number."""
    return mix_length(murmur(text, at, end, seed), end - at)


@njit
def name_hash(text: Bytes, at: int, end: int, seed: int) -> int:
    """A name of digits is that number plus the seed, any other is hashed; spaces and control characters are stripped.

    Reads up to three bytes beyond ``end``.
    """
    while at < end and text[at] <= 32:
        at += 1
    while at < end and text[end - 1] <= 32:
        end -= 1
    number = u64(0)
    for k in range(at, end):
        digit = u64(text[k] - 48)
        if digit > u64(9):
            return text_hash(text, at, end, u64(seed))
        number = u64(u64(number * u64(10)) + digit)
    return u64(number + u64(seed))


@hot
def id_of(hashed: int) -> int:
    """The id of a feature, from the hash of its name."""
    return int(i64(hashed) & i64(MAX_ID))


def feature_id(name: str) -> int:
    """The id of a feature.

    >>> feature_id("color=red"), feature_id("17")
    (548048942, 17)
    """
    if name.isdigit() and name.isascii():
        return int(name[-31:]) & MAX_ID  # 10**31 is a multiple of 2**31
    return int(_id_of_name(*_bytes_of(name)))


def indicator_id(text: str) -> int:
    """The id of an indicator such as "color=red": spaces at its ends count, which are part of the category."""
    return int(_id_of_text(*_bytes_of(text)))


def _bytes_of(text: str) -> tuple[Bytes, int]:
    """Bytes that compiled code may read beyond, and their number."""
    encoded = bytearray(text.encode(errors="replace"))
    return np.frombuffer(encoded + bytes(4), np.uint8), len(encoded)


@njit
def _id_of_name(text: Bytes, size: int) -> int:
    return id_of(name_hash(text, 0, size, u64(0)))


@njit
def _id_of_text(text: Bytes, size: int) -> int:
    return id_of(text_hash(text, 0, size, u64(0)))
