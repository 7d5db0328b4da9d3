"""Compressed files as streams of bytes: every member whole, and nothing after the last one."""

from __future__ import annotations

import bz2
import io
import lzma
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO, cast

from onlineboost.errors import ReadError

MARKS = {b"\x1f\x8b": "gz", b"\x28\xb5\x2f\xfd": "zst", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz"}
MAX_DICTIONARY_BYTES = 1 << 30  # of xz; ``xz -9`` needs 64 MB. Zstandard's own limit is 128 MB
_IN, _OUT = 1 << 16, 1 << 20  # bytes at a time
_TEST = {"gz": "gzip -t", "bz2": "bzip2 -t", "xz": "xz -t", "zst": "zstd -t"}
_PADDING = {"gz": 1, "xz": 4}  # zeros may follow a member, in multiples of this


def compression_of(start: bytes) -> str | None:
    """The compression of a file by its first bytes.

    >>> compression_of(b"BZh91AY"), compression_of(b"1 | a b")
    ('bz2', None)
    """
    if start[1:4] == b"\x2a\x4d\x18" and start[0] >> 4 == 5:  # a frame that is skipped, as pzstd writes
        return "zst"
    return next((kind for mark, kind in MARKS.items() if start.startswith(mark)), None)


def decompressed(kind: str, raw: Any, name: str) -> BinaryIO:
    """The decompressed bytes of a file; a ``ReadError`` where it is damaged or cut off."""
    inner = _Zstandard(raw, name) if kind == "zst" else _Members(kind, raw, name)
    return cast(BinaryIO, io.BufferedReader(inner, _IN))


def damaged(name: str, kind: str, where: str, problem: object) -> ReadError:
    hint = f"check it with {_TEST[kind]}, and copy or make it again"
    return ReadError(
        f"{name}: the compressed data ({kind}) are damaged or cut off {where}: {problem}; {hint}", path=name
    )


class _Gzip:
    """zlib's decompressor with the interface of those of bz2 and lzma. It checks the length and the CRC."""

    def __init__(self) -> None:
        self.inner = zlib.decompressobj(31)
        self.needs_input = True

    def decompress(self, data: bytes, max_length: int) -> bytes:
        part = self.inner.decompress(self.inner.unconsumed_tail + data, max_length)
        self.needs_input = not self.inner.unconsumed_tail
        return part

    @property
    def eof(self) -> bool:
        return self.inner.eof

    @property
    def unused_data(self) -> bytes:
        return self.inner.unused_data


_MEMBER: dict[str, Callable[[], Any]] = {
    "gz": _Gzip,
    "bz2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MAX_DICTIONARY_BYTES),
}


class _Members(io.RawIOBase):
    """Members of a gz, bz2 or xz file, one after another."""

    def __init__(self, kind: str, raw: Any, name: str) -> None:
        self.kind, self.raw, self.name = kind, raw, name
        self.member: Any = None
        self.start = self.taken = 0  # where the member begins; compressed bytes taken from the file so far
        self.rest = b""  # taken, but not of this member

    def readable(self) -> bool:
        return True

    def readinto(self, memory: Any) -> int:
        size = min(len(memory), _OUT)
        while self.member is not None or self._begin():
            part = self._decompress(size)
            if self.member.eof:
                self.rest, self.member = self.member.unused_data, None
            if part:
                memory[: len(part)] = part
                return len(part)
        return 0

    def _take(self) -> bytes:
        part: bytes = self.raw.read1(_IN)
        self.taken += len(part)
        return part

    def _begin(self) -> bool:
        """Begin the next member; False at the end of the file."""
        unit = _PADDING.get(self.kind, 0)
        zeros = self._skip_zeros() if unit and self.taken else 0
        mark = next(mark for mark, kind in MARKS.items() if kind == self.kind)
        while len(self.rest) < len(mark) and (part := self._take()):
            self.rest += part
        whole = not unit or zeros % unit == 0
        if not self.rest and whole:
            return False
        self.start = self.taken - len(self.rest)
        if not whole or not self.rest.startswith(mark):
            raise self._error(f"what follows byte {self.start - zeros:,} is not {self.kind}")
        self.member = _MEMBER[self.kind]()
        return True

    def _skip_zeros(self) -> int:
        zeros = 0
        while True:
            size = len(self.rest)
            self.rest = self.rest.lstrip(b"\0")
            zeros += size - len(self.rest)
            if self.rest or not (part := self._take()):
                return zeros
            self.rest = part

    def _decompress(self, size: int) -> bytes:
        given, self.rest = self.rest, b""
        if not given and self.member.needs_input:
            given = self._take()
        try:
            part: bytes = self.member.decompress(given, size)
        except (OSError, EOFError, ValueError, MemoryError, lzma.LZMAError, zlib.error) as problem:
            raise self._error(problem) from problem
        if not part and not given and self.member.needs_input and not self.member.eof:
            raise self._error("the file ends too early")
        return part

    def _error(self, problem: object) -> ReadError:
        first = max(self.start, self.taken - _IN)
        return damaged(self.name, self.kind, f"between byte {first:,} and byte {self.taken:,}", problem)


class _Zstandard(io.RawIOBase):
    """Frames of a zst file, by Arrow's decompressor."""

    def __init__(self, raw: Any, name: str) -> None:
        import pyarrow as pa

        self.raw, self.name = raw, name
        self.stream = pa.CompressedInputStream(raw, "zstd")

    def readable(self) -> bool:
        return True

    def readinto(self, memory: Any) -> int:
        import pyarrow as pa

        try:
            part = self.stream.read(len(memory))
        except (pa.ArrowException, OSError, MemoryError) as problem:
            if isinstance(problem, OSError) and problem.errno is not None:
                raise
            raise damaged(self.name, "zst", f"before byte {position_of(self.raw):,}", problem) from problem
        memory[: len(part)] = part
        return len(part)


def position_of(raw: Any) -> int:
    """Bytes read so far of a file; 0 where that cannot be known."""
    try:
        return int(raw.tell())
    except (OSError, ValueError):
        return 0
