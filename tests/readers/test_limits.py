"""Limits of memory: each has a name, a default and a message that says how to raise it."""

from __future__ import annotations

import io
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onlineboost.cli.app import main
from onlineboost.errors import ConflictError, ParameterError, ReadError
from onlineboost.readers import open_stream

MB = 1 << 20


def n_rows(path, **options) -> list[int]:
    return [page.n_rows for page in open_stream(path, **options)]


# ---- text


def test_a_first_line_without_end_is_refused_in_little_memory(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"abcdefg," * (5 * MB))
    tracemalloc.start()
    with pytest.raises(
        ReadError, match=r"x.csv: line 1: expected a shorter line.*the limit is 2 MB; raise it with max"
    ):
        n_rows(tmp_path / "x.csv", max_line_mb=2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 90 * MB


@pytest.mark.parametrize(
    ("name", "begin", "end"),
    [
        ("x.csv", "label,a\n0,1\n1,", "\n0,1\n"),
        ("x.tsv", "label\ta\n0\t1\n1\t", "\n0\t1\n"),
        ("x.vw", "-1 | a\n1 | ", "\n-1 | a\n"),
        ("x.libsvm", "0 1:1\n1 1:1 # ", "\n0 1:1\n"),
        ("x.jsonl", '{"label": 0}\n{"label": 1, "a": "', '"}\n{"label": 0}\n'),
    ],
)
def test_a_line_has_a_maximum_length_that_can_be_raised(tmp_path, name, begin, end):
    (tmp_path / name).write_text(begin + "x" * (2 * MB) + end)
    assert sum(n_rows(tmp_path / name)) == 3
    with pytest.raises(ReadError, match="the limit is 1 MB; raise it with max_line_mb=..."):
        n_rows(tmp_path / name, max_line_mb=1)
    stream = open_stream(tmp_path / name, max_line_mb=1, on_error="skip")
    assert (sum(page.n_rows for page in stream), stream.skipped) == (2, 1)


def test_a_long_header_is_read_once_the_limit_allows(tmp_path):
    names = [f"column{k:06}" for k in range(100_000)]
    (tmp_path / "x.csv").write_text(",".join(["label", *names]) + "\n" + ",".join(["1"] * 100_001) + "\n")
    page = next(open_stream(tmp_path / "x.csv"))
    assert page.batch.values.size == 100_000
    with pytest.raises(ReadError, match="the limit is 1 MB"):
        n_rows(tmp_path / "x.csv", max_line_mb=1)


def test_a_dict_obeys_the_limit_of_a_line():
    rows = [{"label": 1, "a": "x" * (2 * MB)}]
    assert sum(page.n_rows for page in open_stream(rows)) == 1
    with pytest.raises(ReadError, match="max_line_mb"):
        list(open_stream(rows, max_line_mb=1))


# ---- tables


def write(table: pa.Table, path, **options) -> None:
    if path.suffix == ".parquet":
        pq.write_table(table, path, **options)
        return
    file = io.BytesIO()
    opened = pa.ipc.new_stream if path.name.startswith("stream") else pa.ipc.new_file
    with opened(file, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    path.write_bytes(file.getvalue())


TABLES = ["x.parquet", "x.arrow", "stream.arrow"]
OLD = int(pa.__version__.split(".")[0]) < 20


@pytest.mark.parametrize("name", TABLES)
def test_a_small_file_that_would_fill_the_memory_is_refused(tmp_path, name):
    table = pa.table({"label": np.zeros(4 * MB, np.int8), "a": np.zeros(4 * MB)})
    one_page = {
        "row_group_size": 8 * MB,
        "data_page_size": 1 << 30,
        "max_rows_per_page": 1 << 30,
        "use_dictionary": False,
    }
    if OLD:  # where a page has no maximum of rows
        del one_page["max_rows_per_page"]
    layout = one_page if name == "x.parquet" else {}
    write(table, tmp_path / name, compression="zstd", **layout)
    assert (tmp_path / name).stat().st_size < MB
    with pytest.raises(
        ReadError, match=rf"{name}: .* takes \d+ MB: the limit is 16 MB; raise it with max_batch_mb=..."
    ):
        n_rows(tmp_path / name, max_batch_mb=16)
    assert sum(n_rows(tmp_path / name, max_batch_mb=64)) == 4 * MB


def long_words(n: int) -> dict[str, pa.Array]:
    words = pa.array(["x" * MB, "y"])
    indices = pa.array(np.arange(n, dtype=np.int8) % 2)
    return {"label": pa.array(np.arange(n) % 2), "a": pa.DictionaryArray.from_arrays(indices, words)}


@pytest.mark.parametrize("name", TABLES)
def test_a_long_word_in_a_dictionary_is_read_a_few_rows_at_a_time(tmp_path, name):
    write(pa.table(long_words(100)), tmp_path / name, compression="zstd")
    assert (tmp_path / name).stat().st_size < MB // 10
    pages = n_rows(tmp_path / name, max_batch_mb=32)
    assert sum(pages) == 100
    assert max(pages) <= 16  # eight long words are 8 MB, of which a quarter of the limit is room for
    assert n_rows(tmp_path / name) == [100]


def test_repeated_beginnings_of_words_are_read_a_few_rows_at_a_time(tmp_path):
    """DELTA_BYTE_ARRAY writes only what differs from the word before."""
    table = pa.table({"label": np.arange(100) % 2, "a": ["x" * MB] * 100})
    layout = {"use_dictionary": False, "column_encoding": {"a": "DELTA_BYTE_ARRAY", "label": "PLAIN"}}
    write(table, tmp_path / "x.parquet", **layout)
    pages = n_rows(tmp_path / "x.parquet", max_batch_mb=32)
    assert (sum(pages), max(pages) <= 8) == (100, True)


@pytest.mark.skipif(OLD, reason="needs a pyarrow that makes arrays of views from buffers")
def test_words_that_share_their_bytes_are_read_a_few_rows_at_a_time(tmp_path):
    """Views: one long text, and many rows that point to it."""
    views = np.zeros((100, 4), np.int32)
    views[:, 0], views[:, 1] = MB, 0x78787878
    buffers = [None, pa.py_buffer(views), pa.py_buffer(b"x" * MB)]
    shared = pa.Array.from_buffers(pa.string_view(), 100, buffers)
    write(pa.table({"label": np.arange(100) % 2, "a": shared}), tmp_path / "x.arrow")
    pages = n_rows(tmp_path / "x.arrow", max_batch_mb=32)
    assert (sum(pages), max(pages) <= 8) == (100, True)


@pytest.mark.parametrize("name", TABLES)
def test_one_cell_beyond_the_limit_is_an_error(tmp_path, name):
    write(pa.table({"label": [0, 1], "a": ["y", "x" * (6 * MB)]}), tmp_path / name)
    with pytest.raises(ReadError, match=r"the limit is \d+ MB; raise it with max_batch_mb=..."):
        n_rows(tmp_path / name, max_batch_mb=16)
    assert sum(n_rows(tmp_path / name, max_batch_mb=32)) == 2


def test_wide_tables_are_read_fewer_rows_at_a_time():
    table = pa.table({"label": np.arange(50) % 2, **{f"x{k}": np.ones(50) for k in range(1000)}})
    pages = [page.n_rows for page in open_stream(table, max_batch_mb=1)]
    assert (sum(pages), max(pages) <= 20) == (50, True)


# ---- the options


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "16", 1 << 30])
def test_limits_are_whole_numbers_of_megabytes(tmp_path, value):
    (tmp_path / "x.vw").write_text("1 | a\n")
    with pytest.raises(ParameterError, match="max_line_mb=.*: expected a whole number of megabytes, from 1 to"):
        open_stream(tmp_path / "x.vw", max_line_mb=value)


def test_limits_apply_to_the_formats_that_have_them(tmp_path):
    (tmp_path / "x.vw").write_text("1 | a\n")
    with pytest.raises(ConflictError, match="max_batch_mb=... does not apply to vw. Formats with .*: arrow, parquet"):
        open_stream(tmp_path / "x.vw", max_batch_mb=1)


def test_the_command_line_names_the_flag(tmp_path, capsys):
    (tmp_path / "x.csv").write_bytes(b"x" * (3 * MB))
    with pytest.raises(SystemExit) as end:
        main(["train", str(tmp_path / "x.csv"), "--max-line-mb", "1"])
    assert end.value.code == 1
    assert "the limit is 1 MB; raise it with --max-line-mb if the file is in order" in capsys.readouterr().err
