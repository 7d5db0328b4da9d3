"""Valid states: what a state class says of its arrays, and how the numbers of a model file are held against it.

A state class may have

| attribute | meaning |
| --- | --- |
| ``derived()`` | names of the arrays that follow from the parameters: model files do not have them |
| ``saved()`` | the arrays of model files by name, where they are not the fields |
| ``fill(arrays)`` | takes these back, where they are copies |
| ``limits()`` | the smallest and the largest number of an array, by name; every other array must hold finite numbers |
| ``check()`` | raises ``InvalidStateError`` unless the arrays fit together |

Compiled code does not check its indices: whatever it uses as an index, and whatever ends its loops, must be in one of
the last two.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.jit import njit

Limits: TypeAlias = dict[str, tuple[float, float]]

MAX_FLOAT32 = float(np.finfo(np.float32).max)
HUGE = 1e100  # magnitude of float64 numbers: sums of weights and squares of features are far below it
COUNT = (0, 1 << 62)  # numbers of examples
SUM = (0.0, HUGE)  # sums of weights
_LEAST_PRODUCT = 1e-290  # products of tiny numbers are not exact
_DEFAULTS: dict[str, tuple[float, float]] = {
    "float32": (-MAX_FLOAT32, MAX_FLOAT32),
    "float64": (-HUGE, HUGE),
    "bool": (0, 1),
}


class InvalidStateError(ValueError):
    """A state that learning cannot lead to. ``field`` is the array that is wrong."""

    def __init__(self, field: str, expected: str) -> None:
        super().__init__(f"expected {expected}")
        self.field, self.expected = field, expected


def require(condition: bool, field: str, expected: str) -> None:
    """Raise an error unless the condition holds."""
    if not condition:
        raise InvalidStateError(field, expected)


def saved_arrays(state: Any) -> dict[str, NDArray[Any]]:
    """The arrays of a state that do not follow from anything else, by name."""
    if hasattr(state, "saved"):
        return state.saved()  # type: ignore[no-any-return]
    derived = state.derived() if hasattr(state, "derived") else ()
    fields = zip(state._fields, state, strict=True)
    return {name: value for name, value in fields if isinstance(value, np.ndarray) and name not in derived}


def limits_of(state: Any) -> Limits:
    return state.limits() if hasattr(state, "limits") else {}


def check_values(field: str, array: NDArray[Any], limits: Limits) -> None:
    """Raise an error unless all numbers are within the limits of this field."""
    if field not in limits and array.dtype.kind in "iu":
        return
    low, high = limits.get(field) or _DEFAULTS[array.dtype.name]
    flat = array.reshape(-1)
    if array.dtype.kind == "f":
        inside = _inside(flat, flat.dtype.type(low), flat.dtype.type(high))
    else:  # a bool of another byte than 0 and 1 is neither true nor false
        flat = flat.view(np.uint8) if array.dtype == np.bool_ else flat
        inside = not flat.size or bool(low <= flat.min() and flat.max() <= high)
    require(inside, field, "finite numbers" if field not in limits else f"numbers from {low:g} to {high:g}")


def check_products(field: str, products: NDArray[np.float64]) -> None:
    """Raise an error unless upper triangles [..., n, n] can be sums of x x': Cauchy and Schwarz."""
    squares = np.diagonal(products, axis1=-2, axis2=-1)
    require(bool((squares >= 0).all()), field, "sums of squares on the diagonal")
    roots = np.sqrt(squares) * (1 + 1e-6)
    most = roots[..., :, None] * roots[..., None, :] + _LEAST_PRODUCT
    require(bool((np.abs(np.triu(products)) <= most).all()), field, "products no larger than their squares allow")


def check_state(name: str, state: Any) -> None:
    """Raise an error unless a state is one that a model file may have; ``name`` is that of the state."""
    try:
        limits = limits_of(state)
        for field, array in saved_arrays(state).items():
            check_values(field, array, limits)
        if hasattr(state, "check"):
            state.check()
    except InvalidStateError as problem:
        raise InvalidStateError(f"{name}.{problem.field}", problem.expected) from None


@njit
def _inside(numbers: Any, low: Any, high: Any) -> bool:
    outside = 0
    for k in range(numbers.size):  # counted without a branch, which the compiler turns into vector code; NaN is outside
        outside += not ((low <= numbers[k]) & (numbers[k] <= high))
    return outside == 0
