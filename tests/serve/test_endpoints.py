"""What the endpoints answer."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pytest
from harness import PERCEPTRON, example, running, until

from onlineboost import OnlineBoost, OnlineBoostRegressor, Perceptron, load
from onlineboost.serve.state import default_model

M = "/v1/models/m"


@pytest.fixture
def service(tmp_path):
    with running(tmp_path) as one:
        assert one("PUT", M, PERCEPTRON)[0] == 201
        yield one


def learn(service, n, start=0):
    for k in range(start, start + n):
        x, y = example(k)
        assert service("POST", M + "/learn", {"features": x, "label": y})[0] == 200


def test_predictions_are_those_of_the_library(service):
    learn(service, 20)
    model = Perceptron()
    for k in range(20):
        model.learn_one(*example(k))
    x, _ = example(5)
    status, found = service("POST", M + "/predict", {"features": x})
    assert status == 200
    assert found["prediction"] == model.predict_one(x)
    assert found["probabilities"] == pytest.approx(model.predict_proba_one(x))


def test_learn_answers_the_prediction_before(service):
    learn(service, 9)
    x, y = example(9)
    _, before = service("POST", M + "/predict", {"features": x})
    _, learned = service("POST", M + "/learn", {"features": x, "label": y})
    assert learned["learned"] is True
    assert (learned["prediction"], learned["probabilities"]) == (before["prediction"], before["probabilities"])


def test_many_examples_in_each_form(service):
    rows = [example(k) for k in range(50)]
    given = [{"features": x, "label": y} for x, y in rows]
    assert service("POST", M + "/learn", given) == (200, {"seq": 2, "learned": 50})
    lines = b"\n".join(b'{"features": {"size": %d}, "label": "large"}' % k for k in range(3))
    assert service("POST", M + "/learn", lines, content_type="application/x-ndjson")[1]["learned"] == 3
    asked = [{"features": x} for x, _ in rows]
    _, some = service("POST", M + "/predict", asked[:10])
    _, all = service("POST", M + "/predict", asked)
    assert [one["prediction"] for one in all[:10]] == [one["prediction"] for one in some]
    status, found = service(
        "POST", M + "/predict", b'{"features": {"size": 1}}\n' * 2, content_type="application/x-ndjson"
    )
    assert status == 200
    assert found.count(b"\n") == 2


def test_arrow(service):
    table = pa.table(
        {"size": [float(k % 7) for k in range(60)], "label": ["large" if k % 7 > 3 else "small" for k in range(60)]}
    )
    assert service("POST", M + "/learn", ipc(table), content_type=ARROW)[1]["learned"] == 60
    status, found = service("POST", M + "/predict", ipc(table.select(["size"])), content_type=ARROW)
    answers = pa.ipc.open_stream(found).read_all()
    assert status == 200
    assert answers.column_names == ["prediction", "probability.large", "probability.small"]
    _, one = service("POST", M + "/predict", {"features": {"size": 6.0}})
    assert answers.column("prediction")[6].as_py() == one["prediction"]
    assert service("POST", M + "/learn", ipc(table), content_type=ARROW)[0] == 200
    status, found = service("POST", M + "/learn?label=truth", ipc(table), content_type=ARROW)
    assert status == 422
    assert "no column 'truth'" in found["error"]["message"]
    assert service("POST", M + "/predict", b"garbage", content_type=ARROW)[0] == 422


ARROW = "application/vnd.apache.arrow.stream"


def ipc(table):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def test_a_ticket_is_labeled_once(service):
    learn(service, 10)
    x, y = example(3)
    status, ticket = service("POST", M + "/predict", {"features": x, "ticket": True})
    assert status == 201
    id = ticket["id"]
    assert service("POST", M + "/label", {"id": id, "label": y})[1]["learned"] is True
    assert service("POST", M + "/label", {"id": id, "label": y}) == (
        200,
        {"id": id, "status": 200, "learned": False, "again": True},
    )
    assert service("POST", M + "/label", {"id": id, "label": "other"})[0] == 409
    assert service("POST", M + "/label", {"id": "unknown", "label": y})[0] == 404
    assert service("GET", M + "/metrics")[1]["learned"] == 11


def test_a_deferred_ticket_is_activated_once(service):
    learn(service, 10)
    x, y = example(3)
    status, ticket = service("POST", M + "/predict", {"features": x, "id": "shown later", "defer": True})
    assert status == 201
    assert service("POST", M + "/activate", {"id": "unknown"})[0] == 404
    status, found = service("POST", M + "/activate", {"id": ticket["id"]})
    assert (status, found["activated"]) == (200, True)
    assert service("POST", M + "/activate", {"id": ticket["id"]}) == (
        200,
        {"id": ticket["id"], "activated": False, "again": True},
    )
    assert service("POST", M + "/label", {"id": ticket["id"], "label": y})[1]["learned"] is True
    assert service("POST", M + "/activate", {"id": ticket["id"]})[1]["again"] is True


def test_labels_are_learned_as_the_library_tells_tickets(service):
    learn(service, 10)
    model = Perceptron()
    for k in range(10):
        model.learn_one(*example(k))
    tickets = [model.ask(example(k)[0]) for k in range(10, 15)]
    asked = [{"features": example(k)[0], "id": f"t{k}"} for k in range(10, 15)]
    status, found = service("POST", M + "/predict", asked)
    assert status == 201
    assert [one["id"] for one in found] == [f"t{k}" for k in range(10, 15)]
    for k in (14, 10, 12, 11, 13):
        model.tell(tickets[k - 10], example(k)[1])
    labels = [{"id": f"t{k}", "label": example(k)[1]} for k in (14, 10, 12, 11, 13)] + [{"id": "no", "label": 1}]
    _, found = service("POST", M + "/label", labels)
    assert [one["status"] for one in found] == [200] * 5 + [404]
    x, _ = example(20)
    assert service("POST", M + "/predict", {"features": x})[1]["probabilities"] == model.predict_proba_one(x)
    assert service("GET", M + "/metrics")[1]["all"]["error"] == model.metrics_.all.error


def test_a_repeated_ask_answers_as_before(service):
    learn(service, 10)
    first = service("POST", M + "/predict", {"features": {"size": 1.0}, "id": "a"})[1]
    learn(service, 20, 30)
    again = service("POST", M + "/predict", {"features": {"size": 1.0}, "id": "a"})[1]
    assert (again["id"], again["prediction"]) == ("a", first["prediction"])
    assert service("POST", M + "/predict", {"features": {"size": 2.0}, "id": "a"})[0] == 409


def test_a_repeated_learn_is_learned_once(service):
    given = {"features": {"size": 1.0}, "label": "small", "id": "x"}
    assert service("POST", M + "/learn", given)[1]["learned"] is True
    assert service("POST", M + "/learn", given)[1] == {"id": "x", "learned": False, "again": True}
    assert service("POST", M + "/learn", {**given, "label": "large"})[0] == 409
    rows = [{"features": {"size": 1.0}, "label": "small"}] * 3
    assert service("POST", M + "/learn?id=batch", rows)[1]["learned"] == 3
    assert service("POST", M + "/learn?id=batch", rows)[1]["learned"] == 0
    assert service("GET", M + "/metrics")[1]["learned"] == 4


def test_explanations_add_up(service):
    learn(service, 30)
    _, found = service("POST", M + "/explain", {"features": example(6)[0]})
    assert sum(found["contributions"].values()) + found["bias"] == pytest.approx(found["score"])


def test_checkpoint_and_restore(service):
    learn(service, 10)
    assert service("POST", M + "/checkpoints", {"name": "good"})[0] == 201
    _, before = service("GET", M + "/file")
    learn(service, 10, 50)
    assert service("GET", M + "/file")[1] != before
    until(lambda: service("GET", M + "/checkpoints")[1][0]["ready"])
    assert service("POST", M + "/checkpoints/good/restore")[0] == 200
    assert service("GET", M + "/file")[1] == before
    assert service("POST", M + "/checkpoints", {"name": "good"})[0] == 409
    assert service("DELETE", M + "/checkpoints/good")[0] == 200
    assert service("POST", M + "/checkpoints/good/restore")[0] == 404


def test_model_files_go_up_and_down(service, tmp_path):
    model = Perceptron().fit(np.eye(3), [0, 1, 1])
    model.save(tmp_path / "up.model")
    content = (tmp_path / "up.model").read_bytes()
    assert service("PUT", "/v1/models/up", content, content_type="application/octet-stream")[0] == 201
    status, found = service("GET", "/v1/models/up/file")
    assert (status, found) == (200, content)
    (tmp_path / "down.model").write_bytes(found)
    assert load(tmp_path / "down.model").predict_one({0: 1.0}) == model.predict_one({0: 1.0})
    for damaged in (content[:-5], b"PK" + content, b"\x80\x04pickle", b"x" * 100):
        status, found = service("PUT", "/v1/models/up", damaged, content_type="application/octet-stream")
        assert status == 422
        assert str(tmp_path) not in found["error"]["message"]
    assert service("GET", "/v1/models/up/file")[1] == content
    assert service("DELETE", "/v1/models/up")[0] == 200
    assert service("GET", "/v1/models/up")[0] == 404


def test_the_first_example_makes_a_model(tmp_path, monkeypatch):
    monkeypatch.setattr("onlineboost.serve.service.default_model", lambda label: Perceptron())
    with running(tmp_path) as service:
        assert service("POST", "/v1/models/a/predict", {"features": {}})[0] == 404
        assert service("POST", "/v1/models/a/learn", {"features": {"size": 1}, "label": 1})[0] == 200
        assert service("GET", "/v1/models/a")[1]["learned"] == 1


def test_the_default_follows_the_first_label():
    assert [type(default_model(label)) for label in (1, 2.0, "yes", True)] == [OnlineBoost] * 4
    assert type(default_model(1.5)) is OnlineBoostRegressor
    assert default_model(1).random_state != default_model(1).random_state


def test_wrong_examples_are_refused_and_not_learned(service):
    learn(service, 5)
    before = service("GET", M + "/file")[1]
    for given in (
        {"features": {"size": 1e30}, "label": "small"},
        {"features": {"size": 1.0}, "label": None},
        {"features": {"size": 1.0}},
        {"features": [1, 2], "label": "small"},
        {"features": {"size": 1.0}, "label": "small", "weight": -1},
        {"features": {"size": 1.0}, "label": "small", "wieght": 2},
        [{"features": {"size": 1.0}, "label": "small"}, {"features": {"size": 1e30}, "label": "small"}],
    ):
        status, found = service("POST", M + "/learn", given)
        assert status == 422
        assert set(found["error"]) == {"message", "next"}
    assert service("POST", M + "/learn", b"{")[0] == 400
    assert service("GET", M + "/file")[1] == before


def test_many_classes(service):
    for k in range(40):
        assert service("POST", M + "/learn", {"features": {f"f{k % 4}": 1.0}, "label": f"class {k % 4}"})[0] == 200
    _, found = service("POST", M + "/predict", {"features": {"f2": 1.0}, "ticket": True})
    assert found["prediction"] == "class 2"
    assert sum(found["probabilities"].values()) == pytest.approx(1.0)
    assert service("POST", M + "/label", {"id": found["id"], "label": "class 9"})[0] == 200
    assert "class 9" in service("GET", M)[1]["classes"]


def test_many_examples_are_learned_as_the_library_learns_dicts(service):
    rows = [
        {"grüße": "süß", "a b": 1e-7, "n": 10**15, "flag": True, "none": None},
        {'quote "\\': "line\nend", "nested": {"x": 1, "y": "z"}, "list": [1, 2], "n": -0.0},
        {"day": "2024-02-29", "text": "several words here", "n": 123456.789, "small": 5e-5},
    ] * 5
    labels = ["a", "b", "a"] * 5
    weights = [2.0 if k == 7 else 1.0 for k in range(15)]
    given = [{"features": x, "label": y, "weight": w} for x, y, w in zip(rows, labels, weights, strict=True)]
    assert service("POST", M + "/learn", given)[0] == 200
    model = Perceptron()
    model.learn_many(rows, labels, weights)
    found = service("POST", M + "/predict", [{"features": x} for x in rows])[1]
    assert [one["probabilities"] for one in found] == [model.predict_proba_one(x) for x in rows]
    assert service("GET", M + "/metrics")[1]["all"]["log_loss"] == model.metrics_.all.log_loss
