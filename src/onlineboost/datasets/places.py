"""Where the files of the sets are: a folder that is named, one of the environment, the user's cache, the network."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Any

import numpy as np

from onlineboost.data.batch import Batch, Ints, joined
from onlineboost.datasets.dataset import Dataset, File
from onlineboost.datasets.letter import load_letter
from onlineboost.datasets.remote import fetch
from onlineboost.datasets.sets import SETS
from onlineboost.errors import DataError, ParameterError

VARIABLE = "ONLINEBOOST_DATA"


def get(name: str) -> Dataset:
    """What is known of a set.

    >>> get("letter").file.examples, get("letter").paper.errors.online_bbm
    (20000, 0.1923)
    """
    if name not in SETS:
        near = difflib.get_close_matches(name, SETS, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ParameterError("name", name, f"one of {', '.join(SETS)}{hint}")
    return SETS[name]


def find(name: str, data: str | os.PathLike[str] | None = None, *, download: bool = True) -> Path:
    """The file of a set: LIBSVM text, labels -1 and +1, in the source's own order. Shuffle before streaming.

    Looked for, as ``NAME.libsvm.gz`` or ``NAME.libsvm``, in the folder ``data``, in that of the environment's
    ``ONLINEBOOST_DATA``, and in the user's cache. What is in none of them is downloaded to the cache, checked.

    Parameters
    ----------
    name : one of ``SETS``
    data : a folder to look in first
    download : False never asks the network
    """
    dataset = get(name)
    found = locate(dataset, data)
    if found is not None:
        return found
    if dataset.source is None or (dataset.source.files and not download):
        raise DataError(missing(dataset))
    return fetch(dataset, cache())


def load(name: str, data: str | os.PathLike[str] | None = None, *, download: bool = True) -> tuple[Any, Ints]:
    """A set as a SciPy matrix of float32 and labels of -1 and +1, for ``fit(X, y)``. Found as ``find`` does.

    >>> X, y = load("letter")
    >>> X.shape, int((y > 0).sum())
    ((20000, 16), 9940)
    """
    csr_matrix = _csr_matrix()
    if name == "letter":
        X, y = load_letter()
        return csr_matrix(X), y
    from onlineboost.readers import open_stream

    path = find(name, data, download=download)
    batch = joined([page.batch for page in open_stream(path, format="libsvm", batch_size=1 << 16)])
    y = batch.y.astype(np.int64)
    file = get(name).file
    assert file is not None
    check(path, file, batch)
    X = csr_matrix((batch.values, batch.indices - 1, batch.indptr), (y.size, file.width))
    return X, y


def download(name: str, folder: str | os.PathLike[str] | None = None, *, quiet: bool = False) -> Path:
    """Fetch a set from its public source, also if it is here already. None: to the user's cache."""
    dataset = get(name)
    if dataset.source is None:
        raise DataError(missing(dataset))
    return fetch(dataset, Path(folder).expanduser() if folder is not None else cache(), quiet)


def locate(dataset: Dataset, data: str | os.PathLike[str] | None = None) -> Path | None:
    """The set's file if it is on this machine; the network is not asked."""
    if dataset.file is None:
        return None
    names = [f"{dataset.name}{suffix}" for suffix in (".libsvm.gz", ".libsvm")]
    return next((folder / name for folder in folders(data) for name in names if (folder / name).is_file()), None)


def folders(data: str | os.PathLike[str] | None = None) -> list[Path]:
    """Where files are looked for, in this order."""
    named = {"data": data, VARIABLE: os.environ.get(VARIABLE) or None}
    found = []
    for what, given in named.items():
        if given is not None:
            folder = Path(given).expanduser()
            if not folder.is_dir():
                raise ParameterError(what, str(given), "a folder that exists")
            found.append(folder)
    return [*found, cache()]


def cache() -> Path:
    """Where downloaded sets are kept."""
    from platformdirs import user_cache_path

    return user_cache_path("onlineboost", appauthor=False) / "datasets"


def missing(dataset: Dataset) -> str:
    """Why there is no file, and what to do about it."""
    name = dataset.name
    if dataset.file is None:
        return f"{name} cannot be had: {dataset.obstacle}"
    if dataset.source is not None:
        return f"{name} is not here: onlineboost datasets --download {name} fetches it"
    by_hand = f"put {name}.libsvm.gz, LIBSVM text with labels -1 and +1, into {cache()} or a folder named by {VARIABLE}"
    return f"{name} cannot be downloaded: {dataset.obstacle}. Get it from {dataset.page}, and {by_hand}"


def check(path: Path, file: File, batch: Batch) -> None:
    """Refuse another file of the same name."""
    n, positives = batch.y.size, int((batch.y > 0).sum())
    smallest, largest = int(batch.indices.min(initial=1)), int(batch.indices.max(initial=1))
    found = f"{n:,} examples, {positives:,} positive, features {smallest} to {largest}"
    expected = f"{file.examples:,}, {file.positives:,}, 1 to {file.width}"
    if (n, positives, smallest, largest) != (file.examples, file.positives, 1, file.width):
        raise DataError(f"{path}: {found}: expected {expected}; open_stream reads it as it is")


def _csr_matrix() -> Any:
    try:
        from scipy.sparse import csr_matrix
    except ImportError:
        other = "learn from open_stream(datasets.find(name))"
        raise ImportError(f"datasets.load gives SciPy matrices: pip install scipy, or {other}") from None
    return csr_matrix
