"""Tables of equivalents in docs/from-*.md: the code of every cell runs, and ``onlineboost vw`` gives what is beside."""

from __future__ import annotations

import doctest
import importlib.util
import pickle
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from onlineboost import load
from onlineboost.cli.vw.translate import translate
from onlineboost.evaluate import progressive_error, progressive_val_score
from onlineboost.readers import open_stream

DOCS = Path(__file__).parent.parent / "docs"


def rows(page: str) -> list[list[list[str]]]:
    """The code of each cell, for every row of the table of equivalents."""
    table = re.search(r"^\| [^|\n]+ \| onlineboost \|\n\|[- |]+\|\n((?:\|.*\n)+)", (DOCS / page).read_text(), re.M)[1]
    return [[re.findall(r"(?<!\[)`([^`]+)`", cell) for cell in line.split(" | ")] for line in table.splitlines()]


@pytest.mark.parametrize(("theirs", "ours"), [(theirs, ours) for [theirs], [ours] in rows("from-vw.md")])
def test_the_translation_is_that_of_the_command(theirs, ours):
    found = translate(shlex.split(theirs)[1:])
    assert (found.commands, found.missing) == ([ours], {})


def test_what_the_page_shows_is_what_is_printed(capsys):
    from commands import run

    shown = re.search(r"```console\n\$ onlineboost (.*)\n((?:.*\n)+?)```", (DOCS / "from-vw.md").read_text())
    out, err = run(capsys, *shlex.split(shown[1]))
    assert out + err == shown[2]


@pytest.mark.filterwarnings("default")  # of other libraries
@pytest.mark.parametrize("name", ["river", "scikit-learn", "lightgbm"])
def test_the_code_of_the_tables_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page, known = f"from-{name}.md", _names_of(f"from-{name}.md")
    has_theirs = name != "lightgbm" or importlib.util.find_spec("lightgbm") is not None
    if name == "lightgbm" and has_theirs:
        known["lightgbm"] = importlib.import_module("lightgbm")
    table = rows(page)
    assert len(table) > 9
    for theirs, ours in table:
        assert theirs and ours
        for code in [*(theirs if has_theirs else []), *ours]:
            exec(code, known)
    if not has_theirs:
        pytest.skip("lightgbm is not installed: only the code of onlineboost was run")


def _names_of(page: str) -> dict[str, Any]:
    """The names that the examples of a page leave."""
    known: dict[str, Any] = {"load": load, "pickle": pickle, "open_stream": open_stream}
    known |= {"progressive_error": progressive_error, "progressive_val_score": progressive_val_score}
    for example in doctest.DocTestParser().get_examples((DOCS / page).read_text()):
        exec(example.source, known)
    return known
