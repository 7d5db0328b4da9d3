"""Files that are whole or not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from onlineboost.errors import ParameterError


def check_target(target: str | Path, sources: list[str]) -> None:
    """Refuse to write over what is read, or over what is no file."""
    path = Path(target).expanduser()
    if str(target) == "-" or (path.exists() and not path.is_file()):
        raise ParameterError("--output", str(target), "the name of a file")
    for source in sources:
        if source != "-" and path.exists() and os.path.exists(source) and os.path.samefile(path, source):
            raise ParameterError("--output", str(target), "another file than the one that is read")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A place beside the target to write to; when all is written, it takes the target's place.

    The place has always the same name: what a killed process left there is overwritten by the next.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it")
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is no ordinary file: it is not replaced")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist: make it first")
    temporary = path.with_name(f".{path.name}.partial")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
