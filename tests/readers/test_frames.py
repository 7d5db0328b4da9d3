"""Data frames: the index of pandas is no feature, whatever was done to the frame, and wherever it comes in."""

from __future__ import annotations

import json

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pairs import everything
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import train_test_split

from onlineboost import DataError, Linear, tuning
from onlineboost.errors import ReadWarning
from onlineboost.evaluate import progressive_error
from onlineboost.readers import open_stream
from onlineboost.readers.frames import index_columns

N = 120
rng = np.random.default_rng(3)
FRAME = pd.DataFrame({"word": rng.choice(["a", "b", "c"], N), "size": rng.normal(size=N)})
LABELS = pd.Series((FRAME["size"] + (FRAME["word"] == "a") > 0.5).to_numpy(), name="label")

CHANGED = {
    "split": lambda frame: train_test_split(frame, random_state=0)[0],
    "filtered": lambda frame: frame[frame["size"] > 0],
    "sorted": lambda frame: frame.sort_values("size"),
    "concatenated": lambda frame: pd.concat([frame.iloc[60:], frame.iloc[:60], frame.iloc[50:70]]),
    "named index": lambda frame: frame.rename_axis("user").sample(frac=1, random_state=2),
    "index of words": lambda frame: frame.set_index(pd.Index([f"row {k}" for k in range(N)])),
    "index of dates": lambda frame: frame.set_index(pd.date_range("2024-01-01", periods=N)),
    "multi-index": lambda frame: frame.set_index([pd.Index(np.arange(N) % 7, name="day"), pd.Index(np.arange(N))]),
    "numbers only": lambda frame: frame[["size"]].sample(frac=1, random_state=1),
}


def changed(name):
    whole = FRAME.assign(label=LABELS)
    found = CHANGED[name](whole[["size", "label"]] if name == "numbers only" else whole)
    if "label" not in found:
        found = found.assign(label=LABELS[found.index])
    return found.drop(columns="label"), found["label"]


def same(one, other):
    assert [*one.feature_names_in_] == [*other.feature_names_in_]
    assert everything(one) == everything(other)


@pytest.mark.parametrize("name", CHANGED)
def test_the_index_is_no_feature(name):
    frame, y = changed(name)
    plain = frame.reset_index(drop=True)
    expected = Linear().fit(plain, y.to_numpy())
    model = Linear().fit(frame, y)
    same(model, expected)
    assert {*model.feature_names_in_} <= {"word", "size"}
    answers = expected.predict(plain)
    for X in (frame, plain):
        assert np.array_equal(model.predict(X), answers)
        assert model.explain(X).names == [*plain.columns]
        assert [ticket.prediction for ticket in model.ask(X)] == [*answers]
    same(Linear().partial_fit(frame, y), expected)
    same(Linear().fit(nw.from_native(frame), y), expected)
    same(Linear().fit(open_stream(frame, y=y)), Linear().fit(open_stream(plain, y=y)))
    assert progressive_error(Linear(), frame, y) == progressive_error(Linear(), plain, y)


@pytest.mark.parametrize("name", ["split", "named index", "numbers only"])
def test_rows_of_frames_learned_one_by_one_have_no_index(name):
    frame, y = changed(name)
    model, expected = Linear(), Linear()
    assert model.predict_many(frame).isna().all()
    model.learn_many(frame, y)
    expected.learn_many(frame.reset_index(drop=True), y)
    assert everything(model) == everything(expected)
    assert model.importances().keys() == expected.importances().keys()
    answers = model.predict_many(frame)
    assert answers.index.equals(frame.index)
    assert np.array_equal(answers, expected.predict_many(frame.reset_index(drop=True)))


def test_labels_that_depend_on_the_row_number_alone_are_not_predicted_from_it():
    labels = np.arange(N) < N // 2
    order = np.random.default_rng(0).permutation(N)
    frame, y = FRAME.iloc[order], labels[order]
    assert (Linear().fit(frame, y).predict(frame) == y).mean() < 0.75


def test_labels_and_weights_belong_to_rows_by_position():
    frame, y = changed("split")
    weight = pd.Series(np.linspace(0.5, 2, len(y)), index=y.index[::-1])
    other = pd.Series(y.to_numpy(), index=y.index[::-1])
    same(
        Linear().fit(frame, other, weight), Linear().fit(frame.reset_index(drop=True), y.to_numpy(), weight.to_numpy())
    )
    read = Linear().fit(open_stream(frame, y=other, sample_weight=weight))
    same(read, Linear().fit(open_stream(frame.assign(label=y.to_numpy(), weight=weight.to_numpy()), weight="weight")))


def test_calibration_by_scikit_learn_takes_a_split_frame():
    train, test, y, _ = train_test_split(FRAME, LABELS, random_state=0)
    calibrated = CalibratedClassifierCV(Linear(), cv=2).fit(train, y)
    assert np.allclose(calibrated.predict_proba(test), calibrated.predict_proba(test.reset_index(drop=True)))


def test_tuning_takes_frames_of_words_without_their_index():
    frame, y = changed("split")
    models = tuning.grid(Linear(), learning_rate=[0.1, 1.0])
    found = tuning.tune(models, frame, y).best
    assert found.error == tuning.tune(models, frame.reset_index(drop=True), y.to_numpy()).best.error
    assert found.error == pytest.approx(min(progressive_error(model, frame, y) for model in models))


# ---- tables that hold the index of a pandas frame


def tables(frame):
    """The frame as other libraries hold it, after pandas has written its index."""
    table = pa.Table.from_pandas(frame)
    return [table, nw.from_native(table), pl.from_arrow(table), pl.from_arrow(table).lazy()]


