"""``kill -9`` for a service and its follower at random moments, while clients label late and send again.

    python fuzz/serve_kill.py [--kills 300] [--seed 0] [--clients 4]

At the end each acknowledged example is in the journal once with its content, and nothing else is there; the model files
of the leader, of the follower, and of the library that learns these events without a break are the same bytes.
"""

from __future__ import annotations

import argparse
import random
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
from endurance import note
from serve_clients import Worker, finish
from serve_forks import MODELS, Forge, free_port, is_up, put, send

from onlineboost.fitted import late
from onlineboost.serve import answers
from onlineboost.serve.journal import Journal
from onlineboost.serve.state import begin

LIMIT = 60.0  # seconds; a start or a follower that takes longer hangs


class Trial:
    """A leader and its follower, which are killed again and again."""

    def __init__(self, folder: Path, forge: Forge, seed: int, n_clients: int) -> None:
        self.folder, self.forge, self.rng, self.counts = folder, forge, random.Random(seed), Counter[str]()
        self.ports = [free_port(), free_port()]
        self.leader, self.follower = (f"http://127.0.0.1:{port}" for port in self.ports)
        self.workers = [Worker(self.leader, [*MODELS], k, seed) for k in range(n_clients)]
        self.numbers = [self._start(0), self._start(1)]
        self.longest = 0.0  # seconds until a service answers again
        self._wait_for(self.leader)
        for name, model in MODELS.items():
            put(self.leader, name, model)
        for one in self.workers:
            one.start()

    def _start(self, k: int) -> int:
        options: list[object] = ["--dir", self.folder / "ab"[k], "--port", self.ports[k], "--snapshot-every", 60]
        return self.forge.start(*options, *(["--follow", self.leader] if k else []))

    def _wait_for(self, address: str) -> None:
        began = time.monotonic()
        while not is_up(address):
            assert time.monotonic() - began < LIMIT, f"{address} does not start"
            time.sleep(0.005)
        self.longest = max(self.longest, time.monotonic() - began)

    def kill(self) -> None:
        """One kill: mostly of the leader, sometimes of the follower, sometimes while it starts."""
        k = int(self.rng.random() < 0.2)
        if self.rng.random() < 0.85:
            self._wait_for((self.leader, self.follower)[k])
            time.sleep(self.rng.choice([0.02, 0.2, 1.0]) * self.rng.random())
        else:
            time.sleep(self.rng.random() * 0.3)
            self.counts["kills that did not wait for the start"] += 1
        self.forge.end(self.numbers[k], signal.SIGKILL)
        self.counts[("kills of the leader", "kills of the follower")[k]] += 1
        if not k:
            self._look(self.folder / "a")
        self.numbers[k] = self._start(k)
        assert not any(one.problem for one in self.workers), [one.problem for one in self.workers]

    def _look(self, folder: Path) -> None:
        """What a kill has left: a snapshot that was being written, events that are to be replayed."""
        self.counts["kills while a snapshot was written"] += any(folder.glob("models/*.new"))

    def check(self) -> str:
        """Whether anything was lost, learned twice or changed; what there was."""
        self._wait_for(self.leader)
        finish(self.workers)
        told = {key: value for one in self.workers for key, value in one.told.items()}
        for one in self.workers:
            self.counts.update(one.counts)
        self._wait_for(self.follower)
        found = send("GET", self.leader + "/v1/digest")
        theirs = send("GET", self.follower + f"/v1/digest?at={found['seq']}&wait={LIMIT:.0f}")
        assert theirs["models"] == found["models"], "the digests of leader and follower differ"
        files = {name: self._file(name) for name in MODELS}
        for number in self.numbers[::-1]:
            self.forge.end(number, signal.SIGTERM)
        for k in "ab":
            journal = Journal(self.folder / k / "journal.sqlite", only_read=True)
            check_events(journal, told)
            models = learn_again(journal)
            journal.close()
            for name, model in models.items():
                model.save(self.folder / "again")
                assert (self.folder / "again").read_bytes() == files[name], f"{name}: other bytes without kills"
        text = self.forge.log.read_text()
        assert "Traceback" not in text, text[-3000:]
        return f"{found['seq']:,} events"

    def _file(self, name: str) -> bytes:
        one, other = (send("GET", f"{address}/v1/models/{name}/file") for address in (self.leader, self.follower))
        assert one == other, f"{name}: the file of the follower differs"
        return bytes(one)


def check_events(journal: Journal, told: dict[tuple[str, str, str], Any]) -> None:
    """The events that learn are those that clients were told of, once each, with what was sent."""
    kinds = "learn", "rows", "label", "ask"
    text = f"select kind, model, id, payload from events where kind in {kinds}"
    seen = set()
    for kind, model, id, payload in journal.sql(text):
        key = kind, model, id
        assert key in told, f"{key} was never acknowledged"
        assert key not in seen, f"{key} was learned twice"
        seen.add(key)
        if kind != "ask":
            sent, given = told[key], msgspec.json.decode(payload)
            rows = given if kind == "rows" else [given]
            wanted = sent if kind == "rows" else [(None, sent)] if kind == "label" else [sent]
            assert [(row.get("features"), row["label"]) for row in rows] == wanted, f"{key} has another content"
    lost = set(told) - seen
    assert not lost, f"{len(lost)} acknowledged events are lost: {sorted(lost)[:5]}"


def learn_again(journal: Journal) -> dict[str, Any]:
    """The models that learn all events in their order, by the library alone, without a break."""
    found: dict[str, Any] = {}
    tickets: dict[tuple[str, str], bytes] = {}
    for kind, name, id, payload in journal.sql("select kind, model, id, payload from events order by seq"):
        if kind == "create":
            found[name] = begin(MODELS[name].clone())
        elif kind == "ask":
            tickets[name, id] = payload
        elif kind in ("label", "learn", "rows"):
            given = msgspec.json.decode(payload)
            if kind == "label":
                late.tell_apart(
                    answers.fitted_of(found[name]), tickets.pop((name, id)), given["label"], given["weight"]
                )
            elif kind == "learn":
                found[name].learn_one(given["features"], given["label"])
            else:
                found[name].learn_many([row["features"] for row in given], [row["label"] for row in given])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--clients", type=int, default=4)
    given = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, Forge(Path(folder) / "log") as forge:
        trial = Trial(Path(folder), forge, given.seed, given.clients)
        try:
            for k in range(given.kills):
                trial.kill()
                if k % 20 == 19:
                    print(f"{k + 1} kills, {time.monotonic() - began:.0f} s", flush=True)
            events = trial.check()
        except AssertionError:
            forge.show()
            raise
    for name, count in trial.counts.items():
        print(f"{count:>8,} {name}")
    counts = trial.counts
    learned = counts["learn"] + counts["rows"] + counts["label"]
    trials = f"{given.kills:,} kills ({counts['kills of the follower']:,} of the follower), {events}"
    found = f"all {learned:,} acknowledged requests learned once; the same bytes on leader, follower and without kills"
    found += f"; an answer again after at most {trial.longest:.1f} s"
    note("serve_kills", trials, found, f"fuzz/serve_kill.py --kills {given.kills} --seed {given.seed}")


if __name__ == "__main__":
    main()
