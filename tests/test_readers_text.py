"""Text becomes the rows that an obvious parser makes of it, whatever the buffers; VW text those of ``vw`` itself."""

from __future__ import annotations

import itertools
import math
import random
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_readers import Options, Refusal, Result, Row, read

from onlineboost.columns import Recipe
from onlineboost.errors import DataError, ReadError
from onlineboost.labels import Labels
from onlineboost.readers import faults
from onlineboost.readers.pages import Orders
from onlineboost.readers.text import CHUNK, FORMATS, Layout, TextReader, guess_separator

KINDS = {name: code for name, code in vars(faults).items() if name.isupper() and isinstance(code, int)}
BUFFERS = [(16, 1), (64, 3), (256, 1000), (CHUNK, 1000)]  # chunk, batch size
PLACE = re.compile(r"memory: line (\d+)(?:, column (\d+))?: (.*)", re.DOTALL)


class Memory:
    """Bytes as a source; the position is not of interest here."""

    name = "memory"
    position = 0

    def __init__(self, text: bytes) -> None:
        self.text, self.at = text, 0

    def readinto(self, memory: memoryview) -> int:
        part = self.text[self.at : self.at + len(memory)]
        memory[: len(part)] = part
        self.at += len(part)
        return len(part)


def refusal_of(message: str) -> Refusal:
    found = PLACE.fullmatch(message)
    if found is None:
        return Refusal(1, None, "NO_COLUMN")
    line, column, words = int(found[1]), found[2] and int(found[2]), found[3]
    if column is None:
        return Refusal(line, None, "SAME_NAME" if words.startswith("two columns") else "HEADER")
    fitting = [name for name, code in KINDS.items() if words.startswith(faults.EXPECTED.get(code, "\0"))]
    kind = max(fitting, key=lambda name: len(faults.EXPECTED[KINDS[name]]), default="BAD_LABEL")
    return Refusal(line, column, kind)


def reader_for(format: str, options: Options, chunk: int, batch_size: int) -> TextReader:
    label = None if options.label == "label" else options.label
    recipe = Recipe(options.bits, label, options.weight, options.drop, options.categorical)
    orders = Orders(recipe, Labels(), options.labelled, options.skip, batch_size, named=True)
    return TextReader(format, orders, Layout(options.header, options.separator), chunk)


def compiled(format: str, text: bytes, options: Options, chunk: int = CHUNK, batch_size: int = 1000) -> Result:
    """What the compiled parser makes of a text."""
    result = Result([], [], [])
    try:
        for page in reader_for(format, options, chunk, batch_size).pages(Memory(text)):
            batch = page.batch
            assert 0 <= batch.y.size <= batch_size and batch.indptr[0] == 0 and batch.indptr[-1] == batch.indices.size
            pairs = list(zip(batch.indices.tolist(), batch.values, strict=True))
            for r in range(batch.y.size):
                features = pairs[batch.indptr[r] : batch.indptr[r + 1]]
                result.rows.append(Row(float(batch.y[r]), float(batch.weight[r]), features))
            result.names.extend(page.names)
            result.refusals.extend(refusal_of(problem) for problem in page.problems)
    except DataError as problem:
        result.refusals.append(refusal_of(str(problem)))
        if isinstance(problem, ReadError):
            assert (problem.path, problem.line) == ("memory", result.refusals[-1].line)
    return result


def assert_same(found: Result, expected: Result) -> None:
    assert found.refusals == expected.refusals
    whole = len(found.rows) == len(expected.rows)  # rows of the batch in which reading stopped are not delivered
    assert whole or (expected.refusals and len(found.rows) < len(expected.rows))
    for got, row in zip(found.rows, expected.rows, strict=whole):
        assert got.y == row.y or (math.isnan(got.y) and math.isnan(row.y))
        assert got.weight == row.weight
        assert got.features == row.features
    assert found.names == (expected.names if whole else expected.names[: len(found.names)])


