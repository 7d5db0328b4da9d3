"""A file format is one file that registers itself, in this package or in another one."""

from __future__ import annotations

import ast
import inspect
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import onlineboost
from onlineboost.errors import ParameterError
from onlineboost.readers import open_stream
from onlineboost.readers.format import by_name
from onlineboost.registry import FORMATS

READERS = Path(onlineboost.__file__).parent / "readers"

OUTSIDE = """
import json
from functools import partial

from onlineboost.readers.format import Format, first_line
from onlineboost.readers.formats import csv
from onlineboost.readers.table import TableReader
from onlineboost.readers.write_table import table_writer
from onlineboost.registry import FORMATS, Option


def reader(options, comment=None, **layout):
    assert comment in (None, "#")
    return csv.reader(options, separator="|", **layout)


FORMATS.add(
    Format(
        "psv",
        "pipe-separated text",
        (".psv",),
        reader,
        table_writer(partial(csv.open_table, separator="|")),
        (csv.OPTIONS[0], Option("comment", "Character that begins a comment.")),
        looks_like=lambda start: first_line(start).count(b"|") == 3,
        priority=100,
    )
)


def batches(source, batch_size):
    import pyarrow as pa

    yield pa.RecordBatch.from_pylist(json.load(source.stream))


FORMATS.add(Format("list", "a list of rows", (".list",), partial(TableReader, batches)))
"""

USE = """
import contextlib, json, sys
from pathlib import Path

import onlineboost.readers

assert "pyarrow" not in sys.modules
from onlineboost.cli.app import main
from onlineboost.readers import open_stream
from onlineboost.readers.format import open_writer
from onlineboost.registry import FORMATS

assert "psv" not in FORMATS.names()
Path("a.psv").write_text("label|a|b\\n1|2|red\\n0|3|blue\\n")
Path("unknown").write_text(Path("a.psv").read_text())
Path("sniffed").write_text("1|2|3|4\\n0|2|3|4\\n")
Path("b.list").write_text(json.dumps([{"label": 1, "a": 2, "b": "red"}, {"label": 0, "a": 3, "b": "blue"}]))
with contextlib.suppress(SystemExit):
    main(["convert", "a.psv", "c.jsonl", "-q"])
with open_writer("d.psv", lambda: open_stream("c.jsonl"), rereadable=True) as write:
    for page in open_stream("c.jsonl"):
        write(page)
opened = [
    open_stream("a.psv"),
    open_stream("unknown", format="psv", header=True, comment="#"),
    open_stream("b.list"),
    open_stream("c.jsonl"),
    open_stream("sniffed", header=False, label=0),
]
for stream in opened:
    page = next(stream)
    print(page.batch.y.tolist(), page.batch.values.tolist(), sorted(name for _, name in page.names))
print(Path("d.psv").read_text().splitlines()[0])
"""


def test_a_format_of_another_package_is_found_by_name_suffix_and_content(tmp_path):
    facts = tmp_path / "outside-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[onlineboost.formats]\npsv = outside\nlist = outside\n")
    (tmp_path / "outside.py").write_text(OUTSIDE)
    path = os.pathsep.join([str(tmp_path), str(Path(onlineboost.__file__).parent.parent)])
    environment = {**os.environ, "PYTHONPATH": path, "ONLINEBOOST_QUIET": "1"}
    done = subprocess.run(
        [sys.executable, "-c", USE], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    people = "[1.0, 0.0] [2.0, 1.0, 3.0, 1.0] ['a', 'b=blue', 'b=red']"
    *first, converted, sniffed, heading = done.stdout.splitlines()
    assert first == [people] * 3
    assert converted == people
    assert sniffed == "[1.0, 0.0] [2.0, 3.0, 4.0, 2.0, 3.0, 4.0] ['1', '2', '3']"
    assert set(heading.replace('"', "").split("|")) == {"label", "a", "b=red", "b=blue"}


def test_no_two_formats_claim_the_same_suffix_magic_or_priority():
    formats = list(FORMATS)
    for claims in (
        [suffix for format in formats for suffix in format.suffixes],
        [mark for format in formats for mark in format.magic],
        [format.priority for format in formats if format.looks_like is not None],
    ):
        assert [claim for claim, count in Counter(claims).items() if count > 1] == []
    for format in formats:
        assert {by_name(f"x{suffix}.gz") for suffix in format.suffixes} == {format}


def test_every_format_is_one_module_that_registers_itself():
    modules = {path.stem for path in (READERS / "formats").glob("[!_]*.py")}
    assert modules == set(FORMATS.names())


def test_an_option_that_no_format_has_is_pythons_own_error(tmp_path):
    (tmp_path / "x.vw").write_text("1 | a\n")
    for source in (tmp_path / "x.vw", [({"a": 1}, 1)]):
        with pytest.raises(TypeError, match="unexpected keyword argument 'lable'"):
            open_stream(source, lable="a")
    with pytest.raises(ParameterError, match="format=5: expected one of arrow, csv"):
        open_stream(tmp_path / "x.vw", format=5)


def strings(path: Path) -> list[str]:
    tree = ast.parse(path.read_text())
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def test_messages_name_options_as_python_does():
    """``label=...``: what the command line turns into ``--label``."""
    known = set(inspect.signature(open_stream).parameters) | {o.parameter for f in FORMATS for o in f.options}
    for path in READERS.rglob("*.py"):
        for text in strings(path):
            assert not re.search(r"(?<![\w-])--[a-z]", text), f"{path.name}: {text}"
            assert set(re.findall(r"(\w+)=\.\.\.", text)) <= known, f"{path.name}: {text}"
