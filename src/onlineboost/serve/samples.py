"""Samples of the last examples, for event streams."""

from __future__ import annotations

from collections import deque
from typing import Any


class Samples:
    """A few of the last learned examples, as the writer reports them."""

    def __init__(self) -> None:
        self.last: deque[dict[str, Any]] = deque(maxlen=50)
        self.total = 0

    def hear(self, commands: list[Any]) -> None:
        """Called by the writer with each group; keeps the last example of it."""
        for command in reversed(commands):
            sample = command.sample() if command.problem is None and command.events else None
            if sample is not None:
                self.total += 1
                self.last.append({"number": self.total, **sample})
                return
