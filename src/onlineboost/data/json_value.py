"""Conversion of values to types of JSON."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import numpy as np

from onlineboost.data.batch import LARGEST

CONTAINERS = frozenset((list, tuple, dict))
_KINDS = CONTAINERS | {float, int, bool, str, type(None)}


def plain(value: Any) -> Any:
    """NumPy's values, dates, durations, decimals, missing values of pandas and mappings, for JSON; else a TypeError.

    >>> from datetime import date
    >>> plain(date(2026, 11, 15)), plain(np.arange(2))
    ('2026-11-15', [0, 1])
    """
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").tolist()  # nanoseconds would be a number
    if isinstance(value, np.timedelta64):
        return None if np.isnat(value) else float(value / np.timedelta64(1, "s"))
    if value is None or type(value).__name__ in ("NaTType", "NAType"):
        return None
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, numbers.Number) and not isinstance(value, complex):
        return float(value)  # type: ignore[arg-type]
    if isinstance(value, timedelta):
        return value.total_seconds()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__}")


def json_value(value: Any) -> Any:
    """A value of a JSON type, not of a subclass; a ValueError if it cannot be converted safely."""
    if type(value) in _KINDS:
        return value
    if isinstance(value, str | int | float | list | tuple | dict) and not isinstance(value, np.generic):
        raise ValueError(f"a {type(value).__name__}")
    try:
        value = plain(value)
    except (ArithmeticError, TypeError) as problem:
        raise ValueError(str(problem)) from problem
    if type(value) not in _KINDS:
        raise ValueError(f"a {type(value).__name__}")
    return value


def check_readable(value: Any) -> None:
    """Raise a ValueError unless a value surely can be read as JSON, where it is no feature."""
    value = json_value(value)
    if isinstance(value, str):
        value.encode()
    elif type(value) in CONTAINERS or (value is not None and abs(value) > LARGEST):
        raise ValueError(f"a {type(value).__name__}")
