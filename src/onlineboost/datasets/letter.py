"""Letter recognition: 20,000 pictures of capital letters in 16 numbers each (Frey and Slate 1991; UCI, CC BY 4.0)."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.batch import Floats32
from onlineboost.storage.atomic import write_text

# Names of the UCI repository.
_FIRST = ("x-box", "y-box", "width", "high", "onpix", "x-bar", "y-bar", "x2bar")
_LAST = ("y2bar", "xybar", "x2ybr", "xy2br", "x-ege", "xegvy", "y-ege", "yegvx")
NAMES = _FIRST + _LAST


def load_letter(letters: bool = False) -> tuple[Floats32, NDArray[Any]]:
    """The data set Letter Recognition, in random order; it comes with the package.

    Parameters
    ----------
    letters : bool, default=False
        Whether labels are the 26 letters; otherwise they are +1 for A to M and -1 for N to Z.

    Returns
    -------
    X : array of shape (20000, 16)
        Features.
    y : array of shape (20000,)
        Labels.

    Examples
    --------
    >>> X, y = load_letter()
    >>> X.shape, int((y > 0).sum())
    ((20000, 16), 9940)
    >>> len(set(load_letter(letters=True)[1].tolist()))
    26
    """
    with (files("onlineboost.datasets") / "data" / "letter.npz").open("rb") as file, np.load(file) as data:
        features, found = data["features"].astype(np.float32), data["letters"]
    return features, found.astype(str) if letters else np.where(found <= b"M", 1, -1).astype(np.int64)


def export_letter(path: Path) -> None:
    """Write the set to a CSV file; the label column is "half": A-M or N-Z."""
    X, y = load_letter()
    rows = (
        ",".join([*(f"{x:.0f}" for x in row), "A-M" if sign > 0 else "N-Z"]) for row, sign in zip(X, y, strict=True)
    )
    write_text(path, "\n".join([",".join([*NAMES, "half"]), *rows]) + "\n")
