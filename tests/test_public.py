from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import public_names
import pytest
from commands import most_code

import onlineboost
from onlineboost import OnlineBoost, OnlineBoostRegressor
from onlineboost.datasets import load_letter

ROOT = Path(__file__).parent.parent
OF_USERS = """
    alarms_ ask class_weight classes_ clone columns_not_met decision_function decision_one edges_ effort explain
    explain_one feature_importances_ feature_names_in_ fit get_metadata_routing get_params importances lag learn
    learn_many learn_one max_classes max_mb memory metrics_ mutate n_alarms_ n_bytes n_features_in_ n_features_seen
    n_jobs n_paused_ n_seen_ on_drift pairs partial_fit pending predict predict_log_proba predict_many predict_one
    predict_proba predict_proba_many predict_proba_one probabilities progressive_fit random_state report running_on save
    score scores set_fit_request set_params set_partial_fit_request set_score_request steady tell threshold
    verdict weight_sums_
"""


def test_public_names_are_exact():
    assert all(getattr(onlineboost, name) is not None for name in onlineboost.__all__)
    assert sorted(onlineboost.__all__) == onlineboost.__all__
    assert {*dir(onlineboost)} == {*onlineboost.__all__, "__version__"}


@pytest.mark.parametrize("path", public_names.MODULES)
def test_public_names_and_parameters_are_those_of_the_page(path):
    """A name or a parameter changes only together with the page, and so with a look at docs/versions.md."""
    module, page = importlib.import_module(path), (ROOT / "docs" / "public-names.md").read_text()
    assert len({*module.__all__}) == len(module.__all__)
    assert "\n".join(public_names.listed(module, path)) in page


def test_names_of_other_modules_can_be_imported_from_the_top():
    for home in ("boosters", "learners", "transforms", "errors", "extend"):
        module = importlib.import_module(f"onlineboost.{home}")
        for name in module.__all__:
            found, expected = getattr(onlineboost, name), getattr(module, name)
            assert found is expected or {*expected.__all__} <= {*dir(found)}  # a package of the same name
    assert importlib.import_module("onlineboost.extend.registry").LEARNERS is onlineboost.extend.registry.LEARNERS
    with pytest.raises(AttributeError, match="module 'onlineboost' has no attribute 'Restarting'"):
        _ = onlineboost.Restarting


def test_a_model_shows_what_a_user_may_call():
    assert [name for name in dir(OnlineBoost()) if not name.startswith("_")] == OF_USERS.split()
    more = {"bounds", "predict_interval", "progressive_interval", "target", "weights_"}
    assert {name for name in dir(OnlineBoostRegressor()) if not name.startswith("_")} <= {*OF_USERS.split()} | more


@pytest.mark.parametrize("model", [onlineboost.Tree(), onlineboost.RegressionTree(), onlineboost.OnlineBBM()])
def test_a_model_does_not_show_the_hooks_of_authors(model):
    hooks = type(model)._author_hooks()
    assert {"initial_state", "boosts"} <= hooks or {"committee", "grow"} <= hooks
    assert {*model.get_params(), "fit", "predict_one", "edges_"} <= {*dir(model)}
    assert not hooks & {*dir(model)}
    assert all(hasattr(model, name) for name in hooks)
    abstract = onlineboost.extend.OnlineClassifier, onlineboost.extend.OnlineRegressor
    assert not hooks & {name for kind in abstract for name in dir(kind)}


def test_the_default_has_two_names():
    assert onlineboost.OnlineBoost is onlineboost.OnlineBoostClassifier
    assert repr(OnlineBoost("low")) == "OnlineBoostClassifier(effort='low')"


def test_importing_loads_no_heavy_library():
    """Nor does a command, before it needs them: start-up is part of every run."""
    program = """
import sys, onlineboost
print(sorted({"sklearn", "river", "pandas", "safetensors", "rich"} & set(sys.modules)))
import onlineboost.evaluate
from onlineboost.cli.app import build
build([])
print(sorted({"pyarrow", "pandas", "polars", "matplotlib", "narwhals", "sklearn", "ray"} & set(sys.modules)))
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n[]\n"


def test_arrays_and_text_files_need_no_pyarrow(tmp_path):
    """PyArrow is the largest dependency but the compiler; it is loaded for what only it can read."""
    (tmp_path / "rows.csv").write_text("x,colour,y\n" + "1,red,0\n2,blue,1\n" * 20)
    program = """
