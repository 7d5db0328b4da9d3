"""The journal: finished results, one line of JSON for each configuration and number of examples."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from onlineboost.compiled.cache import source_digest
from onlineboost.model import OnlineModel
from onlineboost.tuning.runs import Outcome

_START = b'{"key": "'


def is_journal(path: Path) -> bool:
    """Whether a file is empty or begins like a journal; other files must not be written to."""
    with path.open("rb") as file:
        start = file.read(len(_START))
    return start == _START[: len(start)]


class Journal:
    """Outcomes by configuration and data; without a path it is always empty.

    Lines of other data, configurations and package versions are ignored and kept.
    """

    def __init__(self, path: Path | None, fingerprint: str) -> None:
        self.path, self.fingerprint = path, fingerprint
        self.known: dict[tuple[str, int], Outcome] = {}
        self._incomplete = False  # the last line was cut off by a crash
        if path is not None and path.exists():
            text = path.read_text(encoding="utf-8", errors="replace")
            self._incomplete = bool(text) and not text.endswith("\n")
            for line in text.splitlines():
                self._parse(line)

    def _parse(self, line: str) -> None:
        try:
            facts = json.loads(line)
            outcome = Outcome(**{name: facts[name] for name in Outcome._fields if name != "numbers" or name in facts})
            self.known[facts["key"], outcome.examples] = outcome
        except (ValueError, TypeError, KeyError):
            return

    def find(self, model: OnlineModel, examples: int) -> Outcome | None:
        return self.known.get((self._key(model), examples)) if self.path is not None else None

    def add(self, model: OnlineModel, outcome: Outcome) -> None:
        if self.path is None:
            return
        line = json.dumps({"key": self._key(model), **outcome._asdict(), "model": " ".join(repr(model).split())})
        with self.path.open("a", encoding="utf-8") as file:
            file.write("\n" * self._incomplete + line + "\n")
        self._incomplete = False

    def _key(self, model: OnlineModel) -> str:
        text = json.dumps([source_digest(), self.fingerprint, model.describe()], default=_plain)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(value: Any) -> str:
    """Text for objects outside JSON, such as a learner of another library: its class and parameters."""
    params = value.get_params() if hasattr(value, "get_params") and not isinstance(value, type) else None
    return f"{type(value).__module__}.{type(value).__qualname__} {params if params is not None else value!r}"
