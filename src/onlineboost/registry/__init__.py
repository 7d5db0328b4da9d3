"""What can be named: boosters, learners, transforms, file formats, metrics. Each registers itself in its own file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onlineboost.registry.option import Option, merged
from onlineboost.registry.registry import Model, Named, Registry, import_modules

if TYPE_CHECKING:
    from onlineboost.evaluate.metrics.metric import Metric

BOOSTERS: Registry[Model] = Registry("booster", "onlineboost.boosters")
LEARNERS: Registry[Model] = Registry("learner", "onlineboost.learners")
METRICS: Registry[Metric] = Registry("metric", "onlineboost.evaluate.metrics")

__all__ = ["BOOSTERS", "LEARNERS", "METRICS", "Model", "Named", "Option", "Registry", "import_modules", "merged"]
