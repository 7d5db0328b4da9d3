"""Error classes."""

from __future__ import annotations


class DataError(ValueError):
    """Input that cannot be used. ``row`` and ``column`` say where, if known."""

    def __init__(self, message: str, *, row: int | None = None, column: object = None) -> None:
        super().__init__(message)
        self.row = row
        self.column = column


class ParameterError(ValueError):
    """A parameter with a wrong value. ``name`` is the parameter."""

    def __init__(self, name: str, value: object, expected: str) -> None:
        text = " ".join(repr(value).split())
        super().__init__(f"{name}={text if len(text) <= 120 else text[:117] + '...'}: expected {expected}")
        self.name = name


class ConflictError(ValueError):
    """Settings that do not go together, or one that has no effect here. The message is a whole sentence."""


class MissingPackageError(ImportError):
    """An optional package that is not installed."""

    def __init__(self, what: str, package: str, install: str) -> None:
        super().__init__(f"{what} needs {package}, which is not installed: pip install {install}", name=package)


class WorkerError(RuntimeError):
    """A worker of a cluster that died, or that cannot do the work."""


class NotFittedError(ValueError, AttributeError):
    """The model has not learnt anything yet."""


class RangeWarning(UserWarning):
    """The values of a feature have left the range that they had so far."""


class TicketError(ValueError):
    """A ticket that cannot be told: of another model, told before, expired, or changed. Nothing was learnt."""


class ModelFileError(ValueError):
    """A model file that cannot be read. ``field`` is the part of it that is wrong."""

    def __init__(self, path: object, field: str, problem: str) -> None:
        super().__init__(f"{path}: {field}: {problem}")
        self.field = field


class ReadError(DataError):
    """A file or text that cannot be read. ``path``, ``line`` and ``column`` say where; lines and columns from 1."""

    def __init__(self, message: str, *, path: str, line: int | None = None, column: object = None) -> None:
        super().__init__(message, row=line, column=column)
        self.path = path
        self.line = line
