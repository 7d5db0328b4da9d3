"""The disk cache of compiled code.

Numba notices a change in a function's own file only, not in the files it calls into, so the cache directory is named
after a digest of all our sources and Numba's version: each has its own. Each file of it begins with a checksum: a
damaged file is dropped, and its function compiled again.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import IndexDataCacheFile


def _digest(package: Path) -> str:
    sha = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        sha.update(file.relative_to(package).as_posix().encode())
        sha.update(file.read_bytes())
    return sha.hexdigest()[:16]


@functools.cache
def source_digest() -> str:
    """A digest of all sources of this package."""
    return _digest(Path(__file__).parent.parent)


@functools.cache
def cache_directory() -> str:
    """The directory of compiled code, or "" if it is not writable: then every process compiles again."""
    root = os.environ.get("NUMBA_CACHE_DIR")
    if root is None:
        from platformdirs import user_cache_path

        root = str(user_cache_path("onlineboost", appauthor=False))
    directory = Path(root) / f"onlineboost-{source_digest()}-{numba.__version__}"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as problem:
        say(f"compiled code cannot be cached in {root} ({problem.strerror}): set NUMBA_CACHE_DIR to a writable folder")
        return ""
    return str(directory)


def say(message: str) -> None:
    """Print a message of the library itself."""
    print(f"onlineboost: {message}", file=sys.stderr, flush=True)


@functools.cache
def _say_once(message: str) -> None:
    say(message)


class CheckedCacheFile(IndexDataCacheFile):  # type: ignore[misc]
    """Numba's files of one function, with checksums; a damaged file counts as missing, a full disk is no error."""

    def save(self, key: Any, data: Any) -> None:
        try:
            super().save(key, data)
        except OSError as problem:
            _say_once(f"compiled code cannot be cached in {self._cache_path} ({problem.strerror})")

    def _load_index(self) -> Any:
        version, stamp, overloads = self._read(self._index_path) or (None, None, {})
        return overloads if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: Any) -> None:
        self._write(self._index_path, (self._version, self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        return self._read(self._data_path(name))

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _read(self, path: str) -> Any:
        """The contents of a file, or None if it is missing or damaged."""
        try:
            content = Path(path).read_bytes()
        except OSError:
            return None
        if content[:4] != _checksum(content[4:]):
            _say_once(f"the cache of compiled code in {self._cache_path} is damaged: compiling again")
            return None
        return pickle.loads(content[4:])

    def _write(self, path: str, value: Any) -> None:
        content = self._dump(value)
        with self._open_for_write(path) as file:
            file.write(_checksum(content))
            file.write(content)


def _checksum(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(4, "little")


def check_cache_of(dispatcher: Any) -> None:
    """Make a compiled function's cache one with checksums."""
    dispatcher._cache._cache_file.__class__ = CheckedCacheFile  # noqa: SLF001  Numba has no public way to choose it
