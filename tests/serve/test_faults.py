"""Disks, clocks and files that fail: an error that says so, and right answers when the cause is gone."""

from __future__ import annotations

import errno
import json
import resource
import sqlite3
import time
from functools import partial

import pytest
from harness import PERCEPTRON, example, process, request, running, until

from onlineboost import Perceptron, __version__
from onlineboost.serve import admin, saver
from onlineboost.serve.clock import Clock
from onlineboost.serve.commands import Learn
from onlineboost.serve.errors import StateError
from onlineboost.serve.events import Example
from onlineboost.serve.limits import Settings
from onlineboost.serve.service import Service

M = "/v1/models/m"


@pytest.fixture
def service(tmp_path):
    with running(tmp_path, settings=Settings(busy=0.1)) as one:
        assert one("PUT", M, PERCEPTRON)[0] == 201
        for k in range(10):
            assert learn(one, k)[0] == 200
        yield one


def learn(service, k, **more):
    x, y = example(k)
    return service("POST", M + "/learn", {"features": x, "label": y, **more})


def check_goes_on(service):
    """The same request is learned now, once; as without the fault."""
    assert learn(service, 50, id="again")[0] == 200
    assert service("GET", "/readyz")[0] == 200
    assert service("GET", M)[1]["learned"] == 11
    model = Perceptron()
    for k in [*range(10), 50]:
        model.learn_one(*example(k))
    x, _ = example(3)
    assert service("POST", M + "/predict", {"features": x})[1]["probabilities"] == model.predict_proba_one(x)


def run(service, text):
    """Run a statement in the writer's thread, outside of a transaction."""
    db = service.service.journal
    service.service.writer.submit(admin.Call(lambda *_: None, lambda *_: db.sql(text))).result()


def test_a_full_disk(service):
    """SQLite's own limit of pages gives the error of a full disk."""
    run(service, "pragma max_page_count=1")
    x, y = example(50)
    x |= {f"more {k}": 1.0 for k in range(3000)}
    status, found = service("POST", M + "/learn", {"features": x, "label": y})
    assert (status, "disk is full" in found["error"]["message"]) == (503, True)
    status, found = service("GET", "/readyz")
    assert (status, "disk is full" in found["error"]["message"]) == (503, True)
    assert service("POST", M + "/predict", {"features": {"size": 1.0}})[0] == 200
    run(service, "pragma max_page_count=1000000")
    check_goes_on(service)


def test_files_that_cannot_grow(tmp_path):
    """A real limit of the system, which the process has on its files: as a disk that is full."""
    with process(tmp_path) as (one, address):
        ask = partial(request, address)
        ask("PUT", M, PERCEPTRON)
        for k in range(10):
            x, y = example(k)
            ask("POST", M + "/learn", {"features": x, "label": y})
        before = resource.prlimit(one.pid, resource.RLIMIT_FSIZE)
        size = (tmp_path / "journal.sqlite-wal").stat().st_size
        resource.prlimit(one.pid, resource.RLIMIT_FSIZE, (size, before[1]))
        x, y = example(50)
        given = {"features": x, "label": y, "id": "again"}
        status, found = ask("POST", M + "/learn", given)
        assert (status, found["error"]["message"].startswith("nothing was written")) == (503, True)
        assert ask("GET", "/readyz")[0] == 503
        assert ask("POST", M + "/predict", {"features": x})[0] == 200
        resource.prlimit(one.pid, resource.RLIMIT_FSIZE, before)
        assert ask("POST", M + "/learn", given)[1]["learned"] is True
        assert ask("POST", M + "/learn", given)[1]["again"] is True
        assert ask("GET", "/readyz")[0] == 200
        assert ask("GET", M)[1]["learned"] == 11


def test_a_journal_that_another_process_has_locked(service):
    other = sqlite3.connect(service.service.journal.path, isolation_level=None)
    other.execute("begin immediate")
    status, found = learn(service, 50, id="again")
    assert (status, "locked by another process" in found["error"]["message"]) == (503, True)
    assert service("POST", M + "/predict", {"features": {"size": 1.0}})[0] == 200
    other.execute("rollback")
    other.close()
    check_goes_on(service)


def test_snapshots_that_cannot_be_written_are_tried_again(service, monkeypatch):
    monkeypatch.setattr(saver, "_AGAIN", 0.05)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as context:
        context.setattr(saver, "write_model", full)
        service("POST", "/v1/snapshot")
        until(lambda: service("GET", "/v1/status")[1]["problems"])
        assert "No space" in service("GET", "/v1/status")[1]["problems"][0]
        assert learn(service, 50, id="again")[0] == 200
    until(lambda: service("GET", "/v1/status")[1]["snapshot"] == 12)
    assert not service("GET", "/v1/status")[1]["problems"]


