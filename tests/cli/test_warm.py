"""``onlineboost warm``, and compiling side by side: afterwards nothing is compiled."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from commands import run
from sklearn.linear_model import SGDClassifier

from onlineboost import AdaBoostOL, Copies, Linear, OnlineBBM, OnlineBoost, StackedEnsemble, Tree
from onlineboost.ahead import side_by_side
from onlineboost.ahead.tasks import Files, missing, tasks_of
from onlineboost.compiled import cache
from onlineboost.registry import FORMATS

CSV = "x,colour,y\n" + "".join(f"{k % 7},{'red' if k % 3 else 'blue'},{k % 2}\n" for k in range(400))
COMPILED = (
    "from onlineboost.compiled.jit import compile_seconds; import onlineboost.__main__ as m, sys\ntry: m.main({})\n"
)
COMPILED += "finally: print('compiled:', compile_seconds())"


def command(folder: Path, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    own = {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)}
    script = [sys.executable, "-c", COMPILED.format(arguments)]
    return subprocess.run(script, env=os.environ | own, cwd=folder, capture_output=True, text=True, check=True)


def test_a_command_compiles_side_by_side_once(tmp_path):
    (tmp_path / "rows.csv").write_text(CSV)
    train = ["train", "rows.csv", "--label", "y", "-a", "none", "--learner", "perceptron", "-o", "model"]
    first = command(tmp_path, train)
    several = len(os.sched_getaffinity(0)) > 1  # cores; on one, train compiles what it needs itself
    if several:
        assert "onlineboost: compiling for this machine, once: CSV, Perceptron ..." in first.stderr.splitlines()
    assert "onlineboost: compiled in " in first.stderr
    for again in [train, ["predict", "model", "rows.csv"]][: 1 + several]:
        second = command(tmp_path, again)
        assert second.stdout.endswith("compiled: 0.0\n"), second.stderr
        assert "compiling" not in second.stderr


def test_tasks_of_models_that_share_learners():
    tasks = tasks_of([OnlineBoost(), Linear(), OnlineBBM(Tree(3))], ["csv", "csv", "vw", "plug-in"])
    assert sorted(map(str, tasks)) == ["CSV", "Linear", "NaiveBayes", "Newton", "Tree", "VW text"]
    assert str(tasks[0]) == "Linear"
    assert any(isinstance(model, StackedEnsemble) for model in tasks[0].models)
    assert tasks_of([AdaBoostOL(Copies(SGDClassifier()))]) == []


def test_what_was_compiled_is_known_by_the_model_without_its_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "cache_directory", lambda: str(tmp_path))
    (task,) = missing(tasks_of([OnlineBBM(Linear(learning_rate=0.5), 21), Linear()]))
    assert len(task.models) == 2
    cache.note_done("OnlineBBM(estimator=Linear())")
    (task,) = missing(tasks_of([OnlineBBM(Linear(learning_rate=0.25), 51), Linear()]))
    assert repr(task.models) == "(Linear(),)"
    cache.note_done("Linear()")
    assert missing([task]) == []
    assert missing([Files("csv")]) == [Files("csv")]


def test_a_task_that_fails_is_returned(monkeypatch):
    monkeypatch.setattr(side_by_side, "_WORKER", "import sys; sys.exit(1)")
    seen: list[int] = []
    tasks = [Files("csv"), Files("vw"), Files("libsvm")]
    assert side_by_side.compile_all(tasks, lambda done, running: seen.append(done)) == tasks
    assert set(seen) == {0}


def test_all_formats_have_a_task():
    assert [task.format for task in tasks_of([], FORMATS.names())] == FORMATS.names()


def test_warm_compiles_the_default_and_all_formats(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cache, "cache_directory", lambda: str(tmp_path))
    asked: list[Any] = []

    def compiled(tasks, on_done):
        asked.append(tasks)
        for name in (name for task in tasks for name in task.names):
            cache.note_done(name)
        return []

    monkeypatch.setattr(side_by_side, "compile_all", compiled)
    run(capsys, "warm")
    (tasks,) = asked
    assert {"Linear", "Tree", "Newton", "NaiveBayes"} < set(map(str, tasks))
    assert {task.format for task in tasks if isinstance(task, Files)} == set(FORMATS.names())
    assert missing(tasks_of([OnlineBoost(), OnlineBoost("high")], FORMATS.names())) == []
    assert run(capsys, "warm")[0] == "nothing to compile: it was done before\n"
    run(capsys, "warm", "--all")
    assert {str(task) for task in asked[-1]} >= {"Perceptron", "Stump"} and len(asked) == 2


def test_warm_says_what_it_could_not_compile(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cache, "cache_directory", lambda: str(tmp_path))
    monkeypatch.setattr(side_by_side, "compile_all", lambda tasks, on_done: tasks[:1])
    _, err = run(capsys, "warm", code=1)
    assert err.splitlines()[-1] == (
        "onlineboost: could not compile ahead: Linear. It will be compiled when it is used."
    )


def test_the_version_says_what_code_is_used(monkeypatch, capsys):
    out, _ = run(capsys, "--version")
    assert re.fullmatch(
        r"onlineboost [\d.]+\nPython [\d.]+, Numba [\d.]+\ncompiled on this machine: for .+, in .+\n", out
    )
    monkeypatch.setattr(cache, "shipped_levels", lambda: ("x86-64-v4", "x86-64-v3"))
    out, _ = run(capsys, "--version")
    assert out.splitlines()[2] == "compiled code of this package: for x86-64-v4"
