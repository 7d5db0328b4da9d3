"""Columns that look like one thing and are read as another: said once, with the flag; few false alarms."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from commands import run

from onlineboost.cli.look_alikes import are_codes

OPTIONS = ["-a", "none", "--no-baseline", "-q"]


def test_look_alikes_are_said_once(tmp_path, capsys):
    rng = np.random.default_rng(0)
    n = 400
    table = pd.DataFrame(
        {
            "shop zip": rng.integers(501, 99_950, 90)[rng.integers(0, 90, n)],
            "store": rng.integers(10_000, 99_999, 90)[rng.integers(0, 90, n)],
            "age": rng.integers(18, 90, n).astype(str),
            "sold": ["2024-01-05" if k % 3 else "" for k in range(n)],
            "price": ["" if k < 3 else "$1,001.50" for k in range(n)],  # the first page ends before the first comma
            "salary": rng.integers(20_000, 90_000, n),
            "label": rng.integers(0, 2, n),
        }
    )
    table.loc[rng.integers(0, n, 9), "age"] = "n.a."
    table.loc[n - 1, ["age", "sold"]] = "too old", "soon"
    file, model = tmp_path / "x.csv", tmp_path / "m"
    table.to_csv(file, index=False)
    assert run(capsys, "train", file, *OPTIONS, "-o", model)[1].splitlines() == [
        "onlineboost: columns 'shop zip', 'store' have numbers that look like codes; if they are, read them as names: "
        "--categorical 'shop zip' --categorical store",
        "onlineboost: column 'age' has numbers, and 2 other values: 'n.a.', 'too old'; "
        "--categorical age reads all cells as categories",
        "onlineboost: column 'sold' has dates, and another value: 'soon'; "
        "--categorical sold reads all cells as categories",
    ]
    err = run(capsys, "train", file, "-q", "--resume", model, "--again")[1]
    assert "--categorical" not in err  # it was said before
    flags = [flag for name in ("shop zip", "store", "age", "sold") for flag in ("--categorical", name)]
    assert run(capsys, "train", file, *OPTIONS, *flags)[1] == ""


def test_many_mixed_columns_are_said_briefly(tmp_path, capsys):
    rows = pd.DataFrame({f"c{k}": [*range(150), "soon"] for k in range(12)} | {"label": [k % 2 for k in range(151)]})
    rows.to_csv(tmp_path / "x.csv", index=False)
    err = run(capsys, "train", tmp_path / "x.csv", *OPTIONS)[1].splitlines()
    assert len([line for line in err if "another value: 'soon'" in line]) == 5
    assert (
        err[-1]
        == "onlineboost: 7 more columns have numbers or dates, and other values: 'c5', 'c6', 'c7', 'c8', 'c9', ..."
    )


MEASURED = {
    "year": lambda rng, n: rng.integers(1890, 2024, n),
    "elevation": lambda rng, n: rng.normal(2900, 280, n).round(),
    "salary": lambda rng, n: rng.lognormal(10.8, 0.2, n).round(),
    "rounded": lambda rng, n: rng.integers(20, 90, n) * 1000,
    "month": lambda rng, n: 100 * rng.integers(2010, 2025, n) + rng.integers(1, 13, n),
    "day": lambda rng, n: rng.integers(43_800, 45_200, n),
    "seconds": lambda rng, n: np.float32(1.7e9 + rng.integers(0, 10**5, n)),
    "capped": lambda rng, n: np.where(rng.random(n) < 0.8, 99_999, rng.integers(10_000, 99_999, n)),
    "prices of a list": lambda rng, n: rng.integers(2000, 60_000, 50)[rng.integers(0, 50, n)],
    "seats": lambda rng, n: rng.poisson(30, n),
    "share": lambda rng, n: rng.integers(1000, 9999, 50)[rng.integers(0, 50, n)] + 0.5,
}


@pytest.mark.parametrize("name", MEASURED)
def test_measurements_are_no_codes(name):
    for seed, n in enumerate([100, 300, 1000, 2000] * 5):
        assert not are_codes(name, MEASURED[name](np.random.default_rng(seed), n).astype(np.float64))


@pytest.mark.parametrize(("name", "named"), [("zip", True), ("userId", True), ("SHOP_CODE", True), ("idle", False)])
def test_names_of_codes(name, named):
    assert are_codes(name, np.arange(400.0) % 60) == named
    assert not are_codes(name, np.arange(400.0) / 2 % 60)  # no whole numbers
    assert not are_codes(name, np.arange(400.0))  # an id of rows
    assert not are_codes(name, np.arange(400.0) % 9)
