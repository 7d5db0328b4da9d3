"""``onlineboost vw``: what it prints runs, and learns what the real ``vw`` learns."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import run
from hypothesis import given
from hypothesis import strategies as st

from onlineboost.cli.vw.model import MODEL_OPTIONS
from onlineboost.cli.vw.options import INSTEAD, LISTS, NOTHING_TO_DO, SHORT, SWITCHES, VALUES, parse
from onlineboost.cli.vw.translate import translate
from onlineboost.errors import ConflictError

vowpalwabbit = pytest.importorskip("vowpalwabbit")  # tests with other versions have none
LABEL_RANGE = "--min_prediction -1 --max_prediction 1"  # ours is this from the start


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Files ``two.vw``, ``three.vw`` and ``number.vw`` in the current folder, with namespaces a and b."""
    rng = np.random.default_rng(0)
    A, B = rng.integers(-3, 4, (400, 5)), rng.integers(0, 2, (400, 4))
    score = np.hstack([A, B]) @ rng.normal(size=9) + 2 * A[:, 0] * B[:, 0] + rng.normal(size=400)
    labels = {"two": np.where(score > 0, 1, -1), "three": np.digitize(score, [-2, 2]) + 1, "number": score.round(2)}
    for name, y in labels.items():
        rows = [
            f"{y[r]} |a {' '.join(f'x{j}:{v}' for j, v in enumerate(A[r]) if v)} |b"
            f" {' '.join(f'w{j}' for j, v in enumerate(B[r]) if v)}\n"
            for r in range(400)
        ]
        (tmp_path / f"{name}.vw").write_text("".join(rows))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ONLINEBOOST_QUIET", "1")
    return tmp_path


def printed(capsys, options: str, code: int = 0) -> tuple[list[str], str]:
    """The commands printed for a command of ``vw``, and what is said of it."""
    out, err = run(capsys, "vw", *shlex.split(options), code=code)
    return out.splitlines(), err


def both(capsys, options: str, file: str = "two.vw") -> tuple[np.ndarray, list[list[str]]]:
    """What ``vw`` predicts after training with these options, and the answers of the commands printed for them."""
    vowpalwabbit.Workspace(f"-d {file} {options} -f theirs.model --quiet").finish()
    vowpalwabbit.Workspace(f"-d {file} -t -i theirs.model {options} -p theirs.txt --quiet").finish()
    train = printed(capsys, f"-d {file} {options} -f ours.model --quiet")[0]
    predict = printed(capsys, f"-d {file} -t -i ours.model -p ours.csv --quiet")[0]
    for command in train + predict:
        run(capsys, *shlex.split(command)[1:])
    rows = Path("ours.csv").read_text().splitlines()[1:]
    return np.loadtxt("theirs.txt"), [row.split(",") for row in rows]


@pytest.mark.parametrize(
    ("options", "tolerance"),
    [
        (LABEL_RANGE, 1e-5),
        ("--loss_function=logistic -l .1 --power_t .3 -b20", 1e-5),
        (f"-q ab {LABEL_RANGE}", 1e-5),
        (f"--boosting 5 --alg logistic {LABEL_RANGE} -b 22", 1e-4),
        (f"--boosting 5 --alg BBM --gamma .2 {LABEL_RANGE} -b 22", 1e-4),
    ],
)
def test_the_commands_printed_learn_what_vw_learns(options, tolerance, data, capsys):
    theirs, answers = both(capsys, options)
    assert np.abs(np.array([float(row[1]) for row in answers]) - theirs).mean() <= tolerance


def test_one_against_all_answers_mostly_as_vw(data, capsys):
    theirs, answers = both(capsys, "--oaa 3", "three.vw")
    assert np.mean([float(row[0]) == label for row, label in zip(answers, theirs, strict=True)]) > 0.8


def test_going_on_testing_and_showing_run(data, capsys):
    for options, expected in {
        "-d two.vw -f one -c --passes 2": "onlineboost train two.vw -f vw -a none --no-standardize -o one --passes 2",
        "two.vw -i one -l 2 -f second": "onlineboost train two.vw -f vw --resume one -o second",
        "-d two.vw -p p.txt": "onlineboost train two.vw -f vw -a none --no-standardize --predictions p.txt.csv",
        "-d two.vw -t -i second -p answers.txt": "onlineboost predict second two.vw -f vw > answers.txt",
        "-d two.vw -t -i second -r /dev/stdout": "onlineboost predict second two.vw -f vw",
        "-d two.vw -t -i second": "onlineboost evaluate second two.vw -f vw",
        "-d number.vw -l .1 -f numbers": "onlineboost train number.vw -f vw --task number -o numbers",
    }.items():
        commands, _ = printed(capsys, options)
        assert commands == [expected]
        run(capsys, *shlex.split(commands[0].partition(" > ")[0])[1:])
    commands, _ = printed(capsys, "-d two.vw -f third --invert_hash weights.txt")
    assert commands[1] == "onlineboost inspect third > weights.txt"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("-d two.vw --l1 1e-6 --l2 1e-6", ["--l1", "--l2"]),
        ("-d two.vw --noconstant", ["--noconstant"]),
        ("-d two.vw -p progressive.csv -c --passes 2", ["-p"]),
        ("-d two.vw -p /dev/stdout", ["-p"]),
        ("-d two.vw -p a.csv -r b.csv", ["-r"]),
        ("-d two.vw --cb_explore_adf --bag 5", ["--cb_explore_adf", "--bag"]),
        ("-d two.vw --loss_function hinge", ["--loss_function hinge"]),
        ("-d two.vw --cubic aab", ["--cubic"]),
        ("-d two.vw --interactions aab", ["--interactions aab"]),
        ("-d two.vw --adaptive", ["--adaptive"]),
        ("-d two.vw --initial_t 5", ["--initial_t"]),
        ("-d two.vw --boosting 5 --link logistic", ["--link logistic"]),
        ("--cache_file two.cache", ["--cache_file"]),
        ("-d two.vw --json --quiet", ["--json"]),
    ],
)
def test_an_option_without_a_counterpart_is_named_and_nothing_is_printed(options, named, data, capsys):
    commands, said = printed(capsys, options, code=2)
    assert commands == []
    assert re.findall(r"^no counterpart: ([^:]+): .{10}", said, re.M) == named
    assert re.search(r"^without (it|them): onlineboost train", said, re.M)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("-d x --frobnicate", "vw --frobnicate: expected an option of Vowpal Wabbit"),
        ("-d x -Z", "vw -Z: expected an option"),
        ("-d x --cb_ex 3", "Several begin so: --cb_explore, --cb_explore_adf"),
        ("-d x -b", "vw -b: expected a value, found the end"),
        ("-d x -b=18", "vw --bit_precision =18: expected a whole number"),
        ("-d x --quiet=1", "vw --quiet: expected no value"),
        ("-d x --boosting 5 --alg gentle", "expected BBM, logistic or adaptive"),
        ("-d x --passes 0", "vw --passes 0: expected 1 to 10,000"),
        ("-d x y", "vw --data: expected one value, found x and y"),
        ("-d x -t", "name one with -i"),
    ],
)
def test_a_wrong_command_says_what_is_wrong(options, message, capsys):
    assert message in printed(capsys, options, code=2)[1]


