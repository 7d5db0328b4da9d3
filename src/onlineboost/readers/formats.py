"""Which format a file has: by its name, else by its first bytes."""

from __future__ import annotations

import re
from pathlib import PurePath

from onlineboost.errors import DataError, ParameterError, ReadError

FORMATS = ("vw", "libsvm", "csv", "tsv", "jsonl", "parquet", "arrow")
_SUFFIXES = {
    ".vw": "vw",
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".svmlight": "libsvm",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
COMPRESSED = (".gz", ".zst", ".bz2", ".xz")
_LIBSVM = re.compile(rb"^[-+\w.]+([ \t]+\d+:[-+.\deE]+)*[ \t]*(#.*)?$")


def check_format(format: str | None) -> None:
    if format is not None and format not in FORMATS:
        raise ParameterError("format", format, f"one of {', '.join(FORMATS)}")


def by_name(name: str) -> str | None:
    """The format that the file's name tells.

    >>> by_name("clicks.csv.gz"), by_name("clicks.txt")
    ('csv', None)
    """
    path = PurePath(name)
    suffixes = path.suffixes
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes = suffixes[:-1]
    return _SUFFIXES.get(suffixes[-1].lower()) if suffixes else None


def by_content(name: str, start: bytes) -> str:
    """The format that the first bytes look like."""
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    lines = [line for line in start.removeprefix(b"\xef\xbb\xbf").splitlines() if line.strip()]
    line = lines[0] if lines else b""
    if line.lstrip().startswith(b"{"):
        return "jsonl"
    if _LIBSVM.match(line):
        return "libsvm"
    before = line.split(b"|")[0]
    if b"|" in line and re.fullmatch(rb"\s*([-+.\deE]+\s+)*('?[^\s,;]*)", before):
        return "vw"
    if b"\t" in line:
        return "tsv"
    if b"," in line or b";" in line:
        return "csv"
    known = ", ".join(FORMATS)
    raise ReadError(
        f"{name}: cannot tell its format from its name or first line: name it (--format), one of {known}", path=name
    )


def same_format(names: list[str], formats: list[str]) -> str:
    """The format that all files share."""
    other = next((k for k, format in enumerate(formats) if format != formats[0]), None)
    if other is not None:
        first, second = f"{names[0]} is {formats[0]}", f"{names[other]} is {formats[other]}"
        raise DataError(f"files of different formats: {first}, {second}; convert one of them, or name it (--format)")
    return formats[0]
