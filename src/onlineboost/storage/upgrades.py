"""Upgrades of model files: one function for each step from a format to the next.

A change of the format increments ``FORMAT`` and adds a function from the format before to the new one: ``UPGRADES[2]``
takes the arrays and facts of format 2 and returns those of format 3. Nothing else knows old formats. Some models cannot
be continued: those of format 1, which numbered their features in another way for each kind of source, and ``Adaptive``
of format 2, which weighed its two parts in another way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

FORMAT = 3
OLDEST = 2  # models of formats before it must be trained again

Arrays = dict[str, NDArray[Any]]
Facts = dict[str, Any]


class OutdatedError(ValueError):
    """A model that cannot be continued."""


def _without_adaptive(arrays: Arrays, facts: Facts) -> tuple[Arrays, Facts]:
    if any(part["class"] == "Adaptive" for part in facts["parts"].values()):
        raise OutdatedError("is 2, with an Adaptive model of an older onlineboost: train the model again")
    return arrays, facts


UPGRADES: dict[int, Callable[[Arrays, Facts], tuple[Arrays, Facts]]] = {2: _without_adaptive}


def upgraded(arrays: Arrays, facts: Facts) -> tuple[Arrays, Facts]:
    """The contents of a file of any format, in the current one."""
    for format in range(facts["format"], FORMAT):
        arrays, facts = UPGRADES[format](arrays, facts)
    return arrays, facts
