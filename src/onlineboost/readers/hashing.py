"""Names of features to numbers, as Vowpal Wabbit does it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onlineboost._jit import lean, njit, u32, u64


@lean
def murmur(text: NDArray[np.uint8], at: int, end: int, seed: int) -> int:
    """MurmurHash3, the 32-bit variant, of ``text[at:end]``."""
    h = u32(seed)
    n = end - at
    for k in range(at, at + n // 4 * 4, 4):
        block = u32(text[k]) | u32(text[k + 1]) << u32(8) | u32(text[k + 2]) << u32(16) | u32(text[k + 3]) << u32(24)
        h = u32(h ^ _scrambled(u32(block)))
        h = u32(u32(h << u32(13)) | u32(h >> u32(19)))
        h = u32(u32(h * u32(5)) + u32(0xE6546B64))
    rest = u32(0)
    for k in range(n % 4):
        rest = u32(rest | u32(u32(text[at + n // 4 * 4 + k]) << u32(8 * k)))
    h = u32(h ^ _scrambled(rest))
    h = u32(h ^ u32(n))
    h = u32(u32(h ^ (h >> u32(16))) * u32(0x85EBCA6B))
    h = u32(u32(h ^ (h >> u32(13))) * u32(0xC2B2AE35))
    return u64(h ^ (h >> u32(16)))


@lean
def _scrambled(block: int) -> int:
    k = u32(block * u32(0xCC9E2D51))
    k = u32(u32(k << u32(15)) | u32(k >> u32(17)))
    return u32(k * u32(0x1B873593))


@njit
def name_hash(text: NDArray[np.uint8], at: int, end: int, seed: int) -> int:
    """A name of digits is that number plus the seed, any other is hashed; control characters around it do not count."""
    while at < end and text[at] <= 32:
        at += 1
    while at < end and text[end - 1] <= 32:
        end -= 1
    number = u64(0)
    for k in range(at, end):
        digit = u64(text[k] - 48)
        if digit > u64(9):
            return murmur(text, at, end, u64(seed))
        number = u64(u64(number * u64(10)) + digit)
    return u64(number + u64(seed))


def hash_name(name: str, bits: int) -> int:
    """The feature's number among 2**bits.

    >>> hash_name("colour=red", 18), hash_name("17", 18)
    (238209, 17)
    """
    text = np.frombuffer(name.encode(), np.uint8)
    return int(name_hash(text, 0, text.size, u64(0))) & ((1 << bits) - 1)
