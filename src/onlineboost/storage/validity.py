"""Valid states: rules of state classes for their arrays, and the check of model files by them.

A state class may have

| attribute | meaning |
| --- | --- |
| ``derived()`` | names of the arrays that follow from the parameters: model files do not have them |
| ``saved()`` | the arrays of model files by name, where they are not the fields |
| ``fill(arrays)`` | takes these back, where they are copies |
| ``limits()`` | the smallest and the largest number of an array, by name; every other array must hold finite numbers |
| ``check()`` | raises ``InvalidStateError`` unless the arrays fit together |

Compiled code does not check its indices: all numbers that it uses as an index or to end a loop must be covered by one
of the last two.
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
    """A state that learning cannot produce.

    Parameters
    ----------
    field : str
        Array that is wrong.
    expected : str
        Description of the expected numbers.
    """

    def __init__(self, field: str, expected: str) -> None:
        super().__init__(f"expected {expected}")
        self.field, self.expected = field, expected


def require(condition: bool, field: str, expected: str) -> None:
    """Raise an error unless a condition holds.

    Parameters
    ----------
    condition : bool
        Condition.
    field : str
        Name of the array, for the message.
    expected : str
        Description of the expected numbers, for the message.

    Raises
    ------
    InvalidStateError
        The condition is False.

    Examples
    --------
    >>> from onlineboost.extend.validity import InvalidStateError, require
    >>> try:
    ...     require(False, "depth", "numbers up to 5")
    ... except InvalidStateError as error:
    ...     print(error)
    expected numbers up to 5
    """
    if not condition:
        raise InvalidStateError(field, expected)


def saved_arrays(state: Any) -> dict[str, NDArray[Any]]:
    """The arrays of a state that do not follow from anything else, as in model files.

    Parameters
    ----------
    state : NamedTuple of arrays
        State of a learner, a booster or another part of a model.

    Returns
    -------
    dict
        Arrays by name.

    Examples
    --------
    >>> from onlineboost import AdaBoostOL
    >>> from onlineboost.extend.validity import saved_arrays
    >>> saved_arrays(AdaBoostOL().initial_state(3, False, 0))["alpha"].size
    3
    """
    if hasattr(state, "saved"):
        return state.saved()  # type: ignore[no-any-return]
    derived = state.derived() if hasattr(state, "derived") else ()
    fields = zip(state._fields, state, strict=True)
    return {name: value for name, value in fields if isinstance(value, np.ndarray) and name not in derived}


def limits_of(state: Any) -> Limits:
    """The smallest and the largest number of each array of a state, by name.

    Parameters
    ----------
    state : NamedTuple of arrays
        State of a learner, a booster or another part of a model.

    Returns
    -------
    dict
        Pairs of numbers by the name of the array; empty if the state class has no ``limits``.

    Examples
    --------
    >>> from onlineboost import AdaBoostOL
    >>> from onlineboost.extend.validity import limits_of
    >>> limits_of(AdaBoostOL().initial_state(3, False, 0))["alpha"]
    (-2, 2)
    """
    return state.limits() if hasattr(state, "limits") else {}


def check_values(field: str, array: NDArray[Any], limits: Limits) -> None:
    """Raise an error unless all numbers are within the limits of their field.

    Parameters
    ----------
    field : str
        Name of the array.
    array : array
        Numbers.
    limits : dict
        Smallest and largest number by field, as ``limits_of`` returns them.

    Raises
    ------
    InvalidStateError
        A number is outside the limits, or is not finite.

    Examples
    --------
    >>> from onlineboost.extend.validity import InvalidStateError, check_values
    >>> try:
    ...     check_values("depth", np.array([1.0, 7.0]), {"depth": (0, 5)})
    ... except InvalidStateError as error:
    ...     print(error)
    expected numbers from 0 to 5
    """
    if field not in limits and array.dtype.kind in "iu":
        return
    low, high = limits.get(field) or _DEFAULTS[array.dtype.name]
    flat = array.reshape(-1)
    if array.dtype.kind == "f":
        inside = _inside(flat, flat.dtype.type(low), flat.dtype.type(high))
    else:  # a bool with another byte than 0 and 1 is neither true nor false
        flat = flat.view(np.uint8) if array.dtype == np.bool_ else flat
        inside = not flat.size or bool(low <= flat.min() and flat.max() <= high)
    require(inside, field, "finite numbers" if field not in limits else f"numbers from {low:g} to {high:g}")


def check_products(field: str, products: NDArray[np.float64]) -> None:
    """Raise an error unless upper triangles can be sums of x x', by the inequality of Cauchy and Schwarz.

    Parameters
    ----------
    field : str
        Name of the array, for the message.
    products : array of shape (..., n, n)
        Upper triangles.

    Raises
    ------
    InvalidStateError
        A product is too large, or a square is negative.

    Examples
    --------
    >>> from onlineboost.extend.validity import InvalidStateError, check_products
    >>> check_products("products", np.eye(2))
    >>> try:
    ...     check_products("products", np.array([[1.0, 9.0], [0.0, 1.0]]))
    ... except InvalidStateError as error:
    ...     print(len(error.field))
    8
    """
    squares = np.diagonal(products, axis1=-2, axis2=-1)
    require(bool((squares >= 0).all()), field, "sums of squares on the diagonal")
    roots = np.sqrt(squares) * (1 + 1e-6)
    most = roots[..., :, None] * roots[..., None, :] + _LEAST_PRODUCT
    require(bool((np.abs(np.triu(products)) <= most).all()), field, "products no larger than their squares allow")


def check_state(name: str, state: Any) -> None:
    """Raise an error unless a state is one that a model file may contain.

    Parameters
    ----------
    name : str
        Name of the state, for the message.
    state : NamedTuple of arrays
        State of a learner, a booster or another part of a model.

    Raises
    ------
    InvalidStateError
        An array has a number outside its limits, or arrays do not fit together.

    Examples
    --------
    >>> from onlineboost import Tree
    >>> from onlineboost.extend.validity import check_state, saved_arrays
    >>> state = Tree().committee(3, 4)
    >>> check_state("tree", state)
    >>> len(saved_arrays(state))
    11
    """
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