# ---- generated texts


def seasoned(valid: st.SearchStrategy[str], mistakes: list[str]) -> st.SearchStrategy[str]:
    """Mostly what is valid."""
    return st.integers(0, 24).flatmap(lambda n: st.sampled_from(mistakes) if n == 0 else valid)


NUMBERS = ["0", "-0", "1", "2.5", "-3.75", ".5", "7.", "1e3", "1E-3", "+4", "12345678", "123456789.25", "1e18", "1e-50"]
NUMBERS += ["0.1", "0.30000001192092896", "3.4028235e17", "00", "0.0000001", "16777217", "1" * 20]
BAD_NUMBERS = [
    "nan",
    "inf",
    "-Infinity",
    "1e19",
    "-1e300",
    "1e400",
    "1e",
    "1.2.3",
    "--1",
    "x1",
    "1x",
    "0x10",
    "-",
    ".",
    "",
]
NAMES = ["a", "b", "ab", "x1", "12", "007", "12345678", "123456789", "été", "a.b", "a=b", "f" * 20, "'q'", "\x01c", "A"]
number = st.sampled_from(NUMBERS) | st.floats(-1e6, 1e6).map(repr) | st.integers(-(10**9), 10**9).map(str)
any_value = seasoned(number, BAD_NUMBERS)
name = st.sampled_from(NAMES) | st.text("abc0189_é-", min_size=1, max_size=9)
label = seasoned(st.sampled_from(["1", "-1", "1", "-1", "1.0", "+1"]), ["0", "2", "x", "", "1e400", "9" * 70, "nan"])

vw_feature = seasoned(
    st.one_of(
        name,
        st.builds("{}:{}".format, name, any_value),
        st.builds("{}:{}".format, name, st.sampled_from(["red", "blue", "infantry", "e5", "12é"])),
        any_value.map(":{}".format),
    ),
    ["", "::", "a:b:c", "a:1:2", "\r", ":", "|", "a:", "a:-inf", "a:1e18x"],
)
vw_space = seasoned(
    st.sampled_from(["", "", "a", "b", "ab", "ac", "12", "13", "é", "b:2", "ab:0.5", "c:-1", "a:0", "12:1e18"]),
    [":", ":3", "a:", "a:x", "a:1e19", "a:1:2", "a:nan", " :1", "a\r"],
)
vw_section = st.builds(
    lambda space, features, gap: f"|{space}" + "".join(gap + feature for feature in features),
    vw_space,
    st.lists(vw_feature, max_size=5),
    st.sampled_from([" ", " ", "\t", "  "]),
)
vw_before = seasoned(
    st.one_of(
        st.builds("{} ".format, label),
        st.builds("{} {} ".format, label, any_value.map(lambda w: w.lstrip("-"))),
        st.builds("{} 'tag ".format, label),
        st.builds("{} 2 tag".format, label),
        st.builds("  {}  .5  '".format, label),
    ),
    ["", "tag", "1 -2 ", "1 1 0.5 ", "1 1 1 1 ", "'a 'b ", "1 'a 'b", "1\t", "1 nan ", "1 1 'tag x "],
)
vw_line = st.builds(lambda a, b: a + "".join(b), vw_before, st.lists(vw_section, min_size=1, max_size=4))

svm_pair = seasoned(
    st.builds("{}:{}".format, st.integers(0, 1023) | st.sampled_from(["0007", "00000000012", "999"]), any_value),
    ["5", "5:", ":5", "qid:3", "1024:1", "99999999999999999999:1", "x:1", "1:2:3", "-1:2", "# x:", "3:1#c", "1 :2"],
)
svm_line = st.builds(
    lambda first, pairs, gap, last: gap.join([first, *pairs]) + last,
    label,
    st.lists(svm_pair, max_size=6),
    st.sampled_from([" ", " ", "\t", "  "]),
    st.sampled_from(["", "", " ", "#", " # 5:x"]),
)

