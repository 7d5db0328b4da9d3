"""Which format a file has: by its name, else by its first bytes."""

from __future__ import annotations

from operator import attrgetter
from pathlib import PurePath

from onlineboost.errors import DataError, ParameterError, ReadError
from onlineboost.readers.files import COMPRESSED
from onlineboost.readers.format import Format
from onlineboost.registry import FORMATS


def find(format: object) -> Format:
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
