"""Feature transforms applied to rows before the committee, one file each."""

from onlineboost.registry import import_modules
from onlineboost.transforms.binner import Binner

import_modules(__name__, __path__)

__all__ = ["Binner"]
