"""Upgrades of model files: one function for each step from a format to the next.

A change of the format increments ``FORMAT`` and adds a function from the format before to the new one: ``UPGRADES[2]``
takes the arrays and facts of format 2 and returns those of format 3. Nothing else knows old formats. Models of format 1
numbered their features in another way for each kind of source: they cannot be continued.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

FORMAT = 2
OLDEST = 2  # models of formats before it must be trained again

Arrays = dict[str, NDArray[Any]]
Facts = dict[str, Any]

UPGRADES: dict[int, Callable[[Arrays, Facts], tuple[Arrays, Facts]]] = {}


def upgraded(arrays: Arrays, facts: Facts) -> tuple[Arrays, Facts]:
    """The contents of a file of any format, in the current one."""
    for format in range(facts["format"], FORMAT):
        arrays, facts = UPGRADES[format](arrays, facts)
    return arrays, facts
