"""What is known already: a line of JSON for each configuration and number of examples."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from onlineboost.compiled.jit import source_digest
from onlineboost.model import OnlineClassifier
from onlineboost.tuning.runs import Outcome

_START = b'{"key": "'


def is_journal(path: Path) -> bool:
    """Whether a file is empty, or begins as journals do: others are not written to."""
    with path.open("rb") as file:
        start = file.read(len(_START))
    return start == _START[: len(start)]


class Journal:
    """Outcomes by configuration and data. Without a path it remembers nothing.

    Lines of other data, of other configurations and of other versions of this package are left alone.
    """

    def __init__(self, path: Path | None, fingerprint: str) -> None:
        self.path, self.fingerprint = path, fingerprint
        self.known: dict[tuple[str, int], Outcome] = {}
        self._torn = False
        if path is not None and path.exists():
            text = path.read_text(encoding="utf-8", errors="replace")
            self._torn = bool(text) and not text.endswith("\n")  # by a crash: that line is lost, not the next
            for line in text.splitlines():
                self._take(line)

    def _take(self, line: str) -> None:
        try:
            facts = json.loads(line)
            outcome = Outcome(*(facts[name] for name in Outcome._fields))
            self.known[facts["key"], outcome.examples] = outcome
        except (ValueError, TypeError, KeyError):
            return

    def find(self, model: OnlineClassifier, examples: int) -> Outcome | None:
        return self.known.get((self._key(model), examples)) if self.path is not None else None

    def add(self, model: OnlineClassifier, outcome: Outcome) -> None:
        if self.path is None:
            return
        line = json.dumps({"key": self._key(model), **outcome._asdict(), "model": " ".join(repr(model).split())})
        with self.path.open("a", encoding="utf-8") as file:
            file.write("\n" * self._torn + line + "\n")
        self._torn = False

    def _key(self, model: OnlineClassifier) -> str:
        text = json.dumps([source_digest(), self.fingerprint, model.describe()], default=_plain)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(value: Any) -> str:
    """What JSON does not know, such as a learner of another library, by what it is made of."""
    params = value.get_params() if hasattr(value, "get_params") and not isinstance(value, type) else None
    return f"{type(value).__module__}.{type(value).__qualname__} {params if params is not None else value!r}"
