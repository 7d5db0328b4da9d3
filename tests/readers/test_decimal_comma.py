"""Numbers with decimal commas: the same bits as with points, noticed by themselves, and never without a word."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from reference_readers import Options
from test_readers_text import NUMBERS, reader_for

from onlineboost.errors import ParameterError, ReadWarning
from onlineboost.readers import open_stream
from onlineboost.readers.files import Source
from onlineboost.readers.formats.csv import reader as csv_reader
from onlineboost.readers.text import TextReader

NOTICED = ".* is read as the number .*, with a decimal comma; set decimal=... to '.'"


def content(source, **options):
    """Rows, labels, weights and names of a stream."""
    pages = list(open_stream(source, **options))
    arrays = [[getattr(page.batch, name) for page in pages] for name in ("values", "indices", "y", "weight")]
    return *(np.concatenate(parts).tobytes() for parts in arrays), [name for page in pages for name in page.names]


def written(path, rows, separator, comma, quoted=False, header=True):
    lines = [separator.join(("a", "w", "b", "label"))] if header else []
    for row in rows:
        cells = [cell.replace(".", ",") if comma else cell for cell in row]
        lines.append(separator.join(f'"{cell}"' if quoted else cell for cell in cells))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    draws = rng.choice([number for number in NUMBERS if abs(float(number)) <= 1e18], (40, 2)).tolist()
    rest = [[f"{a:.3f}", f"{b:.2f}"] for a, b in rng.normal(size=(60, 2))]
    return [[a, f"{k % 7}.5", b, str(k % 2)] for k, (a, b) in enumerate([*rest, *draws])]


@pytest.mark.parametrize("decimal", [None, ","])
@pytest.mark.parametrize(("separator", "quoted"), [(";", False), ("\t", False), (",", True), (";", True)])
def test_the_same_bits_as_with_points(tmp_path, rows, separator, quoted, decimal):
    points = content(written(tmp_path / "points.csv", rows, ",", comma=False), weight="w")
    file = written(tmp_path / "commas.csv", rows, separator, comma=True, quoted=quoted)
    if decimal is None:
        with pytest.warns(ReadWarning, match=f"commas.csv: from line 2 on: {NOTICED}"):
            found = content(file, weight="w")
    else:
        found = content(file, weight="w", decimal=decimal)
    assert found == points


def test_numbers_to_predict_and_files_without_a_header(tmp_path, rows):
    points = written(tmp_path / "points.csv", rows, ",", comma=False, header=False)
    commas = written(tmp_path / "commas.csv", rows, ";", comma=True, header=False)
    with pytest.warns(ReadWarning, match=f"from line 1 on: {NOTICED}"):
        assert content(commas, label=2, task="number") == content(points, label=2, task="number")


@pytest.mark.parametrize("chunk", [16, 100, 1 << 20])
def test_what_is_decided_does_not_depend_on_chunks(tmp_path, chunk):
    """Whole numbers come first, and lists of numbers later: the rows from the first comma on decide."""
    lines = [*("1;2;1" for _ in range(30)), "1,5;2;0", *(f"{k},25;1,{k},3;1" for k in range(20))]
    (tmp_path / "x.csv").write_text("a;b;label\n" + "\n".join(lines) + "\n")
    reading = reader_for("csv", Options(header=True, separator=";"), chunk, 7).options
    said = "from line 32 on: '1,5' is read as the number 1.5"
    with pytest.warns(ReadWarning, match=said), Source(str(tmp_path / "x.csv")) as file:
        pages = list(TextReader(csv_reader(reading).syntax, reading, chunk).pages(file))
    assert sum(page.n_rows for page in pages) == 51
    names = [name for page in pages for _, name in page.names]
    assert names[:4] == ["a", "b", "b=1,0,3", "b=1,1,3"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'label,a\n1,"1,234"\n0,"2,500"\n',
            "'1,234' is read as the number 1234; if it is a number with a",
        ),
        ("label;a;b\n1;2.5;1,5\n0;1.5;2,5\n", "'1,5' is read as a word"),
        ('label,a\n1,"1,2"\n0,"x"\n', None),  # words are words
    ],
)
def test_what_is_in_doubt_is_said(tmp_path, text, said):
    (tmp_path / "x.csv").write_text(text)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        names = content(tmp_path / "x.csv")[-1]
    assert [said in str(one.message) for one in told] == ([True] if said else [])
    assert any("=" in name and "," in name for _, name in names) == ("1,234" not in text)


def test_categories_and_points_stay_as_they_are(tmp_path):
    (tmp_path / "x.csv").write_text("label;a\n1;1,5\n0;2,5\n")
    assert [name for _, name in content(tmp_path / "x.csv", categorical=["a"])[-1]] == ["a=1,5", "a=2,5"]
    assert [name for _, name in content(tmp_path / "x.csv", decimal=".")[-1]] == ["a=1,5", "a=2,5"]
    with pytest.raises(ParameterError, match="decimal='x': expected a point or a comma"):
        open_stream(tmp_path / "x.csv", decimal="x")
