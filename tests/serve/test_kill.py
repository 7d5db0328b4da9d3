"""``kill -9`` at random moments: nothing acknowledged is lost, nothing is learned twice, and all bits are the same."""

from __future__ import annotations

import contextlib
import functools
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from harness import PERCEPTRON, example, process, request, until

from onlineboost import Perceptron
from onlineboost.serve import Client, ServiceError
from onlineboost.serve.journal import Journal
from onlineboost.serve.replication import digests
from onlineboost.serve.snapshots import recover
from onlineboost.serve.state import State

ROUNDS = 10


def free_port():
    """A port that no connection of a client takes while its service is down: connections have higher ones."""
    while True:
        port = random.randrange(12_000, 32_000)
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port


class Worker(threading.Thread):
    """Asks, labels late, learns and repeats what was not answered; notes what was acknowledged."""

    def __init__(self, address, number):
        super().__init__(daemon=True)
        self.client = Client(address, "m", timeout=5.0, retries=200)
        self.number, self.random = number, random.Random(number)
        self.learned, self.labeled, self.wrong = set(), set(), []
        self.stopping = threading.Event()

    def run(self):
        waiting, k = [], 0
        while not self.stopping.is_set():
            k += 1
            id, (x, y) = f"{self.number}-{k}", example(k)
            try:
                if self.random.random() < 0.5:
                    self.client.learn(x, y, id=id)
                    self.learned.add(id)
                else:
                    self.client.ask(x, id=id)
                    waiting.append((id, y))
                if len(waiting) > 5:
                    late, label = waiting.pop(self.random.randrange(len(waiting)))
                    self.client.label(late, label)
                    self.labeled.add(late)
                    if self.random.random() < 0.2:
                        assert self.client.label(late, label)["again"]
            except (ServiceError, AssertionError) as problem:
                self.wrong.append(problem)
                return
            except OSError:
                if not self.stopping.is_set():
                    raise


@pytest.fixture
def start(tmp_path):
    """A function that starts a service, and returns its number."""
    program = Path(__file__).with_name("forked.py")
    with subprocess.Popen(
        [sys.executable, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        started = []

        def start(folder, port, *leader):
            print(folder, port, *leader, file=parent.stdin, flush=True)
            started.append(int(parent.stdout.readline()))
            return started[-1]

        yield start
        for number in started:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        parent.stdin.close()


def test_kills_lose_nothing_and_change_no_bit(tmp_path, start, monkeypatch):
    monkeypatch.setattr("onlineboost.serve.client._LONGEST", 0.05)
    port, other = free_port(), free_port()
    address, follower = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{other}"
    folder, kills = tmp_path / "state", random.Random(1)
    workers = [Worker(address, number) for number in range(3)]
    start(tmp_path / "copy", other, address)
    for round in range(ROUNDS):
        leader = start(folder, port)
        until(lambda: is_ready(address))
        if not round:
            assert request(address, "PUT", "/v1/models/m", PERCEPTRON)[0] == 201
            for worker in workers:
                worker.start()
        time.sleep(kills.uniform(0.0, 0.3))
        os.kill(leader, signal.SIGKILL)
        until(functools.partial(is_gone, leader))
    start(folder, port)
    until(lambda: is_ready(address))
    until(lambda: all(len(worker.labeled) > 10 for worker in workers))
    for worker in workers:
        worker.stopping.set()
        worker.join(30)
        worker.client.close()
        assert not worker.wrong
    _, found = request(address, "GET", "/v1/digest")
    _, theirs = request(follower, "GET", f"/v1/digest?at={found['seq']}&wait=20")
    assert theirs["models"] == found["models"]
    assert request(follower, "GET", "/v1/models/m/file") == request(address, "GET", "/v1/models/m/file")
    check_journal(folder / "journal.sqlite", workers)
    check_uninterrupted(folder, found["seq"], found["models"])


def is_gone(number):
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    return False


def is_ready(address):
    try:
        return request(address, "GET", "/readyz")[0] == 200
    except OSError:
        return False


def check_journal(path, workers):
    """Each acknowledged example is there once, and no other twice."""
    journal = Journal(path, only_read=True)
    text = "select id from events where kind = ?"
    ids = {kind: [id for (id,) in journal.sql(text, (kind,))] for kind in ("learn", "label")}
    journal.close()
    for kind, acknowledged in (("learn", "learned"), ("label", "labeled")):
        assert len(set(ids[kind])) == len(ids[kind])
        told = set().union(*(getattr(worker, acknowledged) for worker in workers))
        assert len(told) > 10
        assert told <= set(ids[kind])


def check_uninterrupted(folder, seq, digests_then):
    """The events, applied without a break to a model that has learned nothing, lead to the same file."""
    journal = Journal(folder / "journal.sqlite", only_read=True)
    state = State(folder)
    events = [*journal.after(0, seq)]
    assert [one.seq for one in events] == [*range(1, seq + 1)]  # none was cut
    for one in events:
        state.apply(one, journal)
    journal.close()
    assert digests(state) == digests_then


def test_replay_is_the_run_itself(tmp_path):
    """A folder as a killed process leaves it: the same model file as the process had."""
    from onlineboost.serve import admin
    from onlineboost.serve.commands import Learn
    from onlineboost.serve.events import Example
    from onlineboost.serve.service import Service

    with Service(tmp_path) as service:
        service.writer.submit(admin.Create("m", Perceptron(), keep=True)).result()
        for k in range(50):
            service.writer.submit(Learn("m", "", Example(*example(k)))).result()
        kept = Journal(tmp_path / "journal.sqlite", only_read=True)
        state, snapshot, _, _ = recover(kept, tmp_path)
        assert (snapshot, state.seq) == (0, 51)
        assert digests(state) == digests(service.state)
        kept.close()


def test_a_stop_takes_a_snapshot_and_exits_0(tmp_path):
    with process(tmp_path) as (one, address):
        request(address, "PUT", "/v1/models/m", PERCEPTRON)
        x, y = example(1)
        assert request(address, "POST", "/v1/models/m/learn", {"features": x, "label": y})[0] == 200
        one.send_signal(signal.SIGTERM)
        assert one.wait(30) == 0
    journal = Journal(tmp_path / "journal.sqlite")
    assert journal.sql("select max(seq) from snapshots")[0][0] >= journal.head.seq - 1
    journal.close()
