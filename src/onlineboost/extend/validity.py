"""Valid states for authors: checks of the arrays of a model file.

A state class may have

| attribute | meaning |
| --- | --- |
| ``derived()`` | names of the arrays that follow from the parameters: model files do not have them |
| ``saved()`` | the arrays of model files by name, if they are not the fields |
| ``limits()`` | the smallest and the largest number of an array, by name; every other array must hold finite numbers |
| ``check()`` | raises ``InvalidStateError`` unless the arrays fit together |

Compiled code does not check its indices: ``limits()`` or ``check()`` must cover all numbers that it uses as an index or
to end a loop.
"""

from onlineboost.storage.validity import (
    InvalidStateError,
    check_products,
    check_state,
    check_values,
    limits_of,
    require,
    saved_arrays,
)

__all__ = [
    "InvalidStateError",
    "check_products",
    "check_state",
    "check_values",
    "limits_of",
    "require",
    "saved_arrays",
]
