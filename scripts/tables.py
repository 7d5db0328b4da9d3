"""Tables of the documents that list what is registered: boosters, learners, formats, metrics.

python scripts/tables.py
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from onlineboost.registry import BOOSTERS, FORMATS, LEARNERS, METRICS

ROOT = Path(__file__).parent.parent
_EVERYWHERE = {"n_estimators", "delivery"}  # options that all boosters have


def _table(head: str, rows: Iterable[Iterable[str]]) -> str:
    columns = head.split("|")
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(cell.strip() for cell in line)} |\n" for line in lines)


def _models(registry: Any) -> str:
    by_class: dict[Any, list[Any]] = {}
    for entry in registry:
        by_class.setdefault(entry.make, []).append(entry)
    rows = []
    for made, entries in by_class.items():
        names = ", ".join(f"`{entry.name}`" for entry in entries)
        options = [o.parameter for o in entries[0].options if o.parameter not in _EVERYWHERE and o.parameter != "cross"]
        summary = str(inspect.getdoc(made)).splitlines()[0]
        rows.append([f"`{made.__name__}`", names, summary, ", ".join(f"`{option}`" for option in options)])
    return _table("class | command line | what it is | options", rows)


def _formats() -> str:
    rows = ([known.title, f"`{known.name}`", ", ".join(f"`{s}`" for s in known.suffixes)] for known in FORMATS)
    return _table("format | name | file names end in", rows)


def _metrics() -> str:
    better = {True: "lower", False: "higher"}
    return _table("metric | name | better", ([m.title, f"`{m.name}`", better[m.lower_is_better]] for m in METRICS))


TABLES: dict[str, Callable[[], str]] = {
    "boosters": lambda: _models(BOOSTERS),
    "learners": lambda: _models(LEARNERS),
    "formats": _formats,
    "metrics": _metrics,
}
PAGES = [ROOT / "README.md", ROOT / "docs/data.md", ROOT / "docs/cli.md"]


def with_tables(page: str) -> str:
    """The page with every table between ``<!-- NAME, from the registry -->`` and ``<!-- end of NAME -->``."""
    for name, make in TABLES.items():
        begin, end = f"<!-- {name}, from the registry -->\n", f"<!-- end of {name} -->"
        parts = re.split(f"{begin}.*?{end}", page, flags=re.S)
        page = f"{begin}{make()}{end}".join(parts)
    return page


def main() -> None:
    for path in PAGES:
        path.write_text(with_tables(path.read_text()))


if __name__ == "__main__":
    main()
