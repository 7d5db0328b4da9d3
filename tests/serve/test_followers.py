"""Followers, epochs, and leaders that come back."""

from __future__ import annotations

import shutil

import pytest
from harness import PERCEPTRON, Running, example, running, until

from onlineboost.serve import admin, replication
from onlineboost.serve.errors import StateError
from onlineboost.serve.limits import Settings
from onlineboost.serve.service import Service

M = "/v1/models/m"


def learn(service, n, start=0):
    for k in range(start, start + n):
        x, y = example(k)
        status, found = service("POST", M + "/learn", {"features": x, "label": y})
        assert status == 200, found


def caught_up(follower, leader):
    seq = leader.service.journal.committed.seq
    until(lambda: follower.service.state.seq >= seq)
    return seq


@pytest.fixture
def pair(tmp_path):
    with running(tmp_path / "a") as leader:
        assert leader("PUT", M, PERCEPTRON)[0] == 201
        with running(tmp_path / "b", follow=leader.address) as follower:
            yield leader, follower


def test_digests_are_equal_at_every_event(pair):
    leader, follower = pair
    learn(leader, 12)
    asked = [{"features": example(k)[0], "id": f"t{k}"} for k in range(3)]
    leader("POST", M + "/predict", asked)
    leader("POST", M + "/label", {"id": "t1", "label": "large"})
    leader("POST", M + "/checkpoints", {"name": "c"})
    learn(leader, 3)
    until(lambda: leader("GET", M + "/checkpoints")[1][0]["ready"])
    leader("POST", M + "/checkpoints/c/restore")
    learn(leader, 2)
    seq = caught_up(follower, leader)
    for at in range(1, seq + 1):
        mine, theirs = (one("GET", f"/v1/digest?at={at}")[1] for one in pair)
        assert mine == theirs
        assert set(mine["models"]) == {"m"}
    assert leader("GET", M + "/file") == follower("GET", M + "/file")
    assert follower("GET", f"/v1/digest?at={seq + 99}")[0] == 404


def test_a_follower_predicts_and_refuses_to_write(pair):
    leader, follower = pair
    learn(leader, 10)
    caught_up(follower, leader)
    asked = {"features": example(1)[0]}
    assert follower("POST", M + "/predict", asked) == leader("POST", M + "/predict", asked)
    for path, value in ((M + "/learn", {"features": {}, "label": 1}), (M + "/predict", {**asked, "ticket": True})):
        status, found = follower("POST", path, value)
        assert status == 421
        assert leader.address in found["error"]["next"]
    assert follower("GET", "/v1/status")[1]["role"] == "follower"


def test_promotion_fences_the_old_leader(pair):
    leader, follower = pair
    learn(leader, 10)
    leader("POST", M + "/predict", {"features": example(1)[0], "id": "waits"})
    caught_up(follower, leader)
    assert follower("POST", "/v1/promote")[1]["epoch"] == 2
    until(lambda: leader("GET", "/v1/status")[1]["role"] == "fenced")
    status, found = leader("POST", M + "/learn", {"features": {}, "label": "small"})
    assert status == 409
    assert "epoch 2" in found["error"]["message"]
    assert leader("GET", "/readyz")[0] == 503
    assert follower("POST", M + "/label", {"id": "waits", "label": "large"})[0] == 200
    learn(follower, 3)


def test_a_leader_hears_of_a_later_epoch(pair):
    leader, _ = pair
    assert leader("POST", "/v1/fence", {"epoch": 1}) == (200, {"role": "leader", "epoch": 1})
    assert leader("GET", f"/v1/journal?after=0&chain={'00' * 16}&epoch=7")[0] == 409
    assert leader("GET", "/v1/status")[1]["role"] == "fenced"


def test_a_leader_that_comes_back_is_refused_if_it_learned_alone(tmp_path):
    old = Running(tmp_path / "a")
    old("PUT", M, PERCEPTRON)
    follower = Running(tmp_path / "b", follow=old.address)
    learn(old, 5)
    caught_up(follower, old)
    follower.service.follower.stop()
    learn(old, 2, 50)  # acknowledged by the old leader alone
    old.stop()
    assert follower("POST", "/v1/promote")[0] == 200
    learn(follower, 1)
    with running(tmp_path / "a", follow=follower.address) as back:
        until(lambda: back("GET", "/readyz")[0] == 503)
        assert "journals differ" in back("GET", "/readyz")[1]["error"]["message"]
        assert back("POST", M + "/learn", {"features": {}, "label": "small"})[0] == 421
    follower.stop()


