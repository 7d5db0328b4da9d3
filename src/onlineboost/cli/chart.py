"""A small chart of curves in plain text, for any terminal, any encoding and pipes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

_STEPS = (0.005, 0.01, 0.02, 0.025, 0.05, 0.1)  # from one line to the next
_LINES = 14


def chart(curves: Mapping[str, Sequence[float]], places: Sequence[object]) -> list[str]:
    """Lines of text: the curves, each drawn with its letter, above the places they were measured at.

    The letters stand side by side, so that curves that meet can be told apart.

    >>> for line in chart({"a": [0.2, 0.1], "b": [0.2, 0.0]}, ["May", "June"]):
    ...     print(line)
    0.20 |ab
    0.18 |
    0.16 |
    0.14 |
    0.12 |
    0.10 |     a
    0.08 |
    0.06 |
    0.04 |
    0.02 |
    0.00 |      b
         +---------
          May  June
    """
    highest = max(max(curve) for curve in curves.values())
    step = next((step for step in _STEPS if highest / step <= _LINES - 1), 1 / (_LINES - 1))
    width = max(len(curves), *(len(str(place)) for place in places)) + 1
    digits = max(2, len(f"{step:g}") - 2)
    lines = []
    for level in range(math.ceil(round(highest / step, 6)), -1, -1):
        cells = (
            "".join(letter if round(curve[k] / step) == level else " " for letter, curve in curves.items()).ljust(width)
            for k in range(len(places))
        )
        lines.append(f"{level * step:.{digits}f} |{''.join(cells)}".rstrip())
    margin = " " * (digits + 3)
    axis = "".join(str(place).ljust(width) for place in places).rstrip()
    return [*lines, f"{margin}+{'-' * len(axis)}", f"{margin} {axis}"]
