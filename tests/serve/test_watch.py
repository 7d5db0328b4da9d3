"""Figures for the page: no change, calibration, members, history; alerts; the demonstration."""

from __future__ import annotations

import itertools
import json
import logging
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest
from harness import PERCEPTRON, example, process, request, running, until

from onlineboost import Linear, OnlineBBM, OnlineBoostRegressor, Perceptron
from onlineboost.__main__ import main
from onlineboost.serve import logs
from onlineboost.serve.alerts import Alerts, Rules, Webhook
from onlineboost.serve.demo import MODEL, Demo
from onlineboost.serve.insight import History, members
from onlineboost.serve.watch import Watch

M = "/v1/models/m"
METRICS = {"model": "m", "learned": 500, "alarms": 0, "last": {"rows": 500, "error": 0.1}}


def test_no_change_repeats_the_last_label_however_it_is_learned(tmp_path):
    labels = [example(k)[1] for k in range(30)]
    expected = np.mean([a != b for a, b in itertools.pairwise(labels)])
    with running(tmp_path) as service:
        service("PUT", M, PERCEPTRON)
        for k in range(10):
            x, y = example(k)
            service("POST", M + "/learn", {"features": x, "label": y})
        for k in range(10, 20):
            x, y = example(k)
            service("POST", M + "/predict", {"features": x, "id": str(k)})
            service("POST", M + "/label", {"id": str(k), "label": y})
        rows = [{"features": example(k)[0], "label": example(k)[1]} for k in range(20, 30)]
        service("POST", M + "/learn", rows)
        assert service("GET", M + "/metrics")[1]["no_change"] == pytest.approx(expected)
        found = service("GET", M + "/insight")[1]
        assert sum(one["rows"] for one in found["calibration"]) == 30
        right = sum(one["rows"] * one["seen"] for one in found["calibration"])
        assert 1 - right / 30 == pytest.approx(service("GET", M + "/metrics")[1]["all"]["error"])
        assert f'onlineboost_no_change_error{{model="m"}} {expected:.10g}' in service("GET", "/metrics")[1].decode()


def test_late_labels_have_samples_with_their_features(tmp_path):
    with running(tmp_path) as service:
        service("PUT", M, PERCEPTRON)
        for k in range(3):
            x, y = example(k)
            _, asked = service("POST", M + "/predict", {"features": x, "id": str(k)})
            service("POST", M + "/label", {"id": str(k), "label": y})
        (*_, last) = service.app.samples.last
        assert (last["id"], last["label"], last["prediction"]) == ("2", "small", asked["prediction"])
        assert last["features"] == {"size": 2.0, "colour=red": 1.0}
        one, other = (service("POST", M + "/explain", {"features": given})[1] for given in (last["features"], x))
        assert one["score"] == other["score"]


def test_calibration_of_intervals():
    model, watch = OnlineBoostRegressor(random_state=0), Watch()
    X = np.random.default_rng(0).normal(size=(400, 2))
    y = X[:, 0] + np.random.default_rng(1).normal(size=400)
    scores = model._progressive_many(X, y)
    watch.add(y.tolist(), scores)
    found = watch.calibration(model)
    assert [one["said"] for one in found] == [0.5, 0.8, 0.9, 0.95, 0.99]
    low, high = model.bounds(scores, 0.9)
    assert found[2]["seen"] == np.mean((low <= y) & (y <= high))
    assert watch.no_change(model) == pytest.approx(np.abs(np.diff(y)).mean())


