"""Write the results of ``onlineboost reproduce`` to the documents: docs/results.md and the README's table.

make reproduce        # onlineboost reproduce --data ../shared/data -o docs/reproduction, then this
python experiments/publish.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from onlineboost.reproduction import report, vw
from onlineboost.reproduction.run import together

FOUND = Path("docs/reproduction")
PAGE, README = Path("docs/results.md"), Path("README.md")
TUNELESS = "<!-- nothing to tune, from experiments/results.py -->\n", "<!-- end of nothing to tune -->\n"
TABLE = "<!-- results, from docs/reproduction/results.json -->\n", "<!-- end of results -->\n"


SPLITS = """## Comparison with vw over several splits

Test error of our variants of `vw`'s algorithms minus that of the program, with the same parameters on the same {n}
splits: mean and standard error, in bold where ours is worse by more than one standard error. Made by
`{command}`.
The base learner alone is the same in both. Our boosted learners [share feature scales](shared-scale.md). With separate
scales (`OnlineBBM(Copies(Linear()), ...)`) they make exactly as many mistakes as the program on the first split of
20news; the smaller differences on other sets were not examined.

{table}
"""


def found(folder: Path = FOUND) -> dict[str, Any]:
    """The committed results with their timings."""
    return together(*(json.loads((folder / f"{name}.json").read_text()) for name in ("results", "timings")))


def several() -> dict[str, Any]:
    """The results of five splits, of sets below 200,000 examples."""
    results: dict[str, Any] = json.loads((FOUND / "five" / "results.json").read_text())
    return results


def between(page: str, marks: tuple[str, str]) -> str:
    begin, end = marks
    return page[page.index(begin) + len(begin) : page.index(end)]


def replaced(page: str, marks: tuple[str, str], text: str) -> str:
    begin, end = marks
    return page[: page.index(begin)] + begin + text + page[page.index(end) :]


def beside_vw(results: dict[str, Any]) -> str:
    """A table of our variants minus the program vw, over several splits."""
    families = {family: results["families"][family] for family in vw.ALGORITHMS}
    lines = [f"| set | {' | '.join(families.values())} |", "| --- |" + " ---: |" * len(families)]
    for each in results["sets"]:
        tests = {(entry["family"], entry["setting"]): np.array(entry["test"]) for entry in each["entries"]}
        cells = []
        for family in families:
            ours = tests[family, "vw"] if family != "baseline" else tests[family, "paper"]
            less = ours - tests[family, "vw itself"]
            mark = "**" if less.mean() > less.std(ddof=1) / np.sqrt(less.size) else ""
            cells.append(f"{mark}{less.mean():+.4f}{mark} ± {less.std(ddof=1) / np.sqrt(less.size):.4f}")
        lines.append(f"| {each['name']} | {' | '.join(cells)} |")
    return SPLITS.format(command=results["command"], n=results["splits"], table="\n".join(lines))


def with_results(page: str, results: dict[str, Any], splits: dict[str, Any]) -> str:
    """docs/results.md: the report, the comparison with vw, then the part of experiments/results.py."""
    begin, end = TUNELESS
    told = f"{report.markdown(results, folded=False)}\n{beside_vw(splits)}"
    return f"{told}\n{begin}{between(page, TUNELESS)}{end}"


def with_table(readme: str, results: dict[str, Any]) -> str:
    return replaced(readme, TABLE, report.readme_table(results))


def main() -> None:
    results = found()
    (FOUND / "report.html").write_text(report.html(results))
    PAGE.write_text(with_results(PAGE.read_text(), results, several()))
    README.write_text(with_table(README.read_text(), results))


if __name__ == "__main__":
    main()
