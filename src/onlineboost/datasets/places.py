"""Places of data files: a given folder, the folder of an environment variable, the user's cache, the web."""

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
    """The description of a data set.

    Parameters
    ----------
    name : str
        Name of a set, one of ``SETS``.

    Returns
    -------
    Dataset
        The description.

    Examples
    --------
    >>> from onlineboost.datasets import get
    >>> get("letter").file.examples, get("letter").paper.errors.online_bbm
    (20000, 0.1923)
    """
    if name not in SETS:
        near = difflib.get_close_matches(name, SETS, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ParameterError("name", name, f"one of {', '.join(SETS)}{hint}")
    return SETS[name]


def find(name: str, data: str | os.PathLike[str] | None = None, *, download: bool = True) -> Path:
    """The file of a data set: LIBSVM text with labels -1 and +1, in the order of the source. Shuffle before streaming.

    The file is ``NAME.libsvm.gz`` or ``NAME.libsvm`` in the folder ``data``, in the folder named by the environment
    variable ``ONLINEBOOST_DATA``, or in the user's cache. A missing set is downloaded to the cache and checked.

    Parameters
    ----------
    name : str
        Name of a set, one of ``SETS``.
    data : str, Path or None, default=None
        Folder to look in first; None: none.
    download : bool, default=True
        Whether to download a missing set.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> from onlineboost import open_stream
    >>> from onlineboost.datasets import find
    >>> next(open_stream(find("letter"), batch_size=100)).n_rows
    100
    """
    dataset = get(name)
    found = locate(dataset, data)
    if found is not None:
        return found
    if dataset.source is None or (dataset.source.files and not download):
        raise DataError(missing(dataset))
    return fetch(dataset, cache())


def load(name: str, data: str | os.PathLike[str] | None = None, *, download: bool = True) -> tuple[Any, Ints]:
    """A data set as a SciPy matrix of float32 and labels -1 and +1, for ``fit(X, y)``; looks where ``find`` looks.

    Parameters
    ----------
    name : str
        Name of a set, one of ``SETS``.
    data : str, Path or None, default=None
        Folder to look in first; None: none.
    download : bool, default=True
        Whether to download a missing set.

    Returns
    -------
    X : sparse matrix of shape (n_samples, n_features)
        Features.
    y : array of shape (n_samples,)
        Labels, -1 or +1.

    Examples
    --------
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
    y = np.where(batch.y > 0, 1, -1)
    file = get(name).file
    assert file is not None
    check(path, file, batch)
    X = csr_matrix((batch.values, batch.indices - 1, batch.indptr), (y.size, file.width))
    return X, y


def download(name: str, folder: str | os.PathLike[str] | None = None, *, quiet: bool = False) -> Path:
    """Download a data set from its public source, even if it is already on this machine.

    Parameters
    ----------
    name : str
        Name of a set, one of ``SETS``.
    folder : str, Path or None, default=None
        Folder for the file; None: the user's cache.
    quiet : bool, default=False
        Whether to show no progress.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> from onlineboost import open_stream
    >>> from onlineboost.datasets import download
    >>> next(open_stream(download("letter", ".", quiet=True), batch_size=100)).n_rows
    100
    """
    dataset = get(name)
    if dataset.source is None:
        raise DataError(missing(dataset))
    return fetch(dataset, Path(folder).expanduser() if folder is not None else cache(), quiet)


def locate(dataset: Dataset, data: str | os.PathLike[str] | None = None) -> Path | None:
    """The set's file if it is on this machine, without network access."""
    if dataset.file is None:
        return None
    names = [f"{dataset.name}{suffix}" for suffix in (".libsvm.gz", ".libsvm")]
    return next((folder / name for folder in folders(data) for name in names if (folder / name).is_file()), None)


def folders(data: str | os.PathLike[str] | None = None) -> list[Path]:
    """Folders to look in, in this order."""
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
    """Folder of downloaded sets."""
    from platformdirs import user_cache_path

    return user_cache_path("onlineboost", appauthor=False) / "datasets"


def missing(dataset: Dataset) -> str:
    """Error message for a set without a file: the reason and the next step."""
    name = dataset.name
    if dataset.file is None:
        return f"{name} is not available: {dataset.obstacle}"
    if dataset.source is not None:
        in_python = f"onlineboost.datasets.download({name!r})"
        return f"{name} is not on this machine: download it with {in_python} or onlineboost datasets --download {name}"
    target = f"put it as {name}.libsvm.gz into {cache()} or the folder named by {VARIABLE}"
    steps = f"Get it from {dataset.page}, convert it to LIBSVM text with labels -1 and +1, and {target}"
    return f"{name} needs a manual download: {dataset.obstacle}. {steps}"


def check(path: Path, file: File, batch: Batch) -> None:
    """Raise an error for another file of the same name."""
    n, positives = batch.y.size, int((batch.y > 0).sum())
    smallest, largest = int(batch.indices.min(initial=1)), int(batch.indices.max(initial=1))
    found = f"{n:,} examples, {positives:,} positive, features {smallest} to {largest}"
    expected = f"{file.examples:,} examples, {file.positives:,} positive, features 1 to {file.width}"
    if (n, positives, smallest, largest) != (file.examples, file.positives, 1, file.width):
        raise DataError(f"{path}: {found}: expected {expected}. To use this file anyway, read it with open_stream")


def _csr_matrix() -> Any:
    try:
        from scipy.sparse import csr_matrix
    except ImportError:
        other = "learn from open_stream(datasets.find(name))"
        raise ImportError(f"datasets.load needs SciPy, which is not installed: pip install scipy, or {other}") from None
    return csr_matrix
