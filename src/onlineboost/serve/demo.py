"""The stream of the demonstration: images of letters, with labels some seconds later."""

from __future__ import annotations

import heapq
import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from onlineboost.datasets import load_letter
from onlineboost.datasets.letter import NAMES
from onlineboost.serve.client import Client, ServiceError

log = logging.getLogger("onlineboost.serve")
MODEL = "letters"
_LATEST = 10.0  # seconds until a label comes


def examples(start: int = 0, seed: int = 0) -> Iterator[tuple[dict[str, Any], str]]:
    """Endless features and labels. The label changes its meaning every 20,000 examples: concept drift.

    >>> stream = examples()
    >>> [next(stream)[1] for _ in range(3)]
    ['N-Z', 'A-M', 'A-M']
    """
    X, letters = load_letter(letters=True)
    places = np.array([ord(letter) - ord("A") for letter in letters])
    first = places < 13, places % 2 == 0
    k = start
    while True:
        times, row = divmod(k, len(X))
        label = "A-M" if first[times % 2][row] else "N-Z"
        yield dict(zip(NAMES, X[row].astype(int).tolist(), strict=True)), label
        k += 1


class Demo(threading.Thread):
    """Requests predictions from the service at an address, and sends labels later."""

    def __init__(self, address: str, rate: float = 100.0, latest: float = _LATEST) -> None:
        super().__init__(name="onlineboost-demo", daemon=True)
        self.client = Client(address, MODEL)
        self.rate, self.latest = rate, latest
        self.stopping = threading.Event()
        self.labeled = 0

    def run(self) -> None:
        try:
            self._stream()
        except (ServiceError, OSError) as problem:
            if not self.stopping.is_set():
                log.error("the demonstration ends: %s", problem)

    def _stream(self) -> None:
        with self.client:
            if not any(one["name"] == MODEL for one in self.client.models()):
                self.client.create()
            start = int(self.client.metrics()["learned"])
            random = np.random.default_rng(start)
            waiting: list[tuple[float, str, str]] = []  # time of the label, id, label
            due = time.monotonic()
            for features, label in examples(start):
                due = max(due + 1 / self.rate, time.monotonic() - 1.0)  # examples missed in a pause are not sent later
                while waiting and waiting[0][0] <= time.monotonic():
                    _, id, truth = heapq.heappop(waiting)
                    self.client.label(id, truth)
                    self.labeled += 1
                if self.stopping.wait(max(due - time.monotonic(), 0.0)):
                    return
                asked = self.client.ask(features)
                heapq.heappush(waiting, (time.monotonic() + random.uniform(0, self.latest), str(asked.id), label))

    def stop(self) -> None:
        self.stopping.set()
        self.join(10)
