"""All pages of the site as Markdown: those of docs, those made of other files, and the generated reference."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from home import home

from website import citations, commands, environment, model_files, notebooks
from website.api import ERRORS, Reference, page_of
from website.links import NOTEBOOKS, OUTSIDE, ROOT, relinked, staged

_BLOCK = re.compile(r"<!-- (?:end|measurements|[\w ,-]+ from \S+\.py) -->\n?")
_DOCTEST = re.compile(r"^```python\n(?=>>> )", re.M)
HOME = "index.md"
API = "API"  # the entry of the navigation that holds the generated pages


def config() -> dict[str, Any]:
    """mkdocs.yml, with the generated pages in the navigation."""
    found: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    for _, entries in sections(found["nav"]):
        for entry in entries:
            if API in entry:
                entry[API] = api_entries(Reference())
    return found


def sections(nav: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The titles and entries of the sections of a navigation."""
    for item in nav:
        for title, entries in item.items():
            if isinstance(entries, list):
                yield title, entries


def entries_of(nav: list[Any]) -> Iterator[tuple[str, str]]:
    """The title and the path of every page of a navigation; a page without a title is that of its section."""
    for item in nav:
        for title, entry in item.items() if isinstance(item, dict) else [("", item)]:
            if isinstance(entry, list):
                yield from entries_of(entry)
            else:
                yield title, entry


def api_entries(reference: Reference) -> list[dict[str, Any]]:
    """The pages of modules, and below each those of its models."""
    found: list[dict[str, Any]] = []
    for module in (name for name in reference.modules if name != ERRORS):
        models = [
            {name: page_of(module, name, thing)}
            for home_, name, thing in reference.exports()
            if home_ == module and page_of(module, name, thing) != page_of(module)
            and reference.homes[id(thing)] == (module, name)
        ]  # fmt: skip
        found.append(
            {module: [{f"All of {module}": page_of(module)}, *models]} if models else {module: page_of(module)}
        )
    return found


def pages(outcomes: Mapping[Path, Sequence[notebooks.Outcome]] | None = None) -> dict[str, str]:
    """The Markdown of every page, by path in the site; with the outcomes of notebooks, if they were run."""
    reference = Reference()
    address = home((ROOT / "pyproject.toml").read_text())
    made = reference.pages()
    made[page_of(ERRORS)] += f"\n{environment.section()}"
    made["reference/commands.md"] = commands.page()
    made["reference/model-files.md"] = model_files.page()
    made["citations.md"] = citations.page()
    for path in sorted(ROOT.glob("docs/*.md")):
        made[path.name] = reference.linked(_page(path.read_text(), f"docs/{path.name}", address))
    for source, place in OUTSIDE.items():
        text = (ROOT / source).read_text()
        made[place] = reference.linked(_page(_front(text) if place == HOME else text, source, address))
    for path in notebooks.paths():
        source = f"{NOTEBOOKS}{path.name}"
        text = notebooks.page(path, (outcomes or {}).get(path, ()), lambda part, at=source: relinked(part, at, address))
        made[str(staged(source))] = reference.linked(text, "../")
    made[HOME] += contents()
    return made


def _page(text: str, source: str, address: str | None) -> str:
    text = relinked(_BLOCK.sub("", text), source, address)
    return _DOCTEST.sub("```pycon\n", text)


def _front(readme: str) -> str:
    """The first screen of the README."""
    return readme.partition("\n## ")[0] + "\n"


def contents() -> str:
    """The sections of the site, with links to their pages."""
    lines = ["", "## Contents", ""]
    for title, entries in sections(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]):
        lines.append(f"- **{title}**: {', '.join(f'[{name}]({path})' for name, path in entries_of(entries))}.")
    return "\n".join([*lines, ""])
