"""Limits of memory, each with its option; files in which reads past the end raise an error."""

from __future__ import annotations

import io
import numbers
import os
import stat

from onlineboost.errors import ParameterError, ReadError
from onlineboost.readers.files import Source
from onlineboost.registry import Option

MAX_LINE_MB, MAX_BATCH_MB = 16, 1024  # defaults
_MOST = 1 << 20

MAX_LINE = Option("max_line_mb", "Maximum line length, in MB.", int, least=1, most=_MOST, default=MAX_LINE_MB)
MAX_BATCH = Option(
    "max_batch_mb", "Maximum memory per batch of rows, in MB.", int, least=1, most=_MOST, default=MAX_BATCH_MB
)


def bytes_of(option: Option, megabytes: object) -> int:
    """A limit in bytes; a megabyte is 2**20 of them."""
    whole = isinstance(megabytes, numbers.Integral) and not isinstance(megabytes, bool)
    if not whole or not 1 <= int(megabytes) <= _MOST:  # type: ignore[call-overload]
        raise ParameterError(option.parameter, megabytes, f"a whole number of megabytes, from 1 to {_MOST:,}")
    return int(megabytes) << 20  # type: ignore[call-overload]


def beyond(option: Option, limit: int) -> str:
    """The end of an error message: the limit, and how to raise it."""
    return f"the limit is {limit >> 20:,} MB; raise it with {option.parameter}=... if the file is in order"


class DamagedError(ValueError):
    """A description of the damage of a file."""


class TooLargeError(ValueError):
    """A part of a file that takes more memory than allowed."""

    def __init__(self, what: str, size: int) -> None:
        super().__init__(f"{what} takes {size / (1 << 20):,.0f} MB")


class BoundedFile(io.RawIOBase):
    """A regular file for Arrow. A wrong length in it leads to a short read, not to a huge allocation."""

    def __init__(self, source: Source, what: str) -> None:
        name, facts = source.name, os.fstat(source.raw.fileno())
        if source.compression is not None:
            message = f"{name}: {what} within {source.compression} cannot be read: decompress it first"
            raise ReadError(message, path=name)
        if not stat.S_ISREG(facts.st_mode):
            raise ReadError(f"{name}: a pipe, which cannot be read in any order: save it as a file first", path=name)
        self.raw, self.size = source.raw, facts.st_size

    def part(self, at: int, size: int) -> bytes:
        """Some bytes, without moving on."""
        if at < 0 or size < 0 or at + size > self.size:
            raise DamagedError("a part lies outside the file")
        return os.pread(self.raw.fileno(), size, at)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self.raw.seek(offset, whence))

    def tell(self) -> int:
        return int(self.raw.tell())

    def read(self, n: int | None = -1) -> bytes:
        left = max(self.size - self.raw.tell(), 0)
        part: bytes = self.raw.read(left if n is None or n < 0 else min(n, left))
        return part
