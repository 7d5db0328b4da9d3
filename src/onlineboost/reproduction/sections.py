"""The sections of a report, in order, and its sentences with computed numbers, for the page and the Markdown."""

from __future__ import annotations

from typing import NamedTuple

from onlineboost.reproduction import charts, tables
from onlineboost.reproduction.figures import PUBLISHED, Average, Results, Summary
from onlineboost.reproduction.protocol import ALGORITHMS
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
    scale = "Progressive 0-1 error since the start, against examples (logarithmic); each set has its own scale."
    return [
        Section("trees", "Trees and SafeBoost", [trees], over_trees if any_trees else []),
        Section("curves", "Error curves", [scale], pictures=drawn, legend=charts.CURVES, marks="line"),
        Section("vw", "Comparison with vw", [_about(settings, "vw itself")], [tables.vw_itself(results)]),
    ]


def _behind(results: Results) -> list[Section]:
    lead = "Click a set to see everything that was run on it."
    chosen = [tables.chosen(results, each) for each in results["sets"] if each["entries"]]
    timed = [sentence for sentence in [sweep(results)] if sentence]
    return [
        Section("data", "Data", [], [tables.data(results)], points=caveats(results)),
        Section("chosen", "Chosen parameters", [lead], chosen, folded=True),
        Section("time", "Time", timed, [tables.timings(results)]),
    ]


def _about(settings: dict[str, str], setting: str) -> str:
    """The description of a variant, as a sentence."""
    said = settings.get(setting, tables.NAMES[setting])
    return said[:1].upper() + said[1:] + "." * (not said.endswith("."))


def fewer(share: float) -> str:
    """
    >>> fewer(0.0123), fewer(-0.002), fewer(0.00001)
    ('1.2 % fewer', '0.2 % more', 'no fewer')
    """
    shown = f"{abs(100 * share):.1f}"
    return "no fewer" if shown == "0.0" else f"{shown} % {'fewer' if share > 0 else 'more'}"


def how(results: Results) -> str:
    """The protocol."""
    sets, splits = len(results["sets"]), results["splits"]
    means = f"means of {splits} random splits" if splits > 1 else "one random split"
    return (
        f"The experiment of Beygelzimer, Kale and Luo (2015), section 5, on {sets} of its 13 sets, {means}. Each "
        "algorithm makes one pass over four fifths of a set; the progressive 0-1 error of this pass selects the "
        "learning rate, the number of learners and gamma. The tables show the 0-1 error on the other fifth."
    )


def findings(results: Results, summary: Summary) -> str:
    """The key numbers in one paragraph, without algorithms that were not run."""
    sentences = [_boosted(results, summary), _others(results, summary), _trees(results, summary), _safe(summary)]
    return " ".join(sentence for sentence in sentences if sentence)


def _boosted(results: Results, summary: Summary) -> str:
    names = {"paper": "the paper's pseudo-code", "vw": "the authors' Vowpal Wabbit variant", "vw itself": "vw itself"}
    found = [(name, summary.ours.get(setting, {}).get("bbm")) for setting, name in names.items()]
    known = [(name, mean) for name, mean in found if mean]
    if not known:
        return ""
    (name, mean), *rest = known
    first = f"{fewer(mean.mean)} mistakes than the baseline with {name} {_spread(mean)}"
    compared = _and([first, *(f"{fewer(mean.mean)} with {name} {_spread(mean)}" for name, mean in rest)])
    here = f" ({100 * summary.paper['bbm'].mean:.2f} % over these, from its table)" if "bbm" in summary.paper else ""
    return (
        f"On average over {mean.sets} sets, {results['families']['bbm']} makes {compared}; the paper reports "
        f"{100 * PUBLISHED['bbm']:.2f} % fewer over its 13 sets{here}."
    )


def _spread(mean: Average) -> str:
    """Median and count: a mean over few sets may come from one of them."""
    return f"(median {100 * mean.median:+.1f} %, better on {mean.better})"


def _others(results: Results, summary: Summary) -> str:
    ours, variants = summary.ours.get("paper", {}), summary.ours.get("vw", {})
    parts = []
    for family in ALGORITHMS[1:]:
        both = [fewer(means[family].mean) for means in (ours, variants) if family in means]
        if both:
            parts.append(f"{results['families'][family]} {' and '.join(both)} (paper {100 * PUBLISHED[family]:.2f} %)")
    named = ", with pseudo-code and variant" if ours and variants else ""
    return f"The other algorithms{named}: {'; '.join(parts)}." if parts else ""


def _trees(results: Results, summary: Summary) -> str:
    one, line = summary.ours.get("trees", {}).get("bbm"), summary.over_linear.get("bbm")
    if not one or not line:
        return ""
    return (
        f"Over trees, {results['families']['bbm']} makes {fewer(one.mean)} mistakes than one tree, and is better than "
        f"the linear baseline on {line.better} of {line.sets} sets."
    )


def _safe(summary: Summary) -> str:
    found = {"linear learners": summary.ours.get("linear", {}).get("safe"), "trees": summary.over_linear.get("safe")}
    parts = [f"on {mean.better} of {mean.sets} sets with {learners}" for learners, mean in found.items() if mean]
    return f"SafeBoost is better than the linear baseline {_and(parts)}." if parts else ""


def sweep(results: Results) -> str:
    """Time of a sweep compared with vw, extrapolated."""
    found = results.get("vw_sweep")
    if not found:
        return ""
    ratio = found["vw_seconds"] / found["our_seconds"] if found["our_seconds"] else 0
    return (
        f"A sweep of {found['configurations']:,} configurations on {found['set']} takes {found['our_seconds']:,.1f} s; "
        f"with vw it would take {found['vw_seconds']:,.0f} s, extrapolated from {found['timed']:,} of them: "
        f"{ratio:,.0f} times as long."
    )


def caveats(results: Results) -> list[str]:
    """Limitations, one sentence each."""
    sentences = [f"{each['name']} is missing: {each['why']}." for each in results["missing"]]
    if results["splits"] == 1:
        sentences.append("One split: a difference below two or three standard errors (table below) may be chance.")
    sentences.append(
        "The paper's mean over these sets is computed from its printed table, which has four decimals: two "
        "significant digits for a set such as bio. The means stated in the paper differ from those of its table by up "
        "to 0.14 points."
    )
    return sentences


def quick(results: Results) -> str:
    return "A quick run with few configurations: not comparable with the paper's values." if results["quick"] else ""


def made(results: Results) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    return (
        f"Made by `{results['command']}` with seed {results['seed']} in {results['seconds'] / 60:,.0f} minutes on "
        f"{results['machine']}: {versions}."
    )


def _and(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
