"""File formats: how they are recognised, read and written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from onlineboost.data.batch import Batch
from onlineboost.data.page import Page
from onlineboost.data.schema import Schema
from onlineboost.errors import ConflictError
from onlineboost.readers.files import Source
from onlineboost.readers.output import Output, Write
from onlineboost.registry import FORMATS, Option


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
    has_columns: bool = True  # there are columns for label, weight, drop and categorical to name
    magic: tuple[bytes, ...] = ()  # first bytes of files of this format, and of no other
    looks_like: Callable[[bytes], bool] | None = None  # whether a file that begins like this may be of this format
    read_dict: Callable[[Mapping[Any, Any], Schema | None], tuple[Batch, list[tuple[int, str]]]] | None = None
    priority: int = 0  # for looks_like: the format with the highest is asked first; this package uses 10 to 60

    def check_schema(self, schema: Schema) -> None:
        """Refuse options for columns where there are none."""
        for name in () if self.has_columns else ("label", "weight", "drop", "categorical"):
            if getattr(schema, name) not in (None, ()):
                raise ConflictError(f"{name}=... does not apply to {self.title}, which has no columns")

    def check_options(self, given: Mapping[str, Any]) -> None:
        """Refuse options of other formats."""
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
