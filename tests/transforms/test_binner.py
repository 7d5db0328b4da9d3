"""Binner outside its pipeline: loaded from a memory map, or without SciPy."""

from __future__ import annotations

import sys

import joblib
import numpy as np
import pytest

from onlineboost import Binner
from onlineboost.data.arrays import as_matrix, check_features
from onlineboost.errors import MissingPackageError

X = np.random.default_rng(0).normal(size=(200, 3))


def test_a_binner_of_a_memory_map_transforms_and_learns(tmp_path):
    binner = Binner().fit(X)
    joblib.dump(binner, tmp_path / "binner")
    loaded = joblib.load(tmp_path / "binner", mmap_mode="r")
    assert (loaded.transform(X) != binner.transform(X)).nnz == 0
    loaded.partial_fit(X)


def test_scipy_is_named_where_it_is_missing(monkeypatch):
    binner = Binner().fit(X)
    batch = next(check_features(X).batches(np.ones(200), np.ones(200)))
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(MissingPackageError, match="Binner.transform needs SciPy, which is not installed: pip install"):
        binner.transform(X)
    with pytest.raises(MissingPackageError, match="a learner that is a Python object needs SciPy"):
        as_matrix(batch, 3)
