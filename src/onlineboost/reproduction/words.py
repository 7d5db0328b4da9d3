"""The sentences of a report, with computed numbers."""

from __future__ import annotations

from onlineboost.reproduction.figures import PUBLISHED, Average, Results, Summary
from onlineboost.reproduction.protocol import ALGORITHMS


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
