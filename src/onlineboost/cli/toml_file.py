"""TOML files: read as a whole, and values as they are written in one."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from onlineboost.errors import DataError, ReadError


def read(path: Path) -> dict[str, Any]:
    """The keys and values of a file."""
    try:
        return tomllib.loads(path.expanduser().read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as problem:
        raise ReadError(f"{path}: expected TOML: {problem}", path=str(path)) from None
    except UnicodeDecodeError:
        raise ReadError(f"{path}: expected TOML in UTF-8", path=str(path)) from None


def named_in(arguments: list[str]) -> dict[str, Any]:
    """The content of the file of ``--config``, if it can be read; errors are raised later, when it is applied."""
    for place, argument in enumerate(arguments):
        flag, equals, value = argument.partition("=")
        if flag == "--config" and (equals or place + 1 < len(arguments)):
            try:
                return read(Path(value if equals else arguments[place + 1]))
            except (OSError, DataError):
                return {}
    return {}


def in_toml(value: Any) -> str:
    """A value in TOML.

    >>> in_toml(["a b", 'c"d']), in_toml(True), in_toml(0.5)
    ('["a b", "c\\\\"d"]', 'true', '0.5')
    """
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(in_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
