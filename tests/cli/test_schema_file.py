"""Schema files: what inspect writes is read by train as if the flags were given."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from commands import run
from pairs import everything

from onlineboost import load
from onlineboost.cli.app import main

DATA = Path(__file__).resolve().parents[2] / "docs/data.md"
OPTIONS = ["-a", "none", "--no-baseline", "-q"]
FLAGS = ["--label", "bought", "--positive", "yes", "--weight", "w", "--drop", "id", "--categorical", "zip"]
FLAGS += ["--text", "message", "--day-first", "joined"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, and a model that was trained with flags."""
    path = tmp_path_factory.mktemp("schema")
    table = {
        "id": lambda k: f"u{k}",
        "zip": lambda k: 10001 + k % 9,
        "message": lambda k: f"please help with number {k}",
        "note": lambda k: f"somebody called about parcel {k} again",
        "joined": lambda k: f"{k % 28 + 1}/{k % 12 + 1}/2023",
        "size": lambda k: k % 7,
        "w": lambda k: k % 2 + 1,
        "bought": lambda k: ["yes", "no"][k % 3 % 2],
    }
    frame = pd.DataFrame({name: [cell(k) for k in range(150)] for name, cell in table.items()})
    frame.to_csv(path / "x.csv", index=False)
    with pytest.raises(SystemExit):
        main([*map(str, ["train", path / "x.csv", *FLAGS, *OPTIONS, "-o", path / "m"])])
    return path


def test_a_schema_file_is_its_flags(folder, tmp_path, capsys):
    run(capsys, "inspect", folder / "m", "--schema", tmp_path / "s.json")
    facts = json.loads((tmp_path / "s.json").read_text())
    assert facts == {
        "label": "bought",
        "weight": "w",
        "positive": "yes",
        "drop": ["id"],
        "categorical": ["zip"],
        "text": ["message", "note"],
        "day_first": ["joined"],
        "month_first": [],
        "found": {"zip": "category", "message": "text", "note": "text", "joined": "date", "size": "number"},
    }
    assert json.loads(run(capsys, "inspect", folder / "m", "--schema", "-")[0]) == facts
    by_file = ["train", folder / "x.csv", "--schema", tmp_path / "s.json", *OPTIONS, "-o", tmp_path / "m"]
    assert run(capsys, *by_file, "--drop", "id", "--label", "bought")[1] == ""
    run(capsys, "train", folder / "x.csv", *FLAGS, "--text", "note", *OPTIONS, "-o", tmp_path / "n")
    models = [load(tmp_path / name) for name in "mn"]
    assert everything(models[0]) == everything(models[1])
    assert models[0]._fitted.columns.schema == models[1]._fitted.columns.schema


@pytest.mark.parametrize(
    ("flags", "facts", "said"),
    [
        (["--label", "size"], {"label": "bought"}, "--label size contradicts FILE, which has label 'bought'"),
        (["--text", "zip"], {"categorical": ["zip"]}, "--text zip contradicts FILE, which has the column in 'cat"),
        (["--resume", "m"], {}, "--schema has no effect with --resume: the model has its own columns."),
    ],
)
def test_flags_that_contradict_the_file(folder, tmp_path, capsys, flags, facts, said):
    file = tmp_path / "s.json"
    file.write_text(json.dumps(facts))
    flags = [folder / "m" if flag == "m" else flag for flag in flags]
    err = run(capsys, "train", folder / "x.csv", "--schema", file, *flags, *OPTIONS, code=2)[1]
    assert said.replace("FILE", str(file)) in err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"label": "bought",}', "FILE: line 1, character 20: "),
        ('["label"]', "FILE: expected a JSON object with any of label, weight"),
        ('{"lable": "bought"}', "found 'lable'"),
        ('{"drop": "id"}', "FILE: drop: expected a list of names of columns"),
        ('{"found": ["id"]}', "FILE: found: expected kinds by column"),
        ('{"label": null}', "FILE: label: expected the name of a column"),
    ],
)
def test_files_that_are_no_schema(folder, tmp_path, capsys, text, said):
    (tmp_path / "s.json").write_text(text)
    err = run(capsys, "train", folder / "x.csv", "--schema", tmp_path / "s.json", *OPTIONS, code=1)[1]
    assert said.replace("FILE", str(tmp_path / "s.json")) in err


def test_the_example_of_the_documents(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    block = re.search(r"```console\n(\$ onlineboost train visits.*?)```", DATA.read_text(), re.S)[1]
    lines = ["zip,comment,joined,size,label"]
    lines += [f"{10001 + k % 9},please help with parcel {k},{k % 28 + 1}/1/2023,{k % 7},{k % 2}" for k in range(150)]
    for name in ("visits.csv", "visits-2.csv"):
        Path(name).write_text("\n".join(lines) + "\n")
    expected = "\n".join(line for line in block.splitlines() if not line.startswith("$ ")) + "\n"
    for line in block.splitlines():
        if line.startswith("$ onlineboost"):
            run(capsys, *line.split()[2:], *(OPTIONS if "train" in line else ()))
    assert Path("visits.json").read_text() == expected


def test_kinds_that_have_changed_are_said(folder, tmp_path, capsys):
    found = '"found": {"size": "category", "id": "category"}'
    (tmp_path / "s.json").write_text(f'{{"label": "bought", "drop": ["note"], {found}}}')
    err = run(capsys, "train", folder / "x.csv", "--schema", tmp_path / "s.json", *OPTIONS, "--day-first", "joined")[1]
    said = f"column 'size' was read as a number; {tmp_path / 's.json'} has a category"
    assert said in err
    assert "column 'id' was read" not in err


def test_inspect_does_not_overwrite_the_model(folder, capsys):
    err = run(capsys, "inspect", folder / "m", "--schema", folder / "m", code=2)[1]
    assert "expected another file than the input" in err
    err = run(capsys, "inspect", folder / "m", "--schema", "-", "--json", code=2)[1]
    assert "--schema cannot be combined with --json" in err
