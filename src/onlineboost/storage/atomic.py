"""Files that are complete or absent, never half-written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from onlineboost.errors import ParameterError


def check_target(name: str, target: str | Path, sources: list[str]) -> None:
    """Raise an error if writing would overwrite a source, or something that is not a file; ``name`` is the option."""
    path = Path(target).expanduser()
    if str(target) == "-" or (path.exists() and not path.is_file()):
        raise ParameterError(name, str(target), "the name of a file")
    for source in sources:
        if source != "-" and path.exists() and os.path.exists(source) and os.path.samefile(path, source):
            raise ParameterError(name, str(target), "another file than the input")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside the target to write to; it replaces the target at the end.

    Its name is always the same, so that the remains of a killed process are overwritten by the next.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it")
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is not a regular file: it is not replaced")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist: create it first")
    temporary = path.with_name(f".{path.name}.partial")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