import sys
sys.modules["pyarrow"] = None
import numpy as np, onlineboost
from onlineboost.__main__ import main
onlineboost.OnlineBBM().fit(np.eye(2), [0, 1]).predict_one({0: 1.0})
for command in ("train rows.csv --label y -a bbm -o model -q", "predict model rows.csv"):
    try:
        main(command.split())
    except SystemExit as end:
        assert not end.code
"""
    found = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr[-2000:]
    assert found.stdout.count("\n") > 40


def test_compiled_code_is_cached(tmp_path):
    """The first run says that it compiles and the second does not. Damaged code: ``tests/compiled/test_cache.py``."""
    program = "import numpy as np, onlineboost; onlineboost.Perceptron().fit(np.eye(2), [0, 1])"
    most_code(tmp_path)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = {"args": [sys.executable, "-c", program], "capture_output": True, "text": True, "env": environment}
    first, second = (subprocess.run(**command, check=True).stderr for _ in range(2))
    assert "onlineboost: compiling for this machine, once" in first
    assert "onlineboost: compiled in " in first
    assert second == ""


def test_without_a_compiler_there_is_one_sentence():
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-c", "from onlineboost import Linear"]
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert run.stderr.endswith("ImportError: onlineboost needs Numba's compiler: unset NUMBA_DISABLE_JIT\n")


BOOSTER = """
from typing import NamedTuple
from onlineboost import Booster

class State(NamedTuple):
    unused: float

def vote(state, h):
    return {factor} * h.sum()

def round(state, h, y, p):
    p[:] = 1.0

class Mine(Booster, state=State, vote=vote, round=round):
    def __init__(self, estimator=None, n_estimators=3, *, delivery="auto", votes="hard", random_state=None):
        self.estimator, self.n_estimators, self.delivery = estimator, n_estimators, delivery
        self.votes, self.random_state = votes, random_state

    def initial_state(self, n_learners, sampled, seed):
        return State(0.0)
"""


def test_a_users_booster_is_never_taken_from_an_old_cache(tmp_path, monkeypatch):
    """This process compiles one, another process then finds the changed one under the same name."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "mine.py").write_text(BOOSTER.format(factor=1))
    learner = onlineboost.Perceptron()
    model = importlib.import_module("mine").Mine(learner).fit(np.eye(2), [0, 1])
    (tmp_path / "mine.py").write_text(BOOSTER.format(factor=10))
    # What the first one left in the cache of others does not disturb them.
    program = """
import numpy as np, onlineboost
onlineboost.OnlineBBM(onlineboost.Perceptron(), 3).fit(np.eye(2), [0, 1])
import mine
print(mine.Mine(onlineboost.Perceptron()).fit(np.eye(2), [0, 1]).decision_function(np.eye(2))[1])
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert float(run.stdout) == 10 * model.decision_function(np.eye(2))[1] != 0


def test_a_state_class_has_one_round():
    from onlineboost import Booster
    from onlineboost.boosters.online_bbm import OnlineBBMState, vote

    with pytest.raises(TypeError, match="OnlineBBMState already has another round"):

        class Mine(Booster, state=OnlineBBMState, vote=vote, round=lambda state, h, y, p: None): ...


def test_letter_is_the_set_of_the_paper(real_set):
    X, y = load_letter()
    shuffled, labels = real_set("letter", 20_000)
    order = np.random.default_rng(0).permutation(20_000)
    assert np.array_equal(shuffled.toarray(), X[order])
    assert np.array_equal(labels, y[order])


def test_command_line_needs_a_command(capsys):
    from onlineboost.__main__ import main

    with pytest.raises(SystemExit) as stop:
        main([])
    assert stop.value.code == 2
    assert "COMMAND" in capsys.readouterr().out
