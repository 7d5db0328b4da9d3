"""Registries by name: boosters, learners, transforms, file formats, metrics. Each registers itself in its own file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onlineboost.registry.registry import Entry, Named, Option, Registry, import_modules, merged

if TYPE_CHECKING:
    from onlineboost.evaluate.metrics.metric import Metric
    from onlineboost.readers.format import Format

BOOSTERS: Registry[Entry] = Registry("booster", "onlineboost.boosters")
LEARNERS: Registry[Entry] = Registry("learner", "onlineboost.learners")
FORMATS: Registry[Format] = Registry("format", "onlineboost.readers.formats")
METRICS: Registry[Metric] = Registry("metric", "onlineboost.evaluate.metrics")
TRANSFORMS: Registry[Entry] = Registry("transform", "onlineboost.transforms")

__all__ = [
    "BOOSTERS",
    "FORMATS",
    "LEARNERS",
    "METRICS",
    "TRANSFORMS",
    "Entry",
    "Named",
    "Option",
    "Registry",
    "import_modules",
    "merged",
]
