"""``onlineboost demo``: every algorithm compared with its base learner on the bundled data, in one pass."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from onlineboost.boosters.adaboost_ol import AdaBoostOL
from onlineboost.boosters.online_bbm import OnlineBBM
from onlineboost.boosters.osboost import OSBoost
from onlineboost.boosters.osboost_ocp import OSBoostOCP
from onlineboost.boosters.potential import PotentialBoost
from onlineboost.data.target import Binary
from onlineboost.datasets import load_letter
from onlineboost.learners.linear import Linear
from onlineboost.model import OnlineClassifier

ALGORITHMS: dict[str, OnlineClassifier] = {
    "Online BBM": OnlineBBM(),
    "Online BBM, real": OnlineBBM(votes="real"),
    "Potential": PotentialBoost(terminal="logistic"),
    "AdaBoost.OL": AdaBoostOL(),
    "AdaBoost.OL.S": AdaBoostOL(delivery="sample", random_state=0),
    "OSBoost": OSBoost(),
    "OSBoost.OCP": OSBoostOCP(),
}


class Comparison(NamedTuple):
    """The error of a booster minus that of its base learner, on the same stream."""

    change: float
    margin: float  # two standard errors

    @property
    def verdict(self) -> str:
        if self.change < -self.margin:
            return "[green]helped[/green]"
        return "[red]hurt[/red]" if self.change > self.margin else "no difference"


def compare(mistakes: NDArray[np.bool_], base: NDArray[np.bool_]) -> Comparison:
    """A paired comparison: only examples on which one of the two is wrong matter.

    >>> compare(np.array([0, 0, 1, 0] * 100) > 0, np.array([1, 0, 1, 0] * 100) > 0).change
    -0.25
    """
    difference = mistakes.astype(float) - base
    return Comparison(float(difference.mean()), float(2 * difference.std() / np.sqrt(difference.size)))


def run(console: Console | None = None) -> None:
    """Train all algorithms and print a table."""
    console = console or Console()
    X, y = load_letter()
    console.print(f"letter: {len(y):,} images of letters, {X.shape[1]} features; A-M against N-Z, one pass")
    results: dict[str, tuple[NDArray[np.bool_], float]] = {}
    columns: tuple[Any, ...] = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(ALGORITHMS) + 1)
        for name, model in {"base learner alone": Linear(), **ALGORITHMS}.items():
            progress.update(task, description=name)
            model.clone().fit(X[:100], y[:100])  # compiled before the clock starts
            began = time.perf_counter()
            scores = model.clone().progressive_fit(X, y)
            results[name] = Binary.mistakes(scores, y.astype(float)), len(y) / (time.perf_counter() - began)
            progress.advance(task)
    base, speed = results.pop("base learner alone")
    table = Table(title="Progressive 0-1 error: each example is predicted before it is learnt")
    for column in ("21 learners", "error", "change (± 2 s.e.)", "boosting", "examples/s"):
        table.add_column(column, justify="left" if column in ("21 learners", "boosting") else "right")
    table.add_row("Linear alone", f"{base.mean():.4f}", "", "", f"{speed:,.0f}")
    helped = []
    for name, (mistakes, speed) in results.items():
        comparison = compare(mistakes, base)
        change = f"{comparison.change:+.4f} ± {comparison.margin:.4f}"
        table.add_row(name, f"{mistakes.mean():.4f}", change, comparison.verdict, f"{speed:,.0f}")
        helped += [name] * ("helped" in comparison.verdict)
    console.print(table)
    which = f" ({'; '.join(helped)})" if helped else ""
    console.print(
        f"Boosting helped {len(helped)} of {len(results)} algorithms{which}. "
        "Linear learners agree with each other too much to gain from boosting; learners that look at few features, "
        "such as shallow trees, gain more. With River installed: OnlineBBM(HoeffdingTreeClassifier(max_depth=2))."
    )
