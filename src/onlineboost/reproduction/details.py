"""Detailed tables: data sets, chosen parameters, times."""

from __future__ import annotations

import math

from onlineboost.reproduction.figures import Results, error_of, spread
from onlineboost.reproduction.tables import DASH, NAMES, Cell, Row, Table, written


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
        tried = Cell(f"{entry.get('tried', 0):,}", _failures(entry))
        progressive = entry.get("progressive")
        rows.append(
            Row(
                results["families"].get(entry["family"], entry["family"]),
                [
                    Cell(NAMES.get(entry["setting"], entry["setting"]), words=True),
                    Cell(parameters or DASH, entry.get("model") or "", words=True),
                    tried,
                    Cell(DASH if progressive is None else f"{progressive:.4f}"),
                    Cell(written(spread(entry["test"]))),
                    Cell(_seconds(entry.get("seconds"))),
                ],
            )
        )
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
