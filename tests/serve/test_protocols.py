"""Other protocols, the client, and what there is to watch."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest
from harness import PERCEPTRON, example, running, until

from onlineboost import Perceptron, load
from onlineboost.serve import Client, ServiceError
from onlineboost.serve.routes import all_routes

M = "/v1/models/m"


@pytest.fixture
def service(tmp_path):
    with running(tmp_path) as one:
        one("PUT", M, PERCEPTRON)
        for k in range(20):
            x, y = example(k)
            one("POST", M + "/learn", {"features": x, "label": y})
        yield one


def test_open_inference_protocol(service):
    assert service("GET", "/v2")[1]["extensions"] == ["onlineboost_label"]
    assert service("GET", "/v2/health/live") == (200, {"live": True})
    assert service("GET", "/v2/health/ready") == (200, {"ready": True})
    assert service("GET", "/v2/models/m/ready")[1]["ready"] is True
    assert service("GET", "/v2/models/m")[1]["platform"] == "onlineboost"
    sizes, colours = [1.0, 6.0], ["red", "blue"]
    inputs = [
        {"name": "size", "shape": [2], "datatype": "FP64", "data": sizes},
        {"name": "colour", "shape": [2, 1], "datatype": "BYTES", "data": colours},
    ]
    status, found = service("POST", "/v2/models/m/infer", {"id": "7", "inputs": inputs, "parameters": {"ticket": True}})
    assert status == 200
    assert found["id"] == "7"
    asked = [{"features": {"size": s, "colour": c}} for s, c in zip(sizes, colours, strict=True)]
    direct = service("POST", M + "/predict", asked)[1]
    by_name = {one["name"]: one for one in found["outputs"]}
    assert by_name["prediction"]["data"] == [one["prediction"] for one in direct]
    assert by_name["probabilities"]["data"] == [p for one in direct for p in one["probabilities"].values()]
    labels = [{"id": id, "label": "small"} for id in by_name["id"]["data"]]
    assert [one["status"] for one in service("POST", "/v2/models/m/label", labels)[1]] == [200, 200]
    table = {"name": "X", "shape": [1, 3], "datatype": "FP64", "data": [[1, 2, 3]]}
    assert service("POST", "/v2/models/m/infer", {"inputs": [table]})[0] == 200
    for wrong in (
        [],
        [{**table, "shape": [2, 3]}],
        [{**table, "shape": [1, 1, 3]}],
        [{**table, "shape": [-1, -3]}],
        [{**table, "data": [[1, 2], 3]}],
    ):
        assert service("POST", "/v2/models/m/infer", {"inputs": wrong})[0] == 422


def test_clients_of_chantilly(tmp_path):
    Perceptron().fit([[1.0], [2.0]], [False, True]).save(tmp_path / "file")
    with running(tmp_path / "state") as api:
        assert api("GET", "/api/init")[0] == 400
        assert api("POST", "/api/init", {"flavor": "zugzug"})[1]["message"].startswith("Allowed flavors are")
        assert api("POST", "/api/init", {"flavor": "binary"}) == (201, {})
        assert api("GET", "/api/init")[1]["flavor"] == "binary"
        assert api("POST", "/api/predict", {"features": {}})[1]["message"] == "No default model has been set."
        assert api("POST", "/api/model/pickled", b"\x80\x04.", content_type="application/octet-stream")[0] == 400
        content = (tmp_path / "file").read_bytes()
        kind = {"content_type": "application/octet-stream"}
        assert api("POST", "/api/model/healthy-banana", content, **kind) == (201, {"name": "healthy-banana"})
        assert api("GET", "/api/models")[1] == {"models": ["healthy-banana"], "default": "healthy-banana"}
        assert api("GET", "/api/model") == (200, content)
        assert api("POST", "/api/predict", {"features": {"x": 1}, "model": "no"})[1]["message"].startswith(
            "No model named"
        )
        status, found = api("POST", "/api/predict", {"features": {"0": 2.0}})
        assert (status, set(found), set(found["prediction"])) == (200, {"model", "prediction"}, {"false", "true"})
        assert api("POST", "/api/predict", {"features": {"0": 2.0}, "id": 42})[0] == 201
        assert api("POST", "/api/learn", {"id": 42, "ground_truth": True}) == (201, {})
        assert api("POST", "/api/learn", {"id": 43, "ground_truth": True})[0] == 400
        assert api("POST", "/api/learn", {"features": {"0": 1.0}, "ground_truth": False}) == (201, {})
        assert api("POST", "/api/learn", {"ground_truth": True})[0] == 400
        assert api("POST", "/api/predict", {"features": {"0": 2.0}, "identifier": "a"})[1]["identifier"] == "a"
        assert api("POST", "/api/label", {"identifier": "a", "label": True})[1] == "Successful label."
        assert set(api("GET", "/api/metrics")[1]) == {"Accuracy", "LogLoss"}
        assert api("GET", "/api/stats")[1]["learn"]["n_calls"] == 4
        assert api("DELETE", "/api/model/healthy-banana")[0] == 204
        assert api("DELETE", "/api/model/healthy-banana")[0] == 404


def test_client(service, tmp_path):
    with Client(service.address, "m") as client:
        x, y = example(4)
        assert client.predict(x).prediction == client.predict_many([x, x])[1].prediction
        ticket = client.ask(x)
        assert client.label(ticket.id, y)["learned"] is True
        with pytest.raises(ServiceError, match="labeled before") as wrong:
            client.label(ticket.id, "other")
        assert wrong.value.status == 409
        assert client.label_many([(ticket.id, y), ("no", y)])[1]["status"] == 404
        assert client.learn(x, y)["learned"] is True
        assert client.learn_many([x, x], [y, y])["learned"] == 2
        assert client.metrics()["learned"] == 24
        assert "contributions" in client.explain(x)
        client.download(tmp_path / "file")
        assert load(tmp_path / "file").n_seen_ == 24
        other = Client(service.address, "copy")
        other.upload(tmp_path / "file")
        assert [one["name"] for one in client.models()] == ["m", "copy"]
        other.close()
        client.checkpoint("c")
        until(lambda: service("GET", M + "/checkpoints")[1][0]["ready"])
        client.restore("c")
        client.forget(ticket.id)
        assert client.status()["role"] == "leader"
    with pytest.raises(ValueError, match="http"):
        Client("127.0.0.1:8080")


def test_a_client_sends_again_and_learns_once(service, monkeypatch):
    """The answer gets lost: the same id is sent again, and learned once."""
    with Client(service.address, "m") as client:
        send, lost = client._send, []

        def lossy(*given):
            found = send(*given)
            if not lost:
                lost.append(found)
                raise ConnectionResetError
            return found

        monkeypatch.setattr(client, "_send", lossy)
        assert client.learn({"size": 1.0}, "small")["again"] is True
        assert client.metrics()["learned"] == 21


def test_events(service):
    with Client(service.address, "m") as client:
        stream = client.events()
        kind, found = next(stream)
        assert (kind, found["models"][0]["learned"], found["status"]["seq"]) == ("metrics", 20, 21)
        client.learn({"size": 2.0}, "small")
        kinds = {}
        for kind, found in stream:
            kinds[kind] = found
            if "example" in kinds and kinds["example"]["features"] == {"size": 2.0}:
                break
        assert kinds["example"]["label"] == "small"
        stream.close()


def test_prometheus(service):
    service("POST", M + "/predict", {"features": {"size": 1.0}, "id": "waits"})
    text = service("GET", "/metrics")[1].decode()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    values = {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}
    assert values['onlineboost_learned_total{model="m"}'] == 20
    assert values['onlineboost_tickets_waiting{model="m"}'] == 1
    assert values['onlineboost_requests_total{route="/v1/models/{model}/learn",status="200"}'] == 20
    assert values["onlineboost_journal_events_total"] == 22
    for name in {line.partition("{")[0].partition(" ")[0] for line in lines}:
        family = name.removesuffix("_total").removesuffix("_bucket").removesuffix("_sum").removesuffix("_count")
        assert f"# TYPE {family} " in text


def test_answers_have_the_documented_types(service):
    """Found by schemathesis: eight of them had others."""
    paths = service("GET", "/openapi.json")[1]["paths"]
    service("POST", "/v1/snapshot")
    until(lambda: service("GET", "/v1/status")[1]["snapshot"])
    asked = 0
    for path, methods in paths.items():
        if "get" in methods and "events" not in path and "/stream/" not in path:
            address = service.address + path.replace("{model}", "m")
            try:
                with urllib.request.urlopen(address, timeout=20) as answer:
                    found = answer.headers["content-type"]
            except urllib.error.HTTPError as problem:
                problem.close()
                continue
            assert found in methods["get"]["responses"]["200"]["content"], (path, found)
            asked += 1
    assert asked > 20
    many = paths["/v1/models/{model}/predict"]["post"]["responses"]["200"]["content"]
    assert {"application/json", "application/x-ndjson", "application/vnd.apache.arrow.stream"} == set(many)


def test_openapi_lists_all_routes(service):
    status, found = service("GET", "/openapi.json")
    assert status == 200
    assert {(method.upper(), path) for path, all in found["paths"].items() for method in all} == {
        (route.method, route.path) for route in all_routes()
    }
    refs = [part.split('"')[0] for part in str(found).replace("'", '"').split("#/components/schemas/")[1:]]
    assert refs
    assert set(refs) <= set(found["components"]["schemas"])
