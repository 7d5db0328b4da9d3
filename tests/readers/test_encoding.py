"""Text that is not UTF-8: said where it is, and read if its encoding is named."""

from __future__ import annotations

import pytest

from onlineboost.errors import ParameterError, ReadError, ReadWarning
from onlineboost.readers import open_stream
from onlineboost.readers.encoding import Utf8Check

TEXT = "label,name\n" + "1,Ada\n" * 50 + "0,Müller\n1,Jäger\n"


def names(path, **options):
    return [name for page in open_stream(path, **options) for _, name in page.names]


def test_latin_1_is_noticed_once_with_its_line_and_the_next_step(tmp_path):
    (tmp_path / "x.csv").write_bytes(TEXT.encode("latin-1"))
    said = "x.csv: line 52: text that is not UTF-8; as Latin-1 it is '0,Müller': if that is right, set encoding="
    with pytest.warns(ReadWarning, match=said) as told:
        assert len(names(tmp_path / "x.csv")) == 3
    assert len(told) == 1


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252", "utf-8"])
def test_a_named_encoding_is_decoded(tmp_path, encoding):
    (tmp_path / "x.csv").write_bytes(TEXT.encode(encoding))
    assert names(tmp_path / "x.csv", encoding=encoding) == ["name=Ada", "name=Müller", "name=Jäger"]


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


def test_characters_may_be_cut_by_chunks():
    for size in (1, 2, 3, 7):
        check, text = Utf8Check("x"), "aé€😀\n".encode() * 3
        for at in range(0, len(text), size):
            check.see(text[at : at + size], lambda: 1)
        assert not check.told


def test_the_line_is_right_in_later_chunks(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"label,name\n" + b"1,Ada\n" * 300_000 + "0,Müller\n".encode("latin-1"))
    with pytest.warns(ReadWarning, match="x.csv: line 300002: text that is not UTF-8; as Latin-1 it is '0,Müller'"):
        names(tmp_path / "x.csv")
