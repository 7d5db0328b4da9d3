"""Text becomes the rows that an obvious parser makes of it, whatever the buffers; VW text those of ``vw`` itself."""

from __future__ import annotations

import json
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

from onlineboost.data.classes import Classes
from onlineboost.data.schema import Schema
from onlineboost.errors import DataError, ReadError
from onlineboost.readers import status
from onlineboost.readers.csv_header import guess_separator
from onlineboost.readers.pages import ReadOptions
from onlineboost.readers.rows import READING
from onlineboost.readers.text import CHUNK, TextReader
from onlineboost.registry import FORMATS as REGISTERED

pytestmark = pytest.mark.filterwarnings("ignore:memory. the first column has no name")
FORMATS = ("vw", "libsvm", "csv", "jsonl")
KINDS = {name: code for name, code in vars(status).items() if name.isupper() and isinstance(code, int)}
BUFFERS = [(16, 1), (64, 3), (256, 1000), (CHUNK, 1000)]  # chunk, batch size
PLACE = re.compile(r"memory: line (\d+)(?:, character (\d+))?: (.*)", re.DOTALL)


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
        kinds = {"two columns are named": "SAME_NAME", "expected text in UTF-8": "OTHER_FILE"}
        return Refusal(1, None, next((kind for words, kind in kinds.items() if words in message), "NO_COLUMN"))
    line, column, words = int(found[1]), found[2] and int(found[2]), found[3]
    if column is None:
        return Refusal(line, None, "SAME_NAME")
    fitting = [name for name, code in KINDS.items() if words.startswith(status.EXPECTED.get(code, "\0"))]
    kind = max(fitting, key=lambda name: len(status.EXPECTED[KINDS[name]]), default="BAD_LABEL")
    return Refusal(line, column, kind)


def reader_for(format: str, options: Options, chunk: int, batch_size: int, guess: bool = False) -> TextReader:
    label = None if options.label == "label" else options.label
    orders = {"day_first": options.day_first, "month_first": options.month_first}
    schema = Schema(label, options.weight, options.drop, options.categorical, **orders)
    reading = ReadOptions(schema, Classes(), options.labeled, False, options.skip, batch_size, with_names=True)
    layout: dict = {"header": options.header, "separator": None if guess else options.separator, "decimal": "."}
    layout = layout if format == "csv" else {}  # the reference knows no commas: test_decimal_comma.py
    reader = TextReader(REGISTERED.find(format).reader(reading, **layout).syntax, reading, chunk)
    reader.builder.rows.state[READING] = options.reading  # without columns of text: test_text_columns.py
    return reader


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
            assert (problem.path, problem.line) == ("memory", result.refusals[-1].line)  # noqa: PT017
    return result


def assert_same(found: Result, expected: Result) -> None:
    assert found.refusals == expected.refusals
    whole = len(found.rows) == len(expected.rows)  # rows of the batch in which reading stopped are not delivered
    assert whole or (expected.refusals and len(found.rows) < len(expected.rows))
    for got, row in zip(found.rows, expected.rows, strict=whole):
        assert got.y == row.y or (math.isnan(got.y) and math.isnan(row.y))
        assert got.weight == row.weight
        assert [*map(str, got.features)] == [*map(str, row.features)]  # NaN is not equal to itself
    assert found.names == (expected.names if whole else expected.names[: len(found.names)])


