"""Mixed load on a service and its follower, with tickets that mostly expire: memory and journal must stay as they are.

    python fuzz/serve_soak.py [--minutes 60] [--wait 20] [--rate 200]

Half of the requests ask for tickets, of which one in ten is labeled; the others predict, learn one or many examples,
explain, look at metrics, and take and restore checkpoints. Memory is that of the process; the journal is the file with
its log.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import signal
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from endurance import note
from serve_clients import example
from serve_forks import MODELS, Forge, free_port, is_up, put, send

from onlineboost.serve import Client, ServiceError

SETTLED = 0.25  # of the time, until memory has to be what it will be


class Load(threading.Thread):
    """One client, so many requests in a second."""

    def __init__(self, address: str, number: int, rate: float) -> None:
        super().__init__(daemon=True)
        self.address, self.number, self.pause = address, number, 1 / rate
        self.rng, self.counts, self.problem = random.Random(number), Counter[str](), None
        self.stopping = threading.Event()
        self.clients = [Client(address, name, retries=20) for name in MODELS]

    def run(self) -> None:
        due = time.monotonic()
        asked: list[tuple[Client, str, str]] = []
        k = 0
        while not self.stopping.is_set():
            k += 1
            try:
                self._act(k, asked)
            except (ServiceError, OSError) as problem:
                if getattr(problem, "status", 0) not in (404, 409, 410, 429):  # as is right for late labels
                    self.problem = problem
                    return
                self.counts[f"answers {problem.status}"] += 1  # type: ignore[union-attr]
            due = max(due + self.pause, time.monotonic() - 1)
            time.sleep(max(due - time.monotonic(), 0))

    def _act(self, k: int, asked: list[tuple[Client, str, str]]) -> None:
        one, kind = self.rng.choice(self.clients), self.rng.random()
        x, y = example(self.rng)
        if kind < 0.5:
            pairs = [example(self.rng) for _ in range(self.rng.choice([1, 1, 1, 20]))]
            given = [{"features": x, "id": f"{self.number}-{k}-{j}"} for j, (x, _) in enumerate(pairs)]
            send("POST", f"{self.address}/v1/models/{one.model}/predict", given)
            self.counts["tickets"] += len(pairs)
            for row, (_, label) in zip(given, pairs, strict=True):
                if self.rng.random() < 0.1:
                    asked.append((one, str(row["id"]), label))
            while len(asked) > 20:
                sender, id, label = asked.pop(0)
                self.counts["labels"] += sender.label(id, label)["learned"]
        elif kind < 0.7:
            one.predict(x)
        elif kind < 0.9:
            one.learn(x, y)
            self.counts["examples"] += 1
        elif kind < 0.96:
            one.learn_many(*map(list, zip(*(example(self.rng) for _ in range(50)), strict=True)))
            self.counts["examples"] += 50
        elif kind < 0.98:
            one.explain(x)
        elif kind < 0.995:
            one.metrics()
            send("GET", self.address + "/metrics")
        else:
            name = f"c{self.rng.randrange(8)}"
            self.counts["checkpoints"] += 1
            with contextlib.suppress(ServiceError):  # it may be there, or be written just now
                one.checkpoint(name)
                one.restore(name)
            send("DELETE", f"{self.address}/v1/models/{one.model}/checkpoints/{name}")
        self.counts["requests"] += 1


def megabytes(number: int) -> float:
    """Memory of a process."""
    for line in Path(f"/proc/{number}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise AssertionError(f"process {number} has ended")


def disk(folder: Path, pattern: str) -> float:
    total = 0
    for path in folder.glob(pattern):
        with contextlib.suppress(FileNotFoundError):
            total += path.stat().st_size
    return total / (1 << 20)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--wait", type=int, default=20, help="seconds that tickets wait, and that labeled ids are kept")
    parser.add_argument("--rate", type=float, default=200, help="requests in a second, of all clients")
    parser.add_argument("--clients", type=int, default=4)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, Forge(Path(name) / "log") as forge:
        folder, ports = Path(name), (free_port(), free_port())
        leader, follower = (f"http://127.0.0.1:{port}" for port in ports)
        life = ["--wait", f"{given.wait}s", "--retain", f"{given.wait}s", "--snapshot-after", f"{given.wait}s"]
        options = [*life, "--missing", '"small"', "--max-journal-mb", 64]
        numbers = [
            forge.start("--dir", folder / "a", "--port", ports[0], *options),
            forge.start("--dir", folder / "b", "--port", ports[1], "--follow", leader, *options),
        ]
        while not (is_up(leader) and is_up(follower)):
            time.sleep(0.05)
        for name, model in MODELS.items():
            put(leader, name, model)
        loads = [Load(leader, k, given.rate / given.clients) for k in range(given.clients)]
        for one in loads:
            one.start()
        curve = watch(given.minutes * 60, numbers, folder, loads, leader, follower)
        for one in loads:
            one.stopping.set()
        for one in loads:
            one.join(60)
            assert one.problem is None, one.problem
        for number in numbers[::-1]:
            forge.end(number, signal.SIGTERM)
        log = forge.log.read_text()
        assert "Traceback" not in log, log[-3000:]
    counts = sum((one.counts for one in loads), Counter[str]())
    print({name: f"{count:,}" for name, count in sorted(counts.items())})
    report(curve, counts, given)


def watch(
    seconds: float, numbers: list[int], folder: Path, loads: list[Load], leader: str, follower: str
) -> list[dict[str, float]]:
    """Memory and files, every ten seconds."""
    began, curve = time.monotonic(), []
    events = iter(Client(leader).events())  # somebody looks at the page
    threading.Thread(target=lambda: [None for _ in events], daemon=True).start()
    while (passed := time.monotonic() - began) < seconds:
        time.sleep(min(10, seconds))
        one = {
            "seconds": round(passed),
            "requests": sum(one.counts["requests"] for one in loads),
            "tickets": sum(one.counts["tickets"] for one in loads),
            "leader_mb": round(megabytes(numbers[0]), 1),
            "follower_mb": round(megabytes(numbers[1]), 1),
            "journal_mb": round(disk(folder / "a", "journal*"), 1),
            "follower_journal_mb": round(disk(folder / "b", "journal*"), 1),
            "models_mb": round(disk(folder / "a" / "models", "*"), 1),
        }
        print(one, flush=True)
        curve.append(one)
        problems = [one.problem for one in loads if one.problem is not None]
        assert not problems, problems
    return curve


def report(curve: list[dict[str, float]], counts: Counter[str], given: argparse.Namespace) -> None:
    later = curve[int(len(curve) * SETTLED) :]
    most = {who: max(one[f"{who}_mb"] for one in later) for who in ("leader", "follower")}
    growth = {who: most[who] / later[0][f"{who}_mb"] - 1 for who in most}
    journal = [one["journal_mb"] for one in later]
    trials = f"{given.minutes:g} minutes, {counts['requests']:,} requests, {counts['tickets']:,} tickets"
    found = f"memory of the leader {later[0]['leader_mb']:.0f} MB after a quarter of the time, then at most "
    found += f"{most['leader']:.0f} ({growth['leader']:+.1%}); of the follower {later[0]['follower_mb']:.0f} and "
    found += f"{most['follower']:.0f} ({growth['follower']:+.1%}); "
    found += f"journal {min(journal):.0f} to {max(journal):.0f} MB"
    command = f"fuzz/serve_soak.py --minutes {given.minutes:g} --wait {given.wait} --rate {given.rate:g}"
    note("serve_soak", trials, found.replace("%", " %"), command)


if __name__ == "__main__":
    main()
