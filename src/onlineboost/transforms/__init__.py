"""Transforms of features, one file each: what rows pass before the committee sees them."""

from onlineboost.registry import import_modules

import_modules(__name__, __path__)
