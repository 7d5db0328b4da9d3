"""Feature transforms applied to rows before the committee, one file each."""

from onlineboost.registry import import_modules

import_modules(__name__, __path__)
