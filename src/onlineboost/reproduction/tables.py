"""The tables of a report, independent of the output format."""

from __future__ import annotations

import math
from typing import NamedTuple

from onlineboost.reproduction.figures import (
    COLUMNS,
    Average,
    Error,
    Results,
    Summary,
    best_over_trees,
    error_of,
    find,
    gain,
    improvement,
    paper_error,
    paper_improvement,
    spread,
)
from onlineboost.reproduction.protocol import ALGORITHMS

DASH = "—"
NAMES = {"paper": "pseudo-code", "vw": "VW variants", "vw itself": "vw itself", "trees": "trees", "linear": "linear"}


class Cell(NamedTuple):
    text: str = DASH
    under: str = ""  # smaller, below
    best: bool = False
    tone: str = ""  # "good" or "bad"
    words: bool = False  # aligned as text, not as a number


class Row(NamedTuple):
    name: str
    cells: list[Cell]
    total: bool = False


class Table(NamedTuple):
    caption: str
    header: list[str]
    rows: list[Row]


def signed(value: float | None, digits: int) -> str:
    """A number with its sign; zero has none.

    >>> signed(5.14, 1), signed(-0.01, 1), signed(None, 1)
    ('+5.1', '0.0', '—')
    """
    if value is None:
        return DASH
    shown = round(value, digits)
    return f"{shown:+.{digits}f}" if shown else f"{0:.{digits}f}"


def percent(share: float | None, digits: int = 1) -> str:
    """
    >>> percent(0.0514), percent(-0.002), percent(None)
    ('+5.1 %', '-0.2 %', '—')
    """
    return DASH if share is None else f"{signed(100 * share, digits)} %"


def written(error: Error | None) -> str:
    """
    >>> written(Error(0.29871, 0.00123)), written(Error(0.3)), written(None)
    ('0.2987 ± 0.0012', '0.3000', '—')
    """
    if error is None:
        return DASH
    return f"{error.mean:.4f}" + (f" ± {error.margin:.4f}" if error.margin is not None else "")


def errors(results: Results, setting: str) -> Table:
    """Errors by set and algorithm in one variant, with the paper's values below."""
    families = results["families"]
    extra = ["safe"] * (setting == "trees")
    columns = [*COLUMNS, *extra]
    with_paper = setting not in ("trees", "vw itself")
    rows = []
    for each in results["sets"]:
        found = [error_of(each, family, setting) for family in columns]
        if not any(found):
            continue
        least = min(round(error.mean, 4) for error in found if error)
        cells = []
        for family, error in zip(columns, found, strict=True):
            under = f"paper {written(paper_error(each, family))}" if with_paper else ""
            cells.append(Cell(written(error), under, best=error is not None and round(error.mean, 4) == least))
        rows.append(Row(each["name"], cells))
    caption = f"0-1 error on the test part: {NAMES[setting]}" + (", and the paper's value" if with_paper else "")
    return Table(caption, ["set", *(families[family] for family in columns)], rows)


def improvements(results: Results, summary: Summary) -> Table:
    """Improvements by set and on average: the pseudo-code, and below it the VW variants and the paper."""
    rows = []
    for each in results["sets"]:
        row = []
        for family in ALGORITHMS:
            mine, variant = (improvement(each, family, setting) for setting in ("paper", "vw"))
            row.append(_three(mine, variant, paper_improvement(each, family), 1))
        rows.append(Row(each["name"], row))
    ours, variants = (summary.ours.get(setting, {}) for setting in ("paper", "vw"))
    means = [(_mean(ours, f), _mean(variants, f), _mean(summary.paper, f)) for f in ALGORITHMS]
    rows.append(Row("mean", [_three(*values, 2) for values in means], total=True))
    better = [f"{ours[f].better} of {ours[f].sets}" if f in ours else DASH for f in ALGORITHMS]
    rows.append(Row("better on", [Cell(text) for text in better]))
    published = [Cell(signed(100 * summary.published[f], 2)) for f in ALGORITHMS]
    rows.append(Row("paper, 13 sets", published))
    caption = "Percent fewer mistakes than the baseline: pseudo-code, VW variants and the paper"
    return Table(caption, ["set", *(results["families"][f] for f in ALGORITHMS)], rows)


def trees(results: Results) -> Table:
    """Errors over trees, and of SafeBoost, compared with the linear baseline."""
    families = results["families"]
    rows = []
    for each in results["sets"]:
        linear = error_of(each, "baseline", "paper")
        best = best_over_trees(each)
        tested = spread(best["test"]) if best else None
        chosen = families[best["family"]] if best else ""
        compared = [
            _gained(error_of(each, "safe", "linear"), linear),
            *(_gained(error_of(each, family, "trees"), linear) for family in ("baseline", "bbm", "safe")),
        ]
        rows.append(Row(each["name"], [Cell(written(linear)), *compared, Cell(written(tested), chosen)]))
    header = ["set", "linear baseline", "SafeBoost, linear", "one tree", "Online BBM, trees", "SafeBoost, trees"]
    caption = "0-1 error on the test part, and the reduction relative to the linear baseline"
    return Table(caption, [*header, "best over trees, by progressive error"], rows)


