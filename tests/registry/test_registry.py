"""Registries: names, options, entry points; and that nothing else lists what is registered."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import onlineboost
from onlineboost import ParameterError
from onlineboost.cli.registered import booster_options, learner_options
from onlineboost.parameters import defaults
from onlineboost.registry import BOOSTERS, LEARNERS, METRICS, TRANSFORMS, Entry, Option, Registry, merged

SRC = Path(onlineboost.__file__).parent

OUTSIDE = '''
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np

from onlineboost import Learner
from onlineboost.registry import Option


class State(NamedTuple):
    sums: np.ndarray
    shift: float


class Work(NamedTuple):
    nothing: int


def workspace(state, longest):
    return Work(0)


def predict(state, work, batch, r, h):
    for i in range(state.sums.shape[1]):
        h[i] = state.shift
        for j in range(batch.indptr[r], batch.indptr[r + 1]):
            h[i] += state.sums[batch.indices[j], i] * batch.values[j]


def learn(state, work, batch, r, h, t, p):
    for i in range(state.sums.shape[1]):
        for j in range(batch.indptr[r], batch.indptr[r + 1]):
            state.sums[batch.indices[j], i] += p[i] * t[i] * batch.values[j]


@dataclass(eq=False, repr=False)
class Hebb(
    Learner,
    name="hebb",
    options=(Option("shift", "Constant that is added to every vote.", float, tried=(0.0, 0.5)),),
    state=State,
    workspace=workspace,
    predict=predict,
    learn=learn,
):
    """Sums of label times feature."""

    prefers = "weight"

    shift: float = 0.0
    _: KW_ONLY

    def committee(self, n_learners, n_features):
        return State(np.zeros((n_features, n_learners)), float(self.shift))

    def grow(self, committee, n_features):
        more = n_features - len(committee.sums)
        return committee if more <= 0 else committee._replace(sums=np.pad(committee.sums, ((0, more), (0, 0))))
'''


@pytest.fixture
def outside(tmp_path) -> dict[str, str]:
    """An installed package with a learner of its own, announced as an entry point; the environment that finds it."""
    (tmp_path / "hebb_learner.py").write_text(OUTSIDE)
    facts = tmp_path / "hebb-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: hebb\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[onlineboost.learners]\nhebb = hebb_learner\n")
    rows = [f"{k % 5},{k % 3},{int(k % 5 > 2)}" for k in range(300)]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,label", *rows]) + "\n")
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}


def command(folder: Path, environment: dict[str, str], *words: str) -> subprocess.CompletedProcess:
    line = [sys.executable, "-m", "onlineboost", *words]
    return subprocess.run(line, capture_output=True, text=True, cwd=folder, env=environment)


SEVERAL = """
import shlex, sys
from onlineboost.__main__ import main
for line in sys.argv[1:]:
    try:
        main(shlex.split(line))
    except SystemExit as end:
        assert not end.code, line
    print("====", flush=True)
