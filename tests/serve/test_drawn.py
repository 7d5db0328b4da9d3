"""Requests that nobody would send: no unforeseen error, no traceback, and right answers afterwards."""

from __future__ import annotations

from drawn import Sender, requests
from harness import PERCEPTRON, example, running
from hypothesis import HealthCheck, given, settings

import onlineboost
from onlineboost import Perceptron

M = "/v1/models/m"


def test_drawn_requests(tmp_path, monkeypatch):
    """Models that a request makes without naming a class are small ones here, which need no compiling."""
    monkeypatch.setattr("onlineboost.serve.service.default_model", lambda label: Perceptron())
    for name in ("OnlineBoost", "OnlineBoostRegressor"):
        monkeypatch.setattr(onlineboost, name, Perceptron)
    with running(tmp_path / "state") as service:
        document = service("GET", "/openapi.json")[1]
        sender = Sender(service.address)
        found = set()

        @settings(
            max_examples=250, deadline=None, database=None, derandomize=True, suppress_health_check=[*HealthCheck]
        )
        @given(requests(document))
        def send(one):
            if "m" not in service.service.state.models:
                service("PUT", M, PERCEPTRON)
            found.add(sender(one))

        send()
        sender.close()
        assert {200, 400, 404, 422} <= found
        service("DELETE", M)
        assert service("PUT", M, PERCEPTRON)[0] == 201
        x, y = example(1)
        assert service("POST", M + "/learn", {"features": x, "label": y})[0] == 200
        assert service("GET", "/readyz")[0] == 200