def test_a_leader_that_comes_back_follows_if_it_did_not(tmp_path):
    old = Running(tmp_path / "a")
    old("PUT", M, PERCEPTRON)
    follower = Running(tmp_path / "b", follow=old.address)
    learn(old, 5)
    caught_up(follower, old)
    old.stop()
    seq = old.service.journal.committed.seq
    until(lambda: follower.service.state.seq >= min(seq, 6))
    shutil.copytree(tmp_path / "b", tmp_path / "c", ignore=shutil.ignore_patterns("lock"))
    follower.stop()
    with running(tmp_path / "a") as new, running(tmp_path / "c", follow=new.address) as copy:
        learn(new, 4)
        caught_up(copy, new)
        assert new("GET", M + "/file") == copy("GET", M + "/file")
    with pytest.raises(StateError, match="folder of a follower"):
        Service(tmp_path / "c")


def test_a_leader_that_was_stopped_comes_back_as_a_follower(tmp_path):
    """A planned change: the old leader stops, the follower is promoted, and learns; the old leader follows it."""
    old = Running(tmp_path / "a")
    old("PUT", M, PERCEPTRON)
    follower = Running(tmp_path / "b", follow=old.address)
    learn(old, 8)
    caught_up(follower, old)
    old.stop()
    assert old.service.snapshots.last_seq == 9  # the snapshot at the end
    assert follower("POST", "/v1/promote")[1]["epoch"] == 2
    learn(follower, 3, 20)
    with running(tmp_path / "a", follow=follower.address) as back:
        caught_up(back, follower)
        assert back("GET", "/v1/status")[1]["epoch"] == 2
        assert back("GET", M + "/file") == follower("GET", M + "/file")
        assert back("POST", M + "/learn", {"features": {}, "label": "small"})[0] == 421
        learn(follower, 2, 30)
        caught_up(back, follower)
        assert back("GET", M + "/file") == follower("GET", M + "/file")
    follower.stop()


def test_a_follower_begins_with_a_snapshot_if_the_journal_was_cut(tmp_path):
    with running(tmp_path / "a", settings=Settings(retain=0.0)) as leader:
        leader("PUT", M, PERCEPTRON)
        learn(leader, 8)
        leader("POST", M + "/predict", {"features": example(1)[0], "id": "waits"})
        leader("POST", M + "/checkpoints", {"name": "c"})
        leader("POST", "/v1/snapshot")
        until(lambda: leader.service.snapshots.digests)
        leader("POST", "/v1/snapshot")
        until(lambda: len(leader.service.snapshots.digests) == 2)
        assert leader.service.writer.submit(admin.Call(first_kept)).result() > 1
        with running(tmp_path / "b", follow=leader.address) as follower:
            learn(leader, 3)
            caught_up(follower, leader)
            assert leader("GET", M + "/file") == follower("GET", M + "/file")
            leader("POST", M + "/label", {"id": "waits", "label": "large"})
            caught_up(follower, leader)
            assert leader("GET", M + "/file") == follower("GET", M + "/file")
            assert follower("GET", M + "/checkpoints")[1][0]["name"] == "c"


def test_a_follower_that_begins_with_a_snapshot_knows_deferred_tickets(tmp_path):
    """Activated, or labeled, after the snapshot: before, both were deferred."""
    with running(tmp_path / "a", settings=Settings(retain=0.0)) as leader:
        leader("PUT", M, PERCEPTRON)
        learn(leader, 8)
        for id in ("stays", "activated", "labeled"):
            leader("POST", M + "/predict", {"features": example(1)[0], "id": id, "defer": True})
        for number in (1, 2):
            leader("POST", "/v1/snapshot")
            until(lambda number=number: len(leader.service.snapshots.digests) == number)
        assert leader.service.writer.submit(admin.Call(first_kept)).result() > 1
        snapshot = leader("GET", "/v1/status")[1]["snapshot"]
        leader("POST", M + "/activate", {"id": "activated"})
        leader("POST", M + "/label", {"id": "labeled", "label": "large"})
        page = replication.tickets(leader.service.journal, snapshot, "", "")
        assert {row[1]: row[5] for row in page.rows} == {"activated": None, "labeled": "deferred", "stays": "deferred"}
        with running(tmp_path / "b", follow=leader.address) as follower:
            caught_up(follower, leader)
            for one in (leader, follower):
                rows = one.service.journal.reading().sql("select id, outcome, time from tickets order by id")
                found = {id: outcome for id, outcome, _ in rows}
                assert found == {"activated": None, "labeled": "label", "stays": "deferred"}, found


def first_kept(command, writer, now):
    return writer.journal.sql("select min(seq) from events where kind not in ('ask', 'defer')")[0][0]


def test_a_follower_with_other_bits_says_so(pair):
    leader, follower = pair
    learn(leader, 5)
    caught_up(follower, leader)
    follower.service.state.models["m"].model.learn_one({"size": 3.0}, "small")  # as another processor might
    assert follower("GET", "/readyz")[0] == 200
    leader("POST", "/v1/snapshot")
    until(lambda: follower("GET", "/readyz")[0] == 503)
    assert "bits of m" in follower("GET", "/v1/status")[1]["problems"][0]
    assert b"onlineboost_digest_differs 1" in follower("GET", "/metrics")[1]
    assert follower("POST", "/v1/promote")[0] == 409
