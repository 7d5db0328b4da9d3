"""File formats, one file each: every module registers its format."""

from onlineboost.registry import import_modules

import_modules(__name__, __path__)
