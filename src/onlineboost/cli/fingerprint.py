"""Identity of training inputs.

A file is known by its name (without the folder, so that it may move), its size and a digest. The digest covers the
whole of a file of up to 256 KiB. Of a larger file it covers 64 blocks of 4 KiB at even distances, the first and the
last among them: it costs milliseconds for any size, and a change between the blocks that keeps the size goes unnoticed.
Standard input and pipes are known by their first rows, as they were read.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from onlineboost.data.page import Page
from onlineboost.data.regression import Numbers
from onlineboost.readers.decompress import compression_of
from onlineboost.readers.files import is_regular

PIPE = "-"  # the name of standard input and all pipes
_BLOCK, _BLOCKS = 1 << 12, 64
_HEAD = 256  # rows


class Input(NamedTuple):
    """Name, size and digest of a file or a pipe."""

    name: str
    size: int | None = None  # None: a pipe
    digest: str | None = None  # None: not known yet


def fingerprint(name: str) -> Input:
    if not is_regular(name):
        return Input(PIPE)
    size = os.path.getsize(name)
    return Input(os.path.basename(name), size, digest(name, size))


def digest(path: str | Path, size: int) -> str:
    """Digest of the first bytes of a file."""
    found = hashlib.blake2b(digest_size=8)
    with open(path, "rb", buffering=0) as file:
        for k in range(_BLOCKS):
            start = k * _BLOCK if size <= _BLOCK * _BLOCKS else k * (size - _BLOCK) // (_BLOCKS - 1)
            file.seek(start)
            found.update(file.read(max(0, min(_BLOCK, size - start))))
    return found.hexdigest()


def head_digest(page: Page, most: int = _HEAD) -> str:
    """Digest of the first rows of an input."""
    batch = page.batch
    # The first label counts as -1, as in files of formats before 7.
    y = batch.y if isinstance(page.target, Numbers) else np.where(batch.y == 0, -1.0, batch.y)
    n, found = min(_HEAD, most, batch.y.size), hashlib.blake2b(digest_size=8)
    part = slice(batch.indptr[0], batch.indptr[n])
    lengths = np.diff(batch.indptr[: n + 1])
    for array in (lengths, batch.indices[part], batch.values[part], y[:n], batch.weight[:n]):
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def has_grown(path: str, size: int, earlier: str) -> bool:
    """Whether the file begins with the content of this size and digest, up to the end of a line."""
    with open(path, "rb") as file:
        start = file.read(8)
        file.seek(max(0, size - 1))
        last, following = file.read(1), file.read(1)
    if not following or digest(path, size) != earlier:
        return False
    return not size or compression_of(start) is not None or last == b"\n" or following in b"\r\n"
