"""Clients of ``onlineboost serve`` that label late, send again what was not answered, and note what was."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from typing import Any

from onlineboost.serve import Client, ServiceError, client

vars(client)["_LONGEST"] = 0.05  # seconds between two tries: services come back at once here

Example = tuple[dict[str, Any], str]


def example(rng: random.Random) -> Example:
    size, height = rng.randrange(9), rng.random()
    x = {"size": size, "height": height, "colour": rng.choice(["red", "green", "blue"]), f"word {rng.randrange(40)}": 1}
    return x, "large" if size + 3 * height + rng.random() > 6 else "small"


class Worker(threading.Thread):
    """One client. ``told`` has what was acknowledged: by kind, model and id, what was learned."""

    def __init__(self, address: str, models: list[str], number: int, seed: int, most: int = 8) -> None:
        super().__init__(name=f"client {number}", daemon=True)
        self.clients = {model: Client(address, model, timeout=20.0, retries=10**6) for model in models}
        self.number, self.most, self.rng = number, most, random.Random(1000 * seed + number)
        self.told: dict[tuple[str, str, str], Any] = {}
        self.waiting: list[tuple[str, str, str]] = []
        self.counts, self.problem = Counter[str](), None
        self.stopping = threading.Event()

    def run(self) -> None:
        try:
            k = 0
            while not self.stopping.is_set():
                k += 1
                self._act(f"{self.number}-{k}")
            while self.waiting:
                self._label()
        except (ServiceError, OSError, AssertionError) as problem:
            self.problem = problem
        finally:
            for one in self.clients.values():
                one.close()

    def _act(self, id: str) -> None:
        model = self.rng.choice([*self.clients])
        sender, kind = self.clients[model], self.rng.random()
        if kind < 0.3:
            x, y = example(self.rng)
            self._note("learn", model, id, (x, y), sender.learn(x, y, id=id))
        elif kind < 0.4:
            pairs = [example(self.rng) for _ in range(self.rng.randrange(1, 30))]
            self._note("rows", model, id, pairs, sender.learn_many(*map(list, zip(*pairs, strict=True)), id=id))
        else:
            x, y = example(self.rng)
            sender.ask(x, id)
            self.told["ask", model, id] = None
            self.counts["ask"] += 1
            self.waiting.append((model, id, y))
        while len(self.waiting) > self.most:
            self._label()

    def _label(self) -> None:
        model, id, y = self.waiting.pop(self.rng.randrange(len(self.waiting)))
        self._note("label", model, id, y, self.clients[model].label(id, y))
        if self.rng.random() < 0.1:  # a client that has forgotten that it was answered
            assert self.clients[model].label(id, y).get("again"), f"label {id} was learned twice"

    def _note(self, kind: str, model: str, id: str, what: Any, answer: dict[str, Any]) -> None:
        self.told[kind, model, id] = what
        self.counts[kind] += 1
        self.counts["answered after the disk had it, at the second time"] += bool(answer.get("again"))


def finish(workers: list[Worker], seconds: float = 120.0) -> None:
    """Let all clients label what waits, and end; raise what they have met."""
    for one in workers:
        one.stopping.set()
    end = time.monotonic() + seconds
    for one in workers:
        one.join(max(end - time.monotonic(), 0.1))
        if one.is_alive():
            raise AssertionError(f"{one.name} hangs")
        if one.problem is not None:
            raise AssertionError(f"{one.name}: {one.problem!r}")