"""


def test_a_learner_from_outside_is_trained_from_the_command_line(tmp_path, outside):
    lines = [
        "train rows.csv -a none --learner hebb --shift 0.25 -o m --json",
        "tune rows.csv --learner=hebb -a none --json",
        "train --learner hebb --help-all",
    ]  # one process, which compiles the learner once: code of other packages is not kept
    done = subprocess.run(
        [sys.executable, "-c", SEVERAL, *lines], capture_output=True, text=True, cwd=tmp_path, env=outside
    )
    assert done.returncode == 0, done.stderr
    trained, tuned, help, _ = done.stdout.split("====\n")
    assert "Hebb(shift=0.25)" in json.loads(trained)["model"]
    answers = command(tmp_path, outside, "predict", "m", "rows.csv")  # its class is found when the file is read
    assert answers.stdout.count("\n") == 301, answers.stderr
    found = json.loads(tuned)
    assert len(found["rows"]) == 2 and "--learner hebb" in found["command"] and "--shift" in found["command"]
    assert "Constant that is" in help and "--shift" in help


def test_entry_points_are_not_read_for_known_names(tmp_path, outside):
    """A package that cannot be imported harms nobody who does not ask for it."""
    (tmp_path / "hebb_learner.py").write_text("raise RuntimeError('imported')")
    lines = ["train rows.csv --learner linear -n 3 -q", "train rows.csv --learner hebb"]
    done = subprocess.run(
        [sys.executable, "-c", SEVERAL, *lines], capture_output=True, text=True, cwd=tmp_path, env=outside
    )
    assert done.stdout.count("====\n") == 1  # the first has succeeded
    assert "cannot (RuntimeError('imported'))" in done.stderr and f"AssertionError: {lines[1]}" in done.stderr


def test_names_are_those_of_the_command_line():
    assert LEARNERS.names() == ["class-tree", "ftrl", "linear", "naive-bayes", "newton", "perceptron", "stump", "tree"]
    assert {"bbm", "adaboost-ol", "adaboost-ol-s", "osboost", "osboost-ocp", "safe", "mbbm", "adaboost-olm"} <= set(
        BOOSTERS.names()
    )
    assert TRANSFORMS.names() == ["bins", "crosses", "standardize"]
    assert {"error", "auc", "log-loss", "brier"} <= set(METRICS.names())


def test_a_name_is_taken_once_and_a_misspelt_one_is_guessed():
    registry = Registry("thing", "onlineboost.errors")
    entry = registry.add(Entry("one", object, "One"))
    assert registry.add(Entry("one", object, "One")) == entry
    with pytest.raises(ParameterError, match="there is already a thing with this one"):
        registry.add(Entry("one", int, "Another"))
    with pytest.raises(ParameterError, match="learner='tre': expected one of .*linear, .*; did you mean 'tree'?"):
        LEARNERS.find("tre")


def test_a_class_that_is_defined_again_replaces_itself():
    """As in a notebook."""

    def defined():
        class Mine:
            pass

        return Mine

    registry = Registry("learner", "onlineboost.learners")
    registry.add(Entry("mine", defined(), "Mine"))
    again = registry.add(Entry("mine", defined(), "Mine"))
    assert registry.find("mine") is again
    with pytest.raises(ParameterError, match="already a learner"):
        registry.add(Entry("mine", int, "Mine"))


def test_a_plug_in_that_cannot_be_imported(monkeypatch):
    class Broken:
        name, value = "broken", "broken.module"

        def load(self):
            raise ImportError("No module named 'torch'")

    monkeypatch.setattr("onlineboost.registry.registry.entry_points", lambda group: [Broken()])
    with pytest.raises(ParameterError, match=r"broken.module cannot \(ImportError\(\"No module named 'torch'\"\)\)"):
        LEARNERS.find("broken")


def test_a_flag_has_one_meaning():
    one, other = Option("depth", "Depth of a tree."), Option("depth", "Depth of the sea.")
    with pytest.raises(ParameterError, match="--depth"):
        merged([(one,), (other,)])


@pytest.mark.parametrize("entry", [*BOOSTERS, *LEARNERS], ids=lambda entry: entry.name)
def test_every_option_is_a_parameter_with_a_sentence_of_help(entry):
    for option in entry.options:
        assert option.parameter == "cross" or option.parameter in defaults(entry.make)
        assert re.fullmatch(r"[A-Z].*\.", option.help)
    assert set(entry.fixed) <= set(defaults(entry.make))
    assert entry.options == tuple(dict.fromkeys(entry.options))


def test_nothing_else_lists_what_is_registered():
    """Names of boosters and learners stand in their own files only, and in the paper's experiment."""
    names = {*BOOSTERS.names(), *LEARNERS.names()} - {"safe", "linear", "bbm", "tree", "stump", "potential"}
    for path in [*(SRC / "cli").glob("*.py"), *(SRC / "tuning").glob("*.py"), *(SRC / "diagnostics").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert node.value not in names, f"{path.name}: {node.value}"


def test_options_of_all_are_offered():
    assert {"n_estimators", "gamma", "votes", "head", "delivery"} <= booster_options().keys()
    assert {"bins", "max_depth", "learning_rate", "standardize", "cross"} <= learner_options().keys()
