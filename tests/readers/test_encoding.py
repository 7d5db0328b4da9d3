"""Text that is not UTF-8: decoded by the encoding that is named, or as Windows-1252, and said with its line."""

from __future__ import annotations

import gzip
import io
import os

import pytest
from pairs import everything

from onlineboost import Linear
from onlineboost.errors import ParameterError, ReadError, ReadWarning
from onlineboost.readers import open_stream
from onlineboost.readers.encoding import Guessed

TEXT = "label,name\n" + "1,Ada\n" * 50 + "0,Müller\n1,Jäger\n"
NAMES = ["name=Ada", "name=Müller", "name=Jäger"]


def names(path, **options):
    return [name for page in open_stream(path, **options) for _, name in page.names]


def test_latin_1_is_decoded_and_said_once_with_its_line(tmp_path):
    (tmp_path / "x.csv").write_bytes(TEXT.encode("latin-1"))
    said = (
        r"x.csv: line 52: text that is not UTF-8, read as Windows-1252 \(Latin-1\): '0,Müller'; if .* set encoding=..."
    )
    with pytest.warns(ReadWarning, match=said) as told:
        assert names(tmp_path / "x.csv") == NAMES
    assert len(told) == 1


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
@pytest.mark.parametrize("place", ["in the header", "at the start", "in a later chunk", "at the end"])
def test_a_guessed_encoding_gives_the_bits_of_the_named_one(tmp_path, encoding, place):
    beyond = "Ñandú é" if encoding == "latin-1" else "“€” Ñandú"
    rows = ["1,Ada,2"] * (200_000 if place == "in a later chunk" else 20)
    rows[{"at the start": 0, "in a later chunk": 180_000}.get(place, -1)] = f"0,{beyond},3"
    header = f"label,{beyond},size" if place == "in the header" else "label,name,size"
    text = "\n".join([header, *rows])
    (tmp_path / "x.csv").write_bytes(text.encode(encoding))
    (tmp_path / "y.csv.gz").write_bytes(gzip.compress(text.encode(encoding)))
    (tmp_path / "z.csv").write_text(text, encoding="utf-8")
    with pytest.warns(ReadWarning, match="read as Windows-1252"):
        found = Linear().fit(open_stream(tmp_path / "x.csv", batch_size=1 << 16))
    with pytest.warns(ReadWarning, match="read as Windows-1252"):
        packed = Linear().fit(open_stream(tmp_path / "y.csv.gz"))
    named = Linear().fit(open_stream(tmp_path / "x.csv", encoding=encoding))
    assert everything(found) == everything(packed) == everything(named)
    assert everything(found) == everything(Linear().fit(open_stream(tmp_path / "z.csv")))
    assert found.importances() == named.importances() and [*found.feature_names_in_] == header.split(",")[1:]


def test_every_byte_beyond_ascii_is_decoded(tmp_path):
    content = b"label,name\n" + b"".join(b"1,a%c\n" % code for code in range(128, 256))
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.warns(ReadWarning, match="line 2"):
        found = names(tmp_path / "x.csv")
    assert found[0] == "name=a€" and found[-1] == "name=aÿ" and len({*found}) == 128


def test_bytes_that_are_not_utf_8_in_a_text_that_is_are_said(tmp_path):
    (tmp_path / "x.csv").write_bytes("label,name\n1,é\n0,ü\n1,".encode() + b"\xe9,\n0,a\n"[:1] + b"\n0,a\n")
    with pytest.warns(ReadWarning, match="x.csv: line 4: bytes that are not UTF-8, in a text that is: '1,é'") as told:
        assert names(tmp_path / "x.csv") == ["name=é", "name=ü", "name=\ufffd", "name=a"]
    assert len(told) == 1
    lines = "1,é\n" * 500_000  # beyond the first chunk
    (tmp_path / "y.csv").write_bytes(f"label,name\n{lines}".encode() + b"0,\xe9\n")
    with pytest.warns(ReadWarning, match="y.csv: line 500002: bytes that are not UTF-8"):
        names(tmp_path / "y.csv")
    (tmp_path / "z.csv").write_bytes(TEXT.encode("latin-1"))
    with pytest.warns(ReadWarning, match="z.csv: line 52: bytes that are not UTF-8"):
        assert names(tmp_path / "z.csv", encoding="utf-8")[1] == "name=M\ufffdller"


def test_nul_bytes_are_said_with_their_line(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"label,name\n" + b"1,Ada\n" * 300_000 + b"0,a\0b\n1,\0\n")
    with pytest.warns(
        ReadWarning, match="x.csv: line 300002: a NUL byte, which no text has; is the file damaged"
    ) as told:
        names(tmp_path / "x.csv")
    assert len(told) == 1
    (tmp_path / "y.csv").write_bytes("label,name\n1,Ada\n".encode("utf-16-le"))
    with (
        pytest.warns(ReadWarning, match="y.csv: line 1: a NUL byte.*UTF-16, set encoding=... to utf-16-le"),
        pytest.raises(ReadError),
    ):
        names(tmp_path / "y.csv")


@pytest.mark.parametrize("live", [False, True])
def test_a_pipe_is_decoded_as_its_file_is(tmp_path, live):
    end, start = os.pipe()
    os.write(start, TEXT.encode("latin-1"))
    os.close(start)
    with pytest.warns(ReadWarning, match="line 52: text that is not UTF-8, read as Windows-1252"):
        assert names(f"/dev/fd/{end}", format="csv", live=live) == NAMES
    os.close(end)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252", "utf-8"])
def test_a_named_encoding_is_decoded(tmp_path, encoding):
    (tmp_path / "x.csv").write_bytes(TEXT.encode(encoding))
    assert names(tmp_path / "x.csv", encoding=encoding) == NAMES


def test_wrong_encodings_are_errors(tmp_path):
    (tmp_path / "x.csv").write_bytes(TEXT.encode("utf-16"))
    with pytest.raises(ReadError, match="text in UTF-16: expected text in UTF-8, or set encoding=... to utf-16"):
        names(tmp_path / "x.csv")
    (tmp_path / "y.csv").write_bytes(TEXT.encode("latin-1"))
    with pytest.raises(ReadError, match="y.csv: not text in shift_jis"):
        names(tmp_path / "y.csv", encoding="shift_jis")
    for wrong in ("klingon", "base64", 7):
        with pytest.raises(ParameterError, match="an encoding of text, such as 'latin-1'"):
            open_stream(tmp_path / "y.csv", encoding=wrong)


class Trickle(io.BytesIO):
    """A source that gives a few bytes at a time."""

    name, position, size = "x", 0, 1

    def readinto(self, memory):
        return super().readinto(memory[: self.size])

    read_now = readinto


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_characters_may_be_cut_by_readings(size, recwarn):
    for encoding in ("utf-8", "cp1252"):
        text = "a\n" * 3 + ("aé€😀\n" if encoding == "utf-8" else "aé€\n") * 3
        for method in ("readinto", "read_now"):
            source = Trickle(text.encode(encoding))
            source.size = size
            guessed, found, memory = Guessed(source, lambda filled: 1, False), b"", memoryview(bytearray(size))
            while n := getattr(guessed, method)(memory):
                found += memory[:n]
            assert found.decode() == text
        assert bool(len(recwarn)) == (encoding == "cp1252")
