"""Help texts of the command line."""

from __future__ import annotations

import os
from contextlib import redirect_stdout, suppress
from io import StringIO

from onlineboost.cli.app import main

WIDTH = 100


def _help(*arguments: str) -> str:
    """The help of a command without its last lines, the address of the documentation, as code."""
    text, before = StringIO(), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(WIDTH)
    try:
        with redirect_stdout(text), suppress(SystemExit):
            main([*arguments, "--help"])
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before
    return "```text\n" + text.getvalue().partition("\nDocumentation:")[0].rstrip() + "\n```"


def blocks() -> dict[str, str]:
    return {"commands": _help(), "train help": _help("train")}
