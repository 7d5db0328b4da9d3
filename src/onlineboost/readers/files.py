"""Files to read: patterns, standard input, compression."""

from __future__ import annotations

import difflib
import glob
import io
import os
import select
from pathlib import Path, PurePath
from typing import Any, BinaryIO, cast

from onlineboost.errors import DataError, ReadError
from onlineboost.readers.decompress import compression_of, damaged, decompressed, position_of

STDIN = "-"
COMPRESSED = (".gz", ".zst", ".bz2", ".xz")
_HEAD = 1 << 16
_TEXT = bytes({*range(256)} - {*range(32), 127} | {9, 10, 12, 13})  # bytes that are in text of any encoding


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
        self.stream: BinaryIO = decompressed(self.compression, raw, self.name) if self.compression else raw
        self.checked = False
        self.size = os.fstat(raw.fileno()).st_size if is_regular(name) else None

    @property
    def position(self) -> int:
        """Bytes read so far of the file itself."""
        return position_of(self.raw)

    def readinto(self, memory: memoryview) -> int:
        """Fill the memory; the number of bytes, which is smaller only at the end of the file."""
        if not self.checked:
            self._check_name()
        filled = 0
        while filled < len(memory):
            n = cast(Any, self.stream).readinto(memory[filled:])
            if not n:
                break
            filled += n
        return filled

    def read_now(self, memory: memoryview) -> int:
        """Read the available bytes of a pipe, at least one; 0 at its end."""
        filled = self._read1(memory)
        while 0 < filled < len(memory) and self._is_ready():
            n = self._read1(memory[filled:])
            if not n:
                break
            filled += n
        return filled

    def _read1(self, memory: memoryview) -> int:
        part = cast(Any, self.stream).read1(len(memory))  # readinto1 waits for more if the memory is larger
        memory[: len(part)] = part
        return len(part)

    def _is_ready(self) -> bool:
        """Whether more can be read without waiting; False if unknown."""
        try:
            return self.compression is None and bool(select.select([self.raw], [], [], 0)[0])
        except (OSError, ValueError):
            return False

    def _check_name(self) -> None:
        """Raise an error for a damaged file: named as compressed, but neither compressed nor text."""
        self.checked = True
        suffix = PurePath(self.name).suffix
        if self.compression is None and suffix in COMPRESSED:
            start = self.raw.peek(_HEAD)[:_HEAD]
            if not start.strip() or start.translate(None, _TEXT):
                raise damaged(self.name, suffix[1:], "at byte 0", f"the file does not begin as {suffix[1:]} does")

    def head(self) -> bytes:
        """The decompressed beginning of the file, without moving on; empty if it cannot be decompressed."""
        start: bytes = self.raw.peek(_HEAD)[:_HEAD]
        if self.compression is None:
            return start
        try:
            return cast(Any, decompressed(self.compression, io.BufferedReader(io.BytesIO(start)), self.name)).read1(
                _HEAD
            )
        except ReadError:
            return b""

    def close(self) -> None:
        if self.stream is not self.raw:
            self.stream.close()
        self.raw.close()

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()


def is_regular(name: str) -> bool:
    """Whether it is a file with a size that can be read again, not a pipe."""
    return name != STDIN and os.path.isfile(name)


def total_size(names: list[str]) -> int | None:
    """The size of all files together; None if one is a pipe."""
    return sum(map(os.path.getsize, names)) if all(map(is_regular, names)) else None
