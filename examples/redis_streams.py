"""Learn from a Redis stream, each event once.

The offset is saved within the model's file, so both are always of the same moment: after kill -9 the consumer goes on
behind the last event of the saved model, and the events after it are learned again by a model that has not seen them.

    pip install onlineboost redis
    redis-cli XADD clicks '*' example '{"features": {"size": 3, "color": "red"}, "label": 1}'
    python redis_streams.py clicks clicks.model
"""

from __future__ import annotations

import argparse
import json
import signal
import time
from pathlib import Path

import redis

from onlineboost import OnlineBoost
from onlineboost.model import load_all


def start(path: Path):
    """The model and the offset behind which it goes on."""
    if not path.exists():
        return OnlineBoost(random_state=0), "0-0"
    model, _, notes = load_all(path)
    return model, notes["offset"]


def consume(
    server: redis.Redis, stream: str, path: Path, *, every: int = 1000, seconds: float = 10.0, wait: int = 1000
):
    """Learn what comes; yields after each save."""
    model, offset = start(path)
    fresh, saved = 0, time.monotonic()
    while True:
        found = server.xread({stream: offset}, count=every, block=wait)
        for entry, fields in found[0][1] if found else []:
            event = json.loads(fields[b"example"])
            model.learn_one(event["features"], event["label"], event.get("weight", 1.0))
            offset, fresh = entry.decode(), fresh + 1
        if fresh and (fresh >= every or not found or time.monotonic() - saved > seconds):
            model.save(path, notes={"offset": offset})
            fresh, saved = 0, time.monotonic()
        yield model, offset


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("stream")
    options.add_argument("model", type=Path)
    options.add_argument("--redis", default="redis://127.0.0.1:6379")
    options.add_argument("--every", type=int, default=1000, help="events between two saves")
    given = options.parse_args()
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(1))
    server = redis.Redis.from_url(given.redis)
    for model, offset in consume(server, given.stream, given.model, every=given.every):
        if stopping:
            if offset != "0-0":
                model.save(given.model, notes={"offset": offset})
            return


if __name__ == "__main__":
    main()
