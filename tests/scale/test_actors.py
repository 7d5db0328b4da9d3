"""Training on Ray, with a worker killed on the way: the same model file as one process, byte for byte.

``test_team.py`` has all kinds of models and of deaths, in one process; ``fuzz/kill.py`` has random moments.
"""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from commands import run

from conftest import ROOT
from onlineboost import Linear, Perceptron, StackedEnsemble
from onlineboost.engine import remote, team


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(remote, "PIECE", 300)
    monkeypatch.setattr(remote, "CUT_EVERY", 3)


def test_a_worker_killed_on_the_way_does_not_change_a_byte(cluster, tmp_path, capsys, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "fuzz")
    from processes import actors_of

    rng = np.random.default_rng(0)
    lines = [f"{a:.3f},{b:.3f},{int(a > b)}" for a, b in rng.normal(size=(3000, 2))]
    (tmp_path / "d.csv").write_text("a,b,label\n" + "\n".join(lines))
    options = (tmp_path / "d.csv", "-a", "bbm", "-n", 9, "-q")
    run(capsys, "train", *options, "-o", tmp_path / "threads")
    send, sent, killed = team.Team.send, [], []

    def send_and_kill(mine, *arguments):
        send(mine, *arguments)
        sent.append(arguments)
        if len(sent) == 5:  # the second batch since the first cut
            killed.append(int(cluster.get(mine.remotes[0].place, timeout=60).split()[1]))
            assert killed[0] in actors_of(os.getpid())
            os.kill(killed[0], signal.SIGKILL)

    monkeypatch.setattr(team.Team, "send", send_and_kill)
    run(capsys, "train", *options, "-o", tmp_path / "ray", "--engine", "ray", "-j", 2)
    assert len(killed) == 1
    assert (tmp_path / "threads").read_bytes() == (tmp_path / "ray").read_bytes()


def test_parts_of_an_ensemble_on_ray(cluster, tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 8)).astype(np.float32)
    y = np.where(X[:, 0] > 0.2, 1, -1)
    for engine in ("threads", "ray"):
        model = StackedEnsemble([Linear(standardize=True), Perceptron()], random_state=0)
        model.fit(X, y, engine=engine, workers=2).save(tmp_path / engine)
    assert (tmp_path / "threads").read_bytes() == (tmp_path / "ray").read_bytes()


def test_an_address_needs_the_engine(tmp_path, capsys):
    assert "needs --engine ray" in run(capsys, "train", tmp_path / "d.csv", "--address", "x", code=2)[1]