# ---- generated texts; fuzz/parsers.py makes as many as one likes


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
    st.builds(
        "{}:{}".format,
        st.integers(0, 1023) | st.sampled_from(["0007", "00000012", "00000000012", "12345678"]),
        any_value,
    ),
    [
        "5",
        "5:",
        ":5",
        "qid:3",
        "2147483648:1",
        "99999999999999999999:1",
        "x:1",
        "1:2:3",
        "-1:2",
        "# x:",
        "3:1#c",
        "1 :2",
    ],
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
ORDERED = ["25/12/2023", "12/25/2023", "1.2.2024", "01-02-2024 10:30", "3/4/2024T23:59:60+0130", "30/2/2024", "1/2/24"]
ORDERED += ["1/2-2024", "001/2/2024", "1/2/2024 ", "1//2024", "1/2/20245"]
AMOUNTS = [
    "12%",
    "12.5 %",
    "$1,001.50",
    "-$5",
    "$-5",
    "\u20ac 1.001,50",
    "1 001,50 \u20ac",
    "1'001\u2019500.5",
    "(7 \u20ac)",
    "1,001",
]
AMOUNTS += [
    "1.001.002",
    "\u00a3.5",
    "1,5",
    "0,123",
    "1,00,000",
    "($-5)",
    "1\x00001'500.5",
    "%",
    "(",
    "()",
    "$",
    "1e19%",
    "$1e3",
    "1\u202f001 \u20ac",
]
MISSING = ["NA", "N/A", "#N/A", "<NA>", "null", "None", "none", "-", "--", "?", "NA\x00", "yes", "NO", "Yes"]
cell = st.one_of(any_value, *map(st.sampled_from, (WORDS, DATES, ORDERED, AMOUNTS, MISSING)))
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
    "csv": b',"\r\n \t1e.-:T$%(/N\xc2\xff\x00',
    "jsonl": b'{}[],:"\\ \t\r\n1e.-utN$%/\xc3\xff\x00',
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
        labeled=st.booleans(),
        skip=st.booleans(),
        weight=st.sampled_from([None, "w"]) if named else st.none(),
        drop=st.sampled_from([(), ("skip",)]) if named else st.just(()),
        categorical=st.sampled_from([(), ("zip", "12")]) if named else st.just(()),
        day_first=st.sampled_from([(), (), ("a",)]) if named else st.just(()),
        reading=st.sampled_from([True, True, False]),
        header=st.sampled_from([None, True]),
    )


def check(format: str, text: bytes, options: Options, buffers=BUFFERS) -> None:
    expected = read(format, text, options)
    for chunk, batch_size in buffers:
        assert_same(compiled(format, text, options, chunk, batch_size), expected)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("make", [texts, mutated])
def test_compiled_parsers_equal_the_reference_whatever_the_buffers(format, make):
    @settings(max_examples=60)
    @given(make(format), options_for(format))
    def agree(text, options):
        check(format, CSV_HEADER.encode() + text if format == "csv" else text, options)

    agree()


@settings(max_examples=50)
@given(mutated("csv"), options_for("csv"))
def test_csv_without_a_header_equals_the_reference(text, options):
    options.header, options.label = False, "0"
    options.weight, options.drop, options.categorical, options.day_first = None, ("5",), ("3",), ()
    check("csv", text, options)


@pytest.mark.parametrize("format", FORMATS)
def test_random_bytes_equal_the_reference(format):
    @settings(max_examples=60)
    @given(st.lists(st.sampled_from(list(SPICE[format])), max_size=60).map(bytes), options_for(format))
    def agree(text, options):
        check(format, CSV_HEADER.encode() + text if format == "csv" else text, options)

    agree()


# ---- what every text can come to


