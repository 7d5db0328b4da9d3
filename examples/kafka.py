"""Learn from a partition of a Kafka topic, each event once: the shape of redis_streams.py.

The offset is saved within the model's file, and Kafka's own offsets are not used: no commit can differ from the model.
One process has one partition and one model.

    pip install onlineboost confluent-kafka
    python kafka.py 127.0.0.1:9092 clicks 0 clicks.model
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, TopicPartition

from onlineboost import OnlineBoost
from onlineboost.model import load_all

EVERY, SECONDS = 1000, 10.0


def main(servers: str, topic: str, partition: int, path: Path) -> None:
    model, offset = OnlineBoost(random_state=0), 0
    if path.exists():
        model, _, notes = load_all(path)
        offset = notes["offset"]
    settings = {"bootstrap.servers": servers, "group.id": "onlineboost", "enable.auto.commit": False}
    settings["auto.offset.reset"] = "error"  # if the topic has lost events that were not learned
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, partition, offset)])
    fresh, saved = 0, time.monotonic()
    while True:
        for message in consumer.consume(EVERY, timeout=1.0):
            if message.error():
                raise KafkaException(message.error())
            event = json.loads(message.value())
            model.learn_one(event["features"], event["label"], event.get("weight", 1.0))
            offset, fresh = message.offset() + 1, fresh + 1
        if fresh and (fresh >= EVERY or time.monotonic() - saved > SECONDS):
            model.save(path, notes={"offset": offset})
            fresh, saved = 0, time.monotonic()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
