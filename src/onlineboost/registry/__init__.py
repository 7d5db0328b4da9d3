"""What can be named: boosters, learners, transforms, file formats, metrics. Each registers itself in its own file."""

from onlineboost.registry.option import Option, merged
from onlineboost.registry.registry import Entry, Named, Registry, import_modules

BOOSTERS: Registry[Entry] = Registry("booster", "onlineboost.boosters")
LEARNERS: Registry[Entry] = Registry("learner", "onlineboost.learners")
TRANSFORMS: Registry[Entry] = Registry("transform", "onlineboost.transforms")

__all__ = ["BOOSTERS", "LEARNERS", "TRANSFORMS", "Entry", "Named", "Option", "Registry", "import_modules", "merged"]
