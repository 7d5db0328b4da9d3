"""Letter recognition: 20,000 pictures of capital letters in 16 numbers each (Frey and Slate 1991; UCI, CC BY 4.0)."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np

from onlineboost.data.batch import Floats32, Ints
from onlineboost.storage.atomic import write_text

# Names of the UCI repository.
_FIRST = ("x-box", "y-box", "width", "high", "onpix", "x-bar", "y-bar", "x2bar")
_LAST = ("y2bar", "xybar", "x2ybr", "xy2br", "x-ege", "xegvy", "y-ege", "yegvx")
NAMES = _FIRST + _LAST


def load_letter() -> tuple[Floats32, Ints]:
    """Features, and labels: +1 for the letters A to M, -1 for N to Z.

    >>> X, y = load_letter()
    >>> X.shape, int((y > 0).sum())
    ((20000, 16), 9940)
    """
    with (files("onlineboost.datasets") / "data" / "letter.npz").open("rb") as file, np.load(file) as data:
        return data["features"].astype(np.float32), np.where(data["letters"] <= b"M", 1, -1).astype(np.int64)


def export_letter(path: Path) -> None:
    """Write the set to a CSV file; the label column is "half": A-M or N-Z."""
    X, y = load_letter()
    rows = (
        ",".join([*(f"{x:.0f}" for x in row), "A-M" if sign > 0 else "N-Z"]) for row, sign in zip(X, y, strict=True)
    )
    write_text(path, "\n".join([",".join([*NAMES, "half"]), *rows]) + "\n")