def test_a_clock_set_back_does_not_turn_the_journal_back():
    wall, passed = [1000.0], [0.0]
    clock = Clock(0.0, lambda: wall[0], lambda: passed[0])
    assert clock.now() == 1000.0
    wall[0], passed[0] = 10.0, 5.0
    assert (clock.now(), clock.behind()) == (1005.0, 995.0)
    wall[0], passed[0] = 2000.0, 6.0
    assert (clock.now(), clock.behind()) == (2000.0, 0.0)


def test_tickets_expire_by_journal_time(tmp_path):
    for missing, learned in ((None, 10), (("small",), 11)):
        with running(tmp_path / str(learned), settings=Settings(wait=0.3, missing=missing)) as service:
            service("PUT", M, PERCEPTRON)
            for k in range(10):
                learn(service, k)
            service("POST", M + "/predict", {"features": {"size": 1.0}, "id": "late"})
            metrics = M + "/metrics"
            until(lambda service=service, metrics=metrics: service("GET", metrics)[1]["waiting"] == 0)
            status, found = service("POST", M + "/label", {"id": "late", "label": "small"})
            assert (status, "expired" in found["error"]["message"]) == (410, True)
            assert service("GET", metrics)[1]["learned"] == learned


def test_a_deferred_ticket_waits_from_its_activation_and_is_never_learned_with_the_default_label(tmp_path):
    with running(tmp_path, settings=Settings(wait=1.0, missing=("small",))) as service:
        service("PUT", M, PERCEPTRON)
        for k in range(10):
            learn(service, k)
        for id in ("never shown", "shown"):
            service("POST", M + "/predict", {"features": {"size": 1.0}, "id": id, "defer": True})
        time.sleep(0.5)
        assert service("POST", M + "/activate", {"id": "shown"})[1]["activated"] is True
        until(lambda: service("GET", M + "/metrics")[1]["waiting"] == 0)
        assert service("GET", M + "/metrics")[1]["learned"] == 11
        text = "select kind, id, time, payload from events where kind in ('defer', 'activate', 'expire') order by seq"
        *_, activated, never, shown = service.service.journal.reading().sql(text)
        assert [json.loads(one[3]) for one in (never, shown)] == [
            {"ids": ["never shown"], "label": None},
            {"ids": ["shown"], "label": ["small"]},
        ]
        assert (activated[:2], shown[2] - activated[2] > 1.0) == (("activate", "shown"), True)


def test_expiry_is_replayed(tmp_path):
    with Service(tmp_path, Settings(wait=0.0, missing=("small",))) as service:
        make(service)
        from onlineboost.serve.answers import ask
        from onlineboost.serve.commands import Ask

        served = service.state.served("m")
        data, found = ask(served.model, {"size": 3.0})
        service.writer.submit(Ask(served, [("late", data)], [found], set())).result()
        until(lambda: service.journal.sql("select count(*) from events where kind = 'expire'")[0][0])
        until(lambda: served.model.n_seen_ == 6)
        content = contents(served.model, tmp_path)
        service.close(snapshot=False)
    with Service(tmp_path) as service:
        assert contents(service.state.served("m").model, tmp_path) == content


def make(service):
    service.writer.submit(admin.Create("m", Perceptron(), keep=True)).result()
    for k in range(5):
        service.writer.submit(Learn("m", "", Example(*example(k)))).result()


def contents(model, folder):
    model.save(folder / "file")
    return (folder / "file").read_bytes()


def closed(tmp_path, snapshot):
    service = Service(tmp_path)
    make(service)
    service.close(snapshot)
    return sqlite3.connect(tmp_path / "journal.sqlite")


def refused(tmp_path, db, text, *values, match):
    db.execute(text, values)
    db.commit()
    db.close()
    with pytest.raises(StateError, match=match):
        Service(tmp_path)


def test_damage_to_the_journal_is_named(tmp_path):
    change = "update events set payload = ? where seq = 3"
    refused(tmp_path / "a", closed(tmp_path / "a", False), change, b"{}", match="event 3: damaged payload")
    gap = "delete from events where seq = 4"
    refused(tmp_path / "b", closed(tmp_path / "b", False), gap, match="event 4 is missing")
    change = "update events set model = 'other' where seq = 5"
    refused(tmp_path / "c", closed(tmp_path / "c", False), change, match="event 5: does not follow event 4")
    version = "update meta set value = '0.0.1' where key = 'version'"
    refused(tmp_path / "d", closed(tmp_path / "d", False), version, match="written by onlineboost 0.0.1")
    manifest = "update snapshots set manifest = '{'"
    refused(tmp_path / "e", closed(tmp_path / "e", True), manifest, match="damaged snapshot")
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "journal.sqlite").write_bytes(b"no database" * 1000)
    with pytest.raises(StateError, match="not a journal"):
        Service(tmp_path / "f")


def test_another_version_goes_on_from_a_snapshot(tmp_path):
    db = closed(tmp_path, True)
    db.execute("update meta set value = '0.0.1' where key = 'version'")
    db.commit()
    db.close()
    with Service(tmp_path) as service:
        assert service.journal.get("version") == __version__
        assert service.state.served("m").model.n_seen_ == 5


