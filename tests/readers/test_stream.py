"""The same data through any reader, format, compression or batch size: the same bits in the model."""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
import json
import lzma
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from pairs import everything

import onlineboost
from onlineboost import AdaBoostOL, DataError, Linear, OnlineBBM, ParameterError
from onlineboost.errors import ConflictError, ReadError
from onlineboost.readers import open_stream

ROWS = 300


def people() -> list[dict]:
    """Rows with everything that a table can hold: numbers, words, dates, booleans, what is missing."""
    rng = np.random.default_rng(5)
    rows = []
    for k in range(ROWS):
        number = float(rng.normal()) if k % 7 else None
        word = ["red", "blue", "grün, hell", 'a "b"', "", "x=y"][k % 6] if k % 11 else None
        day = dt.date(2024, 1, 1) + dt.timedelta(days=int(rng.integers(900)))
        moment = dt.datetime(2025, 3, 4, int(rng.integers(24)), 30, 15)
        good = "yes" if (number or 0) + (k % 6) / 3 + rng.normal() > 0.8 else "no"
        rows.append(
            {
                "size": number,
                "colour": word,
                "count": int(rng.integers(4)),
                "day": day,
                "moment": moment,
                "big": bool(k % 3),
                "tiny": float(rng.random()) * 1e-7,
                "importance": [1.0, 0.5, 2.0, 0.0][k % 4],
                "good": good,
            }
        )
    return rows


OPTIONS = {"label": "good", "weight": "importance"}


def learned(source, **options) -> tuple[bytes, dict]:
    stream = open_stream(source, **OPTIONS | options)
    model = AdaBoostOL(Linear(standardize=True), 3, random_state=0).fit(stream)
    return everything(model), model._fitted.columns.names


