"""File formats: how they are recognized, by name or by the first bytes, read and written."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path, PurePath
from typing import Any, NamedTuple, Protocol, TypeAlias

from onlineboost.data.page import Page
from onlineboost.data.schema import Schema
from onlineboost.errors import ConflictError, DataError, ParameterError, ReadError
from onlineboost.readers.files import COMPRESSED, Source
from onlineboost.registry import FORMATS, Option
from onlineboost.storage.atomic import replacing


class Reader(Protocol):
    """Reads files of one format, one after another."""

    def pages(self, source: Source, before: int) -> Iterator[Page]:
        """Pages of one file; ``before`` is the size of the files read earlier, for the pages' position."""


@dataclass(frozen=True)
class Format:
    """A file format. Its module ends with ``FORMATS.add(Format(...))``; nothing else lists it.

    ``TextReader`` and ``line_writer`` are for lines of text, ``TableReader`` and ``table_writer`` for tables. The
    shortest example is ``formats/tsv.py``.
    """

    name: str  # in ``open_stream(format=...)`` and on the command line
    title: str  # in error messages
    suffixes: tuple[str, ...]
    reader: Callable[..., Reader]  # called with ReadOptions, and with those of ``options`` that were given
    writer: Callable[[Output], Write] | None = None  # None: files of this format can only be read
    options: tuple[Option, ...] = ()  # parameters of ``reader``
    has_columns: bool = True  # whether there are columns to name (label, weight, drop, categorical)
    magic: tuple[bytes, ...] = ()  # first bytes of files of this format only
    looks_like: Callable[[bytes], bool] | None = None  # whether a file that begins like this may be of this format
    read_dict: Callable[[Mapping[Any, Any], Schema | None, Any], Page] | None = None  # a dict as a page of one row
    priority: int = 0  # order of looks_like, the highest first; this package uses 10 to 60

    def check_schema(self, schema: Schema) -> None:
        """Raise an error for options about columns in a format without columns."""
        for name in (
            () if self.has_columns else ("label", "weight", "drop", "categorical", "text", "day_first", "month_first")
        ):
            if getattr(schema, name) not in (None, ()):
                raise ConflictError(f"{name}=... does not apply to {self.title}, which has no columns")

    def check_options(self, given: Mapping[str, Any]) -> None:
        """Raise an error for options of other formats."""
        mine = {option.parameter for option in self.options}
        for name in given:
            if name not in mine:
                message = f"{name}=... does not apply to {self.name}. Formats with {name}: {formats_with(name)}."
                raise ConflictError(message)


def formats_with(option: str) -> str:
    """The names of the formats that have this option; a TypeError if none has."""
    found = [format.name for format in FORMATS if option in {known.parameter for known in format.options}]
    if not found:
        raise TypeError(f"open_stream() got an unexpected keyword argument {option!r}")
    return ", ".join(found)


def first_line(start: bytes) -> bytes:
    """The first line that is not empty, for ``looks_like``.

    >>> first_line(b"\\n1 | a b\\n-1 | c\\n")
    b'1 | a b'
    """
    lines = (line for line in start.removeprefix(b"\xef\xbb\xbf").splitlines() if line.strip())
    return next(lines, b"")


def find_format(format: object) -> Format:
    """The format of this name."""
    if not isinstance(format, str):
        raise ParameterError("format", format, f"one of {', '.join(FORMATS.names())}")
    return FORMATS.find(format)


def by_name(name: str) -> Format | None:
    """The format that the file's name ends with.

    >>> by_name("clicks.csv.gz").name, by_name("clicks.txt")
    ('csv', None)
    """
    suffixes = PurePath(name).suffixes
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes = suffixes[:-1]
    return _by_suffix(suffixes[-1].lower()) if suffixes else None


def _by_suffix(suffix: str) -> Format | None:
    known = next((format for format in FORMATS if suffix in format.suffixes), None)
    if known is None:
        FORMATS.load_entry_points()
        known = next((format for format in FORMATS if suffix in format.suffixes), None)
    return known


def by_content(name: str, start: bytes) -> Format:
    """The format that the first bytes look like."""
    known = _by_start(start)
    if known is None:
        FORMATS.load_entry_points()
        known = _by_start(start)
    if known is None:
        names = ", ".join(FORMATS.names())
        message = f"{name}: its name and first line do not tell its format: name it with format=..., one of {names}"
        raise ReadError(message, path=name)
    return known


def _by_start(start: bytes) -> Format | None:
    found = next((format for format in FORMATS if format.magic and start.startswith(format.magic)), None)
    by_priority = sorted(FORMATS, key=attrgetter("priority"), reverse=True)
    similar = (format for format in by_priority if format.looks_like is not None and format.looks_like(start))
    return found or next(similar, None)


def same_format(names: list[str], formats: list[Format]) -> Format:
    """The format that all files share."""
    other = next((k for k, format in enumerate(formats) if format != formats[0]), None)
    if other is not None:
        first, second = f"{names[0]} is {formats[0].name}", f"{names[other]} is {formats[other].name}"
        raise DataError(f"files of different formats: {first}, {second}; convert one of them, or name it (format=...)")
    return formats[0]


Write: TypeAlias = Callable[[Page], None]  # a writer


class Output(NamedTuple):
    """A file to write, and the source of its examples."""

    name: str  # as the caller gave it
    path: Path  # a temporary file, renamed when everything is written
    stream_again: Callable[[], Any]  # opens the stream again, for formats that need all names first
    rereadable: bool  # whether that is possible
    stack: ExitStack  # closes what was opened

    @property
    def suffix(self) -> str:
        return Path(self.name).suffix

    def open(self) -> Any:
        """The file, to write bytes to; compressed if its name says so."""
        return self.stack.enter_context(_compressed(self.path, self.suffix))


def _compressed(path: Path, suffix: str) -> Any:
    if suffix == ".zst":
        import pyarrow as pa

        return pa.CompressedOutputStream(pa.OSFile(str(path), "wb"), "zstd")
    kinds: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    return kinds.get(suffix, open)(path, "wb")


@contextmanager
def open_writer(target: str, stream_again: Callable[[], Any], rereadable: bool) -> Iterator[Write]:
    """A function that writes a page. The file appears when everything is written.

    Formats with columns need all names first, and read the stream again, by ``stream_again``.
    """
    format = by_name(target)
    if format is None or format.writer is None:
        suffixes = ", ".join(format.suffixes[0] for format in FORMATS if format.writer is not None)
        raise ParameterError("target", target, f"a file name that ends in one of {suffixes}")
    with replacing(Path(target).expanduser()) as temporary, ExitStack() as stack:
        yield format.writer(Output(target, temporary, stream_again, rereadable, stack))
        stack.close()
