"""Numbers of features from their names, hashed as Vowpal Wabbit does."""

from __future__ import annotations

import numpy as np

from onlineboost.compiled.jit import hot, njit, u32, u64
from onlineboost.readers.scan import SLACK, Bytes


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


def feature_number(name: str, bits: int) -> int:
    """The number of a feature, below 2**bits.

    >>> feature_number("colour=red", 18), feature_number("17", 18)
    (238209, 17)
    """
    encoded = name.encode()
    text = np.frombuffer(encoded + bytes(SLACK), np.uint8).copy()
    return int(name_hash(text, 0, len(encoded), u64(0))) & ((1 << bits) - 1)
