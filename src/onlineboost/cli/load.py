"""Model files for the commands that use one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from onlineboost.errors import DataError
from onlineboost.model import OnlineClassifier


class Loaded(NamedTuple):
    model: OnlineClassifier
    base: OnlineClassifier | None  # the base learner, trained on the same stream
    notes: dict[str, Any]


def load(path: Path, streamed: bool = True) -> Loaded:
    """The model, and what the training left beside it."""
    import onlineboost
    from onlineboost import persist

    if not path.expanduser().exists():
        raise FileNotFoundError(f"{path}: no such model; onlineboost train FILES -o {path} makes one")
    model, base, notes = persist.load_all(path, onlineboost.OnlineClassifier.kinds)
    if streamed and model._columns.recipe is None:
        raise DataError(f"{path}: this model was trained on arrays or dicts in Python: use it there")
    return Loaded(model, base, notes or {})
