"""What can be named: boosters, learners, transforms, file formats, metrics. Each registers itself in its own file."""

from onlineboost.registry.option import Option, merged
from onlineboost.registry.registry import Model, Named, Registry, import_modules

BOOSTERS: Registry[Model] = Registry("booster", "onlineboost.boosters")
LEARNERS: Registry[Model] = Registry("learner", "onlineboost.learners")

__all__ = ["BOOSTERS", "LEARNERS", "Model", "Named", "Option", "Registry", "import_modules", "merged"]
