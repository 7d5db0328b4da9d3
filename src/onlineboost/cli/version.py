"""``onlineboost --version``, answered before anything heavy is imported; and ``onlineboost about``."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, metadata, version

from onlineboost import __version__

_PAGES = "docs/ of the source distribution"  # until the project has an address: scripts/home.py


def say_version() -> None:
    """Print the versions of this package, Python and Numba."""
    sys.stdout.write(f"onlineboost {__version__}\nPython {platform.python_version()}, Numba {version('numba')}\n")


def documentation() -> str:
    """The address of the documentation, from the metadata of the package.

    >>> len(documentation().splitlines())
    1
    """
    try:
        urls = metadata("onlineboost").get_all("Project-URL") or []
    except PackageNotFoundError:
        return _PAGES
    known = dict(url.split(", ", 1) for url in urls)
    found: str = known.get("Documentation", "")
    return found if found.startswith("https://") else _PAGES


def about() -> None:
    """Show versions, processor and folders, for bug reports.

    Examples:

      onlineboost about
    """
    from onlineboost.cli.terminal import say, say_facts
    from onlineboost.compiled import cache

    say_version()
    lines = [("platform", platform.platform())]
    if cache.shipped_levels():
        lines.append(("compiled code of this package", f"for {cache.shipped_levels()[0]}"))
    lines.append(("compiled on this machine", f"for {cache.processor()}"))
    lines.append(("folder of compiled code", cache.cache_directory() or "none"))
    lines.append(("documentation", documentation()))
    sys.stdout.flush()
    say_facts(lines, 30)
    say()
