"""What the command line prints: nothing in it can steer a terminal or a spreadsheet."""

from __future__ import annotations

import ast
import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from onlineboost.cli.app import main

EVIL = "x\x1b[31m\x07\u202ey\x9b"  # colour, bell, reversed direction, and an escape of one character
SHOWN = r"x\x1b[31m\x07\u202ey\x9b"


def run(capsys, *arguments: object, code: int = 0) -> tuple[str, str]:
    with pytest.raises(SystemExit) as exit:
        main([*map(str, arguments)])
    out, err = capsys.readouterr()
    assert (exit.value.code or 0) == code, err
    assert all(line.isprintable() for line in (out + err).split("\n")), repr(out + err)
    return out, err


@pytest.fixture
def evil(tmp_path):
    """A file with such a name, feature and labels."""
    path = tmp_path / f"{EVIL}.csv"
    rows = (f"{k % 7},{'yes' if k % 7 > 3 else 'no'}{EVIL}" for k in range(3000))
    path.write_text("\n".join([f"{EVIL},label", *rows]) + "\n")
    return path


def test_names_labels_and_paths_cannot_steer_the_terminal(evil, tmp_path, capsys):
    model = tmp_path / f"m{EVIL}"
    out, _ = run(capsys, "train", evil, "-n", 3, "-o", model, "--plot", tmp_path / f"{EVIL}.html")
    assert f"labels:              yes{SHOWN}" in out or f"labels:              no{SHOWN}" in out
    assert f"m{SHOWN}" in out
    out, _ = run(capsys, "inspect", model)
    assert f"  {SHOWN}\n" in out
    out, _ = run(capsys, "evaluate", model, evil)
    assert f"yes{SHOWN}" in out
    _, err = run(capsys, "predict", model, evil, "-o", tmp_path / f"{EVIL}.jsonl")
    assert f"{SHOWN}.jsonl" in err
    _, err = run(capsys, "train", evil, "--resume", model)
    assert f"{SHOWN}.csv: all 3,000 rows were learned before" in err


def test_errors_cannot_steer_the_terminal(evil, tmp_path, capsys):
    assert f"{SHOWN}.vw: no such file" in run(capsys, "train", tmp_path / f"{EVIL}.vw", code=1)[1]
    assert SHOWN in run(capsys, "train", evil, "--label", EVIL + "z", code=1)[1]
    assert SHOWN in run(capsys, "inspect", evil, code=1)[1]
    (tmp_path / "bad.csv").write_text(f"a,label\n1,0\n1,1\n1,w{EVIL}\n")
    assert SHOWN in run(capsys, "train", tmp_path / "bad.csv", code=1)[1]
    _, err = run(capsys, "train", tmp_path / "bad.csv", "-n", 3, "--on-error", "skip")
    assert "skipped: " in err
    assert len(run(capsys, "train", tmp_path / "two\nlines.vw", code=1)[1].splitlines()) == 1


def test_a_name_that_is_no_text_is_shown(tmp_path, capsys):
    name = os.fsdecode(b"bad\xff.vw")
    (tmp_path / name).write_text("1 | a\n-1 | b\n")
    out, _ = run(capsys, "train", tmp_path / name, "-n", 3, "-o", tmp_path / os.fsdecode(b"m\xff"))
    assert r"m\udcff" in out
    run(capsys, "train", tmp_path / name, "-n", 3, "-q", "--plot", tmp_path / "p.html")


def test_a_dollar_in_a_name_is_no_formula(tmp_path, capsys):
    (tmp_path / "$x_$.vw").write_text("1 | a\n-1 | b\n")
    run(capsys, "train", tmp_path / "$x_$.vw", "-n", 3, "--plot", tmp_path / "p.svg")


def test_every_line_passes_the_one_place():
    """A bare ``print`` in a command would send names to the terminal as they are."""
    for path in sorted((ROOT / "src" / "onlineboost" / "cli").glob("*.py")):
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        bare = [call.lineno for call in calls if isinstance(call.func, ast.Name) and call.func.id == "print"]
        assert path.name == "terminal.py" or not bare, (path.name, bare)


