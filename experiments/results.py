"""Boosters that need no tuning, compared with Online BBM with the best gamma in hindsight, on every available set.

Progressive 0-1 error in one pass over one shuffle; writes the tables of docs/results.md.

    python experiments/results.py [--data ../shared/data] [--rows 200000] [--learners 63]
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

import numpy as np
from publish import TUNELESS, replaced
from rich.progress import Progress
from standardize import load_all, shuffled

from onlineboost import (
    AdaBoostOL,
    AdaBoostOLPlus,
    DefensiveBoost,
    Linear,
    OnlineBBM,
    OnlineBoost,
    OnlineClassifier,
    SafeBoost,
    Tree,
)
from onlineboost.ensembles.online_boost import EFFORTS
from onlineboost.evaluate import progressive_score
from onlineboost.learners.base import Learner

PAGE = Path("docs/results.md")
LEARNERS: dict[str, Learner] = {"linear learners": Linear(standardize=True), "trees of depth 5": Tree(5)}
GAMMAS = (0.05, 0.1, 0.2, 0.3)
DEFAULT = """### The default

`OnlineBoost` at its three efforts beside `SafeBoost` over linear learners, the default before, and over trees. The last
columns: the error at normal effort over that of the default before, and over that of the better of the two.
"""


def models(learner: Learner, n: int) -> dict[str, OnlineClassifier]:
    boosters = {f"BBM {gamma}": OnlineBBM(learner.clone(), n, gamma, random_state=0) for gamma in GAMMAS}
    return {
        "base": learner.clone(),
        **boosters,
        "BBM .15, stack": OnlineBBM(learner.clone(), n, 0.15, head="stack", random_state=0),
        "AdaBoost.OL": AdaBoostOL(learner.clone(), n, random_state=0),
        "AdaBoost.OL+": AdaBoostOLPlus(learner.clone(), n, random_state=0),
        "Defensive": DefensiveBoost(learner.clone()),
        "SafeBoost": SafeBoost(learner.clone(), n, random_state=0),
    }


def defaults() -> dict[str, OnlineClassifier]:
    """The default of today at every effort, that of before, and trees."""
    boosters = {"SafeBoost, linear": Linear(standardize=True), "SafeBoost, Tree(8)": Tree(8)}
    return {
        **{name: SafeBoost(learner, random_state=0) for name, learner in boosters.items()},
        **{f"OnlineBoost, {effort}": OnlineBoost(effort, random_state=0) for effort in EFFORTS},
    }


def default_table(found: dict[str, dict[str, float]]) -> list[str]:
    names = list(next(iter(found.values())))
    lines = ["| set | " + " | ".join(names) + " | normal / linear | normal / better |"]
    lines.append("| --- |" + " ---: |" * (len(names) + 2))
    to_linear, to_better = [], []
    for name, errors in found.items():
        linear, trees, normal = (errors[key] for key in (names[0], names[1], "OnlineBoost, normal"))
        to_linear.append(normal / linear)
        to_better.append(normal / min(linear, trees))
        cells = " | ".join(f"{value:.4f}" for value in errors.values())
        lines.append(f"| {name} | {cells} | {to_linear[-1]:.3f} | {to_better[-1]:.3f} |")
    means = (f"**{statistics.geometric_mean(ratios):.3f}**" for ratios in (to_linear, to_better))
    lines.append(f"| **geometric mean** |{' |' * len(names)} {' | '.join(means)} |")
    return [*lines, ""]


def table(found: dict[str, dict[str, float]]) -> list[str]:
    names = list(next(iter(found.values())))
    lines = ["| set | " + " | ".join(names) + " | Safe / best gamma | Safe / base |"]
    lines.append("| --- |" + " ---: |" * (len(names) + 2))
    to_best, to_base, stack = [], [], []
    for name, errors in found.items():
        best = min(errors[f"BBM {gamma}"] for gamma in GAMMAS)
        to_best.append(errors["SafeBoost"] / best)
        to_base.append(errors["SafeBoost"] / errors["base"])
        stack.append(errors["BBM .15, stack"] / best)
        cells = " | ".join(f"{value:.4f}" for value in errors.values())
        lines.append(f"| {name} | {cells} | {to_best[-1]:.3f} | {to_base[-1]:.3f} |")
    ratios = [np.mean([errors[name] / errors["base"] for errors in found.values()]) for name in names]
    cells = " | ".join(f"{ratio:.3f}" for ratio in ratios)
    lines.append(
        f"| **mean ratio to the base learner** | {cells} | **{np.mean(to_best):.3f}** | {max(to_base):.3f} at most |"
    )
    return [*lines, "", f"Error of the stack over that of the best gamma: {np.mean(stack):.3f} on average.", ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--learners", type=int, default=63)
    options = parser.parse_args()
    lines = [
        "## Without tuning",
        "",
        f"Made by `python experiments/results.py --rows {options.rows} --learners {options.learners}`: progressive 0-1",
        f"error in one pass over one shuffle, {options.learners} learners (Defensive has one). The best gamma is",
        "the best in hindsight.",
        "",
    ]
    streams = {name: shuffled(whole, options.rows, seed=0) for name, whole in load_all(options.data).items()}
    with Progress(transient=True) as progress:
        task = progress.add_task("measuring", total=len(streams) * (1 + len(LEARNERS)))
        found = {}
        for name, stream in streams.items():
            found[name] = {key: progressive_score(model, stream) for key, model in defaults().items()}
            progress.advance(task)
        lines += [DEFAULT, *default_table(found)]
        for kind, learner in LEARNERS.items():
            found = {}
            for name, stream in streams.items():
                found[name] = {
                    key: progressive_score(model, stream) for key, model in models(learner, options.learners).items()
                }
                progress.advance(task)
            lines += [f"### {kind[0].upper()}{kind[1:]}", "", *table(found)]
    text = "\n".join(lines)
    PAGE.write_text(replaced(PAGE.read_text(), TUNELESS, text))
    print(text)


if __name__ == "__main__":
    main()