FIRST = {
    "vw": "1 | a\n-1 | b:2\n",
    "libsvm": "1 1:2\n-1 2:3\n",
    "csv": "label,w,a\n1,1,2\n-1,1,3\n",
    "jsonl": '{"label":1}\n{"label":-1}\n',
}
LAST = {"vw": "1 | c\n", "libsvm": "1 3:1\n", "csv": "1,1,x\n", "jsonl": '{"label":1}\n'}
LONG = "1" * 65
FAULTS = {  # kind: format, line, column of the mistake
    "NO_LABEL": [("vw", "| a", 1), ("libsvm", "1:2 3:4", 1), ("csv", ",1,2", 1), ("jsonl", ' {"a":1}', 2)],
    "TOUCHING": [("vw", "1| a", 1), ("vw", "1|a b", 1)],
    "LONG_LABEL": [
        ("vw", f"{LONG} | a", 1),
        ("libsvm", f" {LONG} 1:2", 2),
        ("csv", f"{LONG},1,2", 1),
        ("jsonl", f'{{"label":{LONG}}}', 10),
        ("jsonl", f'{{"label":"{LONG}"}}', 10),
    ],
    "BAD_LABEL": [
        ("vw", "x | a", 1),
        ("libsvm", "1,2 1:2", 1),
        ("csv", "third,1,2", 1),
        ("jsonl", '{"label":1e301}', 10),
        ("jsonl", '{"a":"é","label":"1"}', 18),
    ],
    "BAD_WEIGHT": [
        ("vw", "1 -2 | a", 3),
        ("vw", "1  1e19 | a", 4),
        ("vw", "1 x | a", 3),
        ("csv", "1,,2", 3),
        ("csv", '1,"-1",2', 3),
        ("jsonl", '{"label":1,"w":-1}', 16),
        ("jsonl", '{"label":1,"w":"1"}', 16),
        ("jsonl", '{"label":1,"w":null}', 16),
    ],
    "BAD_NUMBER": [
        ("vw", "1 | a:1x", 7),
        ("vw", "1 | é:nan", 7),
        ("vw", "1 | a:b:c", 7),
        ("vw", "1 |n:x a", 6),
        ("libsvm", "1 5:nan", 5),
        ("libsvm", "1 5:", 5),
        ("jsonl", '{"label":1,"a":1x}', 16),
        ("jsonl", '{"label":1,"a":1e}', 16),
    ],
    "LARGE_NUMBER": [
        ("vw", "1 | a:1e19", 7),
        ("vw", "1 |n:1e10 a:1e9", 11),
        ("vw", "1 |n:-1e400 a", 6),
        ("libsvm", "1 5:-1e400", 5),
        ("csv", "1,1,inf", 5),
        ("csv", "1,1, 1000000000000000001000", 5),
        ("jsonl", '{"label":1,"a":[1,-2e18]}', 19),
    ],
    "NO_BAR": [("vw", "1 a b", 6), ("vw", " ", 2)],
    "TAB": [("vw", "1\t| a", 2)],
    "INITIAL": [("vw", "1 1 0.5 | a", 5)],
    "TOO_MANY_WORDS": [("vw", "1 'tag 2 | a", 8), ("vw", "'a 'b| c", 4)],
    "NO_NAMESPACE": [("vw", "1 |:2 a", 4), ("vw", "1 |a x|: y", 8)],
    "RETURN": [("vw", "1 | a\rb", 6)],
    "NO_INDEX": [("libsvm", "1 a:2", 3), ("libsvm", "1 1:2 -3:4", 7)],
    "LARGE_INDEX": [("libsvm", "1 2147483648:1", 3), ("libsvm", "1 99999999999999999999999:1", 3)],
    "NO_COLON": [("libsvm", "1 5", 4), ("libsvm", "1 5 :6", 4)],
    "QID": [("libsvm", "1 qid:3 1:2", 3)],
    "FEW_CELLS": [("csv", "1,1", 4), ("csv", '1,"1"\r', 6)],
    "MANY_CELLS": [("csv", "1,1,2,3", 7), ("csv", "1,1,2,", 7)],
    "OPEN_QUOTE": [("csv", '1,1,"a', 5), ("jsonl", '{"label":1,"a":"x', 18), ("jsonl", '{"label', 8)],
    "AFTER_QUOTE": [("csv", '1,1,"a"b', 5), ("csv", '"1" ,1,2', 1)],
    "NO_OBJECT": [("jsonl", "[1]", 1), ("jsonl", " x", 2)],
    "NO_KEY": [("jsonl", "{label:1}", 2), ("jsonl", '{"label":1,}', 12)],
    "NO_VALUE": [
        ("jsonl", '{"label":1,"a":nul}', 16),
        ("jsonl", '{"label":1,"a"}', 15),
        ("jsonl", '{"label":1,"a":+1}', 16),
        ("jsonl", '{"label":1,"a":}', 16),
        ("jsonl", '{"label":1,"a":,"b":2}', 16),
        ("jsonl", '{"label":1,"a":[,2]}', 17),
        ("jsonl", '{"label":1,"a":[2,]}', 19),
        ("jsonl", '{"label":1,"a":-}', 16),
        ("jsonl", '{"label":1,"a":-Infinity}', 16),
        ("jsonl", '{"label":1,"a":#}', 16),
        ("jsonl", '{"label":,"a":1}', 10),
        ("jsonl", '{"label":1,"w":}', 16),
        ("jsonl", '{"label":1,"zip":}', 18),
        ("jsonl", '{"label":1,"skip":?}', 19),
        ("jsonl", "{", 2),
    ],
    "NO_COMMA": [("jsonl", '{"label":1 "a":2}', 12), ("jsonl", '{"label":1', 11), ("jsonl", '{"label":1]', 11)],
    "BAD_ESCAPE": [("jsonl", '{"label":1,"a":"\\x"}', 17), ("jsonl", '{"label":1,"\\ud800":2}', 13)],
    "CONTROL": [("jsonl", '{"label":1,"a":"\tx"}', 17)],
    "TOO_DEEP": [("jsonl", '{"label":1,"a":' + "[" * 32 + "]" * 32 + "}", 47)],
    "TRAILING": [("jsonl", '{"label":1} x', 13), ("jsonl", '{"label":1}}', 12)],
    "BAD_DATE": [("jsonl", '{"label":1,"day":"soon"}', 18)],
    "BAD_US_DATE": [("jsonl", '{"label":1,"month":"25/12/2023"}', 20)],
    "LIST_LABEL": [("jsonl", '{"label":[1]}', 10), ("jsonl", '{"label":1,"w":{}}', 16)],
}