def test_a_terminal_without_unicode_and_a_full_disk(tmp_path, capsys):
    (tmp_path / "d.csv").write_text("é,label\n1,一\n0,二\n" * 1)
    run(capsys, "train", tmp_path / "d.csv", "-n", 3, "-o", tmp_path / "m")
    command = [sys.executable, "-m", "onlineboost", "inspect", str(tmp_path / "m")]
    done = subprocess.run(command, env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True, text=True)
    assert (done.returncode, r"\u4e00" in done.stdout, done.stderr) == (0, True, "")
    if Path("/dev/full").exists():
        with open("/dev/full", "w") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 1
        assert done.stderr == "onlineboost: standard output: No space left on device\n"


FORMULAS = ["=1+1", "+a", "-b", "@c", "\tindented", "\rreturned"]


@pytest.mark.parametrize("label", FORMULAS)
def test_labels_that_a_spreadsheet_would_run(tmp_path, capsys, label):
    with (tmp_path / "d.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["a", "label"], [1, label], [-1, "-2.5"]] * 1)
    run(capsys, "train", tmp_path / "d.csv", "-n", 3, "-o", tmp_path / "m", "--positive", label, "-q")
    found = {}
    for name, more in (("plain", []), ("safe", ["--escape-formulas"])):
        run(capsys, "predict", tmp_path / "m", tmp_path / "d.csv", "-o", tmp_path / f"{name}.csv", *more)
        with (tmp_path / f"{name}.csv").open(newline="") as file:
            found[name] = list(csv.DictReader(file))
        assert len(found[name]) == 2
    labels = {row["label"] for row in found["plain"]}
    assert {row["label"] for row in found["safe"]} == {"'" + one if one == label else one for one in labels}
    for name in ("score", "probability"):  # negative numbers stay numbers
        assert [row[name] for row in found["safe"]] == [row[name] for row in found["plain"]]


def test_numbers_are_no_formulas():
    from onlineboost.cli.answers import escaped

    kept = ["-1", "+1", "-2.5e3", -1, 1.5, "plain", "", "a=b", " =1"]
    assert [escaped(cell) for cell in kept] == kept
    assert [escaped(cell) for cell in FORMULAS] == [f"'{cell}" for cell in FORMULAS]


def test_escaping_is_for_csv(tmp_path, capsys):
    (tmp_path / "d.vw").write_text("1 | a\n-1 | b\n")
    run(capsys, "train", tmp_path / "d.vw", "-n", 3, "-o", tmp_path / "m", "-q")
    arguments = ["predict", tmp_path / "m", tmp_path / "d.vw", "--escape-formulas"]
    for more in (["-o", tmp_path / "p.jsonl"], ["-o", tmp_path / "p.parquet"], ["--json"]):
        assert "--escape-formulas is for CSV" in run(capsys, *arguments, *more, code=2)[1]


def test_columns_that_a_file_lacks_are_named(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("size,age,label\n" + "1,2,0\n3,4,1\n" * 40)
    (tmp_path / "b.csv").write_text("size\n1\n3\n")
    run(capsys, "train", tmp_path / "a.csv", "--learner", "linear", "-n", 3, "-o", tmp_path / "m", "-q")
    _, whole = run(capsys, "predict", tmp_path / "m", tmp_path / "a.csv")
    _, lacking = run(capsys, "predict", tmp_path / "m", tmp_path / "b.csv", code=1)
    assert "no value of" not in whole
    assert "no column 'age', which the model has learned" in lacking and "set --columns to 'warn'" in lacking
    out, warned = run(capsys, "predict", tmp_path / "m", tmp_path / "b.csv", "--columns", "warn")
    assert "no column 'age'" in warned and out.count("\n") == 3
    (tmp_path / "c.csv").write_text("size,ages,label\n1,2,0\n")
    _, renamed = run(capsys, "evaluate", tmp_path / "m", tmp_path / "c.csv", code=1)
    assert "renamed from 'age'?" in renamed


def test_a_positive_label_that_no_example_has_is_named(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("size,label\n" + "1,yes\n3,no\n" * 40)
    options = ("--learner", "linear", "-n", 3, "-o", tmp_path / "m", "-q")
    _, err = run(capsys, "train", tmp_path / "a.csv", "--positive", "yess", *options)
    assert "no example has the label 'yess' of --positive" in err
