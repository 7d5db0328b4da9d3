"""Registries for authors: boosters, learners, transforms, file formats and metrics by name, and their options."""

from onlineboost.registry import (
    BOOSTERS,
    FORMATS,
    LEARNERS,
    METRICS,
    TRANSFORMS,
    Entry,
    Named,
    Option,
    Registry,
    import_modules,
    merged,
)

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
