"""Models whose code is compiled: the service says so, and requests wait or are told to come again."""

from __future__ import annotations

import threading

import pytest
from harness import PERCEPTRON, running, until

from onlineboost import Perceptron
from onlineboost.cli.app import main
from onlineboost.serve import Client, api_models, logs, service, state
from onlineboost.serve.files import Files

M = "/v1/models/m"


@pytest.fixture
def compiler(monkeypatch):
    """Code is ready when the test lets it."""
    done, warm = threading.Event(), state.warm

    def slow(model):
        assert done.wait(100)
        warm(model)

    monkeypatch.setattr(service, "warm", slow)
    monkeypatch.setattr(service, "default_model", lambda label: Perceptron())
    return done


def test_a_model_that_is_made_is_waited_for(tmp_path, compiler, monkeypatch):
    monkeypatch.setattr(api_models, "PATIENCE", 0.05)
    with running(tmp_path) as api:
        assert api("GET", "/readyz") == (200, {"status": "ready"})
        status, found = api("POST", M + "/learn", {"features": {"x": 1}, "label": 1})
        assert (status, "its code is compiled" in found["error"]["message"]) == (503, True)
        assert api("POST", M + "/predict", {"features": {"x": 1}})[0] == 503
        assert api("POST", "/v1/models/other/predict", {"features": {"x": 1}})[0] == 404
        assert api("GET", "/readyz")[0] == api("GET", "/v2/health/ready")[0] == 503
        assert api("GET", "/healthz")[0] == 200
        assert api("GET", "/v1/status")[1]["getting_ready"]["m"] >= 0
        monkeypatch.setattr(api_models, "PATIENCE", 100)
        threading.Timer(0.1, compiler.set).start()
        assert api("POST", M + "/learn", {"features": {"x": 1}, "label": 1})[1]["learned"] is True
        assert api("GET", "/readyz") == (200, {"status": "ready"})
        assert api("GET", "/v1/status")[1]["getting_ready"] == {}


def test_a_client_waits_for_a_model(tmp_path, compiler, monkeypatch):
    monkeypatch.setattr(api_models, "PATIENCE", 0.05)
    with running(tmp_path) as api, Client(api.address, "m") as client:
        threading.Timer(0.3, compiler.set).start()
        assert client.learn({"x": 1}, 1)["learned"] is True


def test_other_models_are_ready_meanwhile(tmp_path, compiler, monkeypatch):
    monkeypatch.setattr(api_models, "PATIENCE", 0.05)
    with running(tmp_path) as api:
        assert api("PUT", M, PERCEPTRON)[0] == 201
        assert api("POST", "/v1/models/new/learn", {"features": {"x": 1}, "label": 1})[0] == 503
        status, found = api("GET", "/readyz")
        assert (status, [*found["getting_ready"]]) == (200, ["new"])
        assert api("POST", M + "/predict", {"features": {"x": 1}})[0] == 200
        compiler.set()
        until(lambda: api("GET", "/readyz")[1] == {"status": "ready"})


def test_a_service_that_loads_files_is_not_ready(tmp_path, compiler):
    Perceptron().fit([[1.0], [2.0]], ["no", "yes"]).save(tmp_path / "clicks.model")
    with running(tmp_path / "state") as api:
        done = threading.Event()
        files = Files(api.app, [tmp_path / "clicks.model"])
        files.load(done.set)
        assert api("GET", "/readyz")[0] == 503
        assert api("POST", "/v1/models/clicks/predict", {"features": {"0": 1}})[0] == 503
        assert not done.is_set()
        compiler.set()
        assert done.wait(100)
        files.finish()
        assert api("GET", "/readyz")[0] == 200
        assert api("POST", "/v1/models/clicks/predict", {"features": {"0": 1}})[0] == 200


def test_a_file_that_is_no_model_ends_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(logs, "begin", lambda form: None)
    (tmp_path / "x.model").write_bytes(b"nonsense")
    with pytest.raises(SystemExit) as end:
        main(["serve", str(tmp_path / "x.model"), "--dir", str(tmp_path / "state"), "--port", "0"])
    assert end.value.code == 1
    assert "x.model" in capsys.readouterr().err
