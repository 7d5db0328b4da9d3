"""Tables of what is registered: boosters, learners, formats, metrics."""

from __future__ import annotations

import inspect
from typing import Any

from figures import table

from onlineboost.registry import BOOSTERS, FORMATS, LEARNERS, METRICS

_EVERYWHERE = {"n_estimators", "delivery"}  # options that all boosters have


def _models(registry: Any) -> str:
    by_class: dict[Any, list[Any]] = {}
    for entry in registry:
        by_class.setdefault(entry.make, []).append(entry)
    rows = []
    for made, entries in by_class.items():
        names = ", ".join(f"`{entry.name}`" for entry in entries)
        options = [o.parameter for o in entries[0].options if o.parameter not in _EVERYWHERE and o.parameter != "cross"]
        summary = str(inspect.getdoc(made)).splitlines()[0]
        rows.append([f"`{made.__name__}`", names, summary, ", ".join(f"`{option}`" for option in options)])
    return table(["class", "command line", "description", "options"], rows, words=4)


def blocks() -> dict[str, str]:
    formats = [[known.title, f"`{known.name}`", ", ".join(f"`{s}`" for s in known.suffixes)] for known in FORMATS]
    metrics = [[known.title, f"`{known.name}`", "lower" if known.lower_is_better else "higher"] for known in METRICS]
    return {
        "boosters": _models(BOOSTERS),
        "learners": _models(LEARNERS),
        "formats": table(["format", "name", "file names end in"], formats, words=3),
        "metrics": table(["metric", "name", "better"], metrics, words=3),
    }
