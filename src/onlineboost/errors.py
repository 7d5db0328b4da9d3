"""Errors, each with the place where it happened."""

from __future__ import annotations


class DataError(ValueError):
    """Input that cannot be learnt from or predicted on. ``row`` and ``column`` say where, if it is in one place."""

    def __init__(self, message: str, *, row: int | None = None, column: object = None) -> None:
        super().__init__(message)
        self.row = row
        self.column = column


class ParameterError(ValueError):
    """A parameter outside its range. ``name`` says which."""

    def __init__(self, name: str, value: object, expected: str) -> None:
        shown = " ".join(repr(value).split())
        super().__init__(f"{name}={shown if len(shown) <= 120 else shown[:117] + '...'}: expected {expected}")
        self.name = name


class ConflictError(ValueError):
    """Settings that do not go together, or one that has no effect here. The message is a whole sentence."""


class MissingPackageError(ImportError):
    """An optional package that is not installed."""

    def __init__(self, what: str, package: str, install: str) -> None:
        super().__init__(f"{what} needs {package}, which is not installed: pip install {install}", name=package)


class NotFittedError(ValueError, AttributeError):
    """The model has not learnt anything yet."""


class ModelFileError(ValueError):
    """A model file that cannot be read. ``field`` says what in it."""

    def __init__(self, path: object, field: str, problem: str) -> None:
        super().__init__(f"{path}: {field}: {problem}")
        self.field = field


class ReadError(DataError):
    """Text or a file that cannot be read. ``path``, ``line`` and ``column`` say where; both count from 1."""

    def __init__(self, message: str, *, path: str, line: int | None = None, column: object = None) -> None:
        super().__init__(message, row=line, column=column)
        self.path = path
        self.line = line