DATES = ["2026-11-15", "2000-02-29", "1969-12-31T23:59", "2026-11-15 10:20:30.5", "2026-01-01T00:10:00+01:00"]
DATES += ["0000-01-01", "2026-12-31T23:59:60Z", "9999-12-31T23:00:00-0130", "1999-02-29", "2026-13-01", "2026-11-15T"]
DATES += ["2026-11-15T24:00", "2026-11-15T10:60", "2026-11-15 10:20:", "2026-11-15 10:20:30.", "2026-11-15Z"]
DATES += ["2026-11-15T10:20+1", "2026-11-15T10:20+24:00", "2026-1-15", "12026-11-15"]
WORDS = ["red", "true", "FALSE", "nan", "NaN", "null", "", "inf", "a b", "é", "+", "e", "trues", "infinit", "-nan"]
cell = st.one_of(any_value, st.sampled_from(WORDS), st.sampled_from(DATES))
csv_cell = seasoned(
    st.one_of(
        cell,
        cell.map(" {}\t".format),
        st.one_of(cell, st.sampled_from([",", "\n", '""', '"",\r\n', "a\nb"])).map('"{}"'.format),
    ),
    ['"', '"a"b', 'a"b', '"a" ', '"""', "\r", ' "a,b"', '"a""'],
)
csv_label = st.one_of(label, label.map('"{}"'.format), st.sampled_from(["true", "False"]))
csv_line = seasoned(
    st.builds(
        lambda y, w, cells: ",".join([y, w, *cells]),
        csv_label,
        seasoned(st.sampled_from(["1", "0.5", "2e0", '"3"', " 4 "]), ["", "-1", "x", "nan", "1e19"]),
        st.lists(csv_cell, min_size=4, max_size=4),
    ),
    ["", ",,,,,", ",", "1,1,2,3,4,5,6", "1,1,2,3,4"],
)
CSV_HEADER = "label,w,a,12,zip,skip\n"

json_string = seasoned(
    st.one_of(cell, st.sampled_from(["\\n", "\\u00e9", "\\ud83d\\ude00", 'a\\"b', "\\\\", "\\/"])).map('"{}"'.format),
    ['"', '"\\x"', '"\\ud83d"', '"\\u12"', '"\t"', '"a\\', '"\\ude00"', '"\\ud83d\\u0041"', '"\\u00zz"'],
)
json_number = seasoned(number.filter(lambda w: w[0] not in "+."), BAD_NUMBERS)
json_scalar = seasoned(
    st.one_of(json_number, json_string, st.sampled_from(["true", "false", "null", "NaN"])),
    ["", "+1", ".5", "#", "-", "nul", "True", "}", "]", ",", "-Infinity", "1 2", "'a'", "!"],
)
json_key = seasoned(
    st.one_of(
        st.sampled_from(["a", "b", "zip", "skip", "12", "o", "é", "", "a.b", "\\u0061"]).map('"{}"'.format),
        st.text("abcé", max_size=5).map('"{}"'.format),
    ),
    ["a", "", '"a', "'a'", '"label"', '"w"'],
)
gap = st.sampled_from(["", "", "", " ", "\t ", "\r"])