def test_every_fault_has_an_example():
    elsewhere = {status.LONG_RECORD, status.BAD_DATE, status.BAD_US_DATE}  # in test_cells_as_written.py
    assert {KINDS[kind] for kind in FAULTS} | elsewhere == set(status.EXPECTED)


EXAMPLES = [pytest.param(kind, e, id=f"{kind}-{e[0]}-{n}") for kind in FAULTS for n, e in enumerate(FAULTS[kind])]


@pytest.mark.parametrize(("kind", "example"), EXAMPLES)
def test_a_fault_is_refused_at_its_place_or_skipped_and_counted(kind, example):
    format, line, column = example
    weight = "w" if format in ("csv", "jsonl") else None
    text = (FIRST[format] + line + "\n" + LAST[format]).encode()
    place = Refusal(FIRST[format].count("\n") + 1, column, kind)
    for chunk, batch_size in BUFFERS:
        named = {"drop": ("skip",), "categorical": ("zip",), "day_first": ("day",), "month_first": ("month",)}
        options = Options(weight=weight, **(named if format == "jsonl" else {}))
        assert compiled(format, text, options, chunk, batch_size).refusals == [place]
        options.skip = True
        found = compiled(format, text, options, chunk, batch_size)
        assert found.refusals == [place]
        assert [row.y for row in found.rows] == [1, 0, 1]
        assert_same(found, read(format, text, options))


@pytest.mark.parametrize("format", FORMATS)
def test_the_message_names_the_file_the_line_the_column_and_what_was_found(format):
    line = {"vw": "1 | a:1x", "libsvm": "1 5:1x", "csv": "1,1x,2", "jsonl": '{"label":1,"w":1x}'}[format]
    expected = {"csv": "a weight: a number from 0 to 1e18"}.get(format, "a number")
    column = {"vw": 7, "libsvm": 5, "csv": 3, "jsonl": 16}[format]
    options = Options(weight="w" if format in ("csv", "jsonl") else None)
    text = (FIRST[format] + line).encode()
    with pytest.raises(ReadError) as problem:
        list(reader_for(format, options, CHUNK, 10).pages(Memory(text)))
    number = FIRST[format].count("\n") + 1
    assert str(problem.value) == f"memory: line {number}, character {column}: expected {expected}, found '1x'"
    assert (problem.value.line, problem.value.column) == (number, column)


