"""Boosters that need no tuning, compared with Online BBM with the best gamma in hindsight, on every available set.

Progressive 0-1 error in one pass over one shuffle.

    python experiments/results.py [--data FOLDER] [--rows 200000] [--learners 63]
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path
from typing import Any

import numpy as np
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
from onlineboost.evaluate import progressive_error
from onlineboost.learners.base import Learner

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, add_data, keep, kept
from figures import table as markdown

FIGURES = FOLDER / "results.json"
LEARNERS: dict[str, Learner] = {"linear learners": Linear(standardize=True), "trees of depth 5": Tree(5)}
GAMMAS = (0.05, 0.1, 0.2, 0.3)


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


def beside_normal(found: dict[str, dict[str, float]], effort: str) -> str:
    """Errors of an effort over those of the normal one: the geometric mean over the sets."""
    pairs = ((one[f"OnlineBoost, {effort}"], one["OnlineBoost, normal"]) for one in found.values())
    change = 100 * statistics.geometric_mean(other / normal for other, normal in pairs) - 100
    return f"{abs(change):.0f} % {'more' if change > 0 else 'less'}"


def default_table(found: dict[str, dict[str, float]]) -> str:
    names = list(next(iter(found.values())))
    rows, to_linear, to_better = [], [], []
    for name, errors in found.items():
        linear, trees, normal = (errors[key] for key in (names[0], names[1], "OnlineBoost, normal"))
        to_linear.append(normal / linear)
        to_better.append(normal / min(linear, trees))
        ratios = [f"{to_linear[-1]:.3f}", f"{to_better[-1]:.3f}"]
        rows.append([name, *(f"{value:.4f}" for value in errors.values()), *ratios])
    means = [f"**{statistics.geometric_mean(ratios):.3f}**" for ratios in (to_linear, to_better)]
    rows.append(["**geometric mean**", *[""] * len(names), *means])
    return markdown(["set", *names, "normal / linear", "normal / better"], rows)


def ratio(found: dict[str, dict[str, float]], name: str) -> list[float]:
    """Errors of a model over those of Online BBM with the best gamma, by set."""
    return [errors[name] / min(errors[f"BBM {gamma}"] for gamma in GAMMAS) for errors in found.values()]


def table(found: dict[str, dict[str, float]]) -> str:
    names = list(next(iter(found.values())))
    to_best = ratio(found, "SafeBoost")
    to_base = [errors["SafeBoost"] / errors["base"] for errors in found.values()]
    rows = []
    for (name, errors), best, base in zip(found.items(), to_best, to_base, strict=True):
        rows.append([name, *(f"{value:.4f}" for value in errors.values()), f"{best:.3f}", f"{base:.3f}"])
    ratios = [np.mean([errors[name] / errors["base"] for errors in found.values()]) for name in names]
    means = [*(f"{mean:.3f}" for mean in ratios), f"**{np.mean(to_best):.3f}**", f"{max(to_base):.3f} at most"]
    rows.append(["**mean ratio to the base learner**", *means])
    return markdown(["set", *names, "Safe / best gamma", "Safe / base"], rows)


def blocks() -> dict[str, str]:
    figures = kept(FIGURES)
    linear, trees = (figures["boosters"][kind] for kind in LEARNERS)
    safe = sorted(100 - 100 * np.mean(ratio(found, "SafeBoost")) for found in (linear, trees))
    worst = max(errors["SafeBoost"] / errors["base"] for found in (linear, trees) for errors in found.values())
    return {
        **{effort: beside_normal(figures["default"], effort) for effort in ("low", "high")},
        "default": default_table(figures["default"]),
        "linear": table(linear),
        "trees": table(trees),
        "stack of linear": f"{np.mean(ratio(linear, 'BBM .15, stack')):.3f}",
        "stack of trees": f"{np.mean(ratio(trees, 'BBM .15, stack')):.3f}",
        "safe": f"{safe[0]:.1f} to {safe[1]:.1f} %",
        "safe at worst": f"{100 * worst - 100:.1f} %",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_data(parser)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--learners", type=int, default=63)
    options = parser.parse_args()
    streams = {name: shuffled(whole, options.rows, seed=0) for name, whole in load_all(options.data).items()}
    found: dict[str, Any] = {kind: {} for kind in LEARNERS}
    default: dict[str, Any] = {}
    with Progress(transient=True) as progress:
        task = progress.add_task("measuring", total=len(streams) * (1 + len(LEARNERS)))
        for name, stream in streams.items():
            default[name] = {key: progressive_error(model, stream) for key, model in defaults().items()}
            progress.advance(task)
        for kind, learner in LEARNERS.items():
            for name, stream in streams.items():
                made = models(learner, options.learners)
                found[kind][name] = {key: progressive_error(model, stream) for key, model in made.items()}
                progress.advance(task)
    keep(FIGURES, {"default": default, "boosters": found})


if __name__ == "__main__":
    main()
