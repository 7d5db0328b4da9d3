"""Damaged files: an error that names the file, or every row; never a traceback, a crash or a lost row."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import struct
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onlineboost import Linear
from onlineboost.errors import DataError, ReadError
from onlineboost.evaluate import progressive_error
from onlineboost.readers import open_stream
from onlineboost.readers.ipc_messages import CheckedStream

TEXT = "".join(f"{k % 2} | a:{k + 1} b{k % 7}\n" for k in range(40)).encode()


def zst(text: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as file:
        file.write(text)
    return sink.getvalue().to_pybytes()


PACK = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zst}


def values(path, **options) -> list[float]:
    return [value for page in open_stream(path, **options) for value in page.batch.values.tolist()]


def values_or_message(path) -> list[float] | str:
    try:
        return values(path)
    except DataError as problem:
        return str(problem)


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    path = tmp_path_factory.mktemp("honest") / "x.vw"
    path.write_bytes(TEXT)
    return values(path)


# ---- compressed files


@pytest.mark.parametrize("kind", PACK)
def test_a_changed_byte_of_a_compressed_file_is_an_error_or_changes_nothing(tmp_path, kind, honest):
    path = tmp_path / f"x.vw.{kind}"
    whole = PACK[kind](TEXT)
    for place in range(0, len(whole), 3):
        content = bytearray(whole)
        content[place] ^= 1 << place % 8
        path.write_bytes(content)
        found = values_or_message(path)
        same = found == honest or (kind == "zst" and isinstance(found, list))  # Arrow writes no checksum into zst
        assert same or str(path) in found


@pytest.mark.parametrize("kind", PACK)
@pytest.mark.filterwarnings("ignore::onlineboost.errors.ReadWarning")  # of the first bytes, which are no text
def test_a_compressed_file_that_is_cut_anywhere_is_an_error(tmp_path, kind):
    path = tmp_path / f"x.vw.{kind}"
    whole = PACK[kind](TEXT)
    for size in range(0, len(whole), 5):
        path.write_bytes(whole[:size])
        with pytest.raises(ReadError, match="x.vw"):
            values(path, labels="ignored")


@pytest.mark.parametrize("kind", PACK)
def test_a_second_member_is_read_or_refused(tmp_path, kind, honest):
    path = tmp_path / f"x.vw.{kind}"
    path.write_bytes(2 * PACK[kind](TEXT))
    assert values(path) == 2 * honest
    for rest in (b"garbage\n", b"\xff" + PACK[kind](TEXT)[1:], PACK[kind](TEXT)[:-9]):
        path.write_bytes(PACK[kind](TEXT) + rest)
        with pytest.raises(ReadError, match=rf"\({kind}\) are damaged or cut off .*byte.*check it with .* -t"):
            values(path)


@pytest.mark.parametrize(
    ("kind", "zeros", "allowed"),
    [("gz", 1, True), ("gz", 100_000, True), ("xz", 4, True), ("xz", 3, False), ("bz2", 4, False), ("zst", 4, False)],
)
def test_zeros_after_a_member_are_padding_where_the_format_has_it(tmp_path, kind, zeros, allowed, honest):
    path = tmp_path / f"x.vw.{kind}"
    for parts in (1, 2):
        path.write_bytes(parts * (PACK[kind](TEXT) + bytes(zeros)))
        if allowed:
            assert values(path) == parts * honest
        else:
            with pytest.raises(ReadError, match="damaged or cut off"):
                values(path)


def test_long_members_are_decompressed_piece_by_piece(tmp_path):
    text = b"".join(b"%d | a:%d\n" % (k % 2, k % 1000 + 1) for k in range(200_000))
    for kind, pack in PACK.items():
        path = tmp_path / f"x.vw.{kind}"
        path.write_bytes(pack(text[:1_000_000]) + pack(text[1_000_000:]))
        assert len(values(path)) == 200_000


def test_text_may_be_named_as_if_it_were_compressed(tmp_path, honest):
    (tmp_path / "x.vw.gz").write_bytes(TEXT)
    assert values(tmp_path / "x.vw.gz") == honest
    (tmp_path / "x.vw.gz").write_bytes(b"\n")  # what is left of a file that was cut off
    with pytest.raises(ReadError, match="the file does not begin as gz does"):
        values(tmp_path / "x.vw.gz")


# ---- Arrow


def people(n: int = 30) -> pa.Table:
    words = pa.array([["red", "blue", None][k % 3] for k in range(n)])
    columns = {"label": [k % 2 for k in range(n)], "a": [k + 0.5 for k in range(n)], "b": words}
    return pa.table(columns).append_column("c", words.dictionary_encode())


def arrow(table: pa.Table, stream: bool, compression: str | None = None) -> bytes:
    file = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(file, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=16)
    return file.getvalue()


READ_ALL = """
import sys
from pathlib import Path
from onlineboost.errors import DataError
from onlineboost.readers import open_stream

