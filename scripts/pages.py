"""Generated text in the pages, between ``<!-- NAME from SCRIPT -->`` and ``<!-- end -->``.

SCRIPT, a path from the root, has a function ``blocks`` that returns the text of each NAME, from committed figures. A
block is whole lines, or a part of one line that does not begin it. ``<!-- measurements -->`` ... ``<!-- end -->`` says
when and where all figures of a page were measured.

python scripts/pages.py
"""

from __future__ import annotations

import functools
import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import Any

import sources

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
BLOCK = re.compile(
    r"(?P<begin><!-- (?P<name>[\w ,-]+) from (?P<script>\S+\.py) -->)(?P<line>\n?)(?P<text>.*?)<!-- end -->", re.S
)

MEASUREMENTS = re.compile(r"(?<=<!-- measurements -->\n).*?(?=<!-- end -->)", re.S)


def rewritten(page: str) -> str:
    """The page with every block made anew."""
    page = BLOCK.sub(_filled, page)
    return MEASUREMENTS.sub(lambda _: measurements(page), page)


def measurements(page: str) -> str:
    """A sentence on the scripts, dates and machines of the figures in a page; none for a page without figures."""
    scripts = dict.fromkeys(found["script"] for found in BLOCK.finditer(page))
    found = [
        f"`{blocks(script)['measured by']}` ({blocks(script)['measured']})"
        for script in scripts
        if blocks(script)["measured"]
    ]
    return f"**Measured** by {', '.join(dict.fromkeys(found))}.\n" if found else ""


def _filled(found: re.Match[str]) -> str:
    begin, name, script, line, text = found.group("begin", "name", "script", "line", "text")
    if "<!--" in text:
        raise ValueError(f"{begin} has no <!-- end -->")
    if name not in blocks(script):
        raise ValueError(f"{script} has no block {name!r}. Its blocks: {', '.join(blocks(script))}")
    return f"{begin}{line}{blocks(script)[name].strip()}{line}<!-- end -->"


@functools.cache
def blocks(script: str) -> dict[str, str]:
    """The blocks of a script, which may import its neighbors."""
    path = ROOT / script
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    made: dict[str, str] = module.blocks()
    stem = getattr(module, "FIGURES", path).stem
    by = sources.COMMANDS.get(stem, script).split()[0]
    return {"measured": _measured(module), "measured by": by} | made


def _measured(module: Any) -> str:
    """When and where the figures of a script were measured."""
    path = getattr(module, "FIGURES", None)
    if path is None or not path.is_file():
        return ""
    content = json.loads(path.read_text())
    facts = content.get("measured", {}) if isinstance(content, dict) else {}
    return ", ".join(facts[key] for key in ("date", "machine") if facts.get(key))


def main() -> None:
    blocks.cache_clear()
    for path in PAGES:
        page = path.read_text()
        if rewritten(page) != page:
            path.write_text(rewritten(page))


if __name__ == "__main__":
    main()
