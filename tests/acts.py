"""A task of compiling that does as it is told; its processes import this file, so it needs little."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Act:
    action: str
    unpicklable: Any = None

    @property
    def names(self) -> list[str]:
        return [self.action]

    def run(self) -> None:
        print("a library that prints")
        exec(self.action)
