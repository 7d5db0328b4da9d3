from __future__ import annotations

import gc
import gzip
import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import settings

settings.register_profile("onlineboost", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("onlineboost")

ROOT = Path(__file__).parent.parent
DATA = Path(os.environ.get("ONLINEBOOST_DATA") or "no-data")
NO_DATA = "needs {} in the folder named by ONLINEBOOST_DATA"


def pytest_collection_modifyitems(items):
    """What compiles the same code goes to the same worker (``--dist loadgroup``): it is compiled once."""
    for item in items:
        given = getattr(item, "callspec", None)
        params = given.params if given is not None else {}
        if isinstance(params.get("booster"), str) and isinstance(params.get("learner"), str):
            item.add_marker(pytest.mark.xdist_group(f"{params['booster']} {params['learner']}"))
        elif "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("ray"))  # one cluster for all
        else:
            item.add_marker(pytest.mark.xdist_group(str(item.path)))


def pytest_collection_finish(session):
    """What is there by now stays, and the compiler's objects do too: the garbage collector need not look often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def one_process():
    """Commands called in this process compile here, not in processes beside those of the tests."""
    patch = pytest.MonkeyPatch()
    patch.setattr("onlineboost.compiled.cores.n_cores", lambda: 1)
    yield
    patch.undo()


@pytest.fixture(scope="session")
def cluster():
    """One Ray cluster of two workers for all tests of a process, since it takes seconds to start."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("needs Ray: pip install 'onlineboost[ray]'")
    from onlineboost.scale import find_ray

    ray = find_ray()
    ray.init(
        "local", num_cpus=2, object_store_memory=80 << 20,
        include_dashboard=False, log_to_driver=False, logging_level="error",
    )  # fmt: skip
    yield ray
    ray.shutdown()


@pytest.fixture(scope="session")
def real_set():
    """A function that loads one of the sets in ONLINEBOOST_DATA, shuffled, or skips the test where it is absent."""

    def load(name: str, rows: int) -> tuple[sp.csr_matrix, np.ndarray]:
        path = DATA / f"{name}.libsvm.gz"
        if not path.exists():
            pytest.skip(NO_DATA.format(path.name))
        labels, indptr, indices, values = [], [0], [], []
        with gzip.open(path, "rt") as text:
            lines = text.readlines()
        for number in np.random.default_rng(0).permutation(len(lines))[:rows]:
            label, *features = lines[number].split()
            labels.append(float(label))
            for feature in features:
                index, value = feature.split(":")
                indices.append(int(index) - 1)
                values.append(float(value))
            indptr.append(len(indices))
        return sp.csr_matrix((values, indices, indptr), dtype=np.float32), np.array(labels)

    return load


@pytest.fixture(scope="session")
def stream():
    return make_stream()


def make_stream():
    """Four hundred rows of a noisy linear rule, with ten features on different scales and some zeros."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(400, 10)).astype(np.float32) * (2.0 ** np.arange(-4, 6)).astype(np.float32)
    X[rng.random(X.shape) < 0.2] = 0
    y = np.where(X @ rng.normal(size=10) + rng.normal(size=400) > 0, 1, -1)
    return X, y


def houses(rows: int, districts: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows in time order: day, size, rooms, place, and districts one-hot; prices that rise by 6 % a year."""
    rng = np.random.default_rng(seed)
    day, district = np.sort(rng.integers(0, 3300, rows)), rng.integers(0, districts, rows)
    size, place = rng.lognormal(4.6, 0.4, rows), rng.random((rows, 2))
    rooms = np.clip(np.round(size / 25 + rng.normal(size=rows)), 1, 12)
    X = np.column_stack([16_436 + day, size, rooms, place, np.eye(districts)[district]])
    level = 8 + 0.95 * np.log(size) + 0.06 * day / 365 - 0.3 * np.hypot(*(place.T - 0.5))
    return X, np.exp(level + rng.normal(0, 0.35, districts)[district] + 0.15 * rng.normal(size=rows))
