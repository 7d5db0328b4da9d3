"""Memory of a model: its size, and whether a part has used its share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from onlineboost.engine.node import Node


def n_bytes(root: Node) -> int:
    """Bytes that the states of a model take, without room that is reserved for more."""
    arrays = {array.ctypes.data: array.nbytes for state in root.states().values() for array in _arrays(state)}
    unused: int = sum(leaf.learner.unused(leaf.committee) for leaf in root.committees)
    return sum(arrays.values()) - unused


def is_full(root: Node) -> bool:
    """Whether a part has used all its memory, so that it cannot learn further features or nodes."""
    return any(leaf.learner.is_full(leaf.committee, leaf.transforms) for leaf in root.committees)


def _arrays(state: Any) -> Iterator[np.ndarray[Any, Any]]:
    for value in state:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, tuple):
            yield from _arrays(value)