def tree_gains(results: Results, summary: Summary) -> Table:
    """Mean and median improvements over trees; on text one tree is far behind, so the mean alone would mislead."""
    families = ["baseline", *ALGORITHMS, "safe"]
    rows = []
    for base, found in (("one tree", summary.ours.get("trees", {})), ("the linear baseline", summary.over_linear)):
        known = [found.get(family) for family in families]
        if any(known):
            rows.append(Row(f"than {base}, mean", [Cell(percent(each.mean)) if each else Cell() for each in known]))
            rows.append(Row("median", [Cell(percent(each.median)) if each else Cell() for each in known]))
            rows.append(Row("better on", [Cell(f"{each.better} of {each.sets}") if each else Cell() for each in known]))
    header = ["fewer mistakes", *("one tree" if f == "baseline" else results["families"][f] for f in families)]
    return Table("Reduction of mistakes over trees", header, rows)


def vw_itself(results: Results) -> Table:
    """Errors of the program vw and of our runs of its variants, with the difference."""
    columns = COLUMNS[:4]
    rows = []
    for each in results["sets"]:
        cells = []
        for family in columns:
            theirs, ours = error_of(each, family, "vw itself"), error_of(each, family, "vw")
            difference = signed(ours.mean - theirs.mean if theirs and ours else None, 4)
            both = f"{written(theirs)} / {written(ours)}" if theirs or ours else DASH
            cells.append(Cell(both, difference))
        if any(find(each, family, "vw itself") for family in columns):
            rows.append(Row(each["name"], cells))
    caption = "0-1 error on the test part: vw / our run of its variant, and ours minus vw's"
    return Table(caption, ["set", *(results["families"][f] for f in columns)], rows)


def _three(ours: float | None, variant: float | None, paper: float | None, digits: int) -> Cell:
    first, second, third = (signed(None if share is None else 100 * share, digits) for share in (ours, variant, paper))
    tone = {"+": "good", "-": "bad"}.get(first[0], "")
    return Cell(first, f"VW {second}, paper {third}", tone=tone)


def _gained(error: Error | None, base: Error | None) -> Cell:
    share = gain(error, base)
    return Cell(written(error), percent(share) if share is not None else "")


def _mean(averages: dict[str, Average], family: str) -> float | None:
    return averages[family].mean if family in averages else None


def data(results: Results) -> Table:
    """The sets: size, standard error of the baseline, notes."""
    rows = []
    for each in results["sets"]:
        sizes = [Cell(f"{each[key]:,}") for key in ("examples", "features", "train", "test")]
        rows.append(Row(each["name"], [*sizes, Cell(_standard_error(each)), Cell(each.get("note") or "", words=True)]))
    header = ["set", "examples", "features", "train", "test", "standard error", "note"]
    return Table("The sets, with the standard error of the baseline's test error", header, rows)


def _standard_error(each: Results) -> str:
    base = error_of(each, "baseline", "paper")
    if base is None or not each["test"]:
        return DASH
    return f"± {math.sqrt(base.mean * (1 - base.mean) / each['test']):.4f}"


def chosen(results: Results, each: Results) -> Table:
    """All entries of a set, with the parameters selected by progressive error."""
    rows = []
    for entry in each["entries"]:
        parameters = ", ".join(f"{name} {_plain(value)}" for name, value in (entry.get("chosen") or {}).items())
        progressive = entry.get("progressive")
        cells = [
            Cell(NAMES.get(entry["setting"], entry["setting"]), words=True),
            Cell(parameters or DASH, entry.get("model") or "", words=True),
            Cell(f"{entry.get('tried', 0):,}", _failures(entry)),
            Cell(DASH if progressive is None else f"{progressive:.4f}"),
            Cell(written(spread(entry["test"]))),
            Cell(_seconds(entry.get("seconds"))),
        ]
        rows.append(Row(results["families"].get(entry["family"], entry["family"]), cells))
    header = ["algorithm", "setting", "chosen", "tried", "progressive", "test", "seconds"]
    return Table(f"{each['name']}: chosen parameters", header, rows)


def timings(results: Results) -> Table:
    """Seconds by set and algorithm, summed over variants; the program vw has its own column."""
    families = list(results["families"])
    rows, columns = [], [0.0] * (len(families) + 2)
    for each in results["sets"]:
        row = [_total(each, family) for family in families]
        row.append(sum(entry.get("seconds") or 0 for entry in each["entries"] if entry["setting"] == "vw itself"))
        row.append(sum(row))
        columns = [total + seconds for total, seconds in zip(columns, row, strict=True)]
        rows.append(Row(each["name"], [Cell(_seconds(seconds)) for seconds in row]))
    rows.append(Row("all", [Cell(_seconds(seconds)) for seconds in columns], total=True))
    header = ["set", *(results["families"][family] for family in families), "vw itself", "all"]
    return Table("Seconds, all configurations together", header, rows)


def _total(each: Results, family: str) -> float:
    ours = (e for e in each["entries"] if e["family"] == family and e["setting"] != "vw itself")
    return sum(entry.get("seconds") or 0 for entry in ours)


def _seconds(seconds: float | None) -> str:
    return DASH if not seconds else f"{seconds:,.1f}"


def _failures(entry: Results) -> str:
    if not entry.get("failed"):
        return ""
    reasons = "; ".join(entry.get("reasons") or [])
    return f"{entry['failed']:,} failed" + (f": {reasons}" if reasons else "")


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
