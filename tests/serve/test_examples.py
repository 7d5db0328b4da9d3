"""The files in examples/."""

from __future__ import annotations

import configparser
import contextlib
import importlib.util
import itertools
import json
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from harness import PERCEPTRON, example, running, until

from onlineboost import Perceptron, load
from onlineboost.__main__ import main
from onlineboost.model import load_all
from onlineboost.serve import prometheus

FOLDER = Path(__file__).parents[2] / "examples"


def module(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


# ---- Redis


@pytest.fixture
def redis(tmp_path):
    """A Redis server of its own, and its address."""
    client = pytest.importorskip("redis", reason="no client of Redis here: pip install redis")
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("no redis-server here: apt-get install redis-server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    one = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    server = client.Redis(port=port)
    try:
        until(lambda: _answers(client, server))
        yield server, f"redis://127.0.0.1:{port}"
    finally:
        server.close()
        one.terminate()
        one.wait(10)


def _answers(client, server):
    with contextlib.suppress(client.ConnectionError):
        return server.ping()


def add(server, *numbers):
    for k in numbers:
        features, label = example(k)
        server.xadd("events", {"example": json.dumps({"features": features, "label": label})})


def finish(consumer, server, path, last):
    """Consume until the last event is in the model's file."""
    rounds = consumer.consume(server, "events", path, every=7, wait=10)
    for _, offset in itertools.islice(rounds, 200):
        if offset == last and consumer.start(path)[1] == last:
            return
    pytest.fail("the last event was not saved")


def test_each_event_of_redis_is_learned_once_however_often_the_consumer_is_killed(redis, tmp_path):
    server, address = redis
    add(server, *range(40))
    path = tmp_path / "killed.model"
    patched = tmp_path / "consumer.py"  # another model compiles faster
    text = (FOLDER / "redis_streams.py").read_text()
    text = text.replace("OnlineBoost(random_state=0)", "Perceptron()").replace(
        "import OnlineBoost", "import Perceptron"
    )
    assert text.count("Perceptron") == 2
    patched.write_text(text)
    command = [sys.executable, str(patched), "events", str(path), "--redis", address, "--every", "5"]
    for round in range(2):
        before = path.stat().st_mtime_ns if path.exists() else 0
        one = subprocess.Popen(command)
        until(lambda: path.exists() and path.stat().st_mtime_ns != before, 60)  # noqa: B023
        one.send_signal(signal.SIGKILL)
        one.wait()
        add(server, *range(40 + 10 * round, 50 + 10 * round))
    spec = importlib.util.spec_from_file_location("consumer", patched)
    consumer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(consumer)
    (last, _), *_ = server.xrevrange("events", count=1)
    finish(consumer, server, path, last.decode())
    whole = tmp_path / "whole.model"
    finish(consumer, server, whole, last.decode())
    expected = Perceptron()
    for k in range(60):
        expected.learn_one(*example(k))
    assert load(path).n_seen_ == load(whole).n_seen_ == 60
    assert load(path).predict_proba_one({"size": 3.0}) == expected.predict_proba_one({"size": 3.0})
    assert path.read_bytes() == whole.read_bytes()


# ---- Kafka


def test_each_event_of_kafka_is_learned_once_however_often_the_consumer_is_killed(tmp_path):
    """The real client, and the mock broker that is within its library."""
    client = pytest.importorskip("confluent_kafka", reason="no client of Kafka here: pip install confluent-kafka")
    producer = client.Producer({"bootstrap.servers": "mock", "test.mock.num.brokers": 1, "log_level": 0})
    ((host, port),) = ((one.host, one.port) for one in producer.list_topics(timeout=10).brokers.values())

    def add(*numbers):
        for k in numbers:
            features, label = example(k)
            producer.produce("events", json.dumps({"features": features, "label": label}), partition=0)
        assert producer.flush(10) == 0

    text = (FOLDER / "kafka.py").read_text()
    for old, new in (
        ("OnlineBoost(random_state=0)", "Perceptron()"),
        ("import OnlineBoost", "import Perceptron"),
        ("EVERY, SECONDS = 1000,", "EVERY, SECONDS = 5,"),
    ):
        assert old in text
        text = text.replace(old, new)
    consumer, path = tmp_path / "consumer.py", tmp_path / "events.model"
    consumer.write_text(text)
    command = [sys.executable, str(consumer), f"{host}:{port}", "events", "0", str(path)]
    offset = lambda: load_all(path)[2]["offset"] if path.exists() else 0
    for round in range(3):
        add(*range(20 * round, 20 * round + 20))
        one = subprocess.Popen(command)
        wanted = 60 if round == 2 else 20 * round + 5
        until(lambda: offset() >= wanted, 60)  # noqa: B023
        one.send_signal(signal.SIGKILL)
        one.wait()
    expected = Perceptron()
    for k in range(60):
        expected.learn_one(*example(k))
    assert load(path).n_seen_ == offset() == 60
    assert load(path).predict_proba_one({"size": 3.0}) == expected.predict_proba_one({"size": 3.0})


# ---- FastAPI


@pytest.mark.filterwarnings("ignore:no feature of x")
def test_the_fastapi_app_asks_labels_and_saves(tmp_path, monkeypatch):
    pytest.importorskip("fastapi", reason="no FastAPI here: pip install fastapi")
    import asyncio

    monkeypatch.setenv("MODEL", str(tmp_path / "app.model"))
    found = module("fastapi_app")
    found.model = Perceptron()

    async def run():
        async with found.lifespan(found.app):
            for k in range(30):
                features, label = example(k)
                asked = found.predict(found.Example(features=features))
                assert found.label(found.Label(ticket=asked["ticket"], label=label)) == {"learned": k + 1}
        with pytest.raises(found.HTTPException) as problem:
            found.label(found.Label(ticket=asked["ticket"], label=label))
        assert problem.value.status_code == 410

    asyncio.run(run())
    assert load(tmp_path / "app.model").n_seen_ == 30
    assert found.metrics()["rows"] == 30


# ---- files


def test_the_dashboard_uses_metrics_that_exist(tmp_path):
    with running(tmp_path / "leader") as service:
        service("PUT", "/v1/models/m", PERCEPTRON)
        for k in range(3):
            features, label = example(k)
            service("POST", "/v1/models/m/learn", {"features": features, "label": label})
        service("POST", "/v1/models/m/predict", {"features": {}})
        text = service("GET", "/metrics")[1].decode()
    known = set(re.findall(r"^(onlineboost_\w+)", text, re.M))
    known |= {f"onlineboost_{name}" for name in ("follower_behind", "follower_trouble", *prometheus._LOSSES)}
    for name in ("grafana.json", "prometheus.yml"):
        used = set(re.findall(r"onlineboost_\w+", (FOLDER / name).read_text()))
        assert used - known == set(), name
    board = json.loads((FOLDER / "grafana.json").read_text())
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"]) == 9


def test_the_commands_of_unit_and_image_are_understood(tmp_path, capsys):
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str
    unit.read(FOLDER / "onlineboost.service")
    image = next(line for line in (FOLDER / "Dockerfile").read_text().splitlines() if line.startswith("CMD "))
    for words in (shlex.split(unit["Service"]["ExecStart"]), json.loads(image.removeprefix("CMD "))):
        assert words[0].endswith("onlineboost")
        options = [word for word in words[1:] if word.startswith("--")]
        with contextlib.suppress(SystemExit):
            main(["serve", "--help-all"])
        said = capsys.readouterr().out
        assert all(option in said for option in options), options
