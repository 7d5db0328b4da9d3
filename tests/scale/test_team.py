"""Groups of learners and parts of ensembles as actors: the same model file as one process, byte for byte.

Actors are objects of this process here; ``test_actors.py`` has those of Ray.
"""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from local_ray import LocalRay
from pairs import small_batch_boost

from onlineboost import (
    AdaBoostOL,
    Alarm,
    DefensiveBoost,
    LeastSquares,
    Linear,
    NotFittedError,
    OnlineBBM,
    OnlineBoostRegressor,
    OnlineGradientBoost,
    OSBoostOCP,
    ParameterError,
    Perceptron,
    RegressionTree,
    SafeBoost,
    StackedEnsemble,
    Tree,
)
from onlineboost.engine import remote, team
from onlineboost.engine.cluster import find_ray
from onlineboost.ensembles.restarting import Restarting
from onlineboost.errors import WorkerError

MODELS = {
    "trees": lambda: OnlineBBM(Tree(3, replay=64), 5, head="stack", random_state=0),
    "linear": lambda: SafeBoost(Linear(standardize=True), 20, random_state=0),
    "experts": lambda: AdaBoostOL(Tree(2, replay=64, max_mb=1), 4, random_state=0),
    "shares": lambda: OnlineBBM(Tree(3, replay=64, max_features=0.5), 5, random_state=0),
    "ocp": lambda: OSBoostOCP(Perceptron(), 3, random_state=0),
    "stacked": lambda: StackedEnsemble(
        [
            Linear(standardize=True), Restarting(OnlineBBM(Tree(3, replay=64), 5), delta=0.9), Perceptron(),
            small_batch_boost(),
        ],
        n_always_active=2, random_state=0,
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


@pytest.fixture
def local(monkeypatch):
    """Ray in this process, and small batches."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("needs Ray: pip install 'onlineboost[ray]'")
    found = LocalRay(find_ray())
    monkeypatch.setattr("onlineboost.engine.cluster.cluster", found.cluster)
    monkeypatch.setattr(team, "_fetched", found.get)
    monkeypatch.setattr(remote, "PIECE", 100)
    monkeypatch.setattr(remote, "CUT_EVERY", 5)
    monkeypatch.setenv("ONLINEBOOST_QUIET", "1")  # as workers set it, but for this test alone
    return found


def answers_of(model, X):
    return (model.decision_function if hasattr(model, "decision_function") else model.predict)(X[:50])


@pytest.mark.filterwarnings("ignore::onlineboost.RangeWarning")
@pytest.mark.parametrize("kind", MODELS)
def test_actors_do_not_change_a_byte(kind, rows, local, monkeypatch, tmp_path):
    """Also with some of them killed on the way, one while others hand over their states, and in several batches."""
    X, y = rows
    MODELS[kind]().fit(X, y).save(tmp_path / "alone")
    half = MODELS[kind]().partial_fit(X[:1234], y[:1234])
    half.save(tmp_path / "expected")
    shared, killed = MODELS[kind](), []
    send, state = team.Team.send, team.Worker.state

    def send_and_kill(mine, *arguments):
        send(mine, *arguments)
        if len(killed) < 2 and len(mine.batches) == 3 + len(killed):
            killed.append(mine.remotes[-1 - len(killed)].actor)
            mine.remotes[0].actor.run_until(mine.remotes[0].results[-1])  # it is ahead of the others
            killed[-1].alive = False

    def state_and_kill(worker):
        if len(killed) == 2:
            killed.append(next(one for one in reversed(local.actors) if one.worker is not worker))
            killed[-1].alive = False
        return state(worker)

    monkeypatch.setattr(team.Team, "send", send_and_kill)
    monkeypatch.setattr(team.Worker, "state", state_and_kill)
    with shared.running_on("ray", 2):
        shared.partial_fit(X[:1234], y[:1234])
        shared.save(tmp_path / "half")
        assert np.array_equal(answers_of(shared, X), answers_of(half, X))
        shared.partial_fit(X[1234:], y[1234:])
    shared.save(tmp_path / "shared")
    assert len(killed) == 3
    assert (tmp_path / "half").read_bytes() == (tmp_path / "expected").read_bytes()
    assert (tmp_path / "shared").read_bytes() == (tmp_path / "alone").read_bytes()
    assert all(one.killed for one in local.actors)


WHOLE = [DefensiveBoost(n_estimators=3), Linear(), LeastSquares(), OnlineBBM(Linear(bins=8), 3)]


@pytest.mark.parametrize("model", WHOLE, ids=repr)
def test_what_cannot_be_divided(model, rows, local):
    with pytest.raises(ParameterError, match="engine='ray': expected 'threads'"):
        model.fit(*rows, engine="ray", workers=2)


def test_alarms_of_parts_elsewhere_are_told_here(rows, local):
    X, y = rows
    alarms: dict[str, list[Alarm]] = {"threads": [], "ray": []}
    for engine, told in alarms.items():
        parts = [Linear(), Restarting(OnlineBBM(n_estimators=3), delta=0.9)]
        StackedEnsemble(parts, random_state=0, on_drift=told.append).fit(X, y, engine=engine, workers=2)
    assert alarms["ray"] == alarms["threads"] != []


# ---- actors that cannot go on


def test_actors_that_always_die_are_given_up(rows, local, monkeypatch):
    started = local.started
    monkeypatch.setattr(local, "started", lambda *given: (actor := started(*given), setattr(actor, "alive", False))[0])
    model = MODELS["trees"]()
    with pytest.raises(WorkerError, match="Ray workers died 6 times at batch 1: The actor "):
        model.fit(*rows, engine="ray", workers=2)
    assert len(local.actors) == 2 * 6
    with pytest.raises(NotFittedError):  # its head has learned what its learners have not
        model.predict(rows[0])


def test_an_error_of_the_work_itself_comes_here_at_once(rows, local, monkeypatch):
    def fail(work, batch, carry, n_slots):
        raise MemoryError("no room")

    monkeypatch.setattr(remote.GroupOfLearners, "run", fail)
    with pytest.raises(MemoryError) as found:
        MODELS["trees"]().fit(*rows, engine="ray", workers=2)
    assert type(found.value) is MemoryError and len(local.actors) == 2


@pytest.mark.parametrize(
    ("silent", "expected"),
    [
        (0, r"Ray worker 1 of 2 has not answered for 600 s: expected batch 4\. "
            r"Worker 1 \(process \d+ on .+\) has done 3 of 4 batches and is at work on batch 4; "
            r"Worker 2 \(.+\) has done 3 of 4 batches and waits for worker 1\. Train again from the last saved model"),
        (1, r"Ray worker 2 of 2 has not answered for 600 s: expected batch 4\. "
            r"Worker 1 \(.+\) has done 4 of 4 batches; "
            r"Worker 2 \(.+\) has done 3 of 4 batches and is at work on batch 4"),
    ],
)  # fmt: skip
def test_a_wait_has_a_limit_and_says_which_actor_is_where(silent, expected, rows, local, monkeypatch):
    monkeypatch.setattr(remote, "_AHEAD", 0)
    send = team.Team.send

    def send_and_stop(mine, *arguments):
        mine.remotes[silent].actor.silent = len(mine.batches) == 3
        send(mine, *arguments)

    monkeypatch.setattr(team.Team, "send", send_and_stop)
    with pytest.raises(WorkerError, match=expected):
        MODELS["trees"]().fit(*rows, engine="ray", workers=2)
    assert len(local.actors) == 2 and all(one.killed for one in local.actors)


def test_an_actor_without_a_core_is_told(rows, local, monkeypatch):
    started = local.started

    def waiting(*given):
        actor = started(*given)
        actor.silent = len(local.actors) == 2
        return actor

    monkeypatch.setattr(local, "started", waiting)
    with pytest.raises(WorkerError, match="Worker 2 has not started: it waits for a free core of the cluster"):
        MODELS["trees"]().fit(*rows, engine="ray", workers=2)
