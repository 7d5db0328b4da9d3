"""The comparison with other libraries: what is measured, and what becomes of it. Speeds are not judged here."""

from __future__ import annotations

import doctest
import importlib
import json
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from conftest import ROOT

LIGHTGBM = ("LightGBM", "LightGBM last window")


@pytest.fixture
def modules(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module


@pytest.fixture
def worker(modules):
    return modules("rivals_worker")


@pytest.fixture
def rivals(modules):
    return modules("rivals")


def stream(n=1_500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    return X, np.where(X[:, 0] - X[:, 1] > 0, 1, -1)


def test_a_run_on_a_real_stream(rivals, tmp_path, monkeypatch):
    output = tmp_path / "rivals.json"
    models = ["linear", "VW"]
    command = ["--rows=400", "--streams=letter", f"--models={','.join(models)}", f"--output={output}"]
    rivals.main(command)
    found = json.loads(output.read_text())["figures"]["streams"]["letter"]
    assert (found["rows"], found["features"], list(found["models"])) == (400, 16, models)
    assert all(100 < run["mistakes"] < 200 and run["seconds"] > 0 for run in found["models"].values())
    assert {name for name, run in found["models"].items() if "log_loss" in run} == {"VW"}

    again = []
    monkeypatch.setattr(rivals, "run_model", lambda name, *_: again.append(name) or {"skipped": "a test"})
    rivals.main(command)
    assert again == []
    rivals.main([*command, "--again=VW"])
    assert again == ["VW"]


@pytest.mark.parametrize("name", ["linear", "boosted linear", "VW", "VW boosting", "SGD", "River LR", "River HT"])
def test_rows_are_predicted_before_they_are_learned(worker, name):
    X, y = stream()
    coins = np.random.default_rng(1).choice([-1, 1], len(y))
    learned, guessed = (worker.measure(worker.MODELS[name], X, labels) for labels in (y, coins))
    assert learned["mistakes"] < 0.2 * len(y)
    assert 0.45 * len(y) < guessed["mistakes"] < 0.55 * len(y)


def test_warming_up_learns_more_than_once(worker):
    """What compiles at the second call is not timed."""
    calls = []

    class Counted(worker.NoChange):
        block = 1_000

        def learn(self, rows):
            calls.append(len(rows))
            return super().learn(rows)

    worker.measure(Counted, *stream())
    assert calls == [150, 150, 2, 1_000, 500]


def test_a_run_over_the_limit_is_stopped(worker):
    class Slow(worker.NoChange):
        warm_up = 0

        def learn(self, rows):
            began = time.process_time()
            while time.process_time() < began + 0.02:
                pass
            return super().learn(rows)

    X, y = stream()
    assert worker.measure(Slow, X, y, limit=0.05) == {"stopped": "over 0.05 s at row 300"}
    assert worker.measure(Slow, X, y, limit=9)["rows"] == len(y)


def test_figures_by_hand(worker):
    y = np.array([1, 1, -1, 1, -1])
    found = np.array([0.0, 0.0, 0.0, np.nan, 0.25])
    # Rows 0 to 2, before both labels were seen, and row 3, without a prediction: (positive + 1) / (rows + 2).
    p = np.array([1 / 2, 2 / 3, 3 / 4, 3 / 5, 0.25])
    loss = -np.log(np.where(y > 0, p, 1 - p)).mean()
    expected = {"rows": 5, "mistakes": 1, "first": 1, "log_loss": round(float(loss), 5)}
    assert worker.figures(found, y, True) == expected


def test_probabilities_of_0_and_1_are_held(worker):
    y = np.array([1, -1, 1, 1])
    sure = worker.figures(np.array([1.0, 0.0, 0.0, 1.0]), y, True)["log_loss"]
    assert sure == pytest.approx((np.log(2) + np.log(3) - np.log(1e-6)) / 4, abs=1e-4)


def test_river_gets_text_without_zeros(worker):
    X = sp.csr_matrix(np.array([[0, 2, 0], [0, 0, 0], [1, 0, 3]], np.float32))
    rows = worker.RiverLogistic(X, np.array([1, -1, 1])).rows(slice(0, 3))
    assert rows == [({1: 2.0}, True), ({}, False), ({0: 1.0, 2: 3.0}, True)]


def test_trainings_of_lightgbm(worker):
    """At doublings on all rows; and on the last window, at doublings and every 1,024 rows."""
    X, y = stream(10_000)
    trained = {name: [k for k in range(0, 10_000, 256) if worker.MODELS[name](X, y).trains(k)] for name in LIGHTGBM}
    doublings = [256 * 2**k for k in range(6)]
    assert trained["LightGBM"] == doublings
    assert trained["LightGBM last window"] == sorted({*doublings, *range(1024, 10_000, 1024)})


def test_windows_of_lightgbm(worker, monkeypatch):
    """The rows of each training, and the rows that it predicts."""
    X, y = stream(10_000)
    calls = []

    def train(parameters, rows):
        calls.append(rows)
        return SimpleNamespace(predict=lambda X, num_threads: X[:, 0])

    monkeypatch.setitem(sys.modules, "lightgbm", SimpleNamespace(Dataset=lambda X, y: X, train=train))
    for name, first in zip(LIGHTGBM, (0, 8192 - worker.WINDOW), strict=True):
        model = worker.MODELS[name](X, y)
        assert np.array_equal(model.learn(slice(8192, 8448)), X[8192:8448, 0])
        assert np.array_equal(calls.pop(), X[first:8192])


def test_memory_is_that_of_the_model(worker):
    class Large(worker.NoChange):
        def learn(self, rows):
            self.kept = getattr(self, "kept", None) or [np.ones(12_500_000)]
            return super().learn(rows)

    assert 90 < worker.measure(Large, *stream())["memory"] < 120


def test_capymoa_is_left_out_without_java(rivals, monkeypatch, capsys):
    monkeypatch.setattr(rivals.shutil, "which", lambda name: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert rivals.without_java(["VW", "CapyMOA ARF"]) == ["VW"]
    assert "needs Java" in capsys.readouterr().out


def test_the_page_describes_what_is_run(modules, rivals):
    page = modules("rivals_page")
    assert (page.NO_CHANGE, *page.EFFORTS, *page.PARTS, *page.RIVALS) == rivals.MODELS
    assert set(page.SEEN) == {*rivals.SHUFFLED, *rivals.IN_ORDER}
    assert page.FIGURES == rivals.FIGURES


def test_losses_are_shown(modules):
    page = modules("rivals_page")
    runs = {page.DEFAULT: 10, "VW": 9, "River LR": 8, "LightGBM": 11}
    models = {name: {"rows": 100, "mistakes": mistakes} for name, mistakes in runs.items()}
    table = page.losses({"sky": {"models": models}}, page.error, page.percent)
    assert table.splitlines()[2:] == ["| sky | 10.00 % | River LR 8.00 %, VW 9.00 % |"]


def test_streams_lost_are_counted(modules):
    page = modules("rivals_page")
    runs = [{page.DEFAULT: 10, "VW": 9}, {page.DEFAULT: 10, "VW": 10}, {page.DEFAULT: 10}]
    models = [{name: {"rows": 100, "mistakes": n} for name, n in one.items()} for one in runs]
    models[0]["SGD"] = {"stopped": "over 1 s at row 100"}
    streams = {str(k): {"models": one} for k, one in enumerate(models)}
    assert (page.lost(streams, ["VW", "SGD"]), page.lost(streams, ["SGD"])) == ("1 of 3", "0 of 3")


def test_cheaper_rivals_with_their_error(modules):
    page = modules("rivals_page")
    cheap, dear = ({"rows": 100, "mistakes": 30, "seconds": s, "memory": mb} for s, mb in ((0.1, 5.0), (9.0, 50.0)))
    runs = dict.fromkeys(page.RIVALS, dear) | {"VW": cheap}
    runs[page.DEFAULT] = {"rows": 100, "mistakes": 20, "seconds": 2.0, "memory": 10.0}
    table = page.cheaper({"sky": {"models": runs}}, ["sky"])
    assert table.splitlines()[2:] == ["| VW | 0.05 | 0.5 | 1.50 |"]


@pytest.mark.parametrize("name", ["rivals_page", "rivals_worker"])
def test_examples(modules, name):
    assert doctest.testmod(modules(name)).failed == 0


def test_the_picture_is_small(modules):
    assert modules("rivals_picture").PICTURE.stat().st_size < 60_000