@pytest.mark.parametrize("format", FORMATS)
def test_a_label_may_have_64_bytes(format):
    long = "0" * 63 + "1"
    lines = {"vw": f"{long} | a", "libsvm": f"{long} 1:2", "csv": f"{long},1,2", "jsonl": f'{{"label":"{"a" * 64}"}}'}
    head = "label,w,a\n" if format == "csv" else ""
    for chunk, batch_size in BUFFERS:
        found = compiled(
            format, (head + lines[format] + "\n").encode() * (1 if head else 2), Options(), chunk, batch_size
        )
        assert not found.refusals and found.rows


def test_a_line_too_long_is_refused_or_skipped_whole():
    text = b"1 | a\n1 | " + b"a b " * (5 << 20) + b"\n-1 | b\n"
    assert compiled("vw", text, Options()).refusals == [Refusal(2, 1, "LONG_RECORD")]
    found = compiled("vw", text, Options(skip=True))
    assert found.refusals == [Refusal(2, 1, "LONG_RECORD")]
    assert [row.y for row in found.rows] == [1, 0]


def test_a_skipped_record_ends_with_its_line_even_where_the_buffer_ends_before():
    text = b'label,a\n1,"x"y' + b",1" * 200 + b"\n0,2\n"
    check("csv", text, Options(skip=True))


@pytest.mark.parametrize("reading", [True, False])
def test_every_cell_as_people_write_it(reading):
    """In a column of any kind, and in one of dates; the generated texts have some of them only."""
    cells = [*AMOUNTS, *MISSING, *ORDERED, *DATES, *WORDS]
    csv = "label,w,a,b\n" + "".join(f'1,1,"{cell}","{cell}"\n' for cell in cells)
    lines = "".join(json.dumps({"label": 1, "a": cell, "b": cell}) + "\n" for cell in cells)
    for named in ({}, {"day_first": ("a",)}, {"month_first": ("a",)}):
        options = Options(skip=True, reading=reading, **named)
        check("csv", csv.encode(), options, [(CHUNK, 1000)])
        check("jsonl", lines.encode(), options, [(CHUNK, 1000)])


def test_separators_of_ascii_around_a_label_are_spaces():
    check("csv", b'label,a\n"\x1d1",2\n-1 ,3\n', Options())


@pytest.mark.parametrize("digits", range(1, 10))
def test_a_feature_number_of_any_length_is_itself(digits):
    number = int("123456789"[:digits])
    assert compiled("libsvm", f"1 {number}:2".encode(), Options()).rows[0].features == [(number, 2)]


@pytest.mark.parametrize("format", FORMATS)
def test_files_one_after_another_share_labels_and_names(format):
    reader = reader_for(format, Options(weight="w" if format == "csv" else None), 32, 2)
    first, second = (list(reader.pages(Memory(text.encode()))) for text in (FIRST[format], FIRST[format]))
    assert [y for page in first for y in page.batch.y] == [1, 0] == [y for page in second for y in page.batch.y]
    for name in ("indices", "values", "weight"):
        parts = [np.concatenate([getattr(page.batch, name) for page in pages]) for pages in (first, second)]
        np.testing.assert_array_equal(*parts)
    assert not any(page.names for page in second)


# ---- names, labels and the first line of CSV


@pytest.mark.parametrize("lines", [1, 50])
def test_every_name_is_told_however_many_are_new_at_once(lines):
    names = [f"name{n}" for n in range(40_000)]
    step = len(names) // lines
    text = "".join(f"1 |s {' '.join(names[k : k + step])}\n" for k in range(0, len(names), step)).encode()
    check("vw", text, Options(), [(CHUNK, 1000), (1 << 12, 7)])