def test_a_swapped_model_file_is_refused(tmp_path):
    closed(tmp_path, True).close()
    (path,) = (tmp_path / "models").glob("*.model")
    Perceptron().fit([[1.0], [2.0]], [0, 1]).save(path)
    with pytest.raises(StateError, match=f"{path.name}: changed"):
        Service(tmp_path)


def test_a_file_that_is_swapped_while_the_service_runs(service, tmp_path):
    """Answers are right; the file is named when it is needed; the next snapshot is whole."""
    service("POST", M + "/checkpoints", {"name": "c"})
    until(lambda: service("GET", M + "/checkpoints")[1][0]["ready"])
    service("POST", "/v1/snapshot")
    until(lambda: service("GET", "/v1/status")[1]["snapshot"])
    before = service("GET", M + "/file")
    (path,) = (tmp_path / "models").glob("*.model")
    Perceptron().fit([[1.0], [2.0]], [0, 1]).save(path)
    status, found = service("POST", M + "/checkpoints/c/restore")
    assert (status, f"{path.name}: changed" in found["error"]["message"]) == (503, True)
    assert service("GET", M + "/file") == before
    check_goes_on(service)
    after = service("GET", M + "/file")
    service.stop()
    with running(tmp_path) as again:
        assert again("GET", M + "/file") == after


def test_a_service_starts_when_the_clock_was_set_back(tmp_path, monkeypatch):
    """Journal time goes on from its last event; tickets expire by it."""
    with running(tmp_path) as service:
        service("PUT", M, PERCEPTRON)
        service("POST", M + "/predict", {"features": {"size": 1.0}, "id": "waits"})
        last = service.service.journal.committed.time
    monkeypatch.setattr(Clock.__init__, "__defaults__", (0.0, lambda: last - 86400, time.monotonic))
    with running(tmp_path) as service:
        assert learn(service, 1)[0] == 200
        assert service("GET", "/v1/status")[1]["clock_behind"] > 86000
        assert service.service.journal.committed.time >= last
        assert service("POST", M + "/label", {"id": "waits", "label": "small"})[0] == 200


def test_the_journal_is_bounded(tmp_path):
    with running(tmp_path, settings=Settings(journal_mb=1, snapshot_every=200)) as service:
        service("PUT", M, PERCEPTRON)
        service("POST", M + "/predict", {"features": {"size": 1.0}, "id": "waits"})
        rows = [{"features": {f"number {j}": 1.0 for j in range(100)}, "label": "small"}] * 20
        for _ in range(60):
            assert service("POST", M + "/learn", rows)[0] == 200
        db = service.service.journal
        for _ in range(2):
            service("POST", "/v1/snapshot")
            until(lambda: not service.service.snapshots.running)
        ((pages,),) = db.sql("pragma page_count")
        ((free,),) = db.sql("pragma freelist_count")
        assert (pages - free) * 4096 < 1 << 20
        assert service("POST", M + "/label", {"id": "waits", "label": "small"})[0] == 200


def test_an_event_that_nobody_foresaw_does_not_end_the_service(tmp_path, monkeypatch):
    with running(tmp_path) as service:
        service("PUT", M, PERCEPTRON)
        monkeypatch.setattr(Perceptron, "_progressive_many", lambda *_: 1 / 0)
        rows = [{"features": {"size": 1.0}, "label": "small"}]
        assert service("POST", M + "/learn", rows)[0] == 422
        assert learn(service, 1)[0] == 200


def test_one_service_has_one_folder(tmp_path):
    with Service(tmp_path), pytest.raises(StateError, match="another onlineboost serve"):
        Service(tmp_path)


def test_deleted_examples_leave_the_disk(tmp_path):
    with running(tmp_path) as service:
        service("PUT", M, PERCEPTRON)
        learn(service, 1)
        service("POST", M + "/learn", {"features": {"name": "a secret name"}, "label": "small", "id": "secret"})
        service("POST", M + "/learn", [{"features": {"name": "another secret"}, "label": "small"}])
        service("POST", M + "/predict", {"features": {"name": "third secret"}, "id": "waits"})
        before = service("GET", M + "/file")[1]
        assert service("DELETE", M + "/ids/secret")[0] == 200
        assert service("DELETE", M + "/ids/waits")[0] == 200
        assert service("DELETE", M + "/events/4")[0] == 200
        assert service("DELETE", M + "/events/2000")[0] == 404
        assert service("POST", M + "/label", {"id": "waits", "label": "small"})[0] == 404
        service("POST", "/v1/snapshot")
        db = service.service.journal
        until(lambda: not db.sql("select 1 from erasures"))
        assert service("GET", M + "/file")[1] == before
    found = b"".join(path.read_bytes() for path in tmp_path.glob("journal*"))
    assert b"secret name" not in found
    assert b"another secret" not in found
    assert b"third secret" not in found
