"""Who may do what, and how much of it."""

from __future__ import annotations

import http.client
import threading
from pathlib import Path

import pytest
from harness import LOOPBACK, PERCEPTRON, Running, example, request, running, until

from onlineboost.cli.app import main
from onlineboost.errors import ConflictError, ParameterError
from onlineboost.serve.errors import ServeError
from onlineboost.serve.limits import Limits, check_name, seconds
from onlineboost.serve.tokens import Tokens

M = "/v1/models/m"


def tokens(tmp_path, text, mode=0o600):
    path = tmp_path / "tokens"
    path.write_text(text)
    path.chmod(mode)
    return Tokens.of_file(path)


def test_tokens_have_levels(tmp_path):
    given = tokens(tmp_path, "read r0123456789abcdef\nlearn l0123456789abcdef  # the app\nadmin a0123456789abcdef\n")
    level = {name: {"authorization": f"Bearer {name}0123456789abcdef"} for name in "rla"}
    asked, learned = {"features": {"size": 1.0}}, {"features": {"size": 1.0}, "label": "small"}
    with running(tmp_path / "state", tokens=given) as service:
        found = {
            name: [
                service("PUT", f"/v1/models/{name}", PERCEPTRON, **headers)[0],
                service("POST", "/v1/models/a/learn", learned, **headers)[0],
                service("POST", "/v1/models/a/predict", {**asked, "ticket": True}, **headers)[0],
                service("POST", "/v1/models/a/predict", asked, **headers)[0],
                service("GET", "/v1/journal", **headers)[0],
            ]
            for name, headers in {"a": level["a"], "r": level["r"], "l": level["l"], "none": {}}.items()
        }
        assert found == {
            "a": [201, 200, 201, 200, 200],
            "r": [403, 403, 403, 200, 403],
            "l": [403, 200, 201, 200, 403],
            "none": [401] * 5,
        }
        assert service("GET", "/v1/status", authorization="Bearer é")[0] == 401
        assert service("GET", "/healthz")[0] == 200


@pytest.mark.parametrize("text", ["", "learn short", "owner l0123456789abcdef", "learn"])
def test_token_files_are_checked(tmp_path, text):
    with pytest.raises(ParameterError, match="--token-file"):
        tokens(tmp_path, text)


def test_a_token_file_is_private(tmp_path):
    with pytest.raises(ParameterError, match="chmod 600"):
        tokens(tmp_path, "learn l0123456789abcdef", 0o644)


