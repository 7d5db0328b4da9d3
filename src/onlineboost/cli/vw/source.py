"""What the beginning of the data tells: which namespaces there are, and whether labels are numbers."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from onlineboost.cli.choice import are_numbers


class Source:
    """VW text that need not exist: the command may be for another machine."""

    def __init__(self, path: str) -> None:
        self.path = path

    @property
    def exists(self) -> bool:
        return Path(self.path).is_file()

    @cached_property
    def lines(self) -> list[str]:
        """The first lines, of 64 KB at most."""
        from onlineboost.readers.files import Source as File

        if not self.exists:
            return []
        with File(self.path) as file:
            start = file.head()
        return (start[: start.rfind(b"\n") + 1] or start).decode(errors="replace").splitlines()

    @property
    def labels(self) -> set[float]:
        """Different labels; none if some are not numbers, which ``train`` will say."""
        words = [line.partition("|")[0].split() for line in self.lines]
        try:
            return {float(before[0]) for before in words if before}
        except ValueError:
            return set()

    @property
    def has_numbers(self) -> bool:
        """Whether labels are numbers rather than classes, by the rule of ``train --task auto``."""
        return are_numbers(self.labels)

    @property
    def namespaces(self) -> list[str]:
        """Namespaces in the order in which they come."""
        parts = [part for line in self.lines for part in line.split("|")[1:] if not part[:1].isspace()]
        return list(dict.fromkeys(part.split()[0].partition(":")[0] for part in parts if part.strip()))

    def beginning_with(self, letter: str) -> list[str]:
        """Namespaces that begin with a letter, or the letter if there are none."""
        return [name for name in self.namespaces if name.startswith(letter)] or [letter]
