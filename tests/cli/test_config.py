"""``train --config`` and ``--save-config``."""

from __future__ import annotations

import json
import tomllib

import pytest
from commands import run


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """A CSV file of 300 rows, in the working directory."""
    lines = [f"{k % 7},{k % 3},{'yes' if k % 7 > 3 else 'no'}" for k in range(300)]
    (tmp_path / "rows.csv").write_text("a,b,bought\n" + "\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


ALONE = ("-a", "none", "--learner", "perceptron")


def test_a_saved_configuration_trains_the_same_model(rows, capsys):
    options = ("--label", "bought", *ALONE, "--seed", 3, "--drop", "b", "--no-standardize", "--positive", "no")
    run(capsys, "train", "rows.csv", *options, "-o", "first", "--save-config", "train.toml", "-q")
    found = tomllib.loads((rows / "train.toml").read_text())
    assert found == {
        "files": ["rows.csv"], "output": "first", "label": "bought", "drop": ["b"], "positive": "no",
        "algorithm": "none", "learner": "perceptron", "standardize": False, "seed": 3, "quiet": True,
    }  # fmt: skip
    run(capsys, "train", "--config", "train.toml", "-o", "second")
    assert (rows / "first").read_bytes() == (rows / "second").read_bytes()


def test_saving_again_gives_the_same_file(rows, capsys):
    options = ("--label", "bought", *ALONE, "--class-weight", "yes=2", "--class-weight", "no=1")
    run(capsys, "train", "rows.csv", *options, "--save-config", "first.toml", code=2)  # a conflict
    assert not (rows / "first.toml").exists()
    options = ("--label", "bought", "-a", "safe", "--learner", "perceptron", "-n", 3, *options[6:])
    run(capsys, "train", "rows.csv", *options, "--save-config", "first.toml")
    run(capsys, "train", "--config", "first.toml", "--save-config", "second.toml")
    assert (rows / "first.toml").read_text() == (rows / "second.toml").read_text()
    assert 'class-weight = ["yes=2", "no=1"]\n' in (rows / "first.toml").read_text()


def test_the_command_line_wins(rows, capsys):
    (rows / "train.toml").write_text(
        'files = "absent.csv"\nlabel = "bought"\nalgorithm = "none"\nlearner = "perceptron"\nstandardize = true\n'
    )
    options = ("--config", "train.toml", "--json")
    assert json.loads(run(capsys, "train", "rows.csv", *options)[0])["model"] == "Perceptron(standardize=True)"
    found = json.loads(run(capsys, "train", "rows.csv", *options, "--no-standardize")[0])
    assert found["model"] == "Perceptron()"
    assert "absent.csv" in json.loads(run(capsys, "train", *options, code=1)[0])["error"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('lable = "y"', "train.toml: unknown key 'lable': did you mean 'label'?"),
        ("class_weight = 'balanced'", "train.toml: unknown key 'class_weight': did you mean 'class-weight'?"),
        ("[data]\nlabel = 'y'", "train.toml: unknown key 'data': "),
        ("config = 'other.toml'", "train.toml: unknown key 'config'"),
        ("label = ", "train.toml: expected TOML: "),
        ("adaptive = 'yes'", "train.toml: adaptive: expected true or false, found 'yes'"),
        ("seed = true", "train.toml: seed: expected a string or a number, found True"),
        ("seed = [1, 2]", "train.toml: seed: expected a string or a number, found [1, 2]"),
        ("drop = [1.5, []]", "train.toml: drop: expected a list of strings"),
        ("seed = 'x'", "train.toml: seed: "),
        ("effort = 'most'", "train.toml: effort: "),
    ],
)
def test_an_error_names_the_file_and_the_key(rows, capsys, text, expected):
    (rows / "train.toml").write_text(text)
    _, err = run(capsys, "train", "rows.csv", "--label", "bought", "--config", "train.toml", code=1)
    assert err.startswith(f"onlineboost: {expected}"), err


def test_a_file_that_is_absent_or_not_text(rows, capsys):
    assert "absent.toml: No such file" in run(capsys, "train", "rows.csv", "--config", "absent.toml", code=1)[1]
    (rows / "train.toml").write_bytes(b"\xff")
    assert "expected TOML in UTF-8" in run(capsys, "train", "rows.csv", "--config", "train.toml", code=1)[1]


def test_a_configuration_is_not_written_over_its_inputs(rows, capsys):
    (rows / "train.toml").write_text('label = "bought"\nalgorithm = "none"\nlearner = "perceptron"\n')
    for target in ("rows.csv", "train.toml"):
        options = ("--config", "train.toml", "--save-config", target)
        assert "--save-config" in run(capsys, "train", "rows.csv", *options, code=2)[1]
    assert (rows / "rows.csv").read_text().startswith("a,b,bought\n")


def test_a_configuration_goes_with_resume(rows, capsys):
    """Settings of the model are left out with a word; a column that contradicts the model is an error."""
    (rows / "train.toml").write_text('label = "bought"\nalgorithm = "none"\nlearner = "perceptron"\nseed = 1\n')
    run(capsys, "train", "rows.csv", "--config", "train.toml", "-o", "m")
    (rows / "more.csv").write_text((rows / "rows.csv").read_text().replace("6,", "5,"))
    _, err = run(capsys, "train", "more.csv", "--config", "train.toml", "--resume", "m", "-q")
    assert "train.toml: ignored: algorithm, learner, seed: the model of --resume has its own settings" in err
    (rows / "train.toml").write_text('label = "a"\n')
    _, err = run(capsys, "train", "more.csv", "--config", "train.toml", "--resume", "m", "-q", code=2)
    assert "--label is fixed by the model of --resume, which has bought" in err
