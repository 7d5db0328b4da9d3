"""Check of the built site: every link and anchor leads somewhere, and nothing is fetched from elsewhere."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
_LINKS = ("preload", "stylesheet", "icon", "preconnect", "modulepreload")


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        used = tag in _FETCHED and (tag != "link" or given.get("rel", "") in _LINKS)
        if used and _FETCHED[tag] in given:
            self.fetched.append(given[_FETCHED[tag]])


def problems(site: Path) -> list[str]:
    """A line for each link that leads nowhere, and for each address that a page would fetch."""
    pages = {}
    for path in sorted(site.rglob("*.html")):
        pages[path.resolve()] = page = _Page()
        page.feed(path.read_text())
    found = []
    for path, page in pages.items():
        if path.name == "404.html":  # whose links are from the root of a server
            continue
        name = path.relative_to(site.resolve())
        found += [f"{name}: fetches {link}" for link in page.fetched if urlsplit(link).netloc]
        found += [f"{name}: {link}" for link in page.links + page.fetched if _is_broken(link, path, pages)]
    return found


def _is_broken(link: str, path: Path, pages: dict[Path, _Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return False
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.exists():
        return True
    return bool(parts.fragment) and target in pages and unquote(parts.fragment) not in pages[target].anchors