def test_what_differs_is_said(data, capsys):
    _, said = printed(capsys, "-d two.vw --boosting 70 --passes 3 -l .2 -f model")
    assert "wrong for more than 62 learners" in said
    assert "vw holds out every tenth" in said
    assert "every tenth" not in printed(capsys, "-d two.vw --passes 3 --holdout_off")[1]
    assert "those of vw cannot be read" in printed(capsys, "-d two.vw -i model")[1]
    assert "if the labels are numbers" in printed(capsys, "-d absent.vw")[1]
    (data / "zero.vw").write_text("0 | x\n1 | y\n")
    assert "labels 0 and 1 are classes" in printed(capsys, "-d zero.vw")[1]


def test_answers_are_in_the_order_of_options_and_said_to_be_what_they_are():
    files = [f"{name}.csv" for name in "ab"]
    test = translate(["-d", "x.vw", "-t", "-i", "m", "-p", files[0], "-r", files[1]])
    assert test.commands == [f"onlineboost predict m x.vw -f vw -o {file}" for file in files]
    for more, said in {
        "": "-p: answers have the columns label and score (the prediction of vw).",
        "--link logistic": "with --link logistic the prediction of vw is 1 / (1 + exp(-score)).",
        "--oaa 3": "-p: answers have the columns label (the prediction of vw) and score.",
    }.items():
        found = translate(["-d", "x.vw", "-p", "a.csv", "-r", "a.csv", *more.split()])
        assert said in " ".join(found.notes) and found.commands[0].count("--predictions") == 1 and not found.missing


def test_more_classes_than_usual_are_allowed():
    assert translate(["-d", "x.vw", "--oaa", "300"]).commands[0].endswith("--no-standardize --max-classes 300")
    assert "--max-classes" not in translate(["-d", "x.vw", "--oaa", "100"]).commands[0]


def test_namespaces_are_found_by_their_first_letters(tmp_path):
    path = tmp_path / "long.vw"
    path.write_text("1 |age x:1 |body:2 w |bill v\n-1 |age x\n")
    (command,) = translate(["-d", str(path), "-q", "ab"]).commands
    assert command.endswith("--cross age,body --cross age,bill")
    assert translate(["-d", "absent.vw", "-q", "ab"]).commands[0].endswith("--cross a,b")


def test_cut_names_are_those_of_old_versions():
    assert parse(["--boost", "3", "--final-reg=m"]) == {"boosting": ["3"], "final_regressor": ["m"]}
    with pytest.raises(ConflictError, match="Several begin so: --loss0, --loss1"):
        parse(["--loss", "logistic"])


WORDS = [*(f"--{name}" for name in (*MODEL_OPTIONS, *INSTEAD, *NOTHING_TO_DO)), *(f"-{letter}" for letter in SHORT)]


@given(
    st.lists(st.sampled_from([*WORDS, "3", "0.5", "ab", "::", "-1", "m", "--", "-", "", "--x=1", "-b7"]), max_size=8)
)
def test_any_command_is_translated_or_refused_with_a_reason(words):
    try:
        found = translate(words)
    except ConflictError:
        return
    assert found.commands
    assert all(command.startswith("onlineboost ") for command in found.commands)


def test_every_option_of_vw_is_known():
    help = "import vowpalwabbit; vowpalwabbit.Workspace('--help')"  # ends the process
    text = subprocess.run([sys.executable, "-c", help], capture_output=True, text=True, check=False).stdout
    entries = re.split(r"\n(?=    -)", text)
    found: dict[str, set[str]] = {"switch": set(), "value": set(), "list": set()}
    for entry in entries:
        match = re.match(r"    (?:-(\w), )?--(\w+)\s", entry)
        if match is None:
            continue
        if match[1]:
            assert SHORT[match[1]] == match[2]
        type = re.search(r"\(\s*type:\s+([a-z]+)", entry)[1]
        found[{"bool": "switch", "list": "list"}.get(type, "value")].add(match[2])
    assert found == {"switch": SWITCHES, "value": VALUES, "list": LISTS}
    assert {*INSTEAD, *NOTHING_TO_DO, *MODEL_OPTIONS} <= SWITCHES | VALUES | LISTS
