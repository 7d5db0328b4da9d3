"""Cells as people write them: amounts, missing values, booleans; the same from every source."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pairs import everything

import onlineboost
from onlineboost import DataError, LeastSquares, Linear
from onlineboost.compiled.jit import njit
from onlineboost.data.amounts import MISSING_WORDS, amount
from onlineboost.errors import ReadWarning
from onlineboost.readers import open_stream
from onlineboost.readers.amounts import amount as compiled_amount

AMOUNTS = {
    "12%": 12.0,
    "12.5 %": 12.5,
    "$1,001.50": 1001.5,
    "-$5": -5.0,
    "$-5": -5.0,
    "€ 1.001,50": 1001.5,
    "1 001,50 €": 1001.5,
    "1'001’500.5": 1001500.5,  # noqa: RUF001
    "(7 €)": -7.0,
    "1,001": 1001.0,
    "£.5": 0.5,
    "1001.50": None,
    "1,5": None,
    "1 001": None,
    "0,123": None,
    "1,00,000": None,
    "($-5)": None,
    "12,34%": None,
    "%": None,
    "(": None,
}


@njit
def _run(text, size, out):
    return compiled_amount(text, 0, size, 46, out, 0)


def fast_amount(text):
    encoded = text.encode()
    value, good = _run(np.frombuffer(encoded + bytes(16), np.uint8), len(encoded), np.zeros(64, np.uint8))
    return value if good else None


def test_amounts_and_their_twin():
    assert {text: amount(text) for text in AMOUNTS} == AMOUNTS
    rng = np.random.default_rng(0)
    letters = [*"0123456789,.$€%'’ -+()e\u00a0\u202f"]  # noqa: RUF001
    texts = [*AMOUNTS, *("".join(rng.choice(letters, rng.integers(1, 11))) for _ in range(4000))]
    texts += [f"{a}{n:,}{b}" for n, a, b in zip(rng.integers(1, 10**9, 4000), texts[50:], texts[9:], strict=False)]
    assert [fast_amount(text) for text in texts] == [amount(text) for text in texts]


def rows():
    words = ["please refund my order now", "the card was declined again", "hello", "NA"]
    return [
        {
            "price": [f"${k * 37:,}.50", "N/A", "-"][0 if k % 5 else k % 2 + 1],
            "share": f"{k % 9}%",
            "size": k % 7 / 4,
            "paid": ["Yes", "no", "YES", "?"][k % 4],
            "open": k % 3 == 0,
            "day": f"2024-0{k % 9 + 1}-1{k % 8}",
            "note": f"{words[k % 4]} {k}" if k % 4 < 2 else words[k % 4],
            "label": ["yes", "No", "Yes"][k % 3],
        }
        for k in range(200)
    ]


def test_one_table_from_every_source(tmp_path):
    """Text, dates, money, percent, missing values and booleans; dates and booleans typed, or as text."""
    table = rows()
    frame = pd.DataFrame(table)
    frame.to_csv(tmp_path / "t.csv", index=False)
    typed = frame.assign(day=pd.to_datetime(frame.day))
    typed.to_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table))
    days = pl.DataFrame(frame).with_columns(pl.col("day").str.to_date())
    sources = [str(tmp_path / f"t.{kind}") for kind in ("csv", "parquet", "jsonl")]
    sources += [frame, typed, days, pl.DataFrame(frame), pd.read_csv(tmp_path / "t.csv"), table]
    learned = []
    for source in sources:
        with pytest.warns(ReadWarning, match="the labels 'yes' and 'Yes' are one: 'yes'"):
            learned.append(Linear().fit(open_stream(source)))
    expected = learned[0]
    names = {*expected._fitted.columns.names.values()}
    assert {"price", "price=", "share", "paid=yes", "paid=no", "paid=", "open", "day", "note=refund", "note="} <= names
    assert not [name for name in names if name.startswith(("price=$", "share=", "open=", "day=")) or "Y" in name]
    assert expected.classes_.tolist() == ["No", "yes"]
    assert [everything(model) == everything(expected) for model in learned] == [True] * len(sources)
    answers = [*expected.predict(open_stream(sources[0], like=expected, labels="ignored"))]
    assert [expected.predict_one(row) for row in table] == answers == [*expected.predict(frame.drop(columns="label"))]


@pytest.mark.parametrize("word", sorted(MISSING_WORDS))
def test_words_for_what_is_missing(word):
    page = next(open_stream([{"a": word, "b": 1, "label": 0}]))
    assert [name for _, name in page.names] == ["a=", "b"] or [name for _, name in page.names] == ["a", "a=", "b"]
    page = next(open_stream([{"a": word, "label": 0}], categorical="a"))
    assert [name for _, name in page.names] == [f"a={word}"]


def test_numbers_to_predict(tmp_path):
    table = [{"a": k % 5, "label": f"${k % 5 * 1000:,}.50"} for k in range(60)]
    pd.DataFrame(table).to_csv(tmp_path / "t.csv", index=False)
    plain = LeastSquares().fit(open_stream([row | {"label": row["a"] * 1000 + 0.5} for row in table], task="number"))
    for source in (str(tmp_path / "t.csv"), table, pl.DataFrame(table)):
        model = LeastSquares().fit(open_stream(source, task="number"))
        assert model.predict_one({"a": 3}) == plain.predict_one({"a": 3})
    with pytest.raises(DataError, match="'a lot'"):
        LeastSquares().fit(open_stream([{"a": 1, "label": "a lot"}], task="number"))


def test_amounts_that_are_too_large_are_errors(tmp_path):
    """From every source; nothing else in the row is taken for them."""
    table = [{"a": f"{k}%", "label": k % 2} for k in range(20)] + [{"a": "$1e19", "label": 1}]
    model = Linear().fit(open_stream(table[:20]))
    frame = pd.DataFrame(table)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table))
    for source in (*(str(tmp_path / f"t.{kind}") for kind in ("csv", "parquet", "jsonl")), frame, table):
        with pytest.raises(DataError, match=r"(line|row) 2[12].*of magnitude at most 1e18, found '\"?\$1e19\"?'"):
            list(open_stream(source))
        assert sum(page.n_rows for page in open_stream(source, on_error="skip")) == 20
        assert sum(page.n_rows for page in open_stream(source, categorical="a")) == 21
    with pytest.raises(DataError, match="magnitude at most 1e18"):
        model.predict_one({"a": "$1e19"})


def test_percent_signs_and_decimal_commas(tmp_path):
    (tmp_path / "t.csv").write_text("a;label\n" + "".join(f"{k % 9},{k % 8}5%;{k % 2}\n" for k in range(60)))
    with pytest.warns(ReadWarning, match=r"'0,05' is read as the number 0.05, with a decimal comma"):
        page = next(open_stream(tmp_path / "t.csv"))
    assert page.batch.values[:3].tolist() == np.array([0.05, 1.15, 2.25], np.float32).tolist()


@pytest.mark.parametrize("order", ["day_first", "month_first"])
def test_dates_in_the_order_that_is_said(tmp_path, order):
    """They have the features of their date in ISO 8601, whatever the source; any other order is an error."""
    iso = ["2024-01-13", "N/A", "2024-03-02T10:30+01:00", "2024-05-06", "1999-12-01T23:59Z"]
    parts = ["13/1/2024", "N/A", "02.3.2024 10:30+01:00", "2024-05-06", "1-12-1999T23:59Z"]
    if order == "month_first":
        parts = ["1/13/2024", "N/A", "3.02.2024 10:30+01:00", "2024-05-06", "12-1-1999T23:59Z"]
    table = [{"sold": parts[k % 5], "label": k % 2} for k in range(20)]
    expected = Linear().fit(open_stream([{"sold": iso[k % 5], "label": k % 2} for k in range(20)]))
    pd.DataFrame(table).to_csv(tmp_path / "t.csv", index=False)
    for source in (str(tmp_path / "t.csv"), pd.DataFrame(table), pl.DataFrame(table), table):
        model = Linear().fit(open_stream(source, **{order: "sold"}))
        assert everything(model) == everything(expected)
        assert [model.predict_one(row) for row in table] == [*model.predict(table)]
        other = {"day_first": "month_first", "month_first": "day_first"}[order]
        with pytest.raises(DataError, match=rf"'?sold'?.*{order}=\.\.\. is the other order") as problem:
            list(open_stream(source, **{other: "sold"}))
        assert "line 2" in str(problem.value) or "row 1" in str(problem.value) or "line 1" in str(problem.value)
    model.save(tmp_path / "m")
    loaded = onlineboost.load(tmp_path / "m")
    assert [loaded.predict_one(row) for row in table] == [model.predict_one(row) for row in table]
    with pytest.raises(DataError, match="expected a date"):
        loaded.predict_one({"sold": "soon"})


def test_models_of_before_read_as_before(tmp_path):
    model = onlineboost.load("tests/saved/format7-tree.safetensors")
    cells = {"a": "12%", "b": "NA", "c": "$1,001.50", "d": "Yes", "e": "1,001"}
    words = {f"{name}={cell}" for name, cell in cells.items()}
    pd.DataFrame([cells | {"label": 1}]).to_csv(tmp_path / "t.csv", index=False)
    for source in (str(tmp_path / "t.csv"), [cells | {"label": 1}], pl.DataFrame([cells | {"label": 1}])):
        decimal = {"decimal": "."} if isinstance(source, str) else {}
        for page in open_stream(source, like=model, **decimal):
            assert {name for _, name in page.names} == words
    assert {name for _, name in model._fitted.columns.row(cells, True).names} == words