def test_only_the_last_examples_wait_to_be_counted():
    model, watch = Perceptron().fit([[1.0], [2.0]], [0, 1]), Watch()
    for k in range(5000):
        watch.add([k // 3 % 2], np.array([[0.5]]))
    assert len(watch._fresh) == 1000
    labels = [k // 3 % 2 for k in range(2500)]
    watch.add(labels, np.full((2500, 1), 0.5))
    assert len(watch._fresh) == 1
    expected = np.mean([a != b for a, b in itertools.pairwise(labels[-1001:])])
    assert watch.no_change(model) == pytest.approx(expected)
    (one,) = watch.calibration(model)
    assert (one["rows"], one["seen"]) == (1000, pytest.approx(np.mean(labels[-1000:])))


def test_members_are_those_of_the_report():
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = OnlineBBM(Linear(), 4, random_state=0).fit(X, X[:, 0] > 0)
    found = members(model)
    assert found["columns"]["edge"] == pytest.approx(model.edges_.tolist())
    assert found["row"] == "learner" and len(found["names"]) == 4
    assert members(Perceptron().fit(X, X[:, 0] > 0)) is None


def test_history_keeps_few_points_of_a_long_time():
    history = History()
    for k in range(100_000):
        history.add({"learned": k})
    steps = set(np.diff([one["learned"] for one in history.points]))
    assert 120 <= len(history.points) <= 240 and len(steps) == 1
    assert history.points[0]["learned"] == 0


def test_an_alert_of_an_error_begins_and_ends_once():
    alerts = Alerts(Rules(error=0.2))
    found = []
    for error in (0.1, 0.21, 0.3, 0.195, 0.21, 0.1, 0.1):
        found += alerts.look([METRICS | {"last": {"rows": 500, "error": error}}], 0.0)
    assert [(one["state"], one["value"]) for one in found] == [("begins", 0.21), ("ends", 0.1)]
    assert alerts.look([METRICS | {"last": {"rows": 99, "error": 1.0}}], 0.0) == []


def test_drift_before_the_start_is_no_alert():
    alerts = Alerts()
    assert alerts.look([METRICS | {"alarms": 3}], 0.0) == []
    (one,) = alerts.look([METRICS | {"alarms": 5}], 1.0)
    assert (one["alert"], one["model"], one["value"]) == ("drift", "m", 5)
    assert alerts.look([], 2.0) == []
    assert alerts.look([METRICS | {"alarms": 0}], 3.0) == []  # another model of the same name


@pytest.fixture
def hook():
    """The address of a server that fails once, and the alerts it got."""
    got = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            got.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(500 if len(got) == 1 else 204)
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/hook", got
        server.shutdown()
        thread.join()


def test_a_webhook_gets_each_alert_and_is_tried_again(hook):
    address, got = hook
    sender = Webhook(address, tries=(0, 0))
    sender.start()
    Alerts(Rules(error=0.05), sender).look([METRICS], 0.0)
    until(lambda: sender.sent == 1)
    assert got[0] == got[1]
    assert {"alert": "error", "state": "begins", "model": "m", "value": 0.1}.items() <= got[0].items()


def test_a_webhook_that_is_gone_loses_an_alert_with_a_word(caplog):
    sender = Webhook("http://127.0.0.1:9/", tries=(0,))
    sender.start()
    sender.send({"text": "model m: drift"})
    until(lambda: sender.lost == 1)
    assert "the alert is lost: model m: drift" in caplog.text


def test_a_service_raises_alerts(tmp_path):
    with running(tmp_path) as service:
        service.app.alerts.rules = Rules(silence=0.0)
        service("PUT", M, PERCEPTRON)
        until(lambda: service.app.alerts.recent)
        assert service.app.alerts.recent[0]["alert"] == "silence"


def test_the_command_posts_alerts_and_logs_json(tmp_path, hook):
    address, got = hook
    with process(tmp_path, "--alert-url", address, "--alert-silence", "1s", "--log-format", "json") as (one, served):
        request(served, "PUT", M, PERCEPTRON)
        until(lambda: len(got) == 2)
        one.terminate()
        lines = one.communicate()[1].splitlines()
    assert got[1]["alert"] == "silence"
    assert any(json.loads(line).get("alert") == "silence" for line in lines)


def test_logs_are_lines_of_json():
    record = logging.LogRecord("x", logging.WARNING, "", 1, "model %s:\ndrift", ("m",), None)
    record.model = "m"
    line = logs.JsonLines().format(record)
    assert "\n" not in line
    assert json.loads(line) | {"time": 0} == {
        "time": 0, "level": "warning", "message": "model m:\ndrift", "model": "m",
    }  # fmt: skip


def test_the_demonstration_asks_and_labels(tmp_path):
    with running(tmp_path) as service:
        service("PUT", f"/v1/models/{MODEL}", PERCEPTRON)
        demo = Demo(service.address, rate=1000.0, latest=0.05)
        demo.start()
        until(lambda: demo.labeled > 30)
        demo.stop()
        found = service("GET", f"/v1/models/{MODEL}/metrics")[1]
        assert found["learned"] == demo.labeled
        assert service.app.samples.last[-1]["features"].keys() >= {"x-box", "y-box"}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--alert-url", "file:///x"], "--alert-url"),
        (["--log-format", "xml"], "text or json"),
        (["--alert-silence", "5"], "--alert-silence"),
        (["--demo", "--follow", "http://127.0.0.1:1"], "leave out"),
    ],
)
def test_wrong_options_are_named(tmp_path, capsys, options, text):
    with pytest.raises(SystemExit) as end:
        main(["serve", "--dir", str(tmp_path), *options])
    assert end.value.code == 2
    assert text in capsys.readouterr().err


def test_a_port_that_is_taken_leads_to_the_next_step(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(logs, "begin", lambda form: None)
    with running(tmp_path / "one") as service:
        port = service.address.rpartition(":")[2]
        with pytest.raises(SystemExit) as end:
            main(["serve", "--dir", str(tmp_path / "two"), "--port", port])
    assert end.value.code == 1
    assert f"port {port}" in (said := capsys.readouterr().err) and "--port" in said