def json_of(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    items = st.lists(children, max_size=4)
    return st.one_of(
        st.builds(lambda cs, g: f"[{g}" + f"{g},".join(cs) + "]", items, gap),
        st.lists(st.tuples(json_key, children), max_size=3).map(json_object),
    )


def json_object(members: list[tuple[str, str]]) -> str:
    return "{" + ",".join(f"{key}:{value}" for key, value in members) + "}"


json_value = st.recursive(json_scalar, json_of, max_leaves=6)
json_line = seasoned(
    st.builds(
        lambda y, w, members, g: json_object([('"label"', y), *w, *members]).replace(":", f"{g}:{g}", 2) + g,
        st.one_of(label, label.map('"{}"'.format), st.sampled_from(["true", "null", "[1]"])),
        st.lists(st.tuples(st.just('"w"'), json_number | st.sampled_from(["1", "null"])), max_size=1),
        st.lists(st.tuples(json_key, json_value), max_size=4),
        gap,
    ),
    ["", " ", "{}", "[]", "1", "{", '{"label":1', '{"label":1}}', '{"label":1},', '{"label":1,}', "{,}"],
)

LINES = {"vw": vw_line, "libsvm": svm_line, "csv": csv_line, "jsonl": json_line}
SPICE = {
    "vw": b" |:\t\r\n'1e.-+a\xc3\xff\x00",
    "libsvm": b" :\t\r\n#1e.-+q\xff\x00",
    "csv": b',"\r\n \t1e.-:T\xc3\xff\x00',
    "jsonl": b'{}[],:"\\ \t\r\n1e.-utN\xc3\xff\x00',
}


def texts(format: str) -> st.SearchStrategy[bytes]:
    def join(lines: list[str], ends: str, last: bool, mark: bool) -> bytes:
        text = ends.join(lines) + (ends if last else "")
        return (b"\xef\xbb\xbf" if mark else b"") + text.encode()

    lines = st.lists(LINES[format], max_size=8)
    return st.builds(join, lines, st.sampled_from(["\n", "\n", "\r\n"]), st.booleans(), st.sampled_from([0, 0, 0, 1]))


def mutated(format: str) -> st.SearchStrategy[bytes]:
    """Texts with a few bytes taken out, put in or changed."""

    def mutate(text: bytes, changes: list[tuple[int, int, int]]) -> bytes:
        for place, kind, byte in changes:
            at = place % (len(text) + 1)
            text = text[:at] + bytes([byte][: kind % 3]) + text[at + (kind > 1 or kind == 0) :]
        return text

    byte = st.sampled_from(list(SPICE[format])) | st.integers(0, 255)
    changes = st.lists(st.tuples(st.integers(0, 10**4), st.integers(0, 2), byte), max_size=4)
    return st.builds(mutate, texts(format), changes)


def options_for(format: str) -> st.SearchStrategy[Options]:
    named = format in ("csv", "jsonl")
    return st.builds(
        Options,
        bits=st.sampled_from([10, 18]) if format != "libsvm" else st.just(10),
        labelled=st.booleans(),
        skip=st.booleans(),
        weight=st.sampled_from([None, "w"]) if named else st.none(),
        drop=st.sampled_from([(), ("skip",)]) if named else st.just(()),
        categorical=st.sampled_from([(), ("zip", "12")]) if named else st.just(()),
        header=st.sampled_from([None, True]),
    )


def check(format: str, text: bytes, options: Options, buffers=BUFFERS) -> None:
    expected = read(format, text, options)
    for chunk, batch_size in buffers:
        assert_same(compiled(format, text, options, chunk, batch_size), expected)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("make", [texts, mutated])
def test_compiled_parsers_equal_the_reference_whatever_the_buffers(format, make):
    @settings(max_examples=400)
    @given(make(format), options_for(format))
    def agree(text, options):
        check(format, CSV_HEADER.encode() + text if format == "csv" else text, options)

    agree()


@settings(max_examples=200)
@given(mutated("csv"), options_for("csv"))
def test_csv_without_a_header_equals_the_reference(text, options):
    options.header, options.label = False, "0"
    options.weight, options.drop, options.categorical = None, ("5",), ("3",)
    check("csv", text, options)


@pytest.mark.parametrize("format", FORMATS)
def test_random_bytes_equal_the_reference(format):
    @settings(max_examples=150)
    @given(st.lists(st.sampled_from(list(SPICE[format])), max_size=60).map(bytes), options_for(format))
    def agree(text, options):
        check(format, CSV_HEADER.encode() + text if format == "csv" else text, options)

    agree()
