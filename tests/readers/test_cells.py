"""Cells: the same value is the same features from every source, and one that cannot be read is named."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from commands import run

from onlineboost import DataError, LeastSquares, Linear
from onlineboost.readers import open_stream

DAY, MIDNIGHT, NIGHT = "2024-01-05", "2024-01-05T00:00:00", "2024-01-05 00:30:00"


def features(source, **options):
    """Features of the only row, by name."""
    (page,) = open_stream(source, labels="optional", **options)
    return dict(zip(page.batch.indices.tolist(), page.batch.values.tolist(), strict=True)), dict(page.names)


def dates(tmp_path, text):
    """A moment in every source that can hold it."""
    moment = dt.datetime.fromisoformat(text)
    stamp = pd.Timestamp(text)
    yield [{"t": text}]
    yield [{"t": moment}]
    yield [{"t": stamp}]
    yield from ([{"t": np.datetime64(stamp, unit)}] for unit in ("s", "us", "ns"))
    yield from (pd.DataFrame({"t": [stamp]}).astype(f"datetime64[{unit}]") for unit in ("s", "us", "ns"))
    yield pd.DataFrame({"t": [text]})
    yield pl.DataFrame({"t": [moment]})
    yield pa.table({"t": [moment]})
    for name, cell in (("a.csv", text), ("b.csv", f"{text.replace(' ', 'T')}.000Z" if len(text) > 10 else text)):
        (tmp_path / name).write_text(f"t\n{cell}\n")
        yield tmp_path / name
    if text in (DAY, MIDNIGHT):
        yield from ([{"t": moment.date()}], pl.DataFrame({"t": [moment.date()]}), pd.DataFrame({"t": [moment.date()]}))
        yield [{"t": np.datetime64(DAY)}]


@pytest.mark.parametrize("text", [DAY, MIDNIGHT, NIGHT, "2024-01-05 23:59:59"])
def test_a_date_has_the_same_features_from_every_source(text, tmp_path):
    found = [
        features(source, header=True) if isinstance(source, type(tmp_path)) else features(source)
        for source in dates(tmp_path, text)
    ]
    assert len(found) > 12
    assert all(one == found[0] for one in found)
    hours = {DAY: set(), MIDNIGHT: set(), NIGHT: {"t.hour=0"}}.get(text, {"t.hour=23"})
    assert {*found[0][1].values()} == {"t", "t.month=1", "t.weekday=4"} | hours


def test_frames_of_midnights_are_learned_as_dates_are():
    days = pd.date_range("2024-01-01", periods=60)
    frames = [
        pd.DataFrame({"day": days}),
        pl.DataFrame({"day": [day.date() for day in days]}),
        [{"day": day} for day in days],
        [{"day": f"{day.date()}"} for day in days],
    ]
    scores = [Linear().fit(X, days.month == 1).decision_function(X) for X in frames]
    assert all(np.array_equal(scores[0], one) for one in scores)


@pytest.mark.parametrize("missing", [pd.NaT, pd.NA, None, np.nan, np.datetime64("NaT"), np.timedelta64("NaT")])
def test_missing_values_of_every_library_are_missing_in_dicts(missing):
    expected = Linear()
    expected.learn_one({"a": None, "b": 1.0}, 1)
    found = Linear()
    found.learn_one({"a": missing, "b": 1.0}, 1)
    assert found._fitted.columns.names == expected._fitted.columns.names
    _, names = features([{"a": missing, "b": 1.0}])
    assert {*names.values()} == {"a", "a=", "b"}


@pytest.mark.parametrize(
    ("value", "number"),
    [(dt.timedelta(minutes=2), 120), (np.timedelta64(2, "m"), 120), (Decimal("2.5"), 2.5), (np.float32(2.5), 2.5)],
)
def test_durations_and_decimals_of_dicts_are_numbers_as_in_frames(value, number):
    assert features([{"a": value}]) == features(pd.DataFrame({"a": [value]})) == features([{"a": float(number)}])


# ---- numbers that are ids

ID = 1800000000000007919


def test_an_id_of_64_bits_in_a_file_names_the_column_and_the_options(tmp_path, capsys):
    advice = "if the column holds ids, categorical=... reads them as words, and drop=... leaves it out"
    for name, text in (
        ("x.csv", f'city,user,label\n"a ""b"", c",7,1\n"d,e",{ID},0\n'),
        ("x.jsonl", f'{{"a": {{"b": "}}:"}}, "user": 7, "label": 1}}\n{{"a": {{"b": 1}}, "user": {ID}, "label": 0}}\n'),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(
            DataError, match=f"{name}: line [23], character .*: .* found '{ID}' in column 'user'; {advice}"
        ):
            [*open_stream(tmp_path / name)]
        _, error = run(capsys, "train", tmp_path / name, "-q", code=1)
        assert "column 'user'" in error and "--categorical reads them as words, and --drop leaves it out" in error
        assert f"user={ID}" in {
            name for page in open_stream(tmp_path / name, categorical="user") for _, name in page.names
        }
        assert sum(page.n_rows for page in open_stream(tmp_path / name, drop="user")) == 2
    pd.DataFrame({"user": [7, ID], "label": [0, 1]}).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(DataError, match=f"x.parquet: row 2, column 'user': .*; {advice}"):
        [*open_stream(tmp_path / "x.parquet")]


@pytest.mark.parametrize("value", [ID, 2**63 + 5, 2**64 + 3, 2**70, 10**400], ids=lambda value: f"{len(str(value))}")
def test_large_integers_are_our_own_errors_in_python(value):
    expected = "number of magnitude at most 1e.?18"
    rows = {"list": [[value], [1]], "array": np.array([[value], [1]], object), "dicts": [{"a": value}, {"a": 1}]}
    rows["frame"] = pd.DataFrame({"a": [value, 1]}, dtype=object)  # early versions of pandas would convert it
    rows["words"] = pd.DataFrame({"a": [value, 1], "b": ["x", "y"]}, dtype=object)
    for name, X in rows.items():
        with pytest.raises(DataError, match=rf"{expected}.*ids, .*(strings|words)"):
            Linear().fit(X, [0, 1])
        with pytest.raises(DataError, match=expected):
            [*open_stream(X, labels="optional", **({} if name == "dicts" else {"y": [0, 1]}))]
    for use in (lambda: Linear().learn_one({"a": value}, 1), lambda: LeastSquares().fit([[1], [2]], [value, 1])):
        with pytest.raises(DataError, match=expected):
            use()
    with pytest.raises(DataError, match=expected):
        LeastSquares().learn_one({"a": 1}, value)
    with pytest.raises(DataError, match="sample_weight"):
        Linear().fit([[1], [2]], [0, 1], [value, 1])
    words = features([{"a": value}], categorical="a")[1]
    assert [*words.values()] == [f"a={value}"]


def test_infinities_are_no_ids(tmp_path):
    (tmp_path / "x.csv").write_text("a,label\ninf,1\n")
    with pytest.raises(
        DataError,
        match=r"expected a number of magnitude at most 1e18, found 'inf' in column 'a'; if it is a word, name",
    ):
        [*open_stream(tmp_path / "x.csv")]
    with pytest.raises(DataError, match=r"magnitude at most 1e\+18$"):
        Linear().fit([[np.inf], [1]], [0, 1])