def test_other_machines_need_tokens(tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        main(["serve", "--dir", str(tmp_path), "--host", "0.0.0.0"])
    assert end.value.code == 2
    assert "--token-file" in capsys.readouterr().err
    assert issubclass(ConflictError, ValueError)


def test_pages_of_other_sites_are_refused(tmp_path):
    with running(tmp_path, hosts=LOOPBACK) as service:
        assert service("GET", "/v1/status", origin="http://evil.example")[0] == 403
        assert service("GET", "/v1/status", host="rebound.example")[0] == 403
        assert service("GET", "/v1/status", origin=service.address)[0] == 200


def test_limits_name_themselves(tmp_path):
    limits = Limits(body_mb=1, rows=5, features=4, name_length=8, models=1, checkpoints=1, model_mb=1)
    with running(tmp_path, limits=limits) as service:
        assert service("PUT", M, PERCEPTRON)[0] == 201
        one_more = {"features": {"size": 1.0}}
        one = {**one_more, "label": "small"}
        for status, flag, given in (
            (413, "--max-body-mb", ("POST", M + "/learn", b" " * (1 << 20) + b"{}")),
            (413, "--max-rows", ("POST", M + "/learn", [one] * 6)),
            (413, "--max-features", ("POST", M + "/predict", {"features": {str(k): 1 for k in range(5)}})),
            (422, "--max-name-length", ("POST", M + "/predict", {"features": {"a long name": 1}})),
            (413, "--max-features", ("POST", M + "/predict", [one_more, {"features": {str(k): 1 for k in range(5)}}])),
            (422, "--max-name-length", ("POST", M + "/learn", [one, {**one, "features": {"a long name": 1}}])),
            (422, "--max-name-length", ("POST", M + "/learn", {**one, "id": "a long id"})),
            (422, "--max-models", ("PUT", "/v1/models/other", PERCEPTRON)),
            (413, "--max-model-mb", ("PUT", M, b"x" * ((1 << 20) + 1))),
        ):
            found, body = service(*given)
            assert (found, flag in body["error"]["message"]) == (status, True)
        assert service("POST", M + "/checkpoints", {"name": "a"})[0] == 201
        assert "--max-checkpoints" in service("POST", M + "/checkpoints", {"name": "b"})[1]["error"]["message"]


def test_a_body_without_a_length_has_the_same_limit(tmp_path):
    with running(tmp_path, limits=Limits(body_mb=1)) as service:
        connection = http.client.HTTPConnection(service.address.removeprefix("http://"), timeout=10)
        parts = iter([b" " * (1 << 19)] * 5)
        connection.request("POST", M + "/learn", parts, {"content-type": "application/json"}, encode_chunked=True)
        with connection.getresponse() as answer:
            assert answer.status == 413
            answer.read()
        connection.close()


def test_a_full_queue_answers_429(tmp_path, monkeypatch):
    with running(tmp_path, limits=Limits(queue=3)) as service:
        service("PUT", M, PERCEPTRON)
        go_on, apply = threading.Event(), service.service.state.apply
        monkeypatch.setattr(service.service.state, "apply", lambda *given: go_on.wait(20) and apply(*given))
        x, y = example(1)
        found = []

        def learn():
            found.append(request(service.address, "POST", M + "/learn", {"features": x, "label": y})[0])

        threads = [threading.Thread(target=learn) for _ in range(12)]
        for one in threads:
            one.start()
        until(lambda: found.count(429) >= 12 - 3 - 3)
        go_on.set()
        for one in threads:
            one.join(20)
        assert set(found) == {200, 429}


@pytest.mark.parametrize("name", ["..", ".hidden", "-x", "a/b", "a b", "", "x" * 65, "é", "a\nb", "a%2Fb"])
def test_names_are_safe(name):
    with pytest.raises(ServeError):
        check_name(name)


def test_no_path_from_outside_reaches_the_files(tmp_path):
    (tmp_path / "secret.model").write_text("secret")
    with running(tmp_path / "state") as service:
        for path in (
            "/v1/models/..%2F..%2Fsecret/file",
            "/v1/journal/files/..%2F..%2Fsecret",
            "/v1/models/%2e%2e/file",
            "/../secret.model",
            "/page.js/..%2f..%2fsecret",
        ):
            status, found = service("GET", path)
            assert status in (404, 405)
            assert b"secret" not in (found if isinstance(found, bytes) else b"")
        assert service("PUT", "/v1/models/..%2Fevil", PERCEPTRON)[0] == 422
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret.model", "state"]


def test_the_page_has_a_policy(tmp_path):
    with running(tmp_path) as service:
        connection = http.client.HTTPConnection(service.address.removeprefix("http://"), timeout=10)
        connection.request("GET", "/")
        answer = connection.getresponse()
        assert answer.read().startswith(b"<!doctype html>")
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        connection.close()


def test_no_answer_has_a_traceback(tmp_path, monkeypatch):
    one = Running(tmp_path)
    monkeypatch.setattr(one.app, "model_facts", lambda served: 1 / 0)
    one("PUT", M, PERCEPTRON)
    status, found = one("GET", M)
    assert status == 500
    assert "division" not in str(found)
    one.stop()


def test_durations():
    assert [seconds("--wait", text) for text in ("90s", "1.5m", "2h", "7d")] == [90, 90, 7200, 604800]
    for text in ("7", "d", "-1d", "1w", ""):
        with pytest.raises(ParameterError, match="--wait"):
            seconds("--wait", text)


def test_missing_packages_are_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SystemExit) as end:
        main(["serve", "--dir", str(Path(tmp_path))])
    assert end.value.code == 2
    assert "pip install 'onlineboost[serve]'" in capsys.readouterr().err
