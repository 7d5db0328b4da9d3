"""Figures of experiments and benchmarks: measured, kept as JSON in docs/figures, shown in pages and pictures."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pages

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs/figures"


def add_data(parser: argparse.ArgumentParser) -> None:
    """The option --data, a folder of data sets."""
    folder = Path(os.environ.get("ONLINEBOOST_DATA", "data"))
    parser.add_argument("--data", type=Path, default=folder, help="folder of data sets (default: $ONLINEBOOST_DATA)")


def kept(path: Path) -> Any:
    return json.loads(path.read_text())


def keep(path: Path, figures: Any) -> Any:
    """Write figures, with six digits, and all pages; return the figures as written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rounded(figures), indent=1) + "\n")
    pages.main()
    return kept(path)


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
    """The name of a file of figures, and a digest of its content."""
    return f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}"


def draw(figure: Any, picture: Path, source: Path) -> None:
    """Save a matplotlib figure as SVG: the same bytes from the same figures, with their stamp."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "onlineboost", "svg.fonttype": "none"}):
        figure.savefig(picture, metadata={"Date": None, "Source": stamp(source)})
