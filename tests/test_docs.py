"""Figures in the documents are generated, never typed."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_table_of_speeds_comes_from_the_figures():
    spec = importlib.util.spec_from_file_location("speed", ROOT / "benchmarks" / "speed.py")
    speed = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(speed)
    readme = (ROOT / "README.md").read_text()
    assert speed.with_table(readme, json.loads(speed.FIGURES.read_text())) == readme


def test_every_link_leads_somewhere():
    import re

    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
