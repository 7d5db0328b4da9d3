"""Groups of learners and parts of ensembles as actors of Ray: the same model file as one process, byte for byte."""

from __future__ import annotations

import os

import numpy as np
import pytest
from commands import run

from onlineboost import (
    AdaBoostOL,
    Alarm,
    DefensiveBoost,
    LeastSquares,
    Linear,
    OnlineBBM,
    OnlineBoostRegressor,
    OnlineGradientBoost,
    OSBoostOCP,
    ParameterError,
    Perceptron,
    RegressionTree,
    Restarting,
    SafeBoost,
    StackedEnsemble,
    Tree,
)
from onlineboost.engine import remote

pytestmark = pytest.mark.skipif(
    not os.environ.get("ONLINEBOOST_TEST_ACTORS"), reason="needs both cores for a minute: `make actors` runs it"
)
MODELS = {
    "trees": lambda: OnlineBBM(Tree(3, replay=64), 5, head="stack", random_state=0),
    "linear": lambda: SafeBoost(Linear(standardize=True), 20, random_state=0),
    "experts": lambda: AdaBoostOL(Tree(2, replay=64, max_mb=1), 4, random_state=0),
    "shares": lambda: OnlineBBM(Tree(3, replay=64, features=0.5), 5, random_state=0),
    "ocp": lambda: OSBoostOCP(Perceptron(), 3, random_state=0),
    "stacked": lambda: StackedEnsemble(
        [Linear(standardize=True), Restarting(OnlineBBM(Tree(3, replay=64), 5), delta=0.9), Perceptron()],
        n_always=2, random_state=0,
    ),
    "gradient": lambda: OnlineGradientBoost(RegressionTree(3, replay=64), 6, random_state=0),
    "numbers": lambda: OnlineBoostRegressor(random_state=0),
}  # fmt: skip


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 8)).astype(np.float32)
    X[1500:, 5] *= 30
    X[:2000, 7] = 0  # a feature that comes late
    y = np.where((X[:, 0] > 0.2) ^ (X[:, 1] > 0), 1, -1)
    y[2000:] *= -1
    return X, y


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(remote, "PIECE", 100)
    monkeypatch.setattr(remote, "CUT_EVERY", 5)


def answers_of(model, X):
    return (model.decision_function if hasattr(model, "decision_function") else model.predict)(X[:50])


@pytest.mark.filterwarnings("ignore::onlineboost.RangeWarning")
@pytest.mark.parametrize("kind", MODELS)
def test_machines_do_not_change_a_byte(kind, rows, cluster, tmp_path):
    """Also with one of the actors killed on the way, and in several batches."""
    X, y = rows
    alone = MODELS[kind]()
    alone.fit(X, y).save(tmp_path / "alone")
    shared = MODELS[kind]()
    killed = []
    send = remote.Team.send

    def send_and_kill(team, *arguments):
        send(team, *arguments)
        if len(killed) < 2 and len(team.batches) == 3 + len(killed):
            killed.append(team.remotes[-1 - len(killed)])
            cluster.kill(killed[-1].actor)

    with pytest.MonkeyPatch.context() as patch, shared.running_on("ray", 2):
        patch.setattr(remote.Team, "send", send_and_kill)
        shared.partial_fit(X[:1234], y[:1234])
        shared.save(tmp_path / "half")
        scores = answers_of(shared, X)
        shared.partial_fit(X[1234:], y[1234:])
    half = MODELS[kind]().partial_fit(X[:1234], y[:1234])
    assert np.array_equal(scores, answers_of(half, X))
    half.save(tmp_path / "expected")
    shared.save(tmp_path / "shared")
    assert len(killed) == 2
    assert (tmp_path / "half").read_bytes() == (tmp_path / "expected").read_bytes()
    assert (tmp_path / "shared").read_bytes() == (tmp_path / "alone").read_bytes()


WHOLE = [DefensiveBoost(n_estimators=3), Linear(), LeastSquares(), OnlineBBM(Linear(bins=8), 3)]


@pytest.mark.parametrize("model", WHOLE, ids=repr)
def test_what_cannot_be_divided(model, rows, cluster):
    with pytest.raises(ParameterError, match="engine='ray': expected 'threads'"):
        model.fit(*rows, engine="ray", workers=2)


def test_alarms_of_parts_elsewhere_are_told_here(rows, cluster):
    X, y = rows
    alarms: dict[str, list[Alarm]] = {"threads": [], "ray": []}
    for engine, told in alarms.items():
        parts = [Linear(), Restarting(OnlineBBM(n_estimators=3), delta=0.9)]
        StackedEnsemble(parts, random_state=0, on_drift=told.append).fit(X, y, engine=engine, workers=2)
    assert alarms["ray"] == alarms["threads"] != []


def test_an_actor_that_always_fails_is_given_up(rows, cluster, monkeypatch):
    made = []

    def make_dead(team, which):
        which.actor = team.kind.remote(which.cut)
        made.append(which)
        cluster.kill(which.actor)

    monkeypatch.setattr(remote.Team, "_make", make_dead)
    with pytest.raises(cluster.exceptions.RayError):
        MODELS["trees"]().fit(*rows, engine="ray", workers=2)
    assert len(made) < 30


def test_the_command_trains_on_ray(cluster, tmp_path, capsys):
    rng = np.random.default_rng(0)
    lines = [f"{a:.3f},{b:.3f},{int(a > b)}" for a, b in rng.normal(size=(2500, 2))]
    (tmp_path / "d.csv").write_text("a,b,label\n" + "\n".join(lines))
    options = (tmp_path / "d.csv", "-a", "bbm", "-n", 9, "-q")
    run(capsys, "train", *options, "-o", tmp_path / "threads")
    run(capsys, "train", *options, "-o", tmp_path / "ray", "--engine", "ray", "-j", 2)
    assert (tmp_path / "threads").read_bytes() == (tmp_path / "ray").read_bytes()
    _, err = run(capsys, "train", *options, "--address", "x", code=2)
    assert "needs --engine ray" in err
