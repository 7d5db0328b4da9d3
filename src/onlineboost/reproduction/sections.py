"""The sections of a report, in order; the page and the Markdown have the same."""

from __future__ import annotations

from typing import NamedTuple

from onlineboost.reproduction import charts, tables, words
from onlineboost.reproduction.figures import Results, Summary
from onlineboost.reproduction.tables import Table

TITLE = "The paper's experiment, repeated"


class Section(NamedTuple):
    anchor: str
    title: str
    paragraphs: list[str]
    tables: list[Table] = []  # noqa: RUF012
    pictures: list[tuple[str, str]] = []  # noqa: RUF012 (caption or "", SVG)
    legend: tuple[str, ...] = ()
    marks: str = "bar"  # or "line": what the legend explains
    folded: bool = False  # each table opens on a click
    points: list[str] = []  # noqa: RUF012


def sections(results: Results, summary: Summary) -> list[Section]:
    """Sections with content."""
    found = [*_compared(results, summary), *_further(results, summary), *_behind(results)]
    return [s for s in found if any(table.rows for table in s.tables) or s.pictures or s.points]


def _compared(results: Results, summary: Summary) -> list[Section]:
    settings = results["settings"]
    bars = charts.bars(results, summary)
    about = "Percentages are relative: +10 % is an error of 0.09 where the baseline has 0.10."
    return [
        Section("pseudo-code", "The pseudo-code", [_about(settings, "paper")], [tables.errors(results, "paper")]),
        Section("variants", "The authors' variants", [_about(settings, "vw")], [tables.errors(results, "vw")]),
        Section(
            "improvements",
            "Improvement over the baseline",
            [about],
            [tables.improvements(results, summary)] if bars else [],
            [("", bars)] if bars else [],
            charts.BARS,
        ),
    ]


def _further(results: Results, summary: Summary) -> list[Section]:
    settings = results["settings"]
    any_trees = any(entry["setting"] == "trees" for each in results["sets"] for entry in each["entries"])
    over_trees = [tables.trees(results), tables.tree_gains(results, summary), tables.errors(results, "trees")]
    safe = settings.get("safe") or settings.get("linear", "")
    trees = _about(settings, "trees") + (f" SafeBoost, linear: {safe}." if safe else "")
    drawn = [(each["name"], svg) for each in results["sets"] if (svg := charts.curves(each))]
    how = "Progressive 0-1 error since the start, against examples (logarithmic); each set has its own scale."
    return [
        Section("trees", "Trees and SafeBoost", [trees], over_trees if any_trees else []),
        Section("curves", "Error curves", [how], pictures=drawn, legend=charts.CURVES, marks="line"),
        Section("vw", "Comparison with vw", [_about(settings, "vw itself")], [tables.vw_itself(results)]),
    ]


def _behind(results: Results) -> list[Section]:
    lead = "Click a set to see everything that was run on it."
    chosen = [tables.chosen(results, each) for each in results["sets"] if each["entries"]]
    timed = [sentence for sentence in [words.sweep(results)] if sentence]
    return [
        Section("data", "Data", [], [tables.data(results)], points=words.caveats(results)),
        Section("chosen", "Chosen parameters", [lead], chosen, folded=True),
        Section("time", "Time", timed, [tables.timings(results)]),
    ]


def _about(settings: dict[str, str], setting: str) -> str:
    """The description of a variant, as a sentence."""
    said = settings.get(setting, tables.NAMES[setting])
    return said[:1].upper() + said[1:] + "." * (not said.endswith("."))