def names_of(stream) -> set[str]:
    return {name for page in stream for _, name in page.names}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The people in every format, as files."""
    folder = tmp_path_factory.mktemp("people")
    rows = people()
    table = pa.Table.from_pylist(rows)
    lines = "".join(json.dumps(row, default=lambda day: day.isoformat()) + "\n" for row in rows)
    cells = [
        ["" if v is None else str(v).replace(" ", "T") if isinstance(v, dt.datetime) else v for v in r.values()]
        for r in rows
    ]
    files = {
        "jsonl": lines.encode(),
        "csv": _csv(list(rows[0]), cells, ","),
        "tsv": _csv(list(rows[0]), cells, "\t"),
    }
    for name, content in files.items():
        (folder / f"people.{name}").write_bytes(content)
    (folder / "windows.csv").write_bytes(files["csv"].replace(b"\n", b"\r\n"))
    (folder / "bom.csv").write_bytes(b"\xef\xbb\xbf" + files["csv"])
    pq.write_table(table, folder / "people.parquet", row_group_size=37)
    with pa.ipc.new_file(folder / "people.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=41)
    with pa.ipc.new_stream(folder / "stream.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=41)
    (folder / "people.jsonl.gz").write_bytes(gzip.compress(files["jsonl"][:999]) + gzip.compress(files["jsonl"][999:]))
    (folder / "people.csv.bz2").write_bytes(bz2.compress(files["csv"]))
    (folder / "people.csv.xz").write_bytes(lzma.compress(files["csv"]))
    (folder / "people.tsv.zst").write_bytes(
        b"".join(pa.Codec("zstd").compress(files["tsv"][a:b], asbytes=True) for a, b in ((0, 500), (500, None)))
    )
    (folder / "no-ending").write_bytes(files["csv"])
    return folder


def _csv(names: list[str], rows: list[list], separator: str) -> bytes:
    import csv
    import io

    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=separator, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return file.getvalue().encode()


FILES = [
    "people.csv",
    "people.tsv",
    "windows.csv",
    "bom.csv",
    "people.parquet",
    "people.arrow",
    "stream.arrow",
    "people.jsonl.gz",
    "people.csv.bz2",
    "people.csv.xz",
    "people.tsv.zst",
    "no-ending",
]


@pytest.fixture(scope="module")
def expected(tables):
    return learned(tables / "people.jsonl")


@pytest.mark.parametrize("batch_size", [1, 7, 1 << 14])
@pytest.mark.parametrize("name", FILES)
def test_every_format_and_compression_gives_the_same_bits(tables, expected, name, batch_size):
    assert learned(tables / name, batch_size=batch_size) == expected


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda rows: pd.DataFrame(rows), id="pandas"),
        pytest.param(lambda rows: pd.DataFrame(rows).astype({"colour": "category"}), id="pandas-category"),
        pytest.param(lambda rows: pd.DataFrame(rows).convert_dtypes(dtype_backend="pyarrow"), id="pandas-arrow"),
        pytest.param(lambda rows: pl.DataFrame(rows), id="polars"),
        pytest.param(lambda rows: pl.DataFrame(rows).lazy(), id="polars-lazy"),
        pytest.param(lambda rows: pa.Table.from_pylist(rows), id="pyarrow"),
        pytest.param(lambda rows: rows, id="dicts"),
        pytest.param(lambda rows: iter(rows), id="iterator"),
        pytest.param(lambda rows: (({k: v for k, v in r.items() if k != "good"}, r["good"]) for r in rows), id="pairs"),
    ],
)
def test_frames_and_dicts_give_the_same_bits_as_files(expected, make):
    assert learned(make(people())) == expected


def test_several_files_and_patterns_are_one_stream(tables, expected, tmp_path):
    lines = (tables / "people.jsonl").read_bytes().splitlines(keepends=True)
    for k, part in enumerate((lines[:100], lines[100:101], lines[101:])):
        (tmp_path / f"part-{k}.jsonl").write_bytes(b"".join(part))
    assert learned(str(tmp_path / "part-*.jsonl")) == expected
    assert learned([tmp_path / f"part-{k}.jsonl" for k in range(3)]) == expected


# ---- plain numbers: VW text, LIBSVM text, arrays and tables whose columns have numbers for names


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 6)).astype(np.float32)
    X[rng.random(X.shape) < 0.3] = 0
    y = np.where(X.sum(axis=1) + rng.normal(size=200) > 0, 1, -1)
    return X, y


def _features(row) -> str:
    return " ".join(f"{j}:{float(x)!r}" for j, x in enumerate(row) if x)


@pytest.mark.parametrize("bits", [2, 18])
def test_text_of_numbers_gives_the_same_bits_as_arrays(numbers, tmp_path, bits):
    X, y = numbers
    (tmp_path / "a.vw").write_text("".join(f"{label} | {_features(row)}\n" for row, label in zip(X, y, strict=True)))
    (tmp_path / "a.libsvm").write_text(
        "".join(f"{label:+d} {_features(row)}\n" for row, label in zip(X, y, strict=True))
    )
    cells = [[int(label), *(float(x) for x in row)] for row, label in zip(X, y, strict=True)]
    (tmp_path / "a.csv").write_bytes(_csv(["label", *map(str, range(6))], cells, ";"))
    headless = [[*(float(x) for x in row), int(label)] for row, label in zip(X, y, strict=True)]
    (tmp_path / "headless.csv").write_bytes(_csv(headless[0], headless[1:], ","))
    frame = pd.DataFrame(X.astype(np.float64), columns=list(map(str, range(6))))

    def fit(source, **options):
        return everything(OnlineBBM(Linear(bits=bits), 5).fit(open_stream(source, **options)))

    expected = fit(X, y=y)
    assert fit(sp.csr_matrix(X), y=y) == expected
    assert fit(X, y=y, batch_size=1) == expected
    for name in ("a.vw", "a.libsvm", "a.csv"):
        assert fit(tmp_path / name) == expected, name
    assert fit(tmp_path / "headless.csv", label=-1) == expected
    assert fit(frame, y=y) == expected
    assert fit(frame.assign(label=y)) == expected


def test_a_stream_gives_the_bits_of_fit_on_the_same_array(numbers):
    X, y = numbers
    streamed, plain = OnlineBBM(n_estimators=5).fit(open_stream(X, y=y)), OnlineBBM(n_estimators=5).fit(X, y)
    assert everything(streamed) == everything(plain)
    assert np.array_equal(streamed.decision_function(X), plain.decision_function(X))


# ---- models and streams


def test_learning_one_by_one_after_a_stream_is_the_same_as_the_stream(tables):
    rows = people()
    whole, part = (AdaBoostOL(Linear(standardize=True), 3, random_state=0) for _ in range(2))
    whole.fit(open_stream(rows, **OPTIONS))
    part.fit(open_stream(rows[:100], **OPTIONS))
    for row in rows[100:]:
        x = {name: value for name, value in row.items() if name not in ("good", "importance")}
        part.learn_one(x, row["good"], row["importance"])
    assert everything(part) == everything(whole)


def test_a_saved_model_of_a_stream_goes_on_with_the_same_bits(tables, tmp_path):
    rows = people()
    whole = AdaBoostOL(Linear(standardize=True), 3, random_state=0).fit(open_stream(rows, **OPTIONS))
    part = AdaBoostOL(Linear(standardize=True), 3, random_state=0).fit(open_stream(rows[:120], **OPTIONS))
    part.save(tmp_path / "m")
    twin = onlineboost.load(tmp_path / "m")
    twin.partial_fit(open_stream(rows[120:], like=twin))
    assert everything(twin) == everything(whole)
    assert twin._fitted.columns.names == whole._fitted.columns.names
    assert (tmp_path / "m").stat().st_size < 200_000  # only the rows in use are kept, not 2**18


def test_answers_do_not_depend_on_how_they_are_asked_for(tables):
    rows = people()
    model = OnlineBBM(n_estimators=5).fit(open_stream(rows, **OPTIONS))
    scores = model.decision_function(open_stream(rows, like=model))
    unlabeled = [{name: value for name, value in row.items() if name != "good"} for row in rows]
    assert np.array_equal(model.decision_function(unlabeled), scores)
    assert np.array_equal(model.decision_function(pd.DataFrame(unlabeled)), scores)
    assert [model.decision_one(row) for row in rows[:20]] == scores[:20].tolist()
    assert model.predict(unlabeled).tolist() == [model.predict_one(row) for row in rows]
    assert set(model.predict(unlabeled)) == {"yes", "no"}


def test_river_learners_learn_from_streams():
    from river.naive_bayes import GaussianNB

    model = OnlineBBM(GaussianNB(), 3, random_state=0, delivery="sample")
    scores = model.progressive_fit(open_stream([({"a": k % 5, "b": 1}, k % 2) for k in range(60)]))
    assert scores.shape == (60,)
    assert model.decision_function([{"a": 1, "b": 1}]).shape == (1,)


def test_pages_and_batches_can_be_learned_and_scored(numbers):
    X, y = numbers
    model, whole = OnlineBBM(n_estimators=3), OnlineBBM(n_estimators=3).fit(open_stream(X, y=y))
    scores = np.concatenate([model.progressive_fit(page) for page in open_stream(X, y=y, batch_size=33)])
    assert scores.shape == y.shape
    assert everything(model) == everything(whole)
    assert np.array_equal(model.decision_function(next(open_stream(X, y=y))), whole.decision_function(X))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m, s: m.fit(s, [1]), "a stream has its own labels"),
        (lambda m, s: m.fit(s).partial_fit(open_stream([({"a": 1}, "x"), ({}, "y")])), "expected 0, 1, as in training"),
        (lambda m, s: m.fit(open_stream([])), "no rows"),
        (lambda m, s: m.fit(np.ones((2, 2))), "requires y to be passed"),
        (
            lambda m, s: m.partial_fit(next(open_stream([{"a": 1}], labels="optional"))),
            "row 0 of the batch has no label",
        ),
        (lambda m, s: m.fit(next(s).batch._replace(indices=np.array([3, -4], np.int32))), "a negative feature number"),
        (lambda m, s: m.fit(next(s).batch._replace(values=np.array([3, np.inf], np.float32))), "a value larger than"),
        (lambda m, s: m.fit(s).predict(np.ones((1, 3))), "knows features by name"),
        (
            lambda m, s: m.fit(next(s).batch._replace(indptr=np.array([0, 5, 1]))),
            "the sizes of its arrays do not match",
        ),
        (lambda m, s: m.fit(next(s).batch._replace(weight=np.array([1.0, -1.0]))), "a wrong weight: expected numbers"),
    ],
)
def test_misuse_of_streams_is_refused(change, message):
    with pytest.raises(DataError, match=message):
        change(OnlineBBM(n_estimators=3), open_stream([({"a": 1}, 1), ({"a": 2}, 0)]))


# ---- labels


@pytest.mark.parametrize(
    ("labels", "places"),
    [
        ([0, 1, 0], [0, 1, 0]),
        ([1, 0, 1], [1, 0, 1]),
        ([-1, 1, 1.0], [0, 1, 1]),
        ([1, 2, 1], [1, 0, 1]),
        (["no", "yes"], [0, 1]),
        ([True, False], [1, 0]),
        ([0.5, 1.5], [0, 1]),
    ],
)
def test_labels_have_the_same_places_in_every_format(labels, places, tmp_path):
    rows = [{"a": 1, "label": label} for label in labels]
    (tmp_path / "x.csv").write_text("a,label\n" + "".join(f"1,{label}\n" for label in labels))
    pq.write_table(pa.table({"a": [1] * len(labels), "label": pa.array(labels)}), tmp_path / "x.parquet")
    for source in (rows, tmp_path / "x.csv", tmp_path / "x.parquet", pd.DataFrame(rows)):
        assert next(open_stream(source)).batch.y.tolist() == places
    if not isinstance(labels[0], str | bool):
        (tmp_path / "x.vw").write_text("".join(f"{label} | a\n" for label in labels))
        (tmp_path / "x.libsvm").write_text("".join(f"{label} 1:1\n" for label in labels))
        for name in ("x.vw", "x.libsvm"):
            assert next(open_stream(tmp_path / name)).batch.y.tolist() == places
    assert next(open_stream(np.ones((len(labels), 1)), y=labels)).batch.y.tolist() == places


def test_a_positive_label_makes_many_classes_two(tmp_path):
    rows = [{"a": 1, "label": label} for label in (3, 1, 2, 7, 2)]
    (tmp_path / "x.libsvm").write_text("".join(f"{row['label']} 1:1\n" for row in rows))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "x.parquet")
    for source in (rows, tmp_path / "x.libsvm", tmp_path / "x.parquet"):
        page = next(open_stream(source, positive="2"))
        assert page.batch.y.tolist() == [0, 0, 1, 0, 1]
        assert page.target.known == ["not 2", "2"]
    page = next(open_stream([({"a": 1}, "no"), ({"a": 1}, "yes")], positive="yes"))
    assert (page.batch.y.tolist(), page.target.known) == ([0, 1], ["no", "yes"])


def test_a_third_label_is_a_class(tmp_path):
    (tmp_path / "x.vw").write_text("1 | a\n-1 | b\n 7 | c\n")
    for source in (tmp_path / "x.vw", pd.DataFrame({"a": [1, 1, 1], "label": [1, -1, 7]})):
        (page,) = open_stream(source)
        assert page.batch.y.tolist() == [1, 0, 2] and page.target.labels == [-1, 1, 7]


def test_a_word_among_numbers_is_refused_with_its_place(tmp_path):
    (tmp_path / "x.csv").write_text("a,label\n1,1\n1,0\n1,7\n1,seven\n")
    with pytest.raises(
        ReadError, match=r"x.csv: line 5, character 3: the labels are 'seven': expected one of"
    ) as caught:
        list(open_stream(tmp_path / "x.csv"))
    assert (caught.value.line, caught.value.column) == (5, 3)


@pytest.mark.parametrize("positive", ["1", "+1", "1.0", 1])
def test_a_positive_label_is_compared_by_its_value(tmp_path, positive):
    (tmp_path / "x.vw").write_text("+1 | a\n-1 | b\n")
    assert next(open_stream(tmp_path / "x.vw", positive=positive)).batch.y.tolist() == [1, 0]
    (tmp_path / "x.csv").write_text("a,label\n1,true\n2,false\n")
    for word in ("true", "True", True):
        assert next(open_stream(tmp_path / "x.csv", positive=word)).batch.y.tolist() == [1, 0]
        assert next(open_stream([({"a": 1}, True), ({"a": 1}, False)], positive=word)).batch.y.tolist() == [1, 0]


def test_a_model_of_one_class_against_the_others_can_be_used():
    rows = [({"a": k % 4}, k % 4) for k in range(40)]
    model = OnlineBBM(n_estimators=3).fit(open_stream(rows, positive=2))
    assert model.classes_.tolist() == ["not 2", "2"]
    assert set(model.predict([x for x, _ in rows])) <= {"not 2", "2"}


def test_a_stream_with_fewer_labels_does_not_take_any_away():
    model = OnlineBBM(n_estimators=3).fit(open_stream([({"a": 1}, "ham"), ({"a": 2}, "spam")]))
    model.partial_fit(open_stream([({"a": 1}, "ham")], like=model))
    model.partial_fit(open_stream([({"a": 1}, "ham")]))
    assert model.classes_.tolist() == ["ham", "spam"]
    with pytest.raises(DataError, match="the labels are 'ham', 'eggs': expected 'ham', 'spam', as in training"):
        model.partial_fit(open_stream([({"a": 1}, "ham"), ({"a": 1}, "eggs")]))
    assert model.classes_.tolist() == ["ham", "spam"]


@pytest.mark.parametrize(("header", "label"), [(True, -1), (True, 0), (False, -1), (False, 0), (False, 2)])
def test_a_label_by_its_position_takes_no_feature_where_there_is_no_label(tmp_path, header, label):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).round(3)
    y = (X[:, 0] - X[:, 3] > 0).astype(int)
    names = ["a", "b", "c", "d"]
    with_label, heading = X.tolist(), list(names)
    at = label if label >= 0 else 4
    for row, sign in zip(with_label, y, strict=True):
        row.insert(at, int(sign))
    heading.insert(at, "y")
    for name, rows, head in (("train.csv", with_label, heading), ("test.csv", X.tolist(), names)):
        lines = [",".join(map(str, row)) for row in ([head] * header + rows)]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    model = OnlineBBM(n_estimators=5).fit(open_stream(tmp_path / "train.csv", label=label))
    scores = model.decision_function(open_stream(tmp_path / "train.csv", like=model))
    unlabeled = open_stream(tmp_path / "test.csv", like=model, labels="ignored")
    assert np.array_equal(model.decision_function(unlabeled), scores)
    assert ((scores >= 0) == (y > 0)).mean() > 0.9
    if not header:
        (tmp_path / "short.csv").write_text("1,2\n")
        with pytest.raises(ReadError, match="2 columns, expected 5 as in training"):
            list(open_stream(tmp_path / "short.csv", like=model, labels="ignored"))


# ---- files


def test_an_error_of_the_disk_reaches_the_reader(tables, monkeypatch):
    from onlineboost.readers import files

    def broken(self, memory):
        raise OSError(5, "Input/output error", self.name)

    monkeypatch.setattr(files.Source, "readinto", broken)
    with pytest.raises(OSError, match="Input/output error"):
        list(open_stream(tables / "people.csv", **OPTIONS))


def test_damaged_compressed_data_are_noticed(tmp_path):
    content = bytearray(gzip.compress(b"1 | a b c\n-1 | d e\n" * 5000))
    content[len(content) // 2] ^= 0xFF
    (tmp_path / "x.vw.gz").write_bytes(content)
    with pytest.raises(ReadError, match="x.vw.gz: "):
        list(open_stream(tmp_path / "x.vw.gz"))


def test_the_position_tells_how_far_the_files_are_read(tables):
    stream = open_stream([tables / "people.csv", tables / "windows.csv"], **OPTIONS)
    list(stream)
    assert stream.position == stream.size == sum((tables / n).stat().st_size for n in ("people.csv", "windows.csv"))


def test_columns_of_one_name_are_refused(tmp_path):
    table = pa.table([pa.array([1, 2]), pa.array([5, 6]), pa.array([0, 1])], names=["a", "a", "label"])
    pq.write_table(table, tmp_path / "x.parquet")
    (tmp_path / "x.csv").write_text("a,a,label\n1,5,0\n")
    for name in ("x.parquet", "x.csv"):
        with pytest.raises(ReadError, match="two columns are named 'a'"):
            list(open_stream(tmp_path / name))


def test_a_wrong_label_in_a_table_can_be_skipped():
    stream = open_stream(pd.DataFrame({"a": [1, 2, 3, float("inf")], "label": [0, 1, None, 9]}), on_error="skip")
    assert np.concatenate([page.batch.values for page in stream]).tolist() == [1, 2]
    assert stream.skipped == 2  # records, not cells


def test_times_before_1970_are_rounded_down():
    moment = dt.datetime(1969, 12, 31, 23, 59, 59, 500000)
    streams = [open_stream([{"t": moment, "label": 1}]), open_stream(pa.table({"t": [moment], "label": [1]}))]
    names = [names_of(stream) for stream in streams]
    assert names[0] == names[1] >= {"t.month=12", "t.hour=23"}


def test_nothing_is_lost_when_records_are_skipped(tmp_path):
    (tmp_path / "x.csv").write_text("label,a\n1,2\n0,inf\n,3\n0,4,5\n1,6\n")
    stream = open_stream(tmp_path / "x.csv", on_error="skip")
    assert np.concatenate([page.batch.values for page in stream]).tolist() == [2, 6]
    assert (stream.rows, stream.skipped) == (2, 3)
    assert [problem.split(": ")[1] for problem in stream.problems] == [
        "line 3, character 3",
        "line 4, character 1",
        "line 5, character 5",
    ]
    table = pa.table({"label": [1, 0, None, 0, 1], "a": [2.0, float("inf"), 3.0, 1e30, 6.0]})
    pq.write_table(table, tmp_path / "x.parquet")
    stream = open_stream(tmp_path / "x.parquet", on_error="skip")
    assert np.concatenate([page.batch.values for page in stream]).tolist() == [2, 6]
    assert stream.skipped == 3
    with pytest.raises(ReadError, match=r"x.parquet: row 2, column 'a': expected a number of magnitude .* found inf"):
        list(open_stream(tmp_path / "x.parquet"))


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)])
def test_a_compressed_file_that_was_cut_off_is_noticed(tmp_path, suffix, pack):
    text = "".join(f"{k % 2} | a:{k} b:{k * k % 977}\n" for k in range(20000)).encode()
    (tmp_path / f"x.vw.{suffix}").write_bytes(pack(text)[:-20])
    with pytest.raises(ReadError, match=f"x.vw.{suffix}: the compressed data"):
        list(open_stream(tmp_path / f"x.vw.{suffix}"))


@pytest.mark.parametrize(
    ("content", "format"),
    [
        (b"1 |a b:2 c\n", "vw"),
        (b"-1 0.5 'tag|a b:2 c\n", "vw"),
        (b"+1 1:0.5 7:1e-3 # comment\n", "libsvm"),
        (b'{"label": 1}\n', "jsonl"),
        (b"a,b\n", "csv"),
        (b"a\tb\n", "tsv"),
        (b"a;b;c\n", "csv"),
    ],
)
def test_the_format_is_told_by_the_content(content, format):
    from onlineboost.readers.format import by_content

    assert by_content("x", content).name == format


@pytest.mark.parametrize(
    ("source", "options", "problem", "message"),
    [
        ("nowhere.csv", {}, FileNotFoundError, "nowhere.csv: no such file"),
        ("peeple.csv", {}, FileNotFoundError, r"did you mean .*people.csv\?"),
        ("*.nothing", {}, FileNotFoundError, "no such file"),
        (".", {}, DataError, "is a folder"),
        (["people.csv", "people.parquet"], OPTIONS, DataError, "files of different formats"),
        ("people.csv", {"label": "bad"}, DataError, "no column 'bad' for the label.*; the columns are size, colour"),
        ("people.csv", {}, DataError, r"which column is the label\? Name it with label=...; the columns are size"),
        ("people.parquet", {}, DataError, r"which column is the label\?"),
        ("people.csv", {"label": "good", "weight": "heavy"}, DataError, "no column 'heavy' for the weight"),
        ("people.csv", {"label": "good", "drop": "heavy"}, DataError, "no column 'heavy' for drop=..."),
        ("people.csv", {"format": "xml"}, ParameterError, "one of arrow, csv, jsonl"),
        ("people.csv", {"batch_size": 0}, ParameterError, "a whole number from 1 to"),
        ("people.csv", {"separator": ",,"}, ParameterError, "one character"),
        ("people.csv", {"on_error": "ignore"}, ParameterError, "'raise', 'skip'"),
        ("people.csv", {"drop": [1]}, ParameterError, "names of columns"),
        ("people.csv", {"format": "parquet"}, ReadError, "people.csv: not a whole Parquet file"),
        ("people.parquet", {"format": "arrow"}, ReadError, "people.parquet: not a whole Arrow file"),
        ("garbage", {}, ReadError, "do not tell its format: name it with format=..., one of arrow"),
    ],
)
def test_files_that_cannot_be_read_are_refused_clearly(tables, monkeypatch, source, options, problem, message):
    monkeypatch.chdir(tables)
    (tables / "garbage").write_bytes(b"\x00\x01\x02")
    with pytest.raises(problem, match=message):
        list(open_stream(source, **options))


@pytest.mark.parametrize("source", [3, {"a": 1}, [3], [({"a": 1}, 1), 5], [({"a": object()}, 1)]])
def test_what_is_no_stream_is_refused(source):
    with pytest.raises(DataError, match="expected"):
        list(open_stream(source))


def test_closing_or_forgetting_a_stream_ends_its_thread(tables):
    before = threading.active_count()
    with open_stream(tables / "people.csv", batch_size=1, **OPTIONS) as stream:
        next(stream)
    assert threading.active_count() == before
    stream = open_stream(tables / "people.csv", batch_size=1, **OPTIONS)
    next(stream)
    thread = stream._pages.thread
    del stream
    thread.join(timeout=5)
    assert not thread.is_alive()


@pytest.mark.parametrize("name", ["x.vw", "x.libsvm", "x.csv", "x.jsonl", "x.parquet"])
def test_labels_are_not_looked_at_when_nobody_learns(tmp_path, name):
    """Any number of them, of any kind."""
    rows = [{"a": k % 3 + 1, "label": k} for k in range(600)]
    (tmp_path / "x.vw").write_text("".join(f"{row['label']}x | a:{row['a']}\n" for row in rows))
    (tmp_path / "x.libsvm").write_text("".join(f"{row['label']}x 7:{row['a']}\n" for row in rows))
    (tmp_path / "x.csv").write_text("label,a\n" + "".join(f"{row['label']}x,{row['a']}\n" for row in rows))
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "x.parquet")
    batch = next(open_stream(tmp_path / name, labels="ignored")).batch
    assert batch.values.tolist() == [row["a"] for row in rows]
    assert np.isnan(batch.y).all()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("x.vw", {"label": "a"}, "label=... does not apply to VW text, which has no columns"),
        ("x.libsvm", {"drop": ["a"]}, "drop=... does not apply to LIBSVM text"),
        ("x.vw", {"header": True}, "header=... does not apply to vw. Formats with header: csv, tsv"),
        ("x.jsonl", {"separator": ";"}, "separator=... does not apply to jsonl"),
    ],
)
def test_an_option_without_effect_is_refused(tmp_path, name, options, message):
    (tmp_path / name).write_text("1 | a\n")
    with pytest.raises(ConflictError, match=message):
        open_stream(tmp_path / name, **options)


def test_columns_can_be_dropped_or_taken_as_names():
    rows = [{"zip": 8000, "id": 7, "label": 1}]
    streams = [open_stream(source, drop=["id"], categorical="zip") for source in (rows, pd.DataFrame(rows))]
    assert [names_of(stream) for stream in streams] == [{"zip=8000"}] * 2


def test_nested_json_and_structs_have_the_same_names(tmp_path):
    rows = [{"a": {"b": 2, "c": {"d": "x"}}, "label": 1}]
    stream = open_stream([*rows, {"l": [3, "u", "v", True], "label": 0}])
    assert names_of(stream) == {"a.b", "a.c.d=x", "l.0", "l=u", "l=v", "l.3"}
    assert names_of(open_stream(pa.Table.from_pylist(rows))) == {"a.b", "a.c.d=x"}


def test_a_list_of_dicts_with_labels_goes_on_with_what_a_stream_began():
    rows = [({"size": k % 5, "colour": "red" if k % 2 else "blue"}, k % 2) for k in range(100)]
    whole = OnlineBBM(Linear(), 5).fit(open_stream(rows))
    begun = OnlineBBM(Linear(), 5).fit(open_stream(rows[:60]))
    begun.partial_fit([x for x, _ in rows[60:]], [y for _, y in rows[60:]])
    assert np.array_equal(begun.decision_function([x for x, _ in rows]), whole.decision_function([x for x, _ in rows]))
    with pytest.raises(DataError, match="y has shape"):
        begun.partial_fit([{"size": 1}], [0, 1])