@pytest.mark.parametrize("format", ["csv", "vw"])
def test_the_1025th_spelling_of_a_label_is_refused(format):
    spellings = ["0" * zeros + "1" + "." * (more > 0) + "0" * (more - 1) for zeros in range(32) for more in range(33)]
    rest = {"vw": " | a", "csv": ",2"}[format]
    head = "label,a\n" if format == "csv" else ""
    text = head + "".join(f"{spelling}{rest}\n" for spelling in spellings)
    assert read(format, text.encode(), Options()).refusals == [Refusal(1025 + bool(head), 1, "BAD_LABEL")]
    check(format, text.encode(), Options())


@pytest.mark.parametrize("before", ["", "\n", "\r\n\r\n", "\n" * 40, "\ufeff"], ids=["", "n", "rnrn", "40n", "mark"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"], ids=["comma", "semicolon", "tab", "bar"])
def test_the_separator_is_guessed_from_the_first_line_that_is_not_empty(before, separator):
    text = f"{before}label,a,b\n1,2,red\n0,3,\n".replace(",", separator).encode()
    expected = read("csv", text, Options(separator=separator))
    assert len(expected.rows) == 2
    for chunk, batch_size in BUFFERS:
        reader = reader_for("csv", Options(), chunk, batch_size, guess=True)
        rows = [row for page in reader.pages(Memory(text)) for row in page.batch.values.tolist()]
        assert str(rows) == str([float(value) for row in expected.rows for _, value in row.features])


def test_a_quote_within_a_heading_does_not_hide_the_separator():
    assert guess_separator(b'size (6" pipe);label;b\n1;1;5\n2;0;"x"\n') == ";"


def test_the_first_line_is_read_whole_wherever_the_buffer_ends():
    for columns in range(1, 40):
        cells = ["label", *(f"c{n}" for n in range(columns))]
        check("csv", (",".join(cells) + "\n" + ",".join(["1"] * len(cells))).encode(), Options())


def test_a_separator_at_the_very_end_is_followed_by_an_empty_cell():
    for columns in range(1, 40):
        check("csv", b"1," * columns, Options(header=False, label="0"))


def test_an_empty_csv_has_no_rows_whatever_columns_are_named():
    for text in (b"", b"\n", b"\r\n\n", b"\xef\xbb\xbf"):
        check("csv", text, Options(weight="w"))


@pytest.mark.parametrize("chunk", [1 << 12, CHUNK])
def test_headings_that_are_no_utf8_leave_room_for_long_cells(chunk):
    text = b"label," + b"\xff" * (chunk - 100) + b"\n1," + b"v" * (2 * chunk - 100) + b"\n"
    found = compiled("csv", text, Options(header=True), chunk, 10)
    assert [name.count("�") for _, name in found.names] == [chunk - 100]
    assert len(found.names[0][1]) == chunk - 100 + 1 + 2 * chunk - 100


# ---- Vowpal Wabbit itself


def audited(path) -> list[list[tuple[int, float]]]:
    """Number and value of each feature of each example, as ``vw --audit`` prints them."""
    options = ["--audit", "--noconstant", "-t", "-b", "18"]
    command = [sys.executable, "-m", "vowpalwabbit", "-d", str(path), *options]
    out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    lines = [line for line in out.split(b"\n") if not line.startswith(b"[warning]")]
    examples = []
    for line in lines[1::2]:  # the line before it is the prediction
        entries = [entry.rsplit(b":", 3) for entry in line.split(b"\t")[1:]]
        examples.append([(int(index), float(value)) for _, index, value, _ in entries])
    return examples


def assert_as_vw_reads_it(text: bytes, folder) -> None:
    path = folder / "examples.vw"
    path.write_bytes(text)
    expected = audited(path)
    found = compiled("vw", text, Options(labeled=False))
    assert not found.refusals
    assert len(found.rows) == len(expected)
    lines = [line for line in text.split(b"\n") if line.strip(b"\r")]
    for line, row, example in zip(lines, found.rows, expected, strict=True):
        assert [index % (1 << 18) for index, _ in row.features] == [index for index, _ in example], line
        # audit prints six digits, and vw's own reading of numbers is not correctly rounded
        np.testing.assert_allclose([value for _, value in row.features], [value for _, value in example], rtol=5e-6)


BY_HAND = """\
1 | a b c
-1 2.5 'tag |first x:2 y:-0.5 z |second:0.5 x:2 y
1 1 tag|first:2 x:3 y
1 |animal cat dog:2 |block a |apple red |b x |animal cat
1 |a |b x |a y
1 |a x:0 |b z |a y
1 |12 5 x |13:0.5 5 x :3 |012 5
1 |f 'quoted' "double" it's 'a:2 "b":3 \\" `x`
1 | a a a:2 a:0 a
1 | :3 :4 b :5 |g :3 c |g :6
1 |f colour:red colour:blue 3:red :red 5:4
1 |f:2 colour:red x :3
1 |f:0 x colour:red y:3
1 |été naïve:2 日本 é |é é 12é \U0001f600:3
1 |t\ta:2\tb\t \tc\t|u\td\t
-1 0.25 | 0 00 007 12345678 123456789 4294967296 18446744073709551615 18446744073709551616 99999999999999999999999
1 | -1 +1 1.5 1e3 a=b a^b a,b;c {x} #y %z
1 | x:1e3 y:1E-3 z:+2 w:.5 v:7. u:-.25 t:123456 s:0.000012345
1 |a x|b y|a z
1 |  |
 1 |a b
1  2  'tag  |a  b   c  d
'only_a_tag |a b
tag|a b
|a b
1 |a  \x01b c\x02 d\x7f
1 |x infantry:2 a:x1 a:_
"""


def test_a_file_written_by_hand_is_read_as_vw_reads_it(tmp_path):
    assert_as_vw_reads_it(BY_HAND.encode(), tmp_path)


def test_windows_line_ends_and_empty_lines_are_read_as_vw_reads_them(tmp_path):
    assert_as_vw_reads_it(b"1 |a b:2\r\n\r\n-1 | c\r\n\n1 |a d:3\r\n\n\n1 |e", tmp_path)


def test_two_thousand_random_lines_are_read_as_vw_reads_them(tmp_path):
    rng = random.Random(5)
    names = [*NAMES, "b", "c", "d", "Zürich", "x=y", "_", "0", "18446744073709551616"]
    values = ["0", "1", "2.5", "-3.75", ".5", "1e3", "1E-3", "+4", "123456", "0.1", "7."]

    def feature() -> str:
        kind = rng.random()
        if kind < 0.4:
            return rng.choice(names)
        if kind < 0.55:
            return f"{rng.choice(names)}:{rng.choice(['red', 'blue', 'Grün', '_1'])}"
        number = rng.choice(values) if rng.random() < 0.5 else f"{rng.uniform(-1000, 1000):.{rng.randrange(7)}f}"
        return f"{rng.choice(names) if rng.random() < 0.85 else ''}:{number}"

    def section() -> str:
        space = rng.choice(["", "a", "ab", "abc", "b", "bc", "12", "13", "é", "Ü", "c", "d"])
        if space and rng.random() < 0.3:
            space += ":" + rng.choice(["2", "0.5", "-1", "0", "1e2"])
        gap = rng.choice([" ", " ", "\t", "  "])
        return f"|{space}" + "".join(gap + feature() for _ in range(rng.randrange(6))) + " "  # red|b: a string to vw

    before = ["1 ", "-1 ", "1 2.5 ", "1 0.5 'tag ", "-1 tag", "", "'tag ", "1 1 'x"]
    lines = [rng.choice(before) + "".join(section() for _ in range(rng.randrange(1, 6))) for _ in range(2000)]
    assert_as_vw_reads_it("\n".join(lines).encode(), tmp_path)
