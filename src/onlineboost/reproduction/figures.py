"""The numbers of a report: errors, improvements over the baseline on the same file, and their averages."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from typing import Any, NamedTuple

from onlineboost.reproduction.protocol import ALGORITHMS

Results = dict[str, Any]  # the JSON written by ``onlineboost reproduce``

COLUMNS = ("baseline", *ALGORITHMS)
LINEAR = ("paper", "vw", "vw itself")  # variants whose errors are comparable with the paper's
PUBLISHED = {"bbm": 0.0514, "adaboost-ol": 0.0257, "adaboost-ol-s": 0.0267, "osboost-ocp": 0.0198, "osboost": 0.0113}
_BASELINES = {"vw": "paper", "linear": "paper"}  # the variants have the same weak learner


class Error(NamedTuple):
    """An error on the test part: the mean over the splits and, where there are several, its standard error."""

    mean: float
    margin: float | None = None


class Average(NamedTuple):
    """Mean and median over sets, their number, and on how many the algorithm is better than the baseline."""

    mean: float
    median: float
    sets: int
    better: int


class Summary(NamedTuple):
    """Mean relative improvements: 0.05 is five percent fewer mistakes than the baseline on the same file."""

    ours: dict[str, dict[str, Average]]  # by variant, then by algorithm
    paper: dict[str, Average]  # from the paper's table, over the same sets
    published: dict[str, float]  # as stated in the paper, over its 13 sets
    over_linear: dict[str, Average]  # algorithms over trees, against the linear baseline


def find(each: Results, family: str, setting: str) -> Results | None:
    """The entry of an algorithm in one set."""
    found = (entry for entry in each["entries"] if (entry["family"], entry["setting"]) == (family, setting))
    return next(found, None)


def spread(errors: list[float]) -> Error | None:
    """
    >>> spread([0.25, 0.75])
    Error(mean=0.5, margin=0.25)
    """
    if not errors:
        return None
    margin = statistics.stdev(errors) / math.sqrt(len(errors)) if len(errors) > 1 else None
    return Error(statistics.fmean(errors), margin)


def error_of(each: Results, family: str, setting: str) -> Error | None:
    """The test error; None if the algorithm was not run, or all its configurations failed."""
    entry = find(each, family, setting)
    if entry is None and family == "baseline" and setting in _BASELINES:
        entry = find(each, family, _BASELINES[setting])
    return spread(entry["test"]) if entry else None


def paper_error(each: Results, family: str) -> Error | None:
    value = (each.get("paper") or {}).get(family)
    return None if value is None else Error(value)


def gain(error: Error | None, base: Error | None) -> float | None:
    """Relative reduction of an error.

    >>> gain(Error(0.375), Error(0.5))
    0.25
    """
    return 1 - error.mean / base.mean if error and base and base.mean > 0 else None


def improvement(each: Results, family: str, setting: str) -> float | None:
    """Relative to the baseline of the same set and variant."""
    return gain(error_of(each, family, setting), error_of(each, "baseline", setting))


def paper_improvement(each: Results, family: str) -> float | None:
    return gain(paper_error(each, family), paper_error(each, "baseline"))


def best_over_trees(each: Results, families: Iterable[str] = (*COLUMNS, "safe")) -> Results | None:
    """The best entry over trees by progressive error; the test part is not used for selection."""
    entries = [find(each, family, "trees") for family in families]
    worked = [entry for entry in entries if entry and entry["test"] and entry.get("progressive") is not None]
    return min(worked, key=lambda entry: float(entry["progressive"]), default=None)


def average(values: Iterable[float | None]) -> Average | None:
    """
    >>> average([0.5, None, -0.25])
    Average(mean=0.125, median=0.125, sets=2, better=1)
    """
    known = [value for value in values if value is not None]
    if not known:
        return None
    return Average(statistics.fmean(known), statistics.median(known), len(known), sum(value > 0 for value in known))


def summary(results: Results) -> Summary:
    """The averages of a report, without algorithms that were not run."""
    sets = results["sets"]
    pairs = [(setting, family) for setting in (*LINEAR, "trees") for family in (*ALGORITHMS, "safe")]
    ours: dict[str, dict[str, Average]] = {}
    for setting, family in [*pairs, ("linear", "safe")]:
        if mean := average(improvement(each, family, setting) for each in sets):
            ours.setdefault(setting, {})[family] = mean
    paper = {family: average(paper_improvement(each, family) for each in sets) for family in ALGORITHMS}
    linear = [(each, error_of(each, "baseline", "paper")) for each in sets]
    trees = {
        family: average(gain(error_of(each, family, "trees"), base) for each, base in linear)
        for family in (*COLUMNS, "safe")
    }
    return Summary(ours, _known(paper), PUBLISHED, _known(trees))


def _known(averages: dict[str, Average | None]) -> dict[str, Average]:
    return {family: mean for family, mean in averages.items() if mean}
