"""Figures of experiments and benchmarks: measured, kept as JSON in docs/figures, shown in pages and pictures.

A file has the figures, and when, where and with which sources they were measured.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pages
import sources

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs/figures"
GRAY = "#808080"  # can be read on white and on black


def add_data(parser: argparse.ArgumentParser) -> None:
    """The option --data, a folder of data sets."""
    folder = Path(os.environ.get("ONLINEBOOST_DATA", "data"))
    parser.add_argument("--data", type=Path, default=folder, help="folder of data sets (default: $ONLINEBOOST_DATA)")


def kept(path: Path) -> Any:
    return json.loads(path.read_text())["figures"]


def begun(path: Path) -> Any:
    """Figures of a run that was stopped, if the sources are still the same; otherwise none."""
    if not path.exists():
        return {}
    content = json.loads(path.read_text())
    return content["figures"] if content["measured"]["sources"] == sources.digest(path.stem) else {}


def keep(path: Path, figures: Any, *, part: bool = False) -> Any:
    """Write figures, with six digits, and all pages; return the figures as written.

    ``part``: the others are those of before, perhaps of other sources.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"measured": measured(path, part), "figures": rounded(figures)}
    path.write_text(json.dumps(content, indent=1) + "\n")
    pages.main()
    return kept(path)


def measured(path: Path, part: bool) -> dict[str, Any]:
    """Date, machine and sources of what is measured now."""
    now = sources.digest(path.stem)
    if part and path.exists() and json.loads(path.read_text())["measured"]["sources"] != now:
        now = None
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    cores = os.cpu_count() or 1
    return {"date": today, "machine": f"{processor()}, {cores} cores", "sources": now}


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def rounded(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def table(head: Iterable[str], rows: Iterable[Iterable[str]], words: int = 1) -> str:
    """A Markdown table; the columns after the first ``words`` are numbers."""
    head = list(head)
    marks = ["---" if k < words else "---:" for k in range(len(head))]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, marks, *rows))


def stamp(path: Path) -> str:
    """The name of a file of figures, and a digest of them."""
    content = json.loads(path.read_text())
    figures = content["figures"] if isinstance(content, dict) else content  # the ledger is a list
    return f"{path.name} {hashlib.sha256(json.dumps(figures).encode()).hexdigest()}"


def draw(figure: Any, picture: Path, source: Path) -> None:
    """Save a matplotlib figure as SVG: the same bytes from the same figures, with their stamp."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "onlineboost", "svg.fonttype": "none"}):
        figure.savefig(picture, metadata={"Date": None, "Source": stamp(source)})
    picture.write_text(for_any_background(picture.read_text()))


def for_any_background(svg: str) -> str:
    """A picture for light and dark pages: no background, and gray in the place of black.

    >>> for_any_background('<style>*{stroke-linecap: butt}</style><path style="fill: #ffffff; stroke: #000000"/>')
    '<style>*{stroke-linecap: butt}text{fill:#808080}</style><path style="fill: none; stroke: #808080"/>'
    """
    changes = {
        "butt}</style>": f"butt}}text{{fill:{GRAY}}}</style>",
        "fill: #ffffff": "fill: none",
        "stroke: #000000": f"stroke: {GRAY}",
        "stroke: #e2e8f0": f"stroke: {GRAY}; stroke-opacity: 0.25",  # grids
        "stroke: #cccccc": f"stroke: {GRAY}; stroke-opacity: 0.25",
        "stroke: #b0b0b0; stroke-width": f"stroke: {GRAY}; stroke-opacity: 0.25; stroke-width",
    }
    for old, new in changes.items():
        svg = svg.replace(old, new)
    return svg
