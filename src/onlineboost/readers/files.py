"""Files as streams of bytes: several in a row, patterns, standard input, compressed or not."""

from __future__ import annotations

import bz2
import difflib
import glob
import gzip
import io
import lzma
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO, cast

from onlineboost.errors import DataError, ReadError

STDIN = "-"
_HEAD = 1 << 16


def expand(sources: Any) -> list[str]:
    """File names from names, paths, patterns with ``*`` or ``?``, or a list of these."""
    given = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
    names: list[str] = []
    for source in given:
        name = os.path.expanduser(os.fspath(source))
        if name == STDIN or os.path.exists(name):
            if os.path.isdir(name):
                raise DataError(f"{name} is a folder: name the files in it, such as {os.path.join(name, '*.csv')}")
            names.append(name)
            continue
        found = sorted(glob.glob(name, recursive=True))
        if not found:
            raise FileNotFoundError(f"{name}: no such file{_near(name)}")
        names += found
    if not names:
        raise DataError("no files: name at least one")
    if names.count(STDIN) > 1:
        raise DataError("standard input is named twice: it can be read once")
    return names


def _near(name: str) -> str:
    path = Path(name)
    try:
        close = difflib.get_close_matches(path.name, os.listdir(path.parent), 1)
    except OSError:
        return f"; the folder {path.parent} does not exist" if not path.parent.exists() else ""
    return f"; did you mean {path.with_name(close[0])}?" if close else ""


class Source:
    """The bytes of one file, decompressed, and how far the file itself has been read."""

    def __init__(self, name: str) -> None:
        self.name = "standard input" if name == STDIN else name
        raw = sys.stdin.buffer if name == STDIN else open(name, "rb", buffering=_HEAD)  # noqa: SIM115
        self.raw: Any = raw
        start = raw.peek(8)[:8] if hasattr(raw, "peek") else b""
        self.kind = compression(start)
        self.stream: BinaryIO = _opened(self.kind, raw)
        self.size = None if name == STDIN else os.fstat(raw.fileno()).st_size

    @property
    def position(self) -> int:
        try:
            return int(self.raw.tell())
        except (OSError, ValueError):
            return 0

    def readinto(self, memory: memoryview) -> int:
        """Fill the memory as far as possible; fewer bytes only at the end."""
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
            message = f"{self.name}: the compressed data ({self.kind}) are damaged or cut off: {problem}"
            raise ReadError(message, path=self.name) from problem
        return filled

    def close(self) -> None:
        self.stream.close()
        if self.raw is not sys.stdin.buffer:
            self.raw.close()

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()


def compression(start: bytes) -> str | None:
    """The kind of compression by a file's first bytes.

    >>> compression(b"BZh91AY"), compression(b"1 | a b")
    ('bz2', None)
    """
    marks = {b"\x1f\x8b": "gz", b"\x28\xb5\x2f\xfd": "zst", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz"}
    return next((kind for mark, kind in marks.items() if start.startswith(mark)), None)


def _opened(kind: str | None, raw: Any) -> BinaryIO:
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


def total_size(names: Iterable[str]) -> int | None:
    """Bytes of all files together; None if one of them has no size."""
    names = list(names)
    if STDIN in names or not all(Path(name).is_file() for name in names):
        return None
    return sum(os.path.getsize(name) for name in names)


def first_bytes(name: str) -> bytes:
    """The beginning of the decompressed file; of standard input as far as it can be seen without reading it."""
    if name == STDIN:
        start: bytes = cast(Any, sys.stdin.buffer).peek(_HEAD)
        return b"" if compression(start) else start
    with Source(name) as source:
        memory = bytearray(_HEAD)
        return bytes(memory[: source.readinto(memoryview(memory))])
