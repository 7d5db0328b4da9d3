"""Columns of text: words as features, whatever the source, found by their cells, row by row."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import reference_readers as slow
from pairs import everything

import onlineboost
from onlineboost import DataError, Linear
from onlineboost.data.text import is_long, words_of
from onlineboost.data.text_columns import DISTINCT
from onlineboost.readers import open_stream

TEXTS = [
    "Card DECLINED, 1,001.50 euro?",
    "ÉTÉ ΟΔΟΣ οδος don't naïve İstanbul straße Ⱥ",
    "great🎉🎉ok ™ x_1",
    "払い戻しをお願いします。ラーメン a中b 我 愛你",
    "ขอเงินคืนได้ไหม ທົດສອບ",
    "Мой платёж НЕ прошёл",  # noqa: RUF001
    "तुम कैसे हो",
    "تم رفض البطاقة",
    "결제가 거절되었습니다 다시",
    "3.14.15 .5 5. 1,a",
    "",
    " - ?!",
    "ab\u00a0cd\u3000ef gh",
]


def test_words_are_those_of_the_slow_twin():
    rng = np.random.default_rng(1)
    letters = np.array([*"".join(TEXTS)])
    texts = TEXTS + ["".join(rng.choice(letters, rng.integers(1, 30))) for _ in range(2000)]
    assert [words_of(text) for text in texts] == [slow.words_of(text) for text in texts]
    assert [is_long(text) for text in texts] == [slow.is_long(text) for text in texts]


def table(n=400):
    """Rows whose text begins with short cells; a category of many words; gaps."""
    rng = np.random.default_rng(2)
    words = np.array("the card was declined please my invoice is wrong parcel late refund".split())  # noqa: SIM905
    grades = ["some school but no degree", "a degree of some school", "none"]
    rows = []
    for k in range(n):
        m = int(rng.integers(1, 3) if k < 20 else rng.integers(0, 9))
        text = " ".join(rng.choice(words, m)).capitalize()
        grade = grades[rng.integers(3)] if k % 7 else None
        rows.append({"text": text or None, "grade": grade, "size": float(k % 13) / 4, "label": int("refund" in text)})
    return rows


ROWS = table()
FRAME = pd.DataFrame(ROWS)


def sources(folder):
    FRAME.to_csv(folder / "t.csv", index=False)
    FRAME.to_parquet(folder / "t.parquet")
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return {
        "csv": str(folder / "t.csv"),
        "parquet": str(folder / "t.parquet"),
        "jsonl": str(folder / "t.jsonl"),
        "pandas": FRAME,
        "polars": pl.DataFrame(FRAME),
        "dicts": ROWS,
    }


def streamed(source, **options):
    return Linear().fit(open_stream(source, **options))


def test_the_same_bits_from_every_source_and_batch(tmp_path):
    found = sources(tmp_path)
    expected = streamed(found["csv"])
    columns = expected._fitted.columns
    assert columns.text.columns == {"text"}
    assert {*columns.text.cells} == {"grade"}
    assert {"text=refund", "grade=a degree of some school", "grade=degree", "text=", "grade="} <= {
        *columns.names.values()
    }
    for name, source in found.items():
        for batch_size in (1 << 14, 7):
            assert everything(streamed(source, batch_size=batch_size)) == everything(expected), (name, batch_size)
    answers = expected.predict(FRAME.drop(columns="label"))
    assert np.array_equal(expected.predict(open_stream(found["csv"], like=expected, labels="ignored")), answers)


def test_the_same_features_row_by_row_and_in_frames():
    expected, by_frames, one_by_one = streamed(ROWS), Linear(), Linear()
    X, y = FRAME.drop(columns="label"), FRAME["label"]
    for k, row in enumerate(ROWS):
        x = {name: value for name, value in row.items() if name != "label"}
        if k % 50 == 49:
            assert one_by_one.predict_one(x) == one_by_one.predict([x])[0]
        one_by_one.learn_one(x, row["label"])
        if k % 100 == 0:
            by_frames.partial_fit(X[k : k + 100], y[k : k + 100])
    answers = expected.predict(ROWS)
    for model in (one_by_one, by_frames):
        assert model._fitted.columns.text.describe() == expected._fitted.columns.text.describe()
        assert np.array_equal(model.predict(ROWS if model is one_by_one else X), answers)


@pytest.mark.parametrize("stop", [10, 90, 150])
def test_resumed_in_the_midst_of_a_page(tmp_path, stop):
    expected = streamed(ROWS)
    model = Linear()
    page = next(open_stream(ROWS))
    model.learn(page.rows(0, stop))
    model.save(tmp_path / "model")
    loaded = onlineboost.load(tmp_path / "model")
    assert loaded._fitted.columns.text.describe() == model._fitted.columns.text.describe()
    for page in open_stream(ROWS[stop:], like=loaded, batch_size=33):
        loaded.learn(page)
    assert everything(loaded) == everything(expected)


def test_asked_and_told():
    asked, learned = Linear(), Linear()
    for k, row in enumerate(ROWS):
        x = {name: value for name, value in row.items() if name != "label"}
        if k > 20:
            asked.tell(asked.ask(x), row["label"])
        else:
            asked.learn_one(x, row["label"])
        learned.learn_one(x, row["label"])
    assert asked._fitted.columns.text.describe() == learned._fitted.columns.text.describe()


def test_said_outright(tmp_path):
    names = sources(tmp_path)
    for name, source in names.items():
        model = streamed(source, text=["grade", "size"], categorical="text")
        known = {*model._fitted.columns.names.values()}
        assert {"grade=degree", "size=0.25", "text=Parcel late"} <= known | {"text=Parcel late"}, name
        assert not {"grade=a degree of some school", "text=refund"} & {n for n in known if n != "text=refund"}, name
        assert model._fitted.columns.text.columns == frozenset()
        assert model.predict_one(ROWS[30]) == model.predict([ROWS[30]])[0]
    with pytest.raises(DataError, match=r"no column 'texts' for text=\.\.\.; the columns are text, grade"):
        streamed(names["csv"], text="texts")
    with pytest.raises(onlineboost.ParameterError, match="categorical"):
        open_stream(names["csv"], text="text", categorical="text")


def test_many_columns_with_long_names_and_new_cells():
    """More new cells in a row than there is room for at first."""
    rows = [
        {f"{'column ' * 40}{k}": f"four words or more {r} {k}" for k in range(80)} | {"label": r % 2} for r in range(70)
    ]
    model, other = streamed(rows), Linear()
    for row in rows:
        other.learn_one({name: value for name, value in row.items() if name != "label"}, row["label"])
    assert len(model._fitted.columns.text.columns) == 80
    assert model._fitted.columns.text.describe() == other._fitted.columns.text.describe()
    assert everything(model) == everything(streamed(pd.DataFrame(rows)))


def test_models_of_before_know_no_text():
    model = onlineboost.load("tests/saved/format7-tree.safetensors")
    assert model._fitted.columns.text is None
    page = next(open_stream([{"comment": f"a cell of words {k}", "label": 1} for k in range(2 * DISTINCT)], like=model))
    assert not page.sighted
    assert np.diff(page.batch.indptr).tolist() == [1] * (2 * DISTINCT)
    row = model._fitted.columns.row({"comment": "a cell of words"}, True)
    assert len(row.ids) == 1
    assert not row.sighted


@pytest.mark.parametrize(
    "text",
    [
        {"columns": ["a"], "cells": {"a": [1]}},
        {"columns": "a", "cells": {}},
        {"columns": [1], "cells": {}},
        {"columns": [], "cells": {"a": []}},
        {"columns": [], "cells": {"a": [-1]}},
        {"columns": [], "cells": {"a": [*range(DISTINCT)]}},
    ],
)
def test_invalid_columns_of_text_are_refused(text):
    with pytest.raises(ValueError, match="text|cells"):
        type(streamed(ROWS)._fitted.columns.text).restore(text)
