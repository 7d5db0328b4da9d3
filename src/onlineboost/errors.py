"""Error classes."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Sequence

__all__ = [
    "ConflictError",
    "DataError",
    "ForkError",
    "KernelError",
    "MemoryWarning",
    "MissingPackageError",
    "ModelFileError",
    "NotFittedError",
    "ParameterError",
    "RangeWarning",
    "ReadError",
    "ReadWarning",
    "TicketError",
    "WorkerError",
]


def shown(value: object) -> str:
    """``repr`` of any value, also of whole numbers too long for Python to print."""
    try:
        return repr(value)
    except ValueError:
        return "a number of thousands of digits"


class DataError(ValueError):
    """Input that cannot be used.

    Parameters
    ----------
    message : str
        Error message.
    row : int or None, default=None
        Number of the row, if known.
    column : object, default=None
        Name or number of the column, if known.

    Examples
    --------
    >>> from onlineboost import Linear
    >>> Linear().learn_one({"size": float("inf")}, 1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    onlineboost.errors.DataError: x has inf for the feature 'size': expected a number of magnitude at most 1e+18, ...
    """

    def __init__(self, message: str, *, row: int | None = None, column: object = None) -> None:
        super().__init__(message)
        self.row = row
        self.column = column


class ParameterError(ValueError):
    """A parameter with a wrong value.

    Parameters
    ----------
    name : str
        Name of the parameter.
    value : object
        Its value.
    expected : str
        Description of the expected values.

    Examples
    --------
    >>> from onlineboost import Linear
    >>> Linear(learning_rate=-1).fit([[1.0], [2.0]], [0, 1])
    Traceback (most recent call last):
    onlineboost.errors.ParameterError: learning_rate=-1: expected a finite number above 0
    """

    def __init__(self, name: str, value: object, expected: str) -> None:
        text = " ".join(shown(value).split())
        super().__init__(f"{name}={text if len(text) <= 120 else text[:117] + '...'}: expected {expected}")
        self.name = name


class ConflictError(ValueError):
    """Settings that cannot be combined, or that have no effect. The message is a whole sentence."""


class MissingPackageError(ImportError):
    """An optional package that is not installed.

    Parameters
    ----------
    what : str
        Feature that needs the package.
    package : str
        Name of the package.
    install : str
        Argument of ``pip install``.
    """

    def __init__(self, what: str, package: str, install: str) -> None:
        super().__init__(f"{what} needs {package}, which is not installed: pip install {install}", name=package)


class WorkerError(RuntimeError):
    """A worker of a cluster that died, or that cannot do the work."""


class ForkError(RuntimeError):
    """A model or stream that a forked process cannot use, because a thread of the parent was changing it."""


class NotFittedError(ValueError, AttributeError):
    """The model has not learned anything yet.

    Examples
    --------
    >>> from onlineboost import Linear
    >>> Linear().predict([[1.0]])
    Traceback (most recent call last):
    onlineboost.errors.NotFittedError: this Linear has learned nothing yet: call fit, partial_fit or learn_one
    """


def not_fitted(message: str) -> NotFittedError:
    """The error of an unfitted model; also scikit-learn's own class, if that is loaded."""
    theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
    return NotFittedError(message) if theirs is None else _both(theirs)(message)


@functools.cache
def _both(theirs: type[Exception]) -> Callable[[str], NotFittedError]:
    return type("NotFittedError", (NotFittedError, theirs), {"__module__": __name__})


def listed(names: Sequence[object]) -> str:
    """The first few names or labels, for a message."""
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")


def warn_of_column() -> None:
    """Warn that labels came as a column of a table; with scikit-learn's warning class, if that is loaded."""
    kind = getattr(sys.modules.get("sklearn.exceptions"), "DataConversionWarning", UserWarning)
    message = "A column-vector y was passed when a 1d array was expected: pass y.ravel()"
    warnings.warn(message, kind, stacklevel=5)


class RangeWarning(UserWarning):
    """Values of a feature outside of its range so far."""


class MemoryWarning(UserWarning):
    """A model that has used all memory of its limit (``max_mb``)."""


class ReadWarning(UserWarning):
    """A way of reading a file that was guessed, or may be wrong."""


class TicketError(ValueError):
    """A ticket that cannot be labeled: of another model, labeled before, expired, or changed. Nothing was learned.

    Examples
    --------
    >>> from onlineboost import Linear
    >>> model = Linear().fit([[1.0], [2.0]], [0, 1])
    >>> ticket = model.ask({0: 1.0})
    >>> model.tell(ticket, 1)
    >>> model.tell(ticket, 1)
    Traceback (most recent call last):
    onlineboost.errors.TicketError: ticket 0 was labeled before, or has expired
    """


class KernelError(TypeError):
    """A function of a custom booster or learner that cannot be compiled, or breaks its contract."""


class ModelFileError(ValueError):
    """A model file that cannot be read.

    Parameters
    ----------
    path : object
        Model file.
    field : str
        Part of the file that is wrong.
    problem : str
        Description of the problem.

    Examples
    --------
    >>> import onlineboost
    >>> try:
    ...     onlineboost.load(onlineboost.__file__)
    ... except onlineboost.errors.ModelFileError as error:
    ...     print(error.field)
    container
    """

    def __init__(self, path: object, field: str, problem: str) -> None:
        super().__init__(f"{path}: {field}: {problem}")
        self.field = field


class ReadError(DataError):
    """A file or text that cannot be read.

    Parameters
    ----------
    message : str
        Error message.
    path : str
        File.
    line : int or None, default=None
        Number of the line, from 1, if known.
    column : object, default=None
        Name or number of the column, from 1, if known.

    Examples
    --------
    >>> from onlineboost.readers import open_stream
    >>> rows = [{"day": "1.2.2026", "label": 1}, {"day": "soon", "label": 0}]
    >>> try:
    ...     list(open_stream(rows, day_first="day"))
    ... except ReadError as error:
    ...     print(error.line, error.column)
    2 9
    """

    def __init__(self, message: str, *, path: str, line: int | None = None, column: object = None) -> None:
        super().__init__(message, row=line, column=column)
        self.path = path
        self.line = line
