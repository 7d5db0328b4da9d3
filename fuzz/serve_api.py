"""Requests drawn from the OpenAPI document of a service: no unforeseen error, no hang, the same bits after a replay.

python fuzz/serve_api.py [--requests 20000] [--seed 0]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import hypothesis
from endurance import note
from hypothesis import HealthCheck, Phase, given, settings

sys.path.append(str(Path(__file__).parents[1] / "tests" / "serve"))
from drawn import Drawn, Sender, requests
from serve_forks import Forge, free_port, is_up, send

PART = 2000  # requests to one service


def run(number: int, seed: int, folder: Path, counts: Counter[str]) -> None:
    """Requests to a new service; then it is killed, and replays what it has learned."""
    with Forge(folder / "log") as forge:
        port = free_port()
        address, options = f"http://127.0.0.1:{port}", ["--dir", folder / "state", "--port", port, "--max-queue", 100]
        running = forge.start(*options)
        wait_for(address)
        document = send("GET", address + "/openapi.json")
        sender = Sender(address)

        @hypothesis.seed(seed)
        @settings(
            max_examples=number,
            deadline=None,
            database=None,
            suppress_health_check=[*HealthCheck],
            phases=[Phase.generate, Phase.shrink],
        )
        @given(requests(document))
        def draw(one: Drawn) -> None:
            if not send("GET", address + "/v1/status")["models"]:
                send("PUT", address + "/v1/models/m", {"model": "Perceptron"})
            began = time.monotonic()
            counts[f"status {sender(one)}"] += 1
            counts["slowest, ms"] = max(counts["slowest, ms"], round(1000 * (time.monotonic() - began)))

        try:
            draw()
        except BaseException:
            forge.show()
            raise
        sender.close()
        before = send("GET", address + "/v1/digest")
        forge.end(running)
        forge.start(*options)
        wait_for(address)
        assert send("GET", address + f"/v1/digest?at={before['seq']}") == before, "the replay has other bits"
        log = (folder / "log").read_text()
        assert "Traceback" not in log and "unforeseen" not in log and "cannot be applied" not in log, log[-3000:]
        counts["events replayed"] += before["seq"]


def wait_for(address: str) -> None:
    while not is_up(address):
        time.sleep(0.02)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    for k in range(-(-given.requests // PART)):
        with tempfile.TemporaryDirectory() as folder:
            run(PART, given.seed + k, Path(folder), counts)
        print(k, dict(sorted(counts.items())), flush=True)
    sent = sum(count for name, count in counts.items() if name.startswith("status"))
    good = sum(count for name, count in counts.items() if name.startswith("status 2"))
    found = (
        f"no unforeseen error, no traceback, no hang; {100 * good / sent:.0f} % were accepted; the slowest answer took "
    )
    found += f"{counts['slowest, ms']:,} ms; the same bits after each replay"
    note("serve_api", f"{sent:,} requests", found, f"fuzz/serve_api.py --requests {given.requests} --seed {given.seed}")


if __name__ == "__main__":
    main()