for honest in sys.argv[1:]:
    whole, path = Path(honest).read_bytes(), "damaged" + Path(honest).suffix
    for place in range(0, len(whole), 11):
        content = bytearray(whole)
        content[place] ^= 1 << place % 8
        Path(path).write_bytes(content)
        try:
            rows = sum(page.n_rows for page in open_stream(path, batch_size=7))
            assert rows == 30, f"{honest}, byte {place}: {rows} rows"
        except DataError as problem:
            assert path in str(problem), problem
print("read")
"""


def test_a_changed_byte_of_a_table_is_an_error_or_all_rows_are_there(tmp_path):
    """In a process of its own: without checks, Arrow ends it."""
    pq.write_table(people(), tmp_path / "x.parquet", compression="none", row_group_size=16)
    (tmp_path / "file.arrow").write_bytes(arrow(people(), stream=False))
    (tmp_path / "stream.arrow").write_bytes(arrow(people(), stream=True))
    (tmp_path / "packed.arrow").write_bytes(arrow(people(), stream=False, compression="zstd"))
    command = [sys.executable, "-c", READ_ALL, "file.arrow", "stream.arrow", "packed.arrow", "x.parquet"]
    environment = {**os.environ, "ONLINEBOOST_QUIET": "1"}
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment, timeout=300
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "read\n", "")


def test_a_dictionary_index_out_of_range_is_an_error(tmp_path):
    indices = pa.array(np.array([0, 1, 99], np.int8))
    wrong = pa.DictionaryArray.from_arrays(indices, pa.array(["x", "y"]), safe=False)
    table = pa.table({"label": [0, 1, 0], "c": wrong})
    (tmp_path / "x.arrow").write_bytes(arrow(table, stream=False))
    with pytest.raises(ReadError, match=r"x.arrow: not a whole Arrow file: .*99"):
        values(tmp_path / "x.arrow")


@pytest.mark.parametrize("rest", [b"\0", b"more", arrow(people(), stream=True)])
def test_what_follows_an_arrow_stream_is_not_lost(tmp_path, rest):
    (tmp_path / "x.arrow").write_bytes(arrow(people(), stream=True) + rest)
    with pytest.raises(ReadError, match="the stream ends at byte .*, but the file goes on"):
        values(tmp_path / "x.arrow")


def test_lengths_of_messages_do_not_lead_to_huge_allocations(tmp_path):
    content = arrow(people(), stream=True)
    for length in (-5, 1 << 30, (1 << 31) - 1):
        (tmp_path / "x.arrow").write_bytes(content[:4] + struct.pack("<i", length) + content[8:])
        with pytest.raises(ReadError, match="x.arrow: not a whole Arrow file"):
            values(tmp_path / "x.arrow")


def test_an_arrow_stream_without_its_end_mark_is_whole():
    """The format leaves the mark out where the end of the file says it."""
    content = arrow(people(), stream=True)
    reader = pa.ipc.open_stream(CheckedStream(io.BytesIO(content[:-8]), 1 << 20))
    assert reader.read_all().equals(people())


def test_an_arrow_file_within_gzip_says_what_to_do(tmp_path):
    (tmp_path / "x.arrow.gz").write_bytes(gzip.compress(arrow(people(), stream=False)))
    with pytest.raises(ReadError, match="an Arrow file within gz cannot be read: decompress it first"):
        values(tmp_path / "x.arrow.gz")
    (tmp_path / "x.arrow.gz").write_bytes(gzip.compress(arrow(people(), stream=True)))
    assert len(values(tmp_path / "x.arrow.gz")) > 60


def test_columns_that_no_model_can_use_are_named(tmp_path):
    lists = pa.table({"label": [0, 1], "many": [[1], [2, 3]]})
    as_label = pa.table({"label": [[1], [2]], "a": [1, 2]})
    for table, name in ((lists, "many"), (as_label, "label")):
        (tmp_path / "x.arrow").write_bytes(arrow(table, stream=False))
        pq.write_table(table, tmp_path / "x.parquet")
        for path in (tmp_path / "x.arrow", tmp_path / "x.parquet"):
            with pytest.raises(ReadError, match=f"column '{name}' is list.* leave it out with drop=..."):
                values(path)
    pq.write_table(lists.append_column("a", pa.array([3, 4])), tmp_path / "x.parquet")
    assert values(tmp_path / "x.parquet", drop="many") == [3, 4]


def test_labels_of_any_kind_can_be_told(tmp_path):
    foreign = pa.array([b"caf\xe9", b"tea"]).view(pa.string())  # Latin-1
    pq.write_table(pa.table({"label": foreign, "a": [1, 2]}), tmp_path / "x.parquet")
    assert values(tmp_path / "x.parquet") == [1, 2]
    pq.write_table(pa.table({"label": [float("inf"), 0.0], "a": [1, 2]}), tmp_path / "x.parquet")
    with pytest.raises(ReadError, match="the label is inf"):
        values(tmp_path / "x.parquet")


def test_rows_that_parquet_promises_are_there(tmp_path):
    """A file that says it has more rows than its row groups have, or a row group that its columns do not fill."""
    path = tmp_path / "x.parquet"
    pq.write_table(people(7), path, compression="none")
    content = path.read_bytes()
    size = int.from_bytes(content[-8:-4], "little")
    footer = content[-8 - size :]
    places = [found.start() for found in re.finditer(rb"\x16\x0e", footer)]  # an i64 of 7, as Thrift writes it
    assert len(places) > 4
    for place in places:
        path.write_bytes(content[: -8 - size] + footer[: place + 1] + b"\x10" + footer[place + 2 :])  # 8
        found = values_or_message(path)
        if isinstance(found, list):
            assert pq.read_metadata(path).num_rows == 7


# ---- streams


def test_a_stream_is_read_once(tmp_path):
    (tmp_path / "x.vw").write_bytes(TEXT)
    for stream in (open_stream(tmp_path / "x.vw"), open_stream([({"a": 1}, 1)])):
        assert sum(page.n_rows for page in stream)
        with pytest.raises(DataError, match=r"the stream was already read: expected a new one, open_stream\(...\)"):
            list(stream)


def test_like_takes_a_model():
    with pytest.raises(ValueError, match="like='m': expected a model"):
        open_stream([{"a": 1}], like="m")


def test_models_say_what_a_page_is():
    rows = [({"a": k}, k % 2) for k in range(20)]
    page = next(open_stream(rows))
    with pytest.raises(DataError, match="the page is a list: expected one of open_stream; see partial_fit for arrays"):
        Linear().learn([page])
    assert progressive_error(Linear(), page) == progressive_error(Linear(), open_stream(rows))


def test_a_frame_of_zst_that_is_to_be_skipped(tmp_path):
    skipped = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"
    (tmp_path / "x.vw.zst").write_bytes(skipped + zst(b"1 | a\n-1 | b\n"))
    assert sum(page.n_rows for page in open_stream(tmp_path / "x.vw.zst")) == 2


def test_feather_of_version_1_is_told_from_damage(tmp_path):
    (tmp_path / "x.feather").write_bytes(b"FEA1\0\0\0\0")
    with pytest.raises(ReadError, match="Feather version 1 cannot be read: write it as version 2"):
        list(open_stream(tmp_path / "x.feather"))
