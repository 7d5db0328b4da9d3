"""Letter recognition: 20,000 pictures of capital letters in 16 numbers each (Frey and Slate 1991; UCI, CC BY 4.0)."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from onlineboost.batch import Floats32, Ints


def load_letter() -> tuple[Floats32, Ints]:
    """The features, and +1 for the letters A to M, -1 for N to Z.

    >>> X, y = load_letter()
    >>> X.shape, int((y > 0).sum())
    ((20000, 16), 9940)
    """
    with (files("onlineboost.datasets") / "data" / "letter.npz").open("rb") as file, np.load(file) as data:
        return data["features"].astype(np.float32), np.where(data["letters"] <= b"M", 1, -1).astype(np.int64)
