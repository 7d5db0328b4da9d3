"""The address of the repository, once there is one: fills the placeholders, and makes links absolute for packages.

python scripts/home.py https://HOST/OWNER/onlineboost
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PLACEHOLDER = "HOME"
PICTURES = (".svg", ".png")
LINK = re.compile(r"\]\((?!\w+:|#)([^)\s]+)\)")


def home(project: str) -> str | None:
    """The address in the text of pyproject.toml; None while it has placeholders."""
    address: str = tomllib.loads(project)["project"]["urls"]["Homepage"]
    return None if address.startswith(PLACEHOLDER) else address


def filled(project: str, address: str) -> str:
    """The text of pyproject.toml with the address in all URLs, in the place of placeholders or an older address.

    >>> print(filled('[project.urls]\\nHomepage = "HOME"\\nIssues = "HOME/issues"', "https://a.b/c/"))
    [project.urls]
    Homepage = "https://a.b/c"
    Issues = "https://a.b/c/issues"
    """
    head, table, urls = project.partition("[project.urls]\n")
    urls, gap, rest = urls.partition("\n\n")
    old = home(project) or PLACEHOLDER
    return head + table + urls.replace(f'"{old}', f'"{address.rstrip("/")}') + gap + rest


def absolute(page: str, address: str | None) -> str:
    """The page with absolute links to files of the repository.

    >>> absolute("[a](a.md#b) ![c](docs/c.svg) [d](#e)", "https://a.b/c")
    '[a](https://a.b/c/blob/main/a.md#b) ![c](https://a.b/c/raw/main/docs/c.svg) [d](#e)'
    """
    if address is None:
        return page

    def link(found: re.Match[str]) -> str:
        kind = "raw" if found[1].endswith(PICTURES) else "blob"
        return f"]({address}/{kind}/main/{found[1]})"

    return LINK.sub(link, page)


def main() -> None:
    if len(sys.argv) != 2 or not sys.argv[1].startswith("https://"):
        raise SystemExit(__doc__)
    path = ROOT / "pyproject.toml"
    path.write_text(filled(path.read_text("utf-8"), sys.argv[1]), "utf-8")


if __name__ == "__main__":
    main()
