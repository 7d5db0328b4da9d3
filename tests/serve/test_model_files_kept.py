"""Model files of the state's folder: each that the journal names is there, whatever is written at the same time."""

from __future__ import annotations

import sqlite3
import threading

import pytest
from harness import PERCEPTRON, example, running, until

from onlineboost import Perceptron
from onlineboost.serve import admin, snapshots
from onlineboost.serve.commands import Learn
from onlineboost.serve.events import Example
from onlineboost.serve.service import Service
from onlineboost.serve.snapshots import used_files

M = "/v1/models/m"


def learn(service, k):
    return service.writer.submit(Learn("m", "", Example(*example(k))))


@pytest.mark.parametrize("second", [admin.Mark, lambda: admin.Checkpoint("m", "c")])
def test_a_file_that_the_journal_does_not_name_yet_is_kept(tmp_path, second):
    """Two files are on disk before the first of them is noted, which deletes what nothing needs."""
    with Service(tmp_path) as service:
        service.writer.submit(admin.Create("m", Perceptron(), keep=True)).result()
        go_on = threading.Event()
        service.writer.submit(admin.Call(lambda *_: None, lambda *_: go_on.wait(20)))
        for command in (admin.Mark(), None, second()):
            if command is None:
                learn(service, 1)
            else:
                service.writer.submit(command)
        files = service.state.blobs
        both = admin.Call(lambda *_: None, lambda *_: until(lambda: len([*files.glob("*.model")]) == 2))
        written = service.writer.submit(both)
        go_on.set()
        written.result()
        until(lambda: not service.saver.fresh)
        used = service.writer.submit(admin.Call(lambda command, writer, now: used_files(writer.journal))).result()
        assert len(used) == 2
        assert {path.stem for path in files.glob("*.model")} == used


def test_snapshots_go_on_after_a_full_journal(tmp_path, monkeypatch):
    """The file is there, but the journal cannot note it."""
    monkeypatch.setattr("onlineboost.serve.writer._TICK", 0.01)
    with running(tmp_path) as service:
        service("PUT", M, PERCEPTRON)

        def full(*_):
            raise sqlite3.OperationalError("database or disk is full")

        with monkeypatch.context() as context:
            context.setattr(snapshots, "add_snapshot", full)
            assert service("POST", "/v1/snapshot")[0] == 202
            until(lambda: service("GET", "/v1/status")[1]["problems"])
            assert "disk is full" in service("GET", "/v1/status")[1]["problems"][0]
        until(lambda: not service.service.snapshots.running)
        assert service("POST", "/v1/snapshot")[0] == 202
        until(lambda: service("GET", "/v1/status")[1]["snapshot"])
        assert not service.service.saver.fresh


def test_snapshots_go_on_after_a_mark_that_was_not_written(tmp_path, monkeypatch):
    with Service(tmp_path) as service:
        service.writer.submit(admin.Create("m", Perceptron(), keep=True)).result()
        monkeypatch.setattr("onlineboost.serve.writer._TICK", 0.01)
        monkeypatch.setattr(service.snapshots, "is_due", lambda now: not service.snapshots.running)
        failed = []

        def prepare(self, writer, now):
            if not failed:
                failed.append(now)
                raise sqlite3.OperationalError("database or disk is full")
            self.one(writer, "mark", "", b"", now)

        monkeypatch.setattr(admin.Mark, "prepare", prepare)
        until(lambda: service.snapshots.last_seq)
        assert failed


def test_checkpoints_are_noted_after_a_full_journal(tmp_path, monkeypatch):
    monkeypatch.setattr("onlineboost.serve.writer._TICK", 0.01)
    with running(tmp_path) as service:
        service("PUT", M, PERCEPTRON)
        db, sql, failed = service.service.journal, service.service.journal.sql, []

        def full(text, values=()):
            if text.startswith("update checkpoints") and len(failed) < 3:
                failed.append(text)
                raise sqlite3.OperationalError("database or disk is full")
            return sql(text, values)

        monkeypatch.setattr(db, "sql", full)
        assert service("POST", M + "/checkpoints", {"name": "c"})[0] == 201
        until(lambda: service("GET", M + "/checkpoints")[1][0]["ready"])
        assert len(failed) == 3
        assert service("POST", M + "/checkpoints/c/restore")[0] == 200
