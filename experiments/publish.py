"""Put the results of ``onlineboost reproduce`` into the documents: docs/results.md and the README's table.

make reproduce        # onlineboost reproduce --data ../shared/data -o docs/reproduction, then this
python experiments/publish.py
"""

from __future__ import annotations

import json
from pathlib import Path

from onlineboost.evaluate.reproduction import report
from onlineboost.evaluate.reproduction.run import together

FOUND = Path("docs/reproduction")
PAGE, README = Path("docs/results.md"), Path("README.md")
TUNELESS = "<!-- nothing to tune, from experiments/results.py -->\n", "<!-- end of nothing to tune -->\n"
TABLE = "<!-- results, from docs/reproduction/results.json -->\n", "<!-- end of results -->\n"


def found(folder: Path = FOUND) -> dict[str, object]:
    """What was committed."""
    return together(*(json.loads((folder / f"{name}.json").read_text()) for name in ("results", "timings")))


def between(page: str, marks: tuple[str, str]) -> str:
    begin, end = marks
    return page[page.index(begin) + len(begin) : page.index(end)]


def replaced(page: str, marks: tuple[str, str], text: str) -> str:
    begin, end = marks
    return page[: page.index(begin)] + begin + text + page[page.index(end) :]


def with_results(page: str, results: dict[str, object]) -> str:
    """docs/results.md: the report, then what experiments/results.py wrote."""
    begin, end = TUNELESS
    return f"{report.markdown(results, folded=False)}\n{begin}{between(page, TUNELESS)}{end}"


def with_table(readme: str, results: dict[str, object]) -> str:
    return replaced(readme, TABLE, report.readme_table(results))


def main() -> None:
    results = found()
    (FOUND / "report.html").write_text(report.html(results))
    PAGE.write_text(with_results(PAGE.read_text(), results))
    README.write_text(with_table(README.read_text(), results))


if __name__ == "__main__":
    main()
