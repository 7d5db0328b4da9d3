"""Files to read: patterns, standard input, compression."""

from __future__ import annotations

import bz2
import difflib
import glob
import gzip
import io
import lzma
import os
import zlib
from pathlib import Path
from typing import Any, BinaryIO, cast

from onlineboost.errors import DataError, ReadError

STDIN = "-"
_HEAD = 1 << 16


def expand(sources: Any) -> list[str]:
    """File names from names, paths, patterns such as ``day-*.csv``, or a list of these."""
    given = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
    names: list[str] = []
    for source in given:
        name = os.path.expanduser(os.fspath(source))
        if name == STDIN or os.path.exists(name):
            if os.path.isdir(name):
                raise DataError(f"{name} is a folder: expected files, such as {os.path.join(name, '*.csv')}")
            names.append(name)
            continue
        found = sorted(glob.glob(name, recursive=True))
        if not found:
            raise FileNotFoundError(f"{name}: no such file{_suggestion(name)}")
        names += found
    if not names:
        raise DataError("no files: expected at least one")
    if names.count(STDIN) > 1:
        raise DataError("standard input is named twice, but can be read once")
    return names


def _suggestion(name: str) -> str:
    path = Path(name)
    try:
        close = difflib.get_close_matches(path.name, os.listdir(path.parent), 1)
    except OSError:
        return f"; the folder {path.parent} does not exist" if not path.parent.exists() else ""
    return f"; did you mean {path.with_name(close[0])}?" if close else ""


class Source:
    """One file, decompressed as it is read."""

    def __init__(self, name: str) -> None:
        self.name = "standard input" if name == STDIN else name
        # Standard input by its number: sys.stdin has a lock that another thread may hold.
        raw: Any = open(0 if name == STDIN else name, "rb", buffering=_HEAD, closefd=name != STDIN)  # noqa: SIM115
        self.raw = raw
        self.compression = compression_of(raw.peek(8)[:8])
        self.stream: BinaryIO = _decompressed(self.compression, raw)
        self.size = os.fstat(raw.fileno()).st_size if is_regular(name) else None

    @property
    def position(self) -> int:
        """Bytes read so far of the file itself."""
        try:
            return int(self.raw.tell())
        except (OSError, ValueError):
            return 0

    def readinto(self, memory: memoryview) -> int:
        """Fill the memory; the number of bytes, which is smaller only at the end of the file."""
        filled = 0
        try:
            while filled < len(memory):
                n = cast(Any, self.stream).readinto(memory[filled:])
                if not n:
                    break
                filled += n
        except (EOFError, OSError, lzma.LZMAError, ValueError) as problem:
            if isinstance(problem, OSError) and problem.errno is not None:
                raise
            message = f"{self.name}: the compressed data ({self.compression}) are damaged or cut off: {problem}"
            raise ReadError(message, path=self.name) from problem
        return filled

    def head(self) -> bytes:
        """The decompressed beginning of the file, without moving on; empty if it cannot be decompressed."""
        start: bytes = self.raw.peek(_HEAD)[:_HEAD]
        try:
            if self.compression == "gz":
                return zlib.decompressobj(31).decompress(start, _HEAD)
            if self.compression == "xz":
                return lzma.LZMADecompressor().decompress(start, _HEAD)
            if self.compression == "bz2":
                return bz2.BZ2Decompressor().decompress(start, _HEAD)
            if self.compression == "zst":
                return _decompressed("zst", io.BytesIO(start)).read(1 << 12)
        except (OSError, EOFError, lzma.LZMAError, zlib.error):
            return b""
        return start

    def close(self) -> None:
        if self.stream is not self.raw:
            self.stream.close()
        self.raw.close()

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()


def compression_of(start: bytes) -> str | None:
    """The compression of a file by its first bytes.

    >>> compression_of(b"BZh91AY"), compression_of(b"1 | a b")
    ('bz2', None)
    """
    marks = {b"\x1f\x8b": "gz", b"\x28\xb5\x2f\xfd": "zst", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz"}
    return next((kind for mark, kind in marks.items() if start.startswith(mark)), None)


def _decompressed(kind: str | None, raw: Any) -> BinaryIO:
    if kind == "gz":
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    if kind == "bz2":
        return cast(BinaryIO, bz2.BZ2File(raw))
    if kind == "xz":
        return cast(BinaryIO, lzma.LZMAFile(raw))
    if kind == "zst":
        import pyarrow as pa

        return cast(BinaryIO, io.BufferedReader(_ArrowStream(pa.CompressedInputStream(raw, "zstd"))))
    return cast(BinaryIO, raw)


class _ArrowStream(io.RawIOBase):
    """Arrow's decompression as a Python stream."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, memory: Any) -> int:
        part = self.stream.read(len(memory))
        memory[: len(part)] = part
        return len(part)


def is_regular(name: str) -> bool:
    """Whether it is a file with a size that can be read again, not a pipe."""
    return name != STDIN and os.path.isfile(name)


def total_size(names: list[str]) -> int | None:
    """The size of all files together; None if one is a pipe."""
    return sum(map(os.path.getsize, names)) if all(map(is_regular, names)) else None
