"""Limits of memory, by the option that raises each."""

from __future__ import annotations

import numbers

from onlineboost.errors import ParameterError
from onlineboost.registry import Option

MAX_LINE_MB, MAX_BATCH_MB = 16, 1024  # defaults
_MOST = 1 << 20

MAX_LINE = Option("max_line_mb", "Maximum length of a line, in MB.", int, least=1, most=_MOST, default=MAX_LINE_MB)
MAX_BATCH = Option(
    "max_batch_mb", "Maximum memory for a batch of rows, in MB.", int, least=1, most=_MOST, default=MAX_BATCH_MB
)


def bytes_of(option: Option, megabytes: object) -> int:
    """A limit in bytes; a megabyte is 2**20 of them."""
    whole = isinstance(megabytes, numbers.Integral) and not isinstance(megabytes, bool)
    if not whole or not 1 <= int(megabytes) <= _MOST:  # type: ignore[call-overload]
        raise ParameterError(option.parameter, megabytes, f"a whole number of megabytes, from 1 to {_MOST:,}")
    return int(megabytes) << 20  # type: ignore[call-overload]


def beyond(option: Option, limit: int) -> str:
    """The end of an error message: the limit, and how to raise it."""
    return f"the limit is {limit >> 20:,} MB; raise it with {option.parameter}=... if the file is in order"
