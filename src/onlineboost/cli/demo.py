"""``onlineboost demo``: single learners, the paper's boosters, and the default model, on the bundled data."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.boosters.online_bbm import OnlineBBM
from onlineboost.classifier import OnlineClassifier
from onlineboost.cli.terminal import flush, say, say_lines
from onlineboost.cli.warm import compile_first
from onlineboost.data.classes import Classes
from onlineboost.datasets import load_letter
from onlineboost.diagnostics.verdict import Difference, difference, gain
from onlineboost.ensembles.online_boost import OnlineBoost
from onlineboost.evaluate.paired import Paired
from onlineboost.learners.linear import Linear
from onlineboost.learners.tree import Tree

LINEAR, TREES = "linear learners", "trees"


class Entry(NamedTuple):
    """A model of the comparison."""

    name: str
    model: OnlineClassifier
    over: str = ""  # the kind of its learners
    letter: str = ""  # in the chart


ALONE = {LINEAR: Entry("Linear", Linear(standardize=True), letter="L"), TREES: Entry("Tree", Tree(5), letter="T")}
BOOSTERS = [
    Entry("Online BBM over linear learners", OnlineBBM(Linear(standardize=True), random_state=0), LINEAR),
    Entry("Online BBM over trees", OnlineBBM(Tree(5), random_state=0), TREES, "B"),
]
DEFAULT = Entry("OnlineBoost", OnlineBoost(random_state=0), letter="O")

Mistakes = dict[str, NDArray[np.bool_]]  # by name

_BLOCK = 2000  # examples of a point of the chart

_NEXT = """Your own data:

    onlineboost train your.csv --label column -o your.model

In Python:

    from onlineboost import OnlineBoost
    model = OnlineBoost().fit(X, y)"""


_STEPS = (0.005, 0.01, 0.02, 0.025, 0.05, 0.1)  # from one line of the chart to the next
_LINES = 14


def run() -> None:
    """Train all models, and print the comparison."""
    every = [*ALONE.values(), *BOOSTERS, DEFAULT]
    compile_first([entry.model for entry in every], quiet=False)
    X, y = load_letter()
    say(f"letter: {len(y):,} images of letters, {X.shape[1]} features, A-M against N-Z; one pass, 21 learners.")
    say("The error is progressive: each example is predicted before it is learned. Change: against one learner alone.")
    say()
    say(f"{'':<34}{'error':>8}{'change':>10}{'2 s.e.':>9}{'examples/s':>12}")
    seen: Mistakes = {}
    for k, entry in enumerate(every, 1):
        with _status(f"{k} of {len(every)}: {entry.name}"):
            entry.model.clone().fit(X[:100], y[:100])  # compiled before the clock starts
            began = time.perf_counter()
            scores = entry.model.clone().progressive_fit(X, y)
            speed = len(y) / (time.perf_counter() - began)
        seen[entry.name] = Classes.mistakes(scores, (y > 0).astype(float))
        other = alone(entry, seen)
        change = ""
        if other is not None:
            points, error = compare(seen[entry.name], seen[other])
            change = f"{-points / 100:+.4f}{error / 50:>9.4f}"
        say(f"{entry.name:<34}{seen[entry.name].mean():>8.4f}{change:>19}{speed:>12,.0f}")
        flush()
    say()
    say(f"Error in each {_BLOCK:,} examples")
    drawn = [entry for entry in every if entry.letter]
    blocks = {entry.letter: seen[entry.name].reshape(-1, _BLOCK).mean(1).tolist() for entry in drawn}
    say_lines("\n".join(chart(blocks, [f"{n:,}" for n in range(_BLOCK, len(y) + 1, _BLOCK)])))
    say(", ".join(f"{entry.letter}: {entry.name}" for entry in drawn))
    say()
    say_lines("\n".join(sentences(seen)))
    say()
    say_lines(_NEXT)


def alone(entry: Entry, seen: Mistakes) -> str | None:
    """The learner to compare a model with: the best one if the model has learners of all kinds."""
    if entry in ALONE.values():
        return None
    if entry.over:
        return ALONE[entry.over].name
    return min((one.name for one in ALONE.values()), key=lambda name: seen[name].sum())


def compare(mistakes: NDArray[np.bool_], other: NDArray[np.bool_]) -> Difference:
    """A paired comparison: only examples on which exactly one of the two is wrong matter.

    >>> compare(np.array([0, 0, 1, 0] * 100) > 0, np.array([1, 0, 1, 0] * 100) > 0).points
    25.0
    """
    return difference(_totals(mistakes, other))


def sentences(seen: Mistakes) -> list[str]:
    """Table of models, each compared with one learner alone."""
    best = min((entry.name for entry in BOOSTERS), key=lambda name: seen[name].sum())
    pairs = [(entry.name, f"{ALONE[entry.over].name} alone", ALONE[entry.over].name) for entry in BOOSTERS]
    pairs.append((f"{DEFAULT.name}, without tuning,", best, best))
    return [f"{who} {gain(_totals(seen[who.split(',')[0]], seen[name]), other)}." for who, other, name in pairs]


def _totals(mistakes: NDArray[np.bool_], other: NDArray[np.bool_]) -> NDArray[np.float64]:
    paired = Paired()
    paired.update(mistakes, other, np.ones(mistakes.size))
    return paired.totals


def _status(text: str) -> AbstractContextManager[object]:
    """Current step, on a terminal only."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(text, spinner="line")


def chart(curves: Mapping[str, Sequence[float]], places: Sequence[object]) -> list[str]:
    """Lines of text: the curves, each drawn with its letter, above the places they were measured at.

    The letters stand side by side, so that curves that meet can be told apart.

    >>> for line in chart({"a": [0.2, 0.1], "b": [0.2, 0.0]}, ["May", "June"]):
    ...     print(line)
    0.20 |ab
    0.18 |
    0.16 |
    0.14 |
    0.12 |
    0.10 |     a
    0.08 |
    0.06 |
    0.04 |
    0.02 |
    0.00 |      b
         +---------
          May  June
    """
    highest = max(max(curve) for curve in curves.values())
    step = next((step for step in _STEPS if highest / step <= _LINES - 1), 1 / (_LINES - 1))
    width = max(len(curves), *(len(str(place)) for place in places)) + 1
    digits = max(2, len(f"{step:g}") - 2)
    lines = []
    for level in range(math.ceil(round(highest / step, 6)), -1, -1):
        cells = (
            "".join(letter if round(curve[k] / step) == level else " " for letter, curve in curves.items()).ljust(width)
            for k in range(len(places))
        )
        lines.append(f"{level * step:.{digits}f} |{''.join(cells)}".rstrip())
    margin = " " * (digits + 3)
    axis = "".join(str(place).ljust(width) for place in places).rstrip()
    return [*lines, f"{margin}+{'-' * len(axis)}", f"{margin} {axis}"]
