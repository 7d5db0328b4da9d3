"""Links of the repository's pages, as links of the site."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
OUTSIDE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
NOTEBOOKS = "examples/notebooks/"
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")
_CODE = re.compile(r"(^```.*?^```$|^ {4}.*?$)", re.S | re.M)


def staged(path: str) -> str | None:
    """The place in the site of a file of the repository; None for one that is no part of it.

    >>> staged("docs/data.md"), staged("README.md"), staged("tests/vw.py"), staged("examples/notebooks/fraud.py")
    ('data.md', 'index.md', None, 'examples/fraud.md')
    """
    if path.startswith(NOTEBOOKS) and path.endswith(".py"):
        return f"examples/{path.removeprefix(NOTEBOOKS).removesuffix('.py')}.md"
    return path.removeprefix("docs/") if path.startswith("docs/") else OUTSIDE.get(path)


def relinked(page: str, source: str, home: str | None) -> str:
    """The page, from a path of the repository, with the links of the site; other files are named, or linked to at home.

    >>> relinked("[a](../README.md#b), [test](../tests/vw.py)", "docs/data.md", None)
    '[a](index.md#b), test (`tests/vw.py`)'
    """

    def link(found: re.Match[str]) -> str:
        mark, text, target, anchor = found[1], found[2], found[3], found[4] or ""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        place = staged(path)
        if place is not None and (ROOT / path).is_file():
            return f"{mark}[{text}]({posixpath.relpath(place, posixpath.dirname(staged(source) or '') or '.')}{anchor})"
        if home is not None:
            return f"{mark}[{text}]({home}/blob/main/{path}{anchor})"
        return text if text.strip("`") == path else f"{text} (`{path}`)"

    parts = _CODE.split(page)
    parts[::2] = [_LINK.sub(link, part) for part in parts[::2]]
    return "".join(parts)
