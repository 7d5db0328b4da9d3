"""llms.txt: the pages of the site as Markdown, by section, with a line on each."""

from __future__ import annotations

import re
from typing import Any

from website.stage import entries_of, sections

_NO_PROSE = "#", "|", "- ", "* ", ">", "<", "!", "1. ", "    "


def text(config: dict[str, Any], pages: dict[str, str], summary: str) -> str:
    lines = [f"# {config['site_name']}", "", f"> {summary}", ""]
    for title, entries in sections(config["nav"]):
        lines += [f"## {title}", ""]
        lines += [f"- [{name or path}]({path}): {first_sentence(pages[path])}" for name, path in entries_of(entries)]
        lines.append("")
    return "\n".join(lines)


def first_sentence(page: str) -> str:
    """The first sentence of the first paragraph, without links.

    >>> first_sentence("# Title\\n\\nA [link](a.md) comes first. Then more.")
    'A link comes first.'
    """
    page = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"^```.*?^```", "", page, flags=re.S | re.M))
    for block in re.split(r"\n\s*\n", page):
        if block.strip() and not block.startswith(_NO_PROSE):
            text = " ".join(block.split())
            found = re.match(r".+?[.!?](?=\s|$)", text)
            return found[0] if found else text.rstrip(":")
    return ""
