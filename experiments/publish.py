"""Blocks of docs/results.md and the README with the results of ``onlineboost reproduce``, and its report as a page.

make reproduce        # onlineboost reproduce -o docs/reproduction, then this
python experiments/publish.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from onlineboost.reproduction import report, vw
from onlineboost.reproduction.run import together

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
import pages
from figures import ROOT, table

FIGURES = ROOT / "docs/reproduction"
PAGE = FIGURES / "report.html"


def found() -> dict[str, Any]:
    """The committed results with their timings."""
    return together(*(json.loads((FIGURES / f"{name}.json").read_text()) for name in ("results", "timings")))


def beside_vw(results: dict[str, Any]) -> str:
    """A table of our variants minus the program vw, over several splits."""
    families = {family: results["families"][family] for family in vw.ALGORITHMS}
    rows = []
    for each in results["sets"]:
        tests = {(entry["family"], entry["setting"]): np.array(entry["test"]) for entry in each["entries"]}
        cells = []
        for family in families:
            ours = tests[family, "vw"] if family != "baseline" else tests[family, "paper"]
            less = ours - tests[family, "vw itself"]
            mark = "**" if less.mean() > less.std(ddof=1) / np.sqrt(less.size) else ""
            cells.append(f"{mark}{less.mean():+.4f}{mark} ± {less.std(ddof=1) / np.sqrt(less.size):.4f}")
        rows.append([each["name"], *cells])
    return table(["set", *families.values()], rows)


def blocks() -> dict[str, str]:
    results, several = found(), json.loads((FIGURES / "five/results.json").read_text())
    return {
        "report": report.markdown(results).partition("\n")[2].partition("\n## ")[0],  # its text above the tables
        "errors": report.readme_table(results),
        "beside vw": beside_vw(several),
        "command of several splits": f"`{several['command']}`",
        "splits": str(several["splits"]),
    }


def main() -> None:
    PAGE.write_text(report.html(found()))
    pages.main()


if __name__ == "__main__":
    main()