@pytest.mark.parametrize("kind", range(4))
@pytest.mark.parametrize("name", ["split", "numbers only"])
def test_an_index_within_a_table_is_left_out_with_a_word(name, kind):
    frame, y = changed(name)
    expected = Linear().fit(frame, y)
    with pytest.warns(ReadWarning, match="X: '__index_level_0__' is the index of a pandas frame: left out"):
        model = Linear().fit(tables(frame)[kind], y)
    same(model, expected)
    with pytest.warns(ReadWarning, match="__index_level_0__"):
        assert np.array_equal(model.predict(tables(frame)[kind]), expected.predict(frame))
    with pytest.warns(ReadWarning, match="data frame: '__index_level_0__'"):
        read = Linear().fit(open_stream(tables(frame)[kind], y=y))
    same(read, Linear().fit(open_stream(frame, y=y)))


@pytest.mark.parametrize("name", ["split", "named index", "multi-index"])
def test_parquet_of_pandas_is_read_without_its_index(name, tmp_path):
    frame, y = changed(name)
    frame = frame.assign(label=y.to_numpy())
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.warns(ReadWarning, match="(index_level_0__|user|day).* the index of a pandas frame: left out") as told:
        model = Linear().fit(open_stream(tmp_path / "a.parquet", batch_size=20))
    assert len(told) == 1
    same(model, Linear().fit(open_stream(frame.reset_index(drop=True))))


def test_csv_of_pandas_is_read_without_its_index(tmp_path):
    frame, y = changed("split")
    frame = frame.assign(label=y.to_numpy())
    frame.to_csv(tmp_path / "a.csv")
    frame.to_csv(tmp_path / "b.csv", index=False)
    with pytest.warns(
        ReadWarning, match="a.csv: the first column has no name, as the index of pandas .*: left out"
    ) as told:
        model = Linear().fit(open_stream(tmp_path / "a.csv"))
    assert len(told) == 1
    same(model, Linear().fit(open_stream(tmp_path / "b.csv")))
    assert np.array_equal(model.predict(tmp_path / "b.csv"), model.predict(frame.drop(columns="label")))
    assert next(open_stream(tmp_path / "a.csv", label=0, task="number")).batch.y[0] == frame.index[0]


def test_an_index_that_an_option_names_is_a_column(tmp_path):
    path = tmp_path / "a.parquet"
    FRAME.assign(label=LABELS).set_index(pd.Index([3, 1, 4, *range(N - 3)], name="user")).to_parquet(path)
    page = next(open_stream(path, drop="user"))  # without a warning, as all below
    assert page.fields == ("word", "size")
    page = next(open_stream(path, keep="user", batch_size=3))
    assert page.fields == ("word", "size") and page.kept == {"user": [3, 1, 4]}
    assert next(open_stream(path, categorical="user")).fields == ("word", "size", "user")
    assert next(open_stream(path, label="user", task="number")).batch.y[0] == 3
    with pytest.warns(ReadWarning, match="left out"):  # the last column is the last of the frame
        assert next(open_stream(path, label=-1)).schema.label == "label"


@pytest.mark.parametrize(
    "told", [b"", b"[]", b"{}", b'{"index_columns": 3}', b'{"index_columns": [1, {"a": 2}]}', b"\xff"]
)
def test_metadata_that_make_no_sense_are_passed_over(told):
    assert index_columns(["a", "user"], {b"pandas": told}) == []
    assert index_columns(["a", "user"], {b"pandas": json.dumps({"index_columns": ["user"]}).encode()}) == ["user"]


# ---- columns that cannot be read


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([1, "x"], r"column 'c' has values of several types \(int, str\): expected one type: X\['c'\].astype\(str\)"),
        (["x", 1.5, None], r"column 'c' has values of several types \(float, str\)"),
        ([1j, 2j], "column 'c' is .*expected numbers, texts, dates or booleans"),
        (pd.arrays.SparseArray([0, 1]), r"column 'c' is Sparse\[int64, 0\]: expected numbers"),
        ([2**70, 1], r"X has 1180591620717411303424 at row 0, column 'c': .*ids.*X\['c'\].astype\(str\)"),
    ],
)
def test_a_column_that_cannot_be_read_is_named_with_the_next_step(column, message):
    frame = pd.DataFrame({"word": ["a", "b", "c"][: len(column)], "c": column})
    for read in (lambda: Linear().fit(frame, [0, 1, 1][: len(column)]), lambda: [*open_stream(frame, y=[0, 1, 1])]):
        with pytest.raises(DataError, match=message) as caught:
            read()
        assert caught.value.column == "c"


@pytest.mark.parametrize("heading", ["", "Unnamed: 0"])
def test_a_first_column_without_a_name_is_an_index_in_every_kind_of_table(heading):
    with_index = pl.DataFrame({heading: range(N), "word": FRAME["word"].tolist(), "size": FRAME["size"].tolist()})
    with pytest.warns(ReadWarning, match="the first column has no name"):
        found = Linear().fit(with_index, LABELS)
    assert everything(found) == everything(Linear().fit(FRAME, LABELS))


def test_whole_numbers_of_a_categorical_column_are_categories():
    zips = pd.DataFrame({"zip": np.arange(N) % 7 + 10_000, "size": FRAME["size"]})
    words, groups = zips.astype({"zip": str}), zips.astype({"zip": "category"})
    assert everything(Linear().fit(groups, LABELS)) == everything(Linear().fit(words, LABELS))
    assert everything(Linear().fit(zips, LABELS)) != everything(Linear().fit(words, LABELS))
