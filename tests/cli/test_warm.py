"""``onlineboost warm``, and compiling side by side: afterwards nothing is compiled."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from acts import Act
from commands import most_code, run
from sklearn.linear_model import SGDClassifier

from onlineboost import AdaBoostOL, Copies, Linear, OnlineBBM, OnlineBoost, StackedEnsemble, Tree
from onlineboost.ahead import side_by_side
from onlineboost.ahead.tasks import Files, missing, tasks_of
from onlineboost.compiled import cache, cores
from onlineboost.registry import FORMATS

CSV = "x,colour,y\n" + "".join(f"{k % 7},{'red' if k % 3 else 'blue'},{k % 2}\n" for k in range(400))
COMPILED = """
from onlineboost.__main__ import main
from onlineboost.compiled.jit import compile_seconds
try:
    main({})
finally:
    print("compiled:", compile_seconds())
"""


def command(folder: Path, arguments: list[str], code: int = 0) -> subprocess.CompletedProcess[str]:
    own = {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)}
    script = [sys.executable, "-c", COMPILED.format(arguments)]
    found = subprocess.run(script, env=os.environ | own, cwd=folder, capture_output=True, text=True)
    assert found.returncode == code, found.stderr
    return found


SEVERAL = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="on one core nothing is compiled side by side")


@SEVERAL
def test_a_command_compiles_side_by_side_once(tmp_path):
    (tmp_path / "rows.csv").write_text(CSV)
    most_code(tmp_path / "cache", "*.csv_cells.*")
    train = ["train", "rows.csv", "--label", "y", "-a", "none", "--learner", "perceptron", "-o", "model"]
    first = command(tmp_path, train).stderr
    assert "onlineboost: compiling for this machine, once: Perceptron ...\nonlineboost: compiled in " in first
    assert first.count("once: ") == 1
    for again in (train, ["predict", "model", "rows.csv"]):
        second = command(tmp_path, again)
        assert second.stdout.endswith("compiled: 0.0\n"), second.stderr
        assert "compiling" not in second.stderr
    other = [*train[:3], "name", *train[4:7], "stump"]
    wrong = command(tmp_path, other, code=1).stderr
    assert "no column 'name'" in wrong and "compiled in" not in wrong  # a typo does not wait for the compiler


@SEVERAL
def test_interrupting_the_compiler_ends_its_processes(tmp_path):
    (tmp_path / "rows.csv").write_text(CSV)
    most_code(tmp_path / "cache")
    own = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)}
    script = [
        sys.executable,
        "-m",
        "onlineboost",
        "train",
        "rows.csv",
        "--label",
        "y",
        "-a",
        "none",
        "--learner",
        "stump",
    ]
    with subprocess.Popen(script, env=os.environ | own, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr.readline() == "onlineboost: compiling for this machine, once: Stump ...\n"
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        err = process.stderr.read()
    assert (process.returncode, err.strip()) == (130, "onlineboost: interrupted")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("tmp")]


def test_tasks_of_models_that_share_learners():
    tasks = tasks_of([OnlineBoost(), Linear(), OnlineBBM(Tree(3))], ["csv", "csv", "vw", "plug-in"])
    assert sorted(map(str, tasks)) == [
        "BatchBoost",
        "CSV",
        "FTRLProximal",
        "Linear",
        "NaiveBayes",
        "Newton",
        "Tree",
        "VW text",
        "several classes",
    ]
    assert str(tasks[0]) == "Linear"
    assert any(isinstance(model, StackedEnsemble) for model in tasks[0].models)


def test_what_was_compiled_is_known_by_the_model_without_its_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "cache_directory", lambda: str(tmp_path))
    monkeypatch.setattr(cache, "_own_folder", lambda: str(tmp_path))
    (task,) = missing(tasks_of([OnlineBBM(Linear(learning_rate=0.5), 21), Linear()]))
    assert len(task.models) == 2
    cache.note_done("OnlineBBM(estimator=Linear())")
    (task,) = missing(tasks_of([OnlineBBM(Linear(learning_rate=0.25), 51), Linear()]))
    assert repr(task.models) == "(Linear(),)"
    cache.note_done("Linear()")
    assert missing([task]) == []
    assert missing([Files("csv")]) == [Files("csv")]


def test_only_tasks_that_fail_are_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "cache_directory", lambda: str(tmp_path))
    monkeypatch.setattr(cache, "_own_folder", lambda: str(tmp_path))
    monkeypatch.setattr(cores, "n_cores", lambda: 2)
    actions = "1 / 0", "import os; os._exit(3)", "2", "import sys; sys.exit(1)", "3", "4", "5"
    tasks = [*map(Act, actions), Act("6", lambda: 0)]
    seen: list[int] = []
    with side_by_side.SideBySide(tasks) as work:
        failed = work.wait(lambda done, running: seen.append(done))
    assert failed == [tasks[k] for k in (0, 1, 3, 7)]
    assert seen == sorted(seen) and seen[-1] <= 4
    assert [cache.is_done(action) for action in actions] == [False, False, True, False, True, True, True]


def test_plug_ins_are_compiled_where_they_are_used():
    assert tasks_of([AdaBoostOL(Copies(SGDClassifier()))]) == []
    (task,) = tasks_of([OnlineBBM(Linear(bins=16), 1000), OnlineBBM(Linear(), 1000)])
    assert task.names == ["OnlineBBM(estimator=Linear(bins=16))", "OnlineBBM(estimator=Linear())"]
    assert [model.n_estimators for model in task.models] == [63, 63]


def test_all_formats_have_a_task():
    assert [task.format for task in tasks_of([], FORMATS.names())] == FORMATS.names()


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """The tasks that were asked for, instead of compiling them; that of stumps fails."""
    asked: list[list[Any]] = []
    monkeypatch.setattr(cache, "cache_directory", lambda: str(tmp_path))
    monkeypatch.setattr(cache, "_own_folder", lambda: str(tmp_path))

    def feed(work) -> None:
        asked.append(work.tasks)
        for task in work.tasks:
            if str(task) != "Stump":
                work._done.append(task)
                for name in task.names:
                    cache.note_done(name)

    monkeypatch.setattr(side_by_side.SideBySide, "_feed", feed)
    return asked


def test_warm_compiles_the_default_and_all_formats(asked, capsys):
    run(capsys, "warm")
    (tasks,) = asked
    assert {"Linear", "Tree", "Newton", "NaiveBayes"} < set(map(str, tasks))
    assert {task.format for task in tasks if isinstance(task, Files)} == set(FORMATS.names())
    assert missing(tasks_of([OnlineBoost(), OnlineBoost("high")], FORMATS.names())) == []
    assert run(capsys, "warm") == ("nothing to compile: all code is there\n", "")
    _, err = run(capsys, "warm", "--all", code=1)
    assert {str(task) for task in asked[-1]} >= {"Perceptron", "Stump"} and len(asked) == 2
    assert err.splitlines()[-1] == "onlineboost: could not compile ahead: Stump. It will be compiled when it is used."


def test_a_cache_that_cannot_be_written_is_said(tmp_path):
    """Once; models work without it, and ``warm`` does not."""
    (tmp_path / "file").write_text("")
    own = {"NUMBA_CACHE_DIR": str(tmp_path / "file"), "PYTHONPATH": os.pathsep.join(sys.path)}
    script = "from onlineboost.compiled import draws; assert draws.uniform(1, 2, 3) < 1\n" + COMPILED.format(["warm"])
    found = subprocess.run([sys.executable, "-c", script], env=os.environ | own, capture_output=True, text=True)
    assert found.returncode == 1 and found.stderr.count("\n") == 1, found.stderr
    assert "compiled code cannot be kept in" in found.stderr
    assert "so every process compiles again: set NUMBA_CACHE_DIR to a writable folder" in found.stderr


def test_about_says_what_code_is_used(monkeypatch, capsys):
    facts = dict(re.findall(r"^([\w ]+): +(.+)$", run(capsys, "about")[0], re.M))
    assert facts["compiled on this machine"] == f"for {cache.processor()}"
    assert facts["folder of compiled code"] == cache.cache_directory()
    assert "compiled code of this package" not in facts
    monkeypatch.setattr(cache, "shipped_levels", lambda: ("x86-64-v4", "x86-64-v3"))
    assert re.search("^compiled code of this package: for x86-64-v4$", run(capsys, "about")[0], re.M)
