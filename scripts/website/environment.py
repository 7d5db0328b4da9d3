"""The part of the page of errors that lists environment variables: those that the package reads."""

from __future__ import annotations

import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
_READ = re.compile(r"environ(?:\.get\(|\[)\s*\"(\w+)\"|^VARIABLE = \"(\w+)\"|\b(NUMBA_DISABLE_JIT)\b", re.M)
MEANINGS = {
    "NUMBA_CACHE_DIR": "Folder of compiled code. Default: the user's cache folder.",
    "NUMBA_DISABLE_JIT": "Must not be set: without Numba's compiler the package cannot be imported.",
    "ONLINEBOOST_DATA": "Folder of [data sets](../datasets.md), for the commands `datasets` and `reproduce`.",
    "ONLINEBOOST_QUIET": "Any value: no messages about compiling.",
    "PIP_INDEX_URL": "Package index that data sets are downloaded from. Default: pip's configuration.",
    "RAY_ADDRESS": "Address of the Ray cluster, where none is given. Default: Ray is started on this machine.",
}


def read_by_the_package() -> set[str]:
    """Names of the environment variables that the sources read."""
    found = (_READ.findall(path.read_text()) for path in SOURCE.rglob("*.py"))
    return {name for names in found for groups in names for name in groups if name}


def section() -> str:
    names = read_by_the_package()
    if names != set(MEANINGS):
        raise ValueError(
            f"environment variables without a line in {__file__}, or no longer read: {names ^ set(MEANINGS)}"
        )
    rows = [f"| `{name}` | {meaning} |" for name, meaning in MEANINGS.items()]
    return "\n".join(
        ["## Environment variables { #environment }", "", "| variable | meaning |", "| --- | --- |", *rows, ""]
    )
